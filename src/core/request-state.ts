/**
 * State that the caller carries from one round of a call to the next, sealed: encrypted
 * and authenticated, bound to who asks what, and good for a while. So a restart needs no
 * shared store, and what comes back is ours or is refused
 * (basic/patterns/mrtr, Server Requirements, 2026-07-28).
 */

import { decodeTokenBytes, encodeTokenBytes } from "../util/base64.ts";
import { isObject, type JsonObject } from "../util/json.ts";
import {
  type AesKey,
  FixedRing,
  type KeyRing,
  keyBytes,
  keyIdBytes,
  SharedRing,
} from "./key-ring.ts";
import type { KeyStore } from "./key-store.ts";
import { MemoryOneTime, type OneTimeStore } from "./one-time.ts";

/** How the state between two rounds of a call is sealed, and how long it is good. */
export interface StateKeysOptions {
  /**
   * 32 random bytes each. The first seals, all of them open: put a new one in front and
   * leave the old one until its states have expired. With several workers, give all of them
   * the same, and a new one to all of them at the end before it comes to the front of any.
   * @default those of `keyStore`, or of the `stores` that an endpoint is given; else one made
   * at start, so that only this process opens what it sealed
   */
  readonly keys?: readonly Uint8Array[] | undefined;
  /** Where the workers share keys, which are made and rotated by themselves. @default none */
  readonly keyStore?: KeyStore | undefined;
  /** How long a state is good, and so how long an answer may take, in milliseconds. @default 600000 */
  readonly ttlMs?: number | undefined;
  /** Characters of a sealed state at most; a call that would carry more fails. @default 65536 */
  readonly maxLength?: number | undefined;
  /**
   * Whether a state goes on with its call once only: used a second time it is refused like
   * one that is unknown, so that neither a caller nor who listened to it can repeat a round.
   * A request that is sent again because its reply was lost is refused with it. `true`
   * remembers what was used in the `stores` that an endpoint is given, or else in the memory
   * of this process; give a store that the workers share where there are several. @default false
   */
  readonly singleUse?: boolean | OneTimeStore | undefined;
  /** The clock, in milliseconds. @default Date.now */
  readonly now?: (() => number) | undefined;
}

/** What a state belongs to: it opens for nothing else. */
export interface StateScope {
  readonly principal: string;
  readonly operation: string;
  readonly target: string;
  readonly arguments: unknown;
}

const ivBytes = 12;
const version = 1;

/** What comes before what is encrypted. */
const headBytes = 1 + keyIdBytes;

/** How much longer than it is good a used state is remembered: the clocks of workers differ. */
const clockSkewMs = 60_000;

/** What workers share of what sealing needs. */
export interface SharedSealing {
  readonly keys: KeyStore;
  readonly oneTime: OneTimeStore;
}

export class StateSealer {
  readonly #options: StateKeysOptions;
  readonly #ring: KeyRing;
  readonly #ttlMs: number;
  readonly #maxLength: number;
  readonly #now: () => number;
  readonly #used: OneTimeStore | undefined;
  /** Whether any worker could open what this one seals. */
  readonly agrees: boolean;

  constructor(options: StateKeysOptions = {}) {
    const { keys, keyStore, singleUse = false, now } = options;
    this.#options = options;
    this.agrees = keys !== undefined || keyStore !== undefined;
    this.#ring =
      keys === undefined && keyStore !== undefined
        ? new SharedRing(keyStore)
        : new FixedRing(keys ?? [crypto.getRandomValues(new Uint8Array(keyBytes))]);
    this.#ttlMs = options.ttlMs ?? 600_000;
    this.#maxLength = options.maxLength ?? 65_536;
    this.#now = now ?? Date.now;
    this.#used = singleUse === true ? new MemoryOneTime({ now }) : singleUse || undefined;
  }

  /** The same, with what its options leave open taken from stores that the workers share. */
  sharing({ keys, oneTime }: SharedSealing): StateSealer {
    const { keyStore, singleUse } = this.#options;
    return new StateSealer({
      ...this.#options,
      keyStore: keyStore ?? keys,
      singleUse: singleUse === true ? oneTime : singleUse,
    });
  }

