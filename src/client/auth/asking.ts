/** Asking an authorization server: over TLS, for so long, for so much, and what went wrong. */
import * as oauth from "oauth4webapi";
import { onAbort } from "../../util/abort.ts";
import { reachOfHost } from "../../util/addresses.ts";
import { letGo } from "../../util/timer.ts";
import { ClientError } from "../errors.ts";
import { excerpt } from "../excerpt.ts";
import type { Fetch } from "../fetch-sender.ts";
import { toExchangeError } from "../http-exchange.ts";

/** No document or token answer is anywhere near as long. */
const maxBytes = 524_288;

/** What systems take for this machine, where they are connected to. */
const unspecified: readonly string[] = ["0.0.0.0", "[::]"];

export function isLoopback(hostname: string): boolean {
  return /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

/** Marks a fetch that refuses, by itself, whatever is not on the public internet. */
export const judgesAddresses: unique symbol = Symbol("judges addresses");

export interface AskingOptions {
  /**
   * What requests to authorization servers go over, all of them to URLs that a server names: give
   * one of your own where those are in a network of yours. @default on Node `guardedFetch`, which
   * reaches the public internet alone; elsewhere the `fetch` of the runtime, for URLs whose host is
   * no address of a private network, nor this machine in another spelling
   */
  readonly fetch?: Fetch | undefined;
  /** How long one answer of an authorization server is waited for, in milliseconds. @default 10000 */
  readonly timeoutMs?: number | undefined;
}

interface Asked {
  readonly method?: string | undefined;
  readonly headers: Record<string, string>;
  readonly body?: URLSearchParams | string | null | undefined;
}

/** What goes with each request that `oauth4webapi` makes. */
export interface AskedWith {
  readonly [oauth.customFetch]: (url: string, asked: Asked) => Promise<Response>;
  readonly [oauth.allowInsecureRequests]: boolean;
}

/** On behalf of one server: it may name this machine, also over http, where it is on it itself. */
export class Asking {
  readonly #fetch: Fetch;
  readonly #timeoutMs: number;
  readonly #host: string;
  readonly #isLocal: boolean;
  /** Whether the user says, with a fetch of their own, that private networks may be asked. */
  readonly #isInside: boolean;

  constructor(server: URL, options: AskingOptions) {
    this.#host = server.hostname;
    this.#isInside = options.fetch !== undefined && !(judgesAddresses in options.fetch);
    this.#fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
    this.#timeoutMs = options.timeoutMs ?? 10_000;
    this.#isLocal = isLoopback(server.hostname);
  }

  /** @param endpoint - where the request goes */
  with(endpoint: string | undefined, signal: AbortSignal): AskedWith {
    return {
      [oauth.customFetch]: (url, asked) => this.ask(new URL(url), asked, signal),
      [oauth.allowInsecureRequests]:
        endpoint !== undefined && URL.canParse(endpoint) && this.mayBePlain(new URL(endpoint)),
    };
  }

  mayBePlain(url: URL): boolean {
    return this.#isLocal && isLoopback(url.hostname);
  }

  /**
   * Keeps secrets off the open wire, and a server from having this machine ask, or its user's
   * browser visit, what only they can reach (SSRF; security_best_practices, 2026-07-28).
   *
   * @throws ClientError `unauthorized`
   */
  assertSecure(url: URL): void {
    if (this.isSecure(url)) return;
    const isPlain = hasNoCredentials(url);
    const { protocol, origin } = url;
    const how =
      protocol === "https:" && isPlain
        ? "is on this machine, or in a private network"
        : `is to be asked over ${excerpt(protocol)}${isPlain ? "" : " with credentials in its URL"}`;
    throw new ClientError(
      "unauthorized",
      `cannot sign in: ${excerpt(origin)} ${how}, which is not safe`,
    );
  }

  isSecure(url: URL): boolean {
    // What stands before an @ is for people to take for the host.
    if (!hasNoCredentials(url)) return false;
    if (url.protocol === "https:") return this.#mayReach(url.hostname);
    return url.protocol === "http:" && this.mayBePlain(url);
  }

  #mayReach(hostname: string): boolean {
    // The user named that one.
    if (hostname === this.#host) return true;
    if (isLoopback(hostname)) return this.#isLocal;
    if (/(?:^|\.)localhost\.?$/.test(hostname) || unspecified.includes(hostname)) return false;
    const reach = reachOfHost(hostname);
    if (reach === "elsewhere") return this.#isInside;
    return reach !== "loopback";
  }

  /** One answer, read whole. @throws ClientError; the signal's reason */
  async ask(url: URL, asked: Asked, signal: AbortSignal): Promise<Response> {
    this.assertSecure(url);
    const { method = "GET", headers, body } = asked;
    const over = new AbortController();
    const forget = onAbort(signal, () => over.abort(signal.reason));
    const timer = setTimeout(() => over.abort(tookTooLong(url)), this.#timeoutMs);
    letGo(timer);
    try {
      const response = await this.#fetch(url, {
        method,
        headers,
        ...(body === undefined || body === null ? {} : { body: String(body) }),
        // A redirect would take a secret, or the say of who is asked for one, somewhere else.
        redirect: "manual",
        signal: over.signal,
      });
      return await readWhole(response, url);
    } catch (cause) {
      if (over.signal.aborted) throw over.signal.reason;
      if (cause instanceof ClientError) throw cause;
      const why = cause instanceof TypeError ? toExchangeError(cause) : cause;
      throw toUnauthorized(excerpt(url.origin), why);
    } finally {
      clearTimeout(timer);
      forget();
    }
  }
}

