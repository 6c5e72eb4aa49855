/** What a store, a hub or a ring of keys fails with, as long as the fault is not in the code. */

/**
 * - `away`: it could not be reached, or not in time. Try again later; of a write, nobody
 *   knows whether it was made.
 * - `full`: a cap is reached, or the backend has no room left. Nothing was written.
 * - `too-large`: this one record, event, id or topic is larger than the store takes.
 * - `closed`: the stores were closed here.
 */
export type StoreErrorCode = "away" | "full" | "too-large" | "closed";

export interface StoreErrorOptions {
  /** The driver's own error. For the log only: it may name hosts and statements. */
  readonly cause?: unknown;
  /** When it makes sense to try again, in milliseconds; only where that may help. */
  readonly retryAfterMs?: number | undefined;
}

/**
 * Thrown by the stores of `anyrev/stores/*`. Throw it from a store of your own as well, so
 * that callers are told to come back instead of that the server is broken.
 */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly code: StoreErrorCode;
  readonly retryAfterMs: number | undefined;

  constructor(code: StoreErrorCode, message: string, options: StoreErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
  }
}
