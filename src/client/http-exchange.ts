/**
 * One HTTP exchange, as the transports see it, whatever carries it out. Redirects are
 * followed here and not by a sender, which could take a body or credentials to a stranger.
 */
import type { Awaitable } from "../util/awaitable.ts";
import { ClientError } from "./errors.ts";
import type { CallSignal } from "./transport.ts";

export interface HttpOutgoing {
  readonly method: "POST" | "GET" | "DELETE";
  readonly url: URL;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Ends the exchange at any time, its body included. */
  readonly signal?: CallSignal | undefined;
  /**
   * Whether it does no harm when the server gets it twice. Only then is it sent again when
   * a kept connection turns out to be dead: from here that looks just like a server which
   * died of the request.
   */
  readonly repeatable: boolean;
}

/** What came back. Its body is taken once, by one of the three methods, or holds a socket. */
export interface HttpAnswer {
  readonly status: number;
  /** Where it came from. */
  readonly url: URL;
  /** @param name - in lower case */
  header(name: string): string | undefined;
  /**
   * The whole body as UTF-8.
   *
   * @throws ClientError `too-large`, `interrupted`; the signal's reason
   */
  text(maxBytes: number): Promise<string>;
  /** The body as it comes; throws as `text` does. Leaving it early lets go of the connection. */
  chunks(): AsyncIterable<Uint8Array>;
  /** Lets go of a body that nobody wants; the connection is kept where that costs little. */
  discard(): void;
}

/** Carries out exchanges. Redirects come back as the answers they are. */
export interface HttpSender {
  /**
   * Resolves when status and headers are there.
   *
   * @throws ClientError `unreachable` when nothing was sent, `interrupted` when the server
   *   may have received it, `too-large` for headers without end; the signal's reason
   */
  send(outgoing: HttpOutgoing): Promise<HttpAnswer>;
  /** Ends every exchange under way with this cause; later ones may still be sent. */
  hangUp(cause: ClientError): void;
  /** Hangs up, and lets go of the connections that were kept. */
  close(): void;
  /** How many exchanges are under way, bodies that are still read included. */
  readonly underWay: number;
}

/** Enough for a server that adds a slash and one that moved, and few enough to end. */
const maxRedirects = 3;

/**
 * Follows 307 and 308 within the origin, which repeat the request as it is. Others would
 * make a GET of a POST, or take the body and its credentials elsewhere: they are no answer
 * here, and their target is named so that whoever configured the URL can correct it.
 */
export function exchange(
  sender: HttpSender,
  outgoing: HttpOutgoing,
  anew?: HeadersFor,
): Promise<HttpAnswer> {
  return sender
    .send(outgoing)
    .then((answer) => (isRedirect(answer) ? follow(sender, outgoing, answer, anew) : answer));
}

/** The headers for another URL, where some of them hold for one URL only. */
export type HeadersFor = (url: URL) => Awaitable<HttpOutgoing["headers"]>;

async function follow(
  sender: HttpSender,
  outgoing: HttpOutgoing,
  redirect: HttpAnswer,
  anew: HeadersFor | undefined,
): Promise<HttpAnswer> {
  let answer = redirect;
  for (let hops = 0; isRedirect(answer); hops++) {
    answer.discard();
    const url = redirected(answer, hops);
    const headers = anew === undefined ? outgoing.headers : await anew(url);
    answer = await sender.send({ ...outgoing, url, headers });
  }
  return answer;
}

function isRedirect({ status }: HttpAnswer): boolean {
  return status === 307 || status === 308;
}

function redirected(answer: HttpAnswer, hops: number): URL {
  const { status, url: from } = answer;
  const refuse = (why: string): never => {
    throw new ClientError("http", `HTTP ${status}: ${why}`, { status });
  };
  const location = answer.header("location");
  const to = location === undefined ? undefined : parseUrl(location, from);
  if (to === undefined) return refuse("a redirect to nowhere");
  if (to.origin !== from.origin) {
    return refuse(`redirects to another origin, ${to.origin}, which is not followed`);
  }
  if (hops >= maxRedirects) return refuse(`redirects more than ${maxRedirects} times`);
  to.username = "";
  to.password = "";
  return to;
}

function parseUrl(text: string, base: URL): URL | undefined {
  return URL.canParse(text, base.href) ? new URL(text, base) : undefined;
}

/** What goes wrong before a byte of the request is sent: names, routes, certificates. */
const neverSent =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EPROTO|UND_ERR_CONNECT_TIMEOUT|ERR_INVALID_CHAR|ERR_SSL_\w+|ERR_TLS_\w+|CERT_\w+|DEPTH_ZERO_\w+|SELF_SIGNED_\w+|UNABLE_TO_\w+)$/;
const headersTooLarge = /^(?:HPE_HEADER_OVERFLOW|UND_ERR_HEADERS_OVERFLOW)$/;

/** What a sender could not do, by the code that Node and its fetch give their errors. */
export function toExchangeError(cause: unknown): ClientError {
  if (cause instanceof ClientError) return cause;
  const { code, syscall, message } = describeFailure(cause);
  if (headersTooLarge.test(code)) {
    return new ClientError("too-large", "the headers of an answer are too large", { cause });
  }
  return neverSent.test(code) || syscall === "connect"
    ? new ClientError("unreachable", `the server cannot be reached: ${message}`, { cause })
    : new ClientError("interrupted", `the connection broke: ${message}`, { cause });
}

interface Failing {
  readonly code: string;
  readonly syscall: string;
  readonly message: string;
}

/** fetch wraps what happened in a TypeError that says nothing. */
function describeFailure(error: unknown): Failing {
  const inner = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const { code, syscall, message } = Object(inner) as Record<string, unknown>;
  return {
    code: String(code ?? ""),
    syscall: String(syscall ?? ""),
    message: String(message || code || inner).slice(0, 200),
  };
}

export function tooLarge(maxBytes: number): ClientError {
  return new ClientError("too-large", `an answer is larger than ${maxBytes} bytes`);
}

/** How much of a body that nobody wants is read through, and how long, to keep its connection. */
export const swallowBytes = 65_536;
export const swallowMs = 1_000;
