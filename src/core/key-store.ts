/** The contract of a place that keeps the keys that all workers seal and open with. */
import type { Awaitable } from "../util/awaitable.ts";

/** A key of the ring, and how old it is by the store's clock. */
export interface RingKey {
  /** 32 random bytes. */
  readonly bytes: Uint8Array;
  readonly ageMs: number;
}

/**
 * A ring of keys, newest first: the newest seals, all of them open. A key that was replaced
 * stays in the ring for a while, for what was sealed with it, and then leaves by the store's
 * clock. A worker that meets something sealed with a key it does not know reads the ring
 * again: another one has rotated it. `keyStoreSuite` of `anyrev/testing` has these promises
 * as tests.
 */
export interface KeyStore {
  /** The ring as it is; empty before the first rotation, and once every key has left. */
  read(): Awaitable<readonly RingKey[]>;
  /**
   * Puts a key in front, unless the newest is younger than the rotation interval: of many
   * workers that find the ring empty or old at once, one has its key taken, and all are given
   * the same ring.
   *
   * @param candidate - 32 random bytes, freshly made
   * @returns the ring as it is then, with the candidate or without
   */
  rotate(candidate: Uint8Array): Awaitable<readonly RingKey[]>;
}
