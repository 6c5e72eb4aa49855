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

/** How long keys are used. */
export interface KeyStoreOptions {
  /** How old the newest key may become before another takes its place, in milliseconds. @default 86400000 */
  readonly rotateMs?: number | undefined;
  /**
   * How much longer a key opens than it seals, in milliseconds. Keep it longer than anything
   * sealed is good for, or what was sealed last is lost. @default 86400000
   */
  readonly retireMs?: number | undefined;
}

/** The longest that a key is in the ring, and when it is replaced. */
export interface KeyTimes {
  readonly rotateMs: number;
  readonly lifeMs: number;
}

/** Keys of a ring at most: an interval of a second must not fill a store. */
export const maxRingKeys = 64;

/** @throws RangeError when keys would leave before they are replaced. */
export function toKeyTimes({ rotateMs, retireMs }: KeyStoreOptions = {}): KeyTimes {
  const rotate = rotateMs ?? 86_400_000;
  const retire = retireMs ?? 86_400_000;
  if (!(rotate > 0 && retire >= 0)) {
    throw new RangeError(`keys cannot be rotated after ${rotate} ms and kept for ${retire} ms`);
  }
  return { rotateMs: rotate, lifeMs: rotate + retire };
}

/** @throws RangeError when it is none that anything could be sealed with. */
export function checkKey(candidate: Uint8Array): void {
  if (candidate.byteLength !== 32) throw new RangeError("a key is 32 random bytes");
}
