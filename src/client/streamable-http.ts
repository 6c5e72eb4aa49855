/**
 * Streamable HTTP, for the revisions with a handshake and without: each request is a POST of
 * its own, answered by one JSON body or by a stream (basic/transports, 2025-03-26 and later).
 */
import type { Network } from "../core/telemetry.ts";
import type { RequestId, RpcReply } from "../jsonrpc/message.ts";
import type { WrittenRequest } from "../revisions/client-half.ts";
import { versionHeader } from "../revisions/preamble.ts";
import { Ending } from "../util/ending.ts";
import type { JsonObject } from "../util/json.ts";
import { ClientError, clientClosed } from "./errors.ts";
import { excerpt } from "./excerpt.ts";
import { followStream } from "./follow-stream.ts";
import type { HttpAnswer, HttpSender } from "./http-exchange.ts";
import {
  findRefusal,
  isEventStream,
  isSessionLost,
  mediaType,
  sessionLost,
  toHttpError,
} from "./http-failure.ts";
import {
  createPosition,
  type Going,
  HttpWay,
  type HttpWayOptions,
  type Position,
} from "./http-way.ts";
import { networkOf } from "./network.ts";
import { sortMessages } from "./read-messages.ts";
import { resumeReply } from "./resume-reply.ts";
import { StreamReader } from "./stream-reader.ts";
import type {
  CallSignal,
  FollowOptions,
  Incoming,
  Received,
  Transport,
  Travel,
} from "./transport.ts";

export interface StreamableHttpOptions extends HttpWayOptions {
  /** How long closing waits for the server to end the session, in milliseconds. @default 1000 */
  readonly closeTimeoutMs?: number | undefined;
  /** How often in a row a broken stream may fail to be resumed. @default 5 */
  readonly resumeAttempts?: number | undefined;
  /**
   * Milliseconds spent waiting to resume one call's stream while it brings nothing new; a
   * server that asks for more with `retry` is not waited for. @default 300000
   */
  readonly resumeWithinMs?: number | undefined;
}

const sessionHeader = "mcp-session-id";
const ofPosts = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};
const ofStreams = { accept: "text/event-stream" };
const none = {};

/** Visible ASCII (basic/transports, Session Management, 2025-11-25). */
const sessionSyntax = /^[\x21-\x7e]+$/;

/** Methods without an effect that is worse for happening twice. `tools/call` is none. */
const repeatable: ReadonlySet<unknown> = new Set([
  "initialize",
  "ping",
  "server/discover",
  "tools/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "resources/subscribe",
  "resources/unsubscribe",
  "prompts/list",
  "prompts/get",
  "completion/complete",
  "logging/setLevel",
  "subscriptions/listen",
]);

/** One request, however many connections its reply takes. */
interface Asking {
  readonly id: RequestId;
  readonly isHandshake: boolean;
  readonly session: string | undefined;
  readonly version: string | undefined;
  readonly travel: Travel;
  readonly position: Position;
}

/**
 * `Incoming.closed` is never called: there is nothing that could be gone but single
 * exchanges, and each of them says so itself.
 */
export class StreamableHttp implements Transport {
  readonly kind = "stream-per-request";
  readonly network: Network;
  readonly #options: StreamableHttpOptions;
  readonly #ending: Ending = new Ending();
  readonly #way: HttpWay;
  readonly #reader: StreamReader;
  #session: string | undefined;
  /** The version header that went out last: ending the session takes it too. */
  #version: string | undefined;
  #closed: Promise<void> | undefined;

  /** @param sender - is closed with the transport */
  constructor(url: string | URL, sender: HttpSender, options: StreamableHttpOptions = {}) {
    this.network = networkOf(url);
    this.#options = options;
    this.#way = new HttpWay(url, sender, options, this.#ending);
    this.#reader = new StreamReader(this.#way);
  }

  get session(): string | undefined {
    return this.#session;
  }

  forgetSession(): void {
    this.#session = undefined;
  }

  start(incoming: Incoming): Promise<void> {
    this.#reader.incoming = incoming;
    return Promise.resolve();
  }

  async request({ message, headers }: WrittenRequest, travel: Travel): Promise<Received> {
    const isHandshake = message["method"] === "initialize";
    const asking: Asking = {
      id: message["id"] as RequestId, // Whoever wrote the request gave it one.
      isHandshake,
      // A handshake opens a session, and does not continue one.
      session: isHandshake ? undefined : this.#session,
      version: headers[versionHeader],
      travel,
      position: createPosition(),
    };
    const answer = await this.#post(message, headers, asking.session, travel.signal);
    if (isEventStream(answer) && answer.status < 300) return this.#stream(answer, asking);
    return this.#body(answer, asking);
  }

  async send(
    message: JsonObject,
    headers: Readonly<Record<string, string>>,
    signal: CallSignal,
  ): Promise<void> {
    const session = this.#session;
    const answer = await this.#post(message, headers, session, signal);
    if (answer.status >= 200 && answer.status < 300) {
      answer.discard();
      return;
    }
    const read = await this.#way.read(answer);
    const refusal = findRefusal(read);
    if (refusal !== undefined) throw refusal;
    if (session !== undefined && isSessionLost(read)) throw sessionLost(answer.status);
    throw toHttpError(read);
  }