  /** Tells configured keys from others, the sealing one first; undefined where they are shared. */
  fingerprints(): Promise<readonly string[] | undefined> {
    return this.#ring.fingerprints();
  }

  /** Reads the keys where they are shared. @throws StoreError when the store is away */
  async ready(): Promise<void> {
    await this.#ring.newest();
  }

  /** @throws RangeError when the state grew too large to be carried. */
  async seal(state: JsonObject, scope: StateScope): Promise<string> {
    const key = await this.#ring.newest();
    const payload = JSON.stringify({ ...state, expiresAt: this.#now() + this.#ttlMs });
    const iv = crypto.getRandomValues(new Uint8Array(ivBytes));
    const sealed = await crypto.subtle.encrypt(
      { name: "AES-GCM", iv, additionalData: await digest(scope) },
      key.crypto,
      new TextEncoder().encode(payload),
    );
    const text = encodeTokenBytes(concat([version, ...key.id], iv, new Uint8Array(sealed)));
    if (text.length <= this.#maxLength) return text;
    throw new RangeError(
      `the state of this call takes ${text.length} characters; ${this.#maxLength} can be carried`,
    );
  }

  /**
   * The state, if it is ours, belongs to this scope, has not expired, and was not used
   * before where that matters.
   */
  async open(text: string, scope: StateScope): Promise<JsonObject | undefined> {
    if (text.length > this.#maxLength) return undefined;
    const bytes = decodeTokenBytes(text);
    if (bytes === undefined || bytes[0] !== version) return undefined;
    if (bytes.length <= headBytes + ivBytes) return undefined;
    const key = await this.#ring.find(bytes.subarray(1, headBytes));
    if (key === undefined) return undefined;
    const sealed = bytes.subarray(headBytes);
    const state = await decrypt(sealed, key.crypto, await digest(scope));
    if (state === undefined) return undefined;
    // Random for each state, and authenticated with it: the one id that none can change.
    const id = encodeTokenBytes(sealed.subarray(0, ivBytes));
    return (await this.#isGood(state, id)) ? state : undefined;
  }

  async #isGood({ expiresAt }: JsonObject, id: string): Promise<boolean> {
    const leftMs = typeof expiresAt === "number" ? expiresAt - this.#now() : 0;
    if (leftMs <= 0) return false;
    return this.#used === undefined || this.#used.claim(id, leftMs + clockSkewMs);
  }
}

async function decrypt(
  bytes: Uint8Array<ArrayBuffer>,
  key: AesKey,
  additionalData: Uint8Array<ArrayBuffer>,
): Promise<JsonObject | undefined> {
  try {
    const iv = bytes.subarray(0, ivBytes);
    const algorithm = { name: "AES-GCM", iv, additionalData };
    const plain = await crypto.subtle.decrypt(algorithm, key, bytes.subarray(ivBytes));
    const state: unknown = JSON.parse(new TextDecoder().decode(plain));
    return isObject(state) ? state : undefined;
  } catch {
    // Another key, another scope, or a changed byte: which of them is nobody's business.
    return undefined;
  }
}

/** The scope as bytes to authenticate; arguments count by value, not by how they are written. */
async function digest(scope: StateScope): Promise<Uint8Array<ArrayBuffer>> {
  const text = JSON.stringify([
    scope.principal,
    scope.operation,
    scope.target,
    canonical(scope.arguments),
  ]);
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return ["list", ...value.map(canonical)];
  if (!isObject(value)) return value;
  const keys = Object.keys(value).sort();
  return ["object", ...keys.map((key) => [key, canonical(value[key])])];
}

function concat(
  head: readonly number[],
  iv: Uint8Array,
  sealed: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(head.length + iv.length + sealed.length);
  bytes.set(head, 0);
  bytes.set(iv, head.length);
  bytes.set(sealed, head.length + iv.length);
  return bytes;
}
