/** Where a client keeps what it got: tokens, and the registrations that servers made for it. */
import { type Awaitable, isPromise } from "../../util/awaitable.ts";
import { isObject } from "../../util/json.ts";
import { ClientError } from "../errors.ts";
import { excerpt } from "../excerpt.ts";

/**
 * Texts by name, such as a keychain holds them. They are secrets: whoever reads one acts as the
 * user. Give each user a store of their own; what fails to be kept is asked for again. The message of
 * an error that is thrown here is shown to the user: let nothing of a text be in it.
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

/**
 * A store whose failures say what they are about.
 *
 * @throws ClientError `unauthorized`, from each of its methods
 */
export function telling(store: TokenStore): TokenStore {
  const attempt = <T>(use: () => Awaitable<T>): Awaitable<T> => {
    try {
      const used = use();
      return isPromise(used) ? used.catch(failed) : used;
    } catch (cause) {
      return failed(cause);
    }
  };
  return {
    get: (name) => attempt(() => store.get(name)),
    set: (name, text) => attempt(() => store.set(name, text)),
    delete: (name) => attempt(() => store.delete(name)),
  };
}

function failed(cause: unknown): never {
  const why = cause instanceof Error ? excerpt(cause.message) : "it failed";
  const message = `cannot sign in: the store of tokens failed: ${why}`;
  throw new ClientError("unauthorized", message, { cause });
}

/** What an authorization server granted, and for what. */
export interface Tokens {
  /** The one that granted them: they are worth nothing, and none of the business, to any other. */
  readonly issuer: string;
  readonly clientId: string;
  /** The client that it is, where that was made for it: later ones are of no use to refresh these. */
  readonly registration?: Registration | undefined;
  /** Names what was granted, however often it is refreshed: another may be somebody else's. */
  readonly grant?: string | undefined;
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

/** How a registered client proves who it is. */
export type RegisteredMethod = "none" | "client_secret_basic" | "client_secret_post";

const methods: readonly unknown[] = [
  "none",
  "client_secret_basic",
  "client_secret_post",
] satisfies RegisteredMethod[];

/** A client that an authorization server registered. */
export interface Registration {
  readonly clientId: string;
  readonly secret?: string | undefined;
  readonly method: RegisteredMethod;
  readonly redirectUri: string;
  /** By `Date.now()`. */
  readonly expiresAt?: number | undefined;
}

/** Whether a header can hold it. */
export function isSendable(token: string): boolean {
  return /^[\x21-\x7e]+$/.test(token);
}

/** @returns undefined for what nobody of this version wrote */
export function parseTokens(text: string | undefined): Tokens | undefined {
  const found = parse(text);
  if (found === undefined) return undefined;
  const { access, type, scopes, registration } = found;
  const isWhole =
    areStrings(found, ["issuer", "clientId"]) &&
    areStringsIfAny(found, ["key", "refresh", "grant"]) &&
    areTimesIfAny(found, ["expiresAt"]) &&
    typeof found["issuedAt"] === "number" &&
    typeof access === "string" &&
    isSendable(access) &&
    (type === "bearer" || type === "dpop") &&
    Array.isArray(scopes) &&
    scopes.every((scope) => typeof scope === "string") &&
    (registration === undefined || isRegistration(registration));
  return isWhole ? (found as unknown as Tokens) : undefined;
}

/** @returns undefined for what nobody of this version wrote */
export function parseRegistration(text: string | undefined): Registration | undefined {
  const found = parse(text);
  return isRegistration(found) ? found : undefined;
}

function isRegistration(value: unknown): value is Registration {
  if (!isObject(value)) return false;
  return (
    areStrings(value, ["clientId", "redirectUri"]) &&
    areStringsIfAny(value, ["secret"]) &&
    areTimesIfAny(value, ["expiresAt"]) &&
    methods.includes(value["method"])
  );
}

type Found = Readonly<Record<string, unknown>>;

function areStrings(found: Found, names: readonly string[]): boolean {
  return names.every((name) => typeof found[name] === "string");
}

function areStringsIfAny(found: Found, names: readonly string[]): boolean {
  return areStrings(
    found,
    names.filter((name) => found[name] !== undefined),
  );
}

function areTimesIfAny(found: Found, names: readonly string[]): boolean {
  return names.every((name) => found[name] === undefined || typeof found[name] === "number");
}

function parse(text: string | undefined): Found | undefined {
  if (text === undefined) return undefined;
  try {
    const found: unknown = JSON.parse(text);
    return isObject(found) ? found : undefined;
  } catch {
    // It is damaged, and asked for again.
    return undefined;
  }
}
