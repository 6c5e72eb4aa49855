/** What a ring of keys can be told, wherever it is kept. Its contract stands with what uses it. */
export type { KeyStore, RingKey } from "../core/key-store.ts";

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
