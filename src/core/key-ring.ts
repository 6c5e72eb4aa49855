/**
 * The keys that seal and open, as the sealer sees them: given ones, or a ring that all
 * workers share and that one of them rotates from time to time.
 */
import { pause } from "../util/timer.ts";
import type { KeyStore, RingKey } from "./key-store.ts";

export const keyBytes = 32;

/** Bytes by which a sealed text names its key: so many that no two keys of a ring share them. */
export const keyIdBytes = 4;

/** Named by what it is used for: its own name differs between runtimes. */
export type AesKey = Parameters<typeof crypto.subtle.encrypt>[1];

export interface SealingKey {
  /** Begins what is sealed with it. */
  readonly id: Uint8Array;
  readonly crypto: AesKey;
}

export interface KeyRing {
  /** The key that seals. */
  newest(): Promise<SealingKey>;
  /** @returns undefined when no worker has, or had lately, a key of that id. */
  find(id: Uint8Array): Promise<SealingKey | undefined>;
  /** Tells the ring from others, and nothing of its keys. Undefined where the workers share it. */
  fingerprints(): Promise<readonly string[] | undefined>;
}

/** Keys that are there from the start, and never change. */
export class FixedRing implements KeyRing {
  readonly #keys: Promise<readonly SealingKey[]>;

  /** @throws RangeError when there is none, or one is none. */
  constructor(keys: readonly Uint8Array[]) {
    if (keys.length === 0 || keys.some((key) => key.byteLength !== keyBytes)) {
      throw new RangeError(`a key that seals request state is ${keyBytes} random bytes`);
    }
    this.#keys = Promise.all(keys.map(importKey));
  }

  async newest(): Promise<SealingKey> {
    return first(await this.#keys);
  }

  async find(id: Uint8Array): Promise<SealingKey | undefined> {
    return (await this.#keys).find((key) => isSame(key.id, id));
  }

  async fingerprints(): Promise<readonly string[]> {
    return (await this.#keys).map(({ id }) => hex(id));
  }
}

export interface SharedRingOptions {
  /** How long a ring that was read is used before it is read again, in milliseconds. @default 60000 */
  readonly freshMs?: number | undefined;
  /**
   * How often the ring is read at most because of a key that is not in it, in milliseconds:
   * anybody can send what names a key that nobody has. Whoever comes in between waits for the
   * next reading, so that what another worker has just sealed is opened all the same.
   * @default 500
   */
  readonly rereadMs?: number | undefined;
  /** @default performance.now */
  readonly now?: (() => number) | undefined;
}

/** Keys that all workers share. */
export class SharedRing implements KeyRing {
  readonly #store: KeyStore;
  readonly #freshMs: number;
  readonly #rereadMs: number;
  readonly #now: () => number;
  #keys: readonly SealingKey[] = [];
  /** When the reading that brought them began. */
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  #rereading: Promise<void> | undefined;

  constructor(store: KeyStore, options: SharedRingOptions = {}) {
    this.#store = store;
    this.#freshMs = options.freshMs ?? 60_000;
    this.#rereadMs = options.rereadMs ?? 500;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Nobody waits for the store while there is a key: it may be away, or slow. */
  async newest(): Promise<SealingKey> {
    if (this.#keys.length === 0) await this.#read();
    else if (this.#now() - this.#readAt >= this.#freshMs) this.#refresh();
    return first(this.#keys);
  }

  async find(id: Uint8Array): Promise<SealingKey | undefined> {
    const known = this.#find(id);
    if (known !== undefined) {
      if (this.#now() - this.#readAt >= this.#freshMs) this.#refresh();
      return known;
    }
    await this.#reread();
    return this.#find(id);
  }

  fingerprints(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  #find(id: Uint8Array): SealingKey | undefined {
    return this.#keys.find((key) => isSame(key.id, id));
  }

  #refresh(): void {
    this.#read().catch(() => {
      // The keys that are there are still good; the next one who needs them tries again.
    });
  }

  /** A reading that begins after now, whoever shares it, and not too soon after the last. */
  #reread(): Promise<void> {
    this.#rereading ??= this.#readInTime();
    return this.#rereading;
  }

  async #readInTime(): Promise<void> {
    const waitMs = this.#readAt + this.#rereadMs - this.#now();
    if (waitMs > 0) await pause(waitMs);
    // Whoever comes from here on needs a reading that begins later than this one.
    this.#rereading = undefined;
    await this.#reading?.catch(() => undefined);
    await this.#read();
  }

  #read(): Promise<void> {
    this.#reading ??= this.#take().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #take(): Promise<void> {
    this.#readAt = this.#now();
    // The store decides whether it is time for another key, by its own clock.
    const ring = await this.#store.rotate(crypto.getRandomValues(new Uint8Array(keyBytes)));
    this.#keys = await Promise.all(ring.map(({ bytes }: RingKey) => importKey(bytes)));
  }
}

async function importKey(bytes: Uint8Array): Promise<SealingKey> {
  // A copy: the caller may wipe what it passed in.
  const raw = Uint8Array.from(bytes);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", raw));
  const key = await crypto.subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt", "decrypt"]);
  return { id: hash.subarray(0, keyIdBytes), crypto: key };
}

function first(keys: readonly SealingKey[]): SealingKey {
  const [key] = keys;
  if (key === undefined) throw new Error("there is no key");
  return key;
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
