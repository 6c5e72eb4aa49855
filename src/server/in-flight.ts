/** The calls that are running, so that their own caller can cancel them. */
import type { Exchange } from "../core/exchange.ts";
import { failure, type Outcome } from "../core/outcome.ts";
import { isRequestId, type RequestId } from "../jsonrpc/message.ts";
import { isObject } from "../util/json.ts";

const cancelled: Outcome = failure("cancelled", "the caller cancelled this request");

export class InFlight {
  readonly #running: Map<string, Exchange> = new Map();

  get size(): number {
    return this.#running.size;
  }

  /** Waits for the outcome, or for the caller's cancel, whichever comes first. */
  async wait(
    session: string,
    id: RequestId,
    ex: Exchange,
    outcome: Promise<Outcome | undefined>,
  ): Promise<Outcome | undefined> {
    const key = keyOf(session, id);
    this.#running.set(key, ex);
    try {
      return await Promise.race([
        outcome,
        new Promise<Outcome>((resolve) => ex.onCancel(() => resolve(cancelled))),
      ]);
    } finally {
      if (this.#running.get(key) === ex) this.#running.delete(key);
    }
  }

  /** For the end of a connection. */
  cancelAll(reason: string): void {
    for (const ex of this.#running.values()) ex.cancel(reason);
  }

  /**
   * Cancels what `notifications/cancelled` names, if it is this session's. What is
   * unknown, finished or malformed is ignored: the notice may simply be late
   * (basic/utilities/cancellation, Error Handling).
   */
  cancel(session: string, params: unknown): void {
    if (!isObject(params)) return;
    const { requestId, reason } = params;
    if (!isRequestId(requestId)) return;
    const why = typeof reason === "string" ? reason : "the caller cancelled";
    this.#running.get(keyOf(session, requestId))?.cancel(why);
  }
}

/** 99 and "99" are two ids. */
function keyOf(session: string, id: RequestId): string {
  return `${session} ${typeof id === "number" ? "n" : "s"}${id}`;
}
