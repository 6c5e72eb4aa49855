/** `fetch` for URLs that a stranger names: it reaches nothing but the public internet. */
import { lookup } from "node:dns/promises";
import { request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, isIPv4 } from "node:net";
import { judgesAddresses } from "../client/auth/asking.ts";
import { excerpt } from "../client/excerpt.ts";
import type { Fetch } from "../client/fetch-sender.ts";
import { onAbort, unlessAborted } from "../util/abort.ts";
import { reachOf } from "../util/addresses.ts";
import { letGo } from "../util/timer.ts";

export interface GuardedFetchOptions {
  /**
   * Whether this machine itself may be asked, also over http, by the names `localhost`,
   * `127.x.x.x` and `[::1]`: for development. What other names lead to is refused all the same,
   * and so is a redirect from elsewhere. @default false
   */
  readonly allowLoopback?: boolean | undefined;
  /** How long one fetch may take, with its redirects and its body, in milliseconds. @default 10000 */
  readonly timeoutMs?: number | undefined;
  /** Bytes of a body at most. @default 1048576 */
  readonly maxBytes?: number | undefined;
  /** How often it is led on, where redirects are followed. @default 3 */
  readonly maxRedirects?: number | undefined;
  /** All addresses of a host. @default what the system resolves it to */
  readonly resolve?: ((host: string) => Promise<readonly string[]>) | undefined;
}

/**
 * - `url`: a scheme, credentials or a host that is not fetched at all.
 * - `address`: the host is, or leads to, an address that is not public.
 * - `redirect`: it led on more often than allowed, from https to http, or to another origin with
 *   what is not to be sent there.
 * - `too-large`, `timeout`: more, or for longer, than allowed.
 * - `answer`: compressed, or no HTTP.
 * - `unreachable`: no such host, or nobody answers there.
 */
export type GuardedFetchErrorKind =
  | "url"
  | "address"
  | "redirect"
  | "too-large"
  | "timeout"
  | "answer"
  | "unreachable";

/** Why something was not fetched. */
export class GuardedFetchError extends Error {
  override readonly name = "GuardedFetchError";
  readonly kind: GuardedFetchErrorKind;

  constructor(kind: GuardedFetchErrorKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

/** One step: what is asked, and of which addresses. */
interface Hop {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | Uint8Array | undefined;
}

/**
 * Makes a `fetch` that a server cannot use to reach what only this machine can (SSRF;
 * security_best_practices, 2026-07-28): https alone, to public addresses alone, of which every one
 * that a name has is judged, and only those are connected to; within limits, and with each
 * redirect judged anew. It takes bodies that are texts, `URLSearchParams` or bytes.
 *
 * Redirects are followed as `fetch` does, unless `init.redirect` says otherwise, and lead from https
 * to nothing else. `authorization`, `proxy-authorization`, `dpop` and cookies are sent to no other
 * origin than they were given for, and neither is a body, nor a method other than GET and HEAD: where
 * a redirect asks for that, it is an error. For what is itself a secret (a code, a token) take
 * `redirect: "manual"`, as the requests of this library's clients to authorization servers do: a
 * redirect within the origin would have it sent again.
 *
 * @throws GuardedFetchError
 */
export function guardedFetch(options: GuardedFetchOptions = {}): Fetch {
  const { timeoutMs = 10_000 } = options;
  const guarded: Fetch = async (url, init) => {
    const over = new AbortController();
    const forget = init.signal ? onAbort(init.signal, () => over.abort(init.signal?.reason)) : noop;
    const late = (): void =>
      over.abort(new GuardedFetchError("timeout", `${url.origin} took over ${timeoutMs} ms`));
    const timer = setTimeout(late, timeoutMs);
    letGo(timer);
    try {
      return await follow(firstHop(url, init), init.redirect ?? "follow", options, over.signal);
    } catch (cause) {
      throw over.signal.aborted ? over.signal.reason : cause;
    } finally {
      clearTimeout(timer);
      forget();
    }
  };
  return Object.assign(guarded, { [judgesAddresses]: true });
}

function noop(): void {}

function firstHop(url: URL, { method = "GET", headers, body }: RequestInit): Hop {
  const own = new Headers(headers);
  // The name in it would be the one that a certificate has to be for.
  own.delete("host");
  // What is compressed may be of any length once it is not.
  own.set("accept-encoding", "identity");
  if (body instanceof URLSearchParams && !own.has("content-type")) {
    own.set("content-type", "application/x-www-form-urlencoded;charset=UTF-8");
  }
  return { url, method: method.toUpperCase(), headers: own, body: toBody(body) };
}

function toBody(body: RequestInit["body"]): string | Uint8Array | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === "string" || body instanceof Uint8Array) return body;
  if (body instanceof URLSearchParams) return body.toString();
  throw new TypeError("a body must be a text, URLSearchParams or a Uint8Array");
}

