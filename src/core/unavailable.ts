/** What callers are told of a store that is away: to come back, and when. */
import type { Log } from "./log.ts";
import { type Failure, failure } from "./outcome.ts";
import { StoreError } from "./store-error.ts";

/** Where a store does not say when to come back. */
const usualRetryMs = 1_000;

/**
 * The failure that a store's error is to a caller; undefined for what is no such error, and for
 * a record that is too large, which no waiting helps. Its cause goes to the log.
 */
export function toUnavailable(cause: unknown, log: Log): Failure | undefined {
  if (!(cause instanceof StoreError) || cause.code === "too-large") return undefined;
  log({ level: "error", message: "a store that this needs cannot be used", cause });
  const retryAfterMs = cause.retryAfterMs ?? usualRetryMs;
  return unavailable(
    "what this server keeps cannot be reached just now; send the request again later",
    retryAfterMs,
  );
}

/** @param retryAfterMs - when it makes sense to send the request again, in milliseconds */
export function unavailable(message: string, retryAfterMs: number): Failure {
  return failure("unavailable", message, { retryAfterMs });
}

/** Whether waiting helps, so that its caller is told how long. */
export function isPassing({ failure: kind }: Failure): boolean {
  return kind === "unavailable" || kind === "rate-limited";
}

/** When to come back, in whole seconds, for a `Retry-After` header. */
export function retryAfterSeconds({ data }: Failure): number {
  const ms = data?.["retryAfterMs"];
  return Math.max(1, Math.ceil((typeof ms === "number" ? ms : usualRetryMs) / 1_000));
}
