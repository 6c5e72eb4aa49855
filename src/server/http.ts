/** HTTP as the endpoint sees it: what both bridges can give and take without conversion. */

import type { Principal } from "../core/access.ts";
import type { FailureKind } from "../core/outcome.ts";
import type { HeaderLookup } from "../revisions/preamble.ts";
import { encodeEvent } from "../sse/encode.ts";
import type { Awaitable } from "../util/awaitable.ts";
import type { EventStream } from "./event-stream.ts";

export interface HttpRequest {
  readonly method: string;
  /** The request target as it came: a path with its query, for a request to an origin. */
  readonly target: string;
  /** The `Host` header, or the authority of the URL; undefined when it is missing or doubled. */
  readonly host: string | undefined;
  readonly headers: HeaderLookup;
  /** The address that the connection comes from, where the bridge knows it: a proxy's, behind one. */
  readonly address?: string | undefined;
  /** Whom a framework's own middleware found out; an endpoint without `auth` does not take one. */
  readonly principal?: Principal | undefined;
  /** The bytes of the body, counted as they come; the rest of a longer one is not read. */
  body(maxBytes: number): Awaitable<Uint8Array | "too-large">;
  /** Calls back once if the caller is gone before the reply is whole. */
  onDisconnect(callback: () => void): void;
}

export interface HttpReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The whole body; undefined where there is none, or where it is a stream. */
  readonly body: string | undefined;
  /** Why it is a refusal, where that is still to be told to whoever watches. */
  readonly refused?: FailureKind | undefined;
  /** A body that goes on. */
  readonly stream?: EventStream | undefined;
}

const jsonType = "application/json";
const noHeaders: Readonly<Record<string, string>> = Object.freeze({});
const jsonHeaders: Readonly<Record<string, string>> = Object.freeze({ "content-type": jsonType });

export function jsonReply(
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = noHeaders,
): HttpReply {
  return {
    status,
    headers: headers === noHeaders ? jsonHeaders : { "content-type": jsonType, ...headers },
    body,
  };
}

export function emptyReply(
  status: number,
  headers: Readonly<Record<string, string>> = noHeaders,
): HttpReply {
  return { status, headers, body: undefined };
}

export function withHeaders(reply: HttpReply, more: Readonly<Record<string, string>>): HttpReply {
  return { ...reply, headers: { ...reply.headers, ...more } };
}

const streamHeaders: Readonly<Record<string, string>> = Object.freeze({
  "content-type": "text/event-stream",
  // Whoever compresses or buffers holds events back until there are enough of them.
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
});

export function streamReply(stream: EventStream): HttpReply {
  return { status: 200, headers: streamHeaders, body: undefined, stream };
}

/** The same answer as a stream of one event, for a caller that takes nothing else. */
export function asEventStream(reply: HttpReply): HttpReply {
  return {
    status: reply.status,
    headers: { ...reply.headers, ...streamHeaders },
    body: encodeEvent({ event: "message", data: reply.body ?? "" }),
  };
}
