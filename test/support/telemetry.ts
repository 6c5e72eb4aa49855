/** OpenTelemetry as a program sets it up, kept in memory for a test to look at. */
import { context, propagation, SpanKind, type Tracer, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  CompositePropagator,
  W3CBaggagePropagator,
  W3CTraceContextPropagator,
} from "@opentelemetry/core";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import type { Telemetry } from "anyrev";
import { type OpenTelemetryOptions, openTelemetry } from "anyrev/telemetry";

/** Once for a test file: what is global of OpenTelemetry can be set only once. */
export function setUpGlobals(): void {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(
    new CompositePropagator({
      propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()],
    }),
  );
}

/** How often something was measured, and by which attributes. */
export interface Measured {
  readonly name: string;
  readonly unit: string;
  readonly count: number;
  readonly sum: number;
  readonly boundaries: readonly number[];
  readonly attributes: Readonly<Record<string, unknown>>;
}

export class Observatory implements AsyncDisposable {
  readonly #spans = new InMemorySpanExporter();
  readonly #provider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(this.#spans)],
  });
  readonly #reader = new PeriodicExportingMetricReader({
    exporter: new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE),
    exportIntervalMillis: 1_000_000,
  });
  readonly #meters = new MeterProvider({ readers: [this.#reader] });
  readonly tracer: Tracer = this.#provider.getTracer("test");

  telemetry(options: Partial<OpenTelemetryOptions> = {}): Telemetry {
    return openTelemetry({
      tracer: this.tracer,
      meter: this.#meters.getMeter("test"),
      ...options,
    });
  }

  /** Runs within a span of the program's own. @returns the span's id and trace */
  async within<T>(name: string, work: () => Promise<T>): Promise<T> {
    const span = this.tracer.startSpan(name);
    try {
      return await context.with(trace.setSpan(context.active(), span), work);
    } finally {
      span.end();
    }
  }

  get spans(): readonly ReadableSpan[] {
    return this.#spans.getFinishedSpans();
  }

  servers(name?: string): readonly ReadableSpan[] {
    return this.#find(SpanKind.SERVER, name);
  }

  clients(name?: string): readonly ReadableSpan[] {
    return this.#find(SpanKind.CLIENT, name);
  }

  #find(kind: SpanKind, name: string | undefined): readonly ReadableSpan[] {
    return this.spans.filter(
      (span) => span.kind === kind && (name === undefined || span.name === name),
    );
  }

  async measured(name: string): Promise<readonly Measured[]> {
    const { resourceMetrics } = await this.#reader.collect();
    return resourceMetrics.scopeMetrics
      .flatMap(({ metrics }) => metrics)
      .filter(({ descriptor }) => descriptor.name === name)
      .flatMap(({ descriptor, dataPoints }) =>
        dataPoints.map(({ attributes, value }) => {
          if (
            typeof value !== "object" ||
            !("buckets" in value) ||
            !("boundaries" in value.buckets)
          ) {
            throw new Error(`${name} is no histogram`);
          }
          const { count, sum = 0, buckets } = value;
          const { boundaries } = buckets;
          return { name, unit: descriptor.unit, count, sum, boundaries, attributes };
        }),
      );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#provider.shutdown();
    await this.#meters.shutdown();
  }
}
