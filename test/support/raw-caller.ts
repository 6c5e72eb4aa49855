/**
 * A caller of one revision over one bridge. Whatever it sends and receives is held against the
 * schemas of its revision; only what a test spoils on purpose goes out unjudged.
 */
import type { Bridge, HttpAnswer } from "./bridges.ts";
import { headersFor, initializeParams, notification, request } from "./messages.ts";
import { isObject, type JsonObject } from "./schemas.ts";
import { assertClientMessage, assertReply, type RequestOutline, type Revision } from "./wire.ts";

export interface CallerOptions {
  /** Whether a handshake opens a session first. 2026-07-28 has none. @default true */
  readonly session?: boolean | undefined;
  readonly capabilities?: JsonObject | undefined;
}

export interface SendOptions {
  /** Added to those of the revision, or in place of them; `undefined` leaves one out. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>> | undefined;
  /** @default "/mcp" */
  readonly target?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Sent in place of the message's JSON, for text that no value can be written as. */
  readonly text?: string | undefined;
  /** Whose schema the reply is held against. @default the caller's own revision */
  readonly answeredBy?: Revision | undefined;
  /** The id that the reply must echo; `null` where none can be read. @default the message's */
  readonly echoed?: string | number | null | undefined;
}

export interface Exchanged extends HttpAnswer {
  /** What came back, out of JSON or a stream of one event; undefined for an empty body. */
  readonly message: unknown;
  /** The result; throws when the reply is none. */
  readonly result: JsonObject;
  /** The error; throws when the reply is none. */
  readonly error: { readonly code: unknown; readonly message: string; readonly data?: unknown };
}

export interface Caller {
  readonly revision: Revision;
  readonly bridge: Bridge;
  /** The session that its handshake opened. */
  readonly session: string | undefined;
  /** A well-formed request. */
  request(
    method: string,
    params?: JsonObject,
    options?: SendOptions & { readonly id?: string | number },
  ): Promise<Exchanged>;
  /** A well-formed notification. */
  notify(method: string, params?: JsonObject, options?: SendOptions): Promise<Exchanged>;
  /** Anything at all; only the answer is judged. */
  send(message: unknown, options?: SendOptions): Promise<Exchanged>;
}

/** Shakes hands where the revision does, and is ready to ask. */
export async function openCaller(
  bridge: Bridge,
  revision: Revision,
  options: CallerOptions = {},
): Promise<Caller> {
  if (revision === "2026-07-28" || options.session === false) {
    return new RawCaller(bridge, revision, undefined);
  }
  const { session, result } = await shakeHands(bridge, revision, options);
  if (session === undefined) throw new Error("the handshake opened no session");
  if (result["protocolVersion"] !== revision) throw new Error(`not settled on ${revision}`);
  const caller = new RawCaller(bridge, revision, session);
  await caller.notify("notifications/initialized");
  return caller;
}

/** Sends `initialize` alone. */
export async function shakeHands(
  bridge: Bridge,
  revision: Revision,
  { capabilities }: CallerOptions = {},
): Promise<{ readonly session: string | undefined; readonly result: JsonObject }> {
  const params = initializeParams(revision, capabilities && { capabilities });
  const opener = new RawCaller(bridge, revision, undefined);
  const opened = await opener.send(request(revision, "open", "initialize", params), {
    headers: { "mcp-protocol-version": undefined },
  });
  return { session: opened.headers.get("mcp-session-id") ?? undefined, result: opened.result };
}

let lastId = 0;

class RawCaller implements Caller {
  readonly bridge: Bridge;
  readonly revision: Revision;
  readonly session: string | undefined;

  constructor(bridge: Bridge, revision: Revision, session: string | undefined) {
    this.bridge = bridge;
    this.revision = revision;
    this.session = session;
  }

  request(
    method: string,
    params?: JsonObject,
    options: SendOptions & { readonly id?: string | number } = {},
  ): Promise<Exchanged> {
    const message = request(this.revision, options.id ?? ++lastId, method, params);
    assertClientMessage(this.revision, message);
    return this.send(message, options);
  }

  notify(method: string, params?: JsonObject, options?: SendOptions): Promise<Exchanged> {
    const message = notification(method, params);
    return this.send(message, options);
  }

  async send(message: unknown, options: SendOptions = {}): Promise<Exchanged> {
    const answer = await this.bridge.send({
      target: options.target,
      headers: { ...this.#headers(message), ...options.headers },
      body: options.text ?? JSON.stringify(message),
      signal: options.signal,
    });
    const exchanged = toExchanged(answer);
    if (exchanged.message !== undefined) {
      judge(options.answeredBy ?? this.revision, message, exchanged.message, options.echoed);
    }
    return exchanged;
  }

  #headers(message: unknown): Record<string, string> {
    const headers = headersFor(this.revision, message);
    if (this.session !== undefined) headers["mcp-session-id"] = this.session;
    // Outside a session only a header can tell the first revision from the one after it.
    else if (this.revision === "2024-11-05") headers["mcp-protocol-version"] = this.revision;
    return headers;
  }
}

function judge(
  revision: Revision,
  message: unknown,
  reply: unknown,
  echoed: string | number | null | undefined,
): void {
  if (Array.isArray(reply)) {
    const sent = Array.isArray(message) ? message : [];
    for (const one of reply) {
      const id: unknown = isObject(one) ? one["id"] : undefined;
      // A reply among what was sent may have the id of a request beside it.
      const asked: unknown = sent.find(
        (item) => isObject(item) && item["id"] === id && "method" in item,
      );
      assertReply(revision, id === null ? outline(undefined, null) : outline(asked), one);
    }
    return;
  }
  assertReply(revision, outline(message, echoed), reply);
}

function outline(message: unknown, echoed?: string | number | null): RequestOutline {
  const { id, method, params } = isObject(message) ? message : ({} as JsonObject);
  const named = typeof method === "string" ? method : "a message";
  const known = typeof id === "string" || Number.isSafeInteger(id) ? id : undefined;
  const expected = echoed === undefined ? known : (echoed ?? undefined);
  return { method: named, params, ...(expected !== undefined && { id: expected }) };
}

/** Reads an answer's body, whichever of the two forms it has. */
export function toExchanged(answer: HttpAnswer): Exchanged {
  const message = readBody(answer);
  return {
    ...answer,
    message,
    get result(): JsonObject {
      if (isObject(message) && isObject(message["result"])) return message["result"];
      throw new Error(`no result: ${answer.status} ${answer.text}`);
    },
    get error(): Exchanged["error"] {
      const error = isObject(message) ? message["error"] : undefined;
      if (isObject(error) && typeof error["message"] === "string") {
        return { code: error["code"], message: error["message"], data: error["data"] };
      }
      throw new Error(`no error: ${answer.status} ${answer.text}`);
    },
  };
}

function readBody({ headers, text }: HttpAnswer): unknown {
  if (text === "") return undefined;
  const type = headers.get("content-type");
  if (type === "application/json") return JSON.parse(text);
  const event = /^event: message\ndata: ([^\n]*)\n\n$/.exec(text);
  if (type === "text/event-stream" && event !== null) return JSON.parse(event[1] ?? "");
  throw new Error(`neither JSON nor one event (${type}): ${text}`);
}

/** The text of a tool's first block of content. */
export function textOf(exchanged: Exchanged): string {
  const { content } = exchanged.result;
  const first: unknown = Array.isArray(content) ? content[0] : undefined;
  if (isObject(first) && typeof first["text"] === "string") return first["text"];
  throw new Error(`no text: ${exchanged.text}`);
}
