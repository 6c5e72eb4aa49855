/** Where a client keeps what it got: tokens, and the registrations that servers made for it. */
import type { Awaitable } from "../../util/awaitable.ts";
import { isObject } from "../../util/json.ts";

/**
 * Texts by name, such as a keychain holds them. They are secrets: whoever reads one acts as the
 * user. Give each user a store of their own; what fails to be kept is asked for again.
 */
export interface TokenStore {
  /** What was set last under the name. */
  get(name: string): Awaitable<string | undefined>;
  set(name: string, text: string): Awaitable<void>;
  delete(name: string): Awaitable<void>;
}

export interface MemoryTokensOptions {
  /** How many texts are kept; of more, those that were used least recently go. @default 1000 */
  readonly maxEntries?: number | undefined;
}

/** Keeps everything for as long as the process runs. */
export class MemoryTokens implements TokenStore {
  readonly #maxEntries: number;
  readonly #texts: Map<string, string> = new Map();

  constructor(options: MemoryTokensOptions = {}) {
    this.#maxEntries = options.maxEntries ?? 1_000;
  }

  get(name: string): string | undefined {
    const text = this.#texts.get(name);
    if (text !== undefined) this.#put(name, text);
    return text;
  }

  set(name: string, text: string): void {
    this.#put(name, text);
    for (const oldest of this.#texts.keys()) {
      if (this.#texts.size <= this.#maxEntries) return;
      this.#texts.delete(oldest);
    }
  }

  delete(name: string): void {
    this.#texts.delete(name);
  }

  #put(name: string, text: string): void {
    this.#texts.delete(name);
    this.#texts.set(name, text);
  }
}

/** What an authorization server granted, and for what. */
export interface Tokens {
  /** The one that granted them: they are worth nothing, and none of the business, to any other. */
  readonly issuer: string;
  readonly clientId: string;
  /** The client that it is, where that was made for it: later ones are of no use to refresh these. */
  readonly registration?: Registration | undefined;
  readonly access: string;
  readonly type: "bearer" | "dpop";
  /** The thumbprint of the key that they are bound to. */
  readonly key?: string | undefined;
  readonly refresh?: string | undefined;
  /** What was asked for. */
  readonly scopes: readonly string[];
  /** By `Date.now()`. */
  readonly issuedAt: number;
  readonly expiresAt?: number | undefined;
}

/** A client that an authorization server registered. */
export interface Registration {
  readonly clientId: string;
  readonly secret?: string | undefined;
  readonly method: string;
  readonly redirectUri: string;
  /** By `Date.now()`. */
  readonly expiresAt?: number | undefined;
}

/** @returns undefined for what nobody of this version wrote */
export function parseTokens(text: string | undefined): Tokens | undefined {
  const found = parse(text, ["issuer", "clientId", "access"]);
  if (found === undefined || !Array.isArray(found["scopes"])) return undefined;
  const isKnown = found["type"] === "bearer" || found["type"] === "dpop";
  return isKnown && typeof found["issuedAt"] === "number"
    ? (found as unknown as Tokens)
    : undefined;
}

export function parseRegistration(text: string | undefined): Registration | undefined {
  const found = parse(text, ["clientId", "method", "redirectUri"]);
  return found as Registration | undefined;
}

function parse(
  text: string | undefined,
  strings: readonly string[],
): Readonly<Record<string, unknown>> | undefined {
  if (text === undefined) return undefined;
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(found)) return undefined;
  const object = found;
  return strings.every((name) => typeof object[name] === "string") ? object : undefined;
}