function hasNoCredentials({ username, password }: URL): boolean {
  return username === "" && password === "";
}

function tookTooLong(url: URL): ClientError {
  return new ClientError("unauthorized", `cannot sign in: ${excerpt(url.origin)} does not answer`);
}

async function readWhole(response: Response, url: URL): Promise<Response> {
  const { status, headers } = response;
  const text = await readText(response, url);
  const isEmpty = status === 204 || status === 205 || status === 304;
  // Those of a runtime's own opaque redirects, which are 0, make no response.
  return new Response(isEmpty ? null : text, {
    status: status >= 200 && status <= 599 ? status : 502,
    headers,
  });
}

async function readText({ body }: Response, url: URL): Promise<string> {
  if (body === null) return "";
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let text = "";
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    length += value.byteLength;
    if (length > maxBytes) {
      reader.cancel().catch(() => undefined);
      throw new ClientError(
        "unauthorized",
        `cannot sign in: ${excerpt(url.origin)} answers with more than ${maxBytes} bytes`,
      );
    }
    text += decoder.decode(value, { stream: true });
  }
}

/**
 * What a user is told. Only words of the library and of the server are taken over: its errors
 * carry codes and tokens along as their causes, which a log of them would show.
 */
export function toUnauthorized(what: string, cause: unknown): ClientError {
  if (cause instanceof ClientError && cause.kind === "unauthorized") return cause;
  return new ClientError("unauthorized", `cannot sign in: ${what}: ${describe(cause)}`);
}

function describe(cause: unknown): string {
  if (
    cause instanceof oauth.ResponseBodyError ||
    cause instanceof oauth.AuthorizationResponseError
  ) {
    const { error, error_description: more } = cause;
    return excerpt(more === undefined ? error : `${error} (${more})`);
  }
  if (cause instanceof oauth.WWWAuthenticateChallengeError) return `HTTP ${cause.status}`;
  if (cause instanceof oauth.OperationProcessingError) return cause.message;
  if (cause instanceof oauth.UnsupportedOperationError) return cause.message;
  return cause instanceof Error ? excerpt(cause.message) : "it failed";
}

/** The error code that an authorization server gave, if it gave one. */
export function errorCode(cause: unknown): string | undefined {
  if (cause instanceof oauth.ResponseBodyError) return cause.error;
  // An answer with a challenge of its own is about the client, whatever its body says.
  return cause instanceof oauth.WWWAuthenticateChallengeError && cause.status === 401
    ? "invalid_client"
    : undefined;
}
