/** The ring of keys in the memory of one process: for one worker, and for tests. */
import {
  checkKey,
  type KeyStore,
  type KeyStoreOptions,
  type KeyTimes,
  maxRingKeys,
  type RingKey,
  toKeyTimes,
} from "./key-store.ts";

export interface MemoryKeysOptions extends KeyStoreOptions {
  /** The clock, in milliseconds. @default Date.now */
  readonly now?: (() => number) | undefined;
}

interface Kept {
  readonly bytes: Uint8Array;
  readonly madeAt: number;
}

export class MemoryKeys implements KeyStore {
  /** Newest first. */
  #kept: readonly Kept[] = [];
  readonly #times: KeyTimes;
  readonly #now: () => number;

  constructor(options: MemoryKeysOptions = {}) {
    this.#times = toKeyTimes(options);
    this.#now = options.now ?? Date.now;
  }

  read(): readonly RingKey[] {
    const now = this.#now();
    this.#kept = this.#kept.filter(({ madeAt }) => now - madeAt < this.#times.lifeMs);
    // Copies: a reader may wipe what it was given.
    return this.#kept.map(({ bytes, madeAt }) => ({
      bytes: Uint8Array.from(bytes),
      ageMs: now - madeAt,
    }));
  }

  rotate(candidate: Uint8Array): readonly RingKey[] {
    checkKey(candidate);
    const ring = this.read();
    if (ring[0] !== undefined && ring[0].ageMs < this.#times.rotateMs) return ring;
    const added = { bytes: Uint8Array.from(candidate), madeAt: this.#now() };
    this.#kept = [added, ...this.#kept].slice(0, maxRingKeys);
    return this.read();
  }
}