async function follow(
  first: Hop,
  redirect: NonNullable<RequestInit["redirect"]>,
  options: GuardedFetchOptions,
  signal: AbortSignal,
): Promise<Response> {
  const { maxRedirects = 3, maxBytes = 1_048_576 } = options;
  let allowsLocal = options.allowLoopback === true;
  let hop = first;
  for (let led = 0; ; led++) {
    // Once it has been elsewhere, somebody there says where it goes.
    allowsLocal &&= isLocalName(hop.url);
    const addresses = await judge(hop.url, allowsLocal, options, signal);
    const incoming = await exchange(hop, addresses, signal);
    try {
      const next = redirect === "manual" ? undefined : locationOf(incoming, hop.url);
      if (next === undefined) return await read(incoming, hop, maxBytes);
      if (redirect === "error") throw misled(hop, "leads on, which is not to be followed");
      if (led === maxRedirects) throw misled(hop, `leads on more than ${maxRedirects} times`);
      hop = nextHop(hop, next, incoming.statusCode ?? 0);
    } finally {
      // Nothing watches it from here on: left open, the other side alone would end it.
      incoming.destroy();
    }
  }
}

/** In no other spelling: who keeps strangers from the names of this machine would have to know each. */
function isLocalName({ hostname }: URL): boolean {
  if (hostname === "localhost" || hostname === "[::1]") return true;
  return isIPv4(hostname) && reachOf(hostname) === "loopback";
}

function bare(hostname: string): string {
  return hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
}

/** @returns the addresses that may be connected to */
async function judge(
  url: URL,
  allowsLocal: boolean,
  { resolve = resolveAll }: GuardedFetchOptions,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const isLocal = allowsLocal && isLocalName(url);
  const isPlain = url.protocol === "http:" && isLocal;
  if (url.protocol !== "https:" && !isPlain) {
    throw new GuardedFetchError("url", `${url.protocol} is not fetched; only https is`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new GuardedFetchError("url", "a URL with credentials in it is not fetched");
  }
  const host = bare(url.hostname);
  const addresses = isIP(host) ? [host] : await unlessAborted(signal, found(host, resolve));
  // One that is not public beside others that are is how a name is made to change its meaning.
  const wanted = isLocal ? "loopback" : "public";
  if (addresses.length > 0 && addresses.every((address) => reachOf(address) === wanted)) {
    return addresses;
  }
  throw new GuardedFetchError("address", `${url.hostname} is not on the public internet`);
}

async function found(
  host: string,
  resolve: (host: string) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  try {
    return await resolve(host);
  } catch (cause) {
    throw new GuardedFetchError("unreachable", `${host} has no address`, cause);
  }
}

async function resolveAll(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

function exchange(
  { url, method, headers, body }: Hop,
  addresses: readonly string[],
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const request = url.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const outgoing = request(url, {
      method,
      headers: Object.fromEntries(headers),
      // A connection that is kept could lead to where the name led before.
      agent: false,
      lookup: pinned(addresses),
      signal,
      maxHeaderSize: 32_768,
    });
    const noAnswer = (): void =>
      reject(new GuardedFetchError("answer", `${url.origin} gives no answer of HTTP`));
    outgoing.once("response", resolve);
    // Nobody asked for another protocol, and nothing else would end the wait for an answer.
    outgoing.once("upgrade", (_incoming, socket) => {
      socket.destroy();
      noAnswer();
    });
    outgoing.once("close", noAnswer);
    outgoing.on("error", (cause: NodeJS.ErrnoException) => {
      const kind = cause.code?.startsWith("HPE_") ? "answer" : "unreachable";
      reject(new GuardedFetchError(kind, `${url.origin} could not be asked`, cause));
    });
    outgoing.end(body);
  });
}