  #post(
    message: JsonObject,
    headers: Readonly<Record<string, string>>,
    session: string | undefined,
    signal: CallSignal,
  ): Promise<HttpAnswer> {
    const method = message["method"];
    return this.#go({
      method: "POST",
      headers,
      common: ofPosts,
      place: session === undefined ? undefined : { [sessionHeader]: session },
      body: JSON.stringify(message),
      signal,
      repeatable: !("id" in message) || method === undefined || repeatable.has(method),
    });
  }

  #go(going: Going): Promise<HttpAnswer> {
    if (this.#closed !== undefined) throw clientClosed();
    this.#version = going.headers[versionHeader] ?? this.#version;
    return this.#way.send(going);
  }

  async #body(answer: HttpAnswer, asking: Asking): Promise<Received> {
    const { status } = answer;
    const read = await this.#way.read(answer);
    const refusal = findRefusal(read);
    if (refusal !== undefined) throw refusal;
    if (asking.session !== undefined && isSessionLost(read, asking.id)) throw sessionLost(status);
    const reply =
      read.messages === undefined
        ? undefined
        : sortMessages(read.messages, asking.id, this.#reader.incoming);
    if (reply !== undefined) {
      this.#settle(reply, answer, asking);
      return { reply, status };
    }
    if (status < 200 || status >= 300 || read.text === "") throw toHttpError(read);
    if (read.messages === undefined && mediaType(answer) !== "application/json") {
      throw toHttpError(read);
    }
    throw new ClientError("invalid-answer", `no reply to the request: ${excerpt(read.text)}`);
  }

  /** A handshake that succeeded says which session it opened, and nothing else may. */
  #settle(reply: RpcReply, answer: HttpAnswer, { isHandshake }: Asking): void {
    if (!isHandshake || reply.result === undefined) return;
    const session = answer.header(sessionHeader);
    if (session !== undefined && !sessionSyntax.test(session)) {
      throw new ClientError("invalid-answer", "the session's id is not visible ASCII");
    }
    this.#session = session;
  }

  async #stream(answer: HttpAnswer, asking: Asking): Promise<Received> {
    const { position, id, isHandshake } = asking;
    // A handshake that is resumed belongs to the session that it is about to open.
    const session = isHandshake ? answer.header(sessionHeader) : asking.session;
    const reply =
      (await this.#reader.readReply(answer, position, id)) ??
      (await this.#resume({ ...asking, session }));
    this.#settle(reply, answer, asking);
    return { reply, status: undefined };
  }

  #resume(asking: Asking): Promise<RpcReply> {
    const { travel, position, session, version } = asking;
    const { signal } = travel;
    return resumeReply({
      position,
      signal,
      ending: this.#ending,
      resumption: travel.resumption,
      attempts: this.#options.resumeAttempts ?? 5,
      withinMs: this.#options.resumeWithinMs ?? 300_000,
      open: (from) => this.#open(version, session, from, signal),
      read: (answer) => this.#reader.readReply(answer, position, asking.id),
    });
  }

  /** A stream, or why there is none. @throws the signal's reason, `unauthorized`, `closed` */
  async #open(
    version: string | undefined,
    session: string | undefined,
    from: string | undefined,
    signal: CallSignal,
  ): Promise<HttpAnswer | ClientError> {
    const place: Record<string, string> = {};
    if (session !== undefined) place[sessionHeader] = session;
    if (from !== undefined) place["last-event-id"] = from;
    try {
      const answer = await this.#go({
        method: "GET",
        headers: withVersion(version),
        common: ofStreams,
        place,
        signal,
        repeatable: true,
      });
      if (answer.status === 200 && isEventStream(answer)) return answer;
      const read = await this.#way.read(answer);
      const lost = session !== undefined && isSessionLost(read);
      return lost ? sessionLost(answer.status) : (findRefusal(read) ?? toHttpError(read));
    } catch (cause) {
      if (cause instanceof ClientError && !isOver(cause, signal)) return cause;
      throw cause;
    }
  }

  async follow({ headers, signal, resumption, onOpen }: FollowOptions): Promise<void> {
    const session = this.#session;
    try {
      const why = await followStream({
        signal,
        ending: this.#ending,
        resumption,
        attempts: this.#options.resumeAttempts ?? 5,
        open: (from) => this.#open(headers[versionHeader], session, from, signal),
        onOpen: onOpen ?? (() => undefined),
        read: (answer, position) => this.#reader.hear(answer, position),
      });
      if (why.status === 405) return;
      this.#reader.incoming.warn(`the server offers no stream of its own: ${why.message}`);
    } catch (cause) {
      // Whoever closes or aborts wants it to end.
      if (!signal.aborted && this.#closed === undefined) throw cause;
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#end();
    return this.#closed;
  }

  async #end(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    this.#ending.end();
    this.#way.sender.hangUp(clientClosed());
    if (session !== undefined) await this.#endSession(session);
    this.#way.sender.close();
  }

  /** A courtesy: a server may not offer it (405), and forgets the session anyway at some time. */
  async #endSession(session: string): Promise<void> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), this.#options.closeTimeoutMs ?? 1_000);
    try {
      const answer = await this.#way.send({
        method: "DELETE",
        headers: withVersion(this.#version),
        common: none,
        place: { [sessionHeader]: session },
        signal: late.signal,
        repeatable: true,
      });
      answer.discard();
    } catch {
      // There is nobody left who could do something about it.
    } finally {
      clearTimeout(timer);
    }
  }
}

function withVersion(version: string | undefined): Readonly<Record<string, string>> {
  return version === undefined ? none : { [versionHeader]: version };
}

/** Nobody waits for it any more. */
function isOver({ kind }: ClientError, signal: CallSignal): boolean {
  return signal.aborted || kind === "closed";
}
