/**
 * Trace context in `_meta`: `traceparent`, `tracestate` and `baggage`, which alone may stand there
 * without a prefix (basic/index, `_meta`, 2026-07-28).
 */
import { type Context, propagation, type TextMapGetter } from "@opentelemetry/api";
import type { JsonObject } from "../util/json.ts";

type Syntax = (value: string) => boolean;

/** W3C Trace Context, traceparent: later versions may add to what version 00 has. */
const traceparent =
  /^(?!ff)[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?:-[\x21-\x7e]{0,64})?$/;
const printable = /^[\x20-\x7e]*$/;

/** What a stranger may put there, by length and by characters, before any propagator reads it. */
const syntaxes: Readonly<Record<string, Syntax>> = {
  traceparent: (value) => traceparent.test(value),
  tracestate: (value) => value.length <= 512 && printable.test(value),
  baggage: (value) => value.length <= 8_192 && printable.test(value),
};

const keys: readonly string[] = Object.keys(syntaxes);

const getter: TextMapGetter<JsonObject> = {
  keys: (meta) => keys.filter((key) => read(meta, key) !== undefined),
  get: read,
};

/** A context with what `_meta` carries of one; what is malformed is passed over. */
export function extract(base: Context, meta: JsonObject): Context {
  // Without the one there is nothing that the other could belong to.
  const isTraced = read(meta, "traceparent") !== undefined;
  if (!isTraced && read(meta, "baggage") === undefined) return base;
  return propagation.extract(base, meta, getter);
}

/** What `_meta` is to carry of a context; undefined for nothing. */
export function inject(from: Context): JsonObject | undefined {
  const carrier: Record<string, unknown> = {};
  propagation.inject(from, carrier);
  const carried = keys.flatMap((key) => {
    const value = read(carrier, key);
    return value === undefined || value === "" ? [] : [[key, value] as const];
  });
  return carried.length === 0 ? undefined : Object.fromEntries(carried);
}

function read(carrier: JsonObject, key: string): string | undefined {
  if (!Object.hasOwn(syntaxes, key) || !Object.hasOwn(carrier, key)) return undefined;
  const value = carrier[key];
  return typeof value === "string" && syntaxes[key]?.(value) ? value : undefined;
}
