/** Whether a worker should be sent requests, for balancers that ask. */

import type { Awaitable } from "../util/awaitable.ts";
import type { Ending } from "../util/ending.ts";

/**
 * - `ready`: it takes requests.
 * - `closing`: it finishes what it has, and takes nothing new.
 * - `away`: its store cannot be reached, and what needs no store is still served.
 */
export type ReadyState = "ready" | "closing" | "away";

/** How long an answer of the store counts, in milliseconds: whoever asks often costs it no more. */
const freshMs = 1_000;

export class Readiness {
  readonly #probe: () => Awaitable<unknown>;
  readonly #closing: Ending;
  #asked: Promise<ReadyState> | undefined;
  #askedAt = Number.NEGATIVE_INFINITY;

  /** @param probe - uses the store, and throws or rejects while it is away */
  constructor(probe: () => Awaitable<unknown>, closing: Ending) {
    this.#probe = probe;
    this.#closing = closing;
  }

  async state(): Promise<ReadyState> {
    if (this.#closing.over) return "closing";
    const now = performance.now();
    if (this.#asked === undefined || now - this.#askedAt >= freshMs) {
      this.#askedAt = now;
      this.#asked = this.#ask();
    }
    const state = await this.#asked;
    return this.#closing.over ? "closing" : state;
  }

  async #ask(): Promise<ReadyState> {
    try {
      await this.#probe();
      return "ready";
    } catch {
      // Why is in the log, at the requests that need the store.
      return "away";
    }
  }
}
