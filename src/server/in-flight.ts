/** The calls that are running, so that their own caller can cancel them. */
import type { Exchange } from "../core/exchange.ts";
import { failure, type Outcome } from "../core/outcome.ts";
import { isRequestId, type RequestId } from "../jsonrpc/message.ts";
import { isObject } from "../util/json.ts";

const cancelled: Outcome = failure("cancelled", "the caller cancelled this request");
const closed: Outcome = failure("cancelled", "the connection closed before this was done");

interface Running {
  readonly ex: Exchange;
  readonly end: (outcome: Outcome | undefined) => void;
}

export class InFlight {
  readonly #running: Map<string, Running> = new Map();

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
    const ended = new Promise<Outcome | undefined>((end) => {
      this.#running.set(key, { ex, end });
      ex.onCancel(() => end(cancelled));
    });
    try {
      return await Promise.race([outcome, ended]);
    } finally {
      if (this.#running.get(key)?.ex === ex) this.#running.delete(key);
    }
  }

  /** For the end of a connection. */
  cancelAll(reason: string): void {
    for (const { ex, end } of [...this.#running.values()]) {
      end(closed);
      ex.cancel(reason);
    }
  }

  /**
   * Cancels what `notifications/cancelled` names, if it is this session's. What is
   * unknown, finished or malformed is ignored: the notice may simply be late
   * (basic/utilities/cancellation, Error Handling).
   *
   * @param silently - whether nothing answers the request any more
   */
  cancel(session: string, params: unknown, silently: boolean): void {
    if (!isObject(params)) return;
    const { requestId, reason } = params;
    if (!isRequestId(requestId)) return;
    const why = typeof reason === "string" ? reason : "the caller cancelled";
    const running = this.#running.get(keyOf(session, requestId));
    if (silently) running?.end(undefined);
    running?.ex.cancel(why);
  }
}

/** 99 and "99" are two ids. */
function keyOf(session: string, id: RequestId): string {
  return `${session} ${typeof id === "number" ? "n" : "s"}${id}`;
}