/** Connects to what was judged, whatever the name leads to by now. */
function pinned(addresses: readonly string[]): NonNullable<RequestOptions["lookup"]> {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, { all: wantsAll }, callback) => {
    if (wantsAll) callback(null, all);
    else callback(null, all[0]?.address ?? "", all[0]?.family);
  };
}

function locationOf({ statusCode = 0, headers }: IncomingMessage, from: URL): URL | undefined {
  const { location } = headers;
  if (![301, 302, 303, 307, 308].includes(statusCode) || location === undefined) return undefined;
  if (URL.canParse(location, from.href)) return new URL(location, from);
  throw new GuardedFetchError("redirect", `${from.origin} leads to what is no URL`);
}

/** What says who asks, which is nobody's business at another origin. */
const personal = ["authorization", "cookie", "dpop", "proxy-authorization"];

/** What describes a body, and goes with it. */
const ofBody = [
  ...["content-type", "content-length"],
  ...["content-encoding", "content-language", "content-location"],
];

/**
 * As browsers do it (Fetch standard, HTTP-redirect fetch), but for what they would send again.
 *
 * @throws GuardedFetchError
 */
function nextHop(hop: Hop, next: URL, status: number): Hop {
  const { url, method, headers, body } = hop;
  if (url.protocol === "https:" && next.protocol !== "https:") {
    throw misled(hop, "leads away from https");
  }
  const own = new Headers(headers);
  const isElsewhere = next.origin !== url.origin;
  if (isElsewhere) for (const name of personal) own.delete(name);
  const becomesGet = status === 303 ? method !== "HEAD" : status < 303 && method === "POST";
  if (becomesGet) {
    for (const name of ofBody) own.delete(name);
    return { url: next, method: "GET", headers: own, body: undefined };
  }
  const isSafe = (method === "GET" || method === "HEAD") && body === undefined;
  if (isElsewhere && !isSafe) {
    const to = excerpt(next.origin);
    throw misled(hop, `leads on to ${to}, where a ${method} is not sent again`);
  }
  return { url: next, method, headers: own, body };
}

function misled({ url }: Hop, how: string): GuardedFetchError {
  return new GuardedFetchError("redirect", `${url.origin} ${how}`);
}

async function read(
  incoming: IncomingMessage,
  { url, method }: Hop,
  maxBytes: number,
): Promise<Response> {
  const { headers, statusCode = 0, rawHeaders } = incoming;
  const encoding = headers["content-encoding"] ?? "identity";
  if (encoding.toLowerCase() !== "identity" || statusCode < 200 || statusCode > 599) {
    throw new GuardedFetchError("answer", `${url.origin} answers compressed, or with no HTTP`);
  }
  const own = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    own.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  }
  // Such answers may announce the length of what they leave out.
  const isEmpty = method === "HEAD" || [204, 205, 304].includes(statusCode);
  const body = isEmpty ? null : await readBody(incoming, url, maxBytes);
  return new Response(body, { status: statusCode, headers: own });
}

async function readBody(
  incoming: IncomingMessage,
  url: URL,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    // What it announces is only a claim, but what it claims to be too much is not read.
    const announced = Number(incoming.headers["content-length"] ?? 0);
    for await (const chunk of announced > maxBytes ? [] : (incoming as AsyncIterable<Buffer>)) {
      length += chunk.byteLength;
      if (length > maxBytes) break;
      chunks.push(chunk);
    }
    length = Math.max(length, announced);
  } catch (cause) {
    throw new GuardedFetchError("unreachable", `${url.origin} broke off its answer`, cause);
  }
  if (length <= maxBytes) return Buffer.concat(chunks);
  throw new GuardedFetchError("too-large", `${url.origin} answers with over ${maxBytes} bytes`);
}
