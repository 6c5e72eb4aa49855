/**
 * State that the caller carries from one round of a call to the next, sealed: encrypted
 * and authenticated, bound to who asks what, and good for a while. So a restart needs no
 * shared store, and what comes back is ours or is refused
 * (basic/patterns/mrtr, Server Requirements, 2026-07-28).
 */

import { decodeTokenBytes, encodeTokenBytes } from "../util/base64.ts";
import { isObject, type JsonObject } from "../util/json.ts";
import { MemoryOneTime, type OneTimeStore } from "./one-time.ts";

/** How the state between two rounds of a call is sealed, and how long it is good. */
export interface StateKeysOptions {
  /**
   * 32 random bytes each. The first seals, all of them open: put a new one in front and
   * leave the old one until its states have expired. With several workers, give all of them
   * the same. @default one made at start, so that only this process opens what it sealed
   */
  readonly keys?: readonly Uint8Array[] | undefined;
  /** How long a state is good, and so how long an answer may take, in milliseconds. @default 600000 */
  readonly ttlMs?: number | undefined;
  /** Characters of a sealed state at most; a call that would carry more fails. @default 65536 */
  readonly maxLength?: number | undefined;
  /**
   * Whether a state goes on with its call once only: used a second time it is refused like
   * one that is unknown, so that neither a caller nor who listened to it can repeat a round.
   * A request that is sent again because its reply was lost is refused with it. `true`
   * remembers what was used in the memory of this process; give a store that the workers
   * share where there are several. @default false
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
const keyBytes = 32;
const version = 1;

/** How much longer than it is good a used state is remembered: the clocks of workers differ. */
const clockSkewMs = 60_000;

/** Named by what it is used for: its own name differs between runtimes. */
type AesKey = Parameters<typeof crypto.subtle.encrypt>[1];

interface Key {
  readonly id: number;
  readonly crypto: AesKey;
}

export class StateSealer {
  readonly #keys: Promise<readonly Key[]>;
  readonly #ttlMs: number;
  readonly #maxLength: number;
  readonly #now: () => number;
  readonly #used: OneTimeStore | undefined;

  constructor(options: StateKeysOptions = {}) {
    const keys = options.keys ?? [crypto.getRandomValues(new Uint8Array(keyBytes))];
    if (keys.length === 0 || keys.some((key) => key.byteLength !== keyBytes)) {
      throw new RangeError(`a key that seals request state is ${keyBytes} random bytes`);
    }
    this.#keys = Promise.all(keys.map(importKey));
    this.#ttlMs = options.ttlMs ?? 600_000;
    this.#maxLength = options.maxLength ?? 65_536;
    this.#now = options.now ?? Date.now;
    const { singleUse = false, now } = options;
    this.#used = singleUse === true ? new MemoryOneTime({ now }) : singleUse || undefined;
  }

  /** @throws RangeError when the state grew too large to be carried. */
  async seal(state: JsonObject, scope: StateScope): Promise<string> {
    const [key] = await this.#keys;
    if (key === undefined) throw new Error("there is no key");
    const payload = JSON.stringify({ ...state, expiresAt: this.#now() + this.#ttlMs });
    const iv = crypto.getRandomValues(new Uint8Array(ivBytes));
    const sealed = await crypto.subtle.encrypt(
      { name: "AES-GCM", iv, additionalData: await digest(scope) },
      key.crypto,
      new TextEncoder().encode(payload),
    );
    const text = encodeTokenBytes(concat([version, key.id], iv, new Uint8Array(sealed)));
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
    if (bytes === undefined || bytes.length <= 2 + ivBytes || bytes[0] !== version)
      return undefined;
    for (const key of await this.#keys) {
      if (key.id !== bytes[1]) continue;
      const state = await decrypt(bytes.subarray(2), key.crypto, await digest(scope));
      if (state === undefined) continue;
      // Random for each state, and authenticated with it: the one id that none can change.
      const id = encodeTokenBytes(bytes.subarray(2, 2 + ivBytes));
      return (await this.#isGood(state, id)) ? state : undefined;
    }
    return undefined;
  }

  async #isGood({ expiresAt }: JsonObject, id: string): Promise<boolean> {
    const leftMs = typeof expiresAt === "number" ? expiresAt - this.#now() : 0;
    if (leftMs <= 0) return false;
    return this.#used === undefined || this.#used.claim(id, leftMs + clockSkewMs);
  }
}

async function importKey(bytes: Uint8Array): Promise<Key> {
  // A copy: the caller may wipe what it passed in.
  const raw = Uint8Array.from(bytes);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", raw));
  const key = await crypto.subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt", "decrypt"]);
  return { id: hash[0] ?? 0, crypto: key };
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
