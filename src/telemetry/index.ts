/**
 * OpenTelemetry: a span and a duration for each message, on servers and clients, by the semantic
 * conventions for MCP. Needs `@opentelemetry/api`; without an SDK it records nothing.
 */
import {
  type Attributes,
  type Context,
  context,
  type Histogram,
  type Link,
  type Meter,
  metrics,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import type {
  Ended,
  OpenedSession,
  Operation,
  Telemetry,
  Watching,
  WatchingSent,
} from "../core/telemetry.ts";
import { Pseudonyms } from "../util/pseudonyms.ts";
import {
  endAttributes,
  metricAttributes,
  sessionAttributes,
  spanAttributes,
  spanName,
} from "./attributes.ts";
import { extract, inject } from "./trace-context.ts";

export interface OpenTelemetryOptions {
  /** @default one of the global provider, also where that is set later */
  readonly tracer?: Tracer | undefined;
  /** @default one of the global provider, as it is when the first message comes */
  readonly meter?: Meter | undefined;
  /**
   * What the trace context of callers is to a server's spans. `parent`: they go on with the
   * caller's trace, and with its baggage. `link`: they begin their own and name the caller's, for
   * servers that strangers call, who could otherwise choose what is sampled and have their
   * baggage sent on to what the server calls. `ignore`: it is not read. @default "parent"
   */
  readonly callers?: "parent" | "link" | "ignore" | undefined;
}

const name = "anyrev";

/** Bounds in seconds, as the conventions have them. */
const explicitBucketBoundaries = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/**
 * For the `telemetry` option of endpoints, `serve`, `serveStdio` and `connect`. Spans carry no
 * arguments and no results, and of a session the first 32 hexadecimal digits of the SHA-256 of
 * its id: whoever reads traces could take it over otherwise.
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): Telemetry {
  return new Recorder(options);
}

type Side = OpenedSession["side"];
type Durations = Readonly<Record<Side, Readonly<Record<"operation" | "session", Histogram>>>>;

class Recorder implements Telemetry {
  readonly #options: OpenTelemetryOptions;
  readonly #tracer: Tracer;
  readonly #names: Pseudonyms = new Pseudonyms();
  #durations: Durations | undefined;

  constructor(options: OpenTelemetryOptions) {
    this.#options = options;
    this.#tracer = options.tracer ?? trace.getTracer(name);
  }

  received(operation: Operation): Watching {
    const { parent, links } = this.#origin(operation);
    return this.#watch(operation, "server", parent, links).watching;
  }

  sent(operation: Operation): WatchingSent {
    const { watching, within } = this.#watch(operation, "client", context.active(), []);
    return { ...watching, carried: inject(within) };
  }

  opened({ side, revision, network }: OpenedSession): (reason?: string) => void {
    const start = performance.now();
    return (reason) => {
      const seconds = (performance.now() - start) / 1_000;
      const attributes = sessionAttributes(revision, network, reason);
      this.#histograms[side].session.record(seconds, attributes);
    };
  }

  /** The caller's span, where it tells one, and then a link to the one of what carried it here. */
  #origin({ meta }: Operation): { readonly parent: Context; readonly links: Link[] } {
    const { callers = "parent" } = this.#options;
    const ambient = context.active();
    if (meta === undefined || callers === "ignore") return { parent: ambient, links: [] };
    if (callers === "link") return { parent: ambient, links: linksTo(extract(ROOT_CONTEXT, meta)) };
    const parent = extract(ambient, meta);
    const isRemote = trace.getSpanContext(parent) !== trace.getSpanContext(ambient);
    return { parent, links: isRemote ? linksTo(ambient) : [] };
  }

  #watch(
    operation: Operation,
    side: Side,
    parent: Context,
    links: Link[],
  ): { readonly watching: Watching; readonly within: Context } {
    const start = performance.now();
    const measured = metricAttributes(operation);
    const attributes = spanAttributes(measured, operation, this.#names);
    const kind = side === "server" ? SpanKind.SERVER : SpanKind.CLIENT;
    const span = this.#tracer.startSpan(spanName(operation), { kind, attributes, links }, parent);
    const within = trace.setSpan(parent, span);
    const end = (ended: Ended): void => {
      const told = endAttributes(ended, side);
      const seconds = (performance.now() - start) / 1_000;
      this.#histograms[side].operation.record(seconds, { ...measured, ...told }, within);
      this.#finish(span, ended, told);
    };
    return { watching: { run: (work) => context.with(within, work), end }, within };
  }

  #finish(span: Span, { sessionId, reason, message }: Ended, told: Attributes): void {
    span.setAttributes(told);
    if (sessionId !== undefined) span.setAttribute("mcp.session.id", this.#names.of(sessionId));
    if (reason !== undefined) span.setAttribute("anyrev.refusal", reason);
    if (told["error.type"] !== undefined) {
      const { ERROR: code } = SpanStatusCode;
      span.setStatus(message === undefined ? { code } : { code, message });
    }
    span.end();
  }

  /** Not before there is something to measure: the global provider may be set after this was made. */
  get #histograms(): Durations {
    this.#durations ??= makeDurations(this.#options.meter ?? metrics.getMeter(name));
    return this.#durations;
  }
}

function makeDurations(meter: Meter): Durations {
  const make = (of: string, description: string): Histogram =>
    meter.createHistogram(`mcp.${of}.duration`, {
      unit: "s",
      description,
      advice: { explicitBucketBoundaries },
    });
  return {
    server: {
      operation: make("server.operation", "From when a message came in until it was answered."),
      session: make("server.session", "From a handshake until the end of its session."),
    },
    client: {
      operation: make("client.operation", "From when a request was sent until its reply came."),
      session: make("client.session", "From a handshake until the end of its session."),
    },
  };
}

function linksTo(origin: Context): Link[] {
  const found = trace.getSpanContext(origin);
  return found !== undefined && trace.isSpanContextValid(found) ? [{ context: found }] : [];
}
