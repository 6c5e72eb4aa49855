/** Where it is remembered what has been used, so that it is used once. */
import type { Awaitable } from "../util/awaitable.ts";

/**
 * Remembers ids that may be used once, for all workers: a table with a unique key, or
 * `SET … NX PX` of Redis. `oneTimeStoreSuite` of `anyrev/testing` has its promises as tests.
 */
export interface OneTimeStore {
  /**
   * Marks an id as used.
   *
   * @param ttlMs - how long that must be remembered; later on nobody takes the id any more
   * @returns true the first time, false ever after, also when many claim it at once
   * @throws StoreError `full` when no more can be remembered, where that is not told by false
   */
  claim(id: string, ttlMs: number): Awaitable<boolean>;
}

export interface MemoryOneTimeOptions {
  /**
   * Ids remembered at most. Past it new ones are refused until old ones expire: what is to
   * be used once must not become usable again because of a flood. @default 100000
   */
  readonly max?: number | undefined;
  /** The clock, in milliseconds. @default Date.now */
  readonly now?: (() => number) | undefined;
}

/** Used ids in the memory of one process: the default, for one worker. */
export class MemoryOneTime implements OneTimeStore {
  /** When each expires; used longest ago first. */
  readonly #used: Map<string, number> = new Map();
  readonly #max: number;
  readonly #now: () => number;
  /** Before this time there is nothing to be gained by looking at all of them. */
  #sweepAt = 0;

  constructor(options: MemoryOneTimeOptions = {}) {
    this.#max = options.max ?? 100_000;
    this.#now = options.now ?? Date.now;
  }

  /** How many are remembered, expired ones that were not yet dropped included. */
  get size(): number {
    return this.#used.size;
  }

  claim(id: string, ttlMs: number): boolean {
    const now = this.#now();
    if ((this.#used.get(id) ?? 0) > now) return false;
    this.#used.delete(id);
    this.#makeRoom(now);
    if (this.#used.size >= this.#max) return false;
    this.#used.set(id, now + ttlMs);
    this.#sweepAt = Math.min(this.#sweepAt, now + ttlMs);
    return true;
  }

  #makeRoom(now: number): void {
    for (const [id, expiresAt] of this.#used) {
      if (expiresAt > now) break;
      this.#used.delete(id);
    }
    if (this.#used.size < this.#max || this.#sweepAt > now) return;
    this.#sweepAt = Number.POSITIVE_INFINITY;
    for (const [id, expiresAt] of this.#used) {
      if (expiresAt <= now) this.#used.delete(id);
      else this.#sweepAt = Math.min(this.#sweepAt, expiresAt);
    }
  }
}
