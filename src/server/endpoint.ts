/** One URL that serves every revision: guard, read, select, answer. */

import { type Failure, failure } from "../core/outcome.ts";
import type { Server } from "../core/server.ts";
import { type RequestId, readMessage } from "../jsonrpc/message.ts";
import { findFault } from "../jsonrpc/scan.ts";
import type { Adapter } from "../revisions/adapter.ts";
import type { AdapterSet } from "../revisions/adapter-set.ts";
import { type Preamble, readPreamble, sessionHeader } from "../revisions/preamble.ts";
import {
  decideStated,
  decideUnstated,
  decideVersion,
  type Selection,
} from "../revisions/selection.ts";
import type { EventHub } from "../stores/event-hub.ts";
import type { SessionRecord } from "../stores/session-store.ts";
import { type Awaitable, after, isPromise } from "../util/awaitable.ts";
import { Ending } from "../util/ending.ts";
import { isObject } from "../util/json.ts";
import { type Answer, type Answerer, answer, type Place, refuse, refuseBroken } from "./answer.ts";
import { assemble, Binder, toAdapterSet } from "./answerer.ts";
import { answerBatch } from "./batch.ts";
import { CallOutlet, takesStream, toReply } from "./call-outlet.ts";
import { allowOrigin, preflight } from "./cors.ts";
import { defaultKeepAliveMs } from "./event-stream.ts";
import { serveFetch } from "./fetch.ts";
import { Guard, type GuardOptions } from "./guard.ts";
import { emptyReply, type HttpReply, type HttpRequest, jsonReply, streamReply } from "./http.ts";
import { compareWorkers, openKept, type StoreOptions } from "./kept.ts";
import type { Readiness, ReadyState } from "./readiness.ts";
import { endSessionStreams, openSessionStream } from "./session-stream.ts";
import type { Sessions } from "./sessions.ts";

export interface EndpointOptions extends GuardOptions, StoreOptions {
  /** The revisions served: dates, or a set with adapters of your own. @default all five */
  readonly revisions?: AdapterSet | readonly string[] | undefined;
  /**
   * Whether `initialize` opens a session. Without, no id is ever given out, one that
   * arrives is ignored, and any worker serves any request. @default true
   */
  readonly sessions?: boolean | undefined;
  /** Whether arrays of messages are served where the revision has them. @default true */
  readonly batch?: boolean | undefined;
  /** Levels of nesting in a message at most; deeper is refused. @default 64 */
  readonly maxDepth?: number | undefined;
  /**
   * How long a caller that takes a stream hears nothing at most, in milliseconds: proxies
   * cut off what is silent for longer, often after 60 seconds. @default 20000
   */
  readonly keepAliveMs?: number | undefined;
  /** The one path that is served; others are answered 404. @default every path */
  readonly path?: string | undefined;
  /** Hears which revision each message was taken to be written in, and why. */
  readonly onSelection?: ((selection: Selection, method: string | undefined) => void) | undefined;
}

/** What answers at one URL. */
export interface Endpoint {
  /** For runtimes and frameworks that speak the Fetch standard. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** For bridges: one neutral request to one neutral reply. Never rejects. */
  readonly handle: (request: HttpRequest) => Awaitable<HttpReply>;
  /** Whether it should be sent requests: not while it closes, or while its store is away. */
  readonly state: () => Promise<ReadyState>;
  /**
   * Ends what listens, gracefully, and stops hearing of changes. Calls in flight go on, and so
   * do their questions and cancels; new ones are refused, to be sent elsewhere.
   */
  readonly close: () => void;
  /** Resolves when every call is finished, and what it told and changed has been passed on. */
  readonly settled: () => Promise<void>;
}

const maxHandshakeBytes = 65_536;

/** Serves a server at one URL. It may be called from any number of bridges. */
export function createEndpoint(server: Server, options: EndpointOptions = {}): Endpoint {
  const endpoint = new HttpEndpoint(server, options);
  return {
    fetch: (request) => serveFetch(endpoint, request),
    handle: (request) => endpoint.handle(request),
    state: () => endpoint.state(),
    close: () => endpoint.close(),
    settled: () => endpoint.settled(),
  };
}

class HttpEndpoint {
  readonly #guard: Guard;
  readonly #adapters: AdapterSet;
  readonly #answerer: Answerer;
  readonly #hub: EventHub;
  readonly #binder: Binder;
  readonly #closing: Ending = new Ending();
  readonly #readiness: Readiness;
  readonly #options: EndpointOptions;
  readonly #maxDepth: number;
  readonly #keepAliveMs: number;
  readonly #methods: string;

  constructor(server: Server, options: EndpointOptions) {
    this.#guard = new Guard(options);
    this.#adapters = toAdapterSet(options.revisions);
    this.#binder = new Binder(server, this.#adapters);
    const keepsSessions = options.sessions !== false && this.#adapters.handshakes.length > 0;
    const { supported } = this.#adapters;
    const kept = openKept(server, options, this.#closing);
    this.#readiness = kept.readiness;
    compareWorkers(server, kept, { supported, keepsSessions }, this.#closing);
    const { answerer, hub } = assemble(server, this.#adapters, {
      ...kept,
      sessions: keepsSessions ? kept.keeping.sessions : undefined,
      closing: this.#closing,
    });
    this.#answerer = answerer;
    this.#hub = hub;
    this.#options = options;
    this.#maxDepth = options.maxDepth ?? 64;
    this.#keepAliveMs = options.keepAliveMs ?? defaultKeepAliveMs;
    this.#methods = keepsSessions ? "POST, GET, DELETE" : "POST";
  }

  state(): Promise<ReadyState> {
    return this.#readiness.state();
  }

  close(): void {
    this.#closing.end();
  }

  async settled(): Promise<void> {
    const { inFlight, feed } = this.#answerer;
    for (let idle = inFlight.idle(); idle !== undefined; idle = inFlight.idle()) await idle;
    await feed.told();
  }

  handle(request: HttpRequest): Awaitable<HttpReply> {
    const broken = (cause: unknown): HttpReply =>
      allowOrigin(request, this.#broken(cause, request));
    try {
      const reply = this.#serve(request);
      return isPromise(reply) ? reply.catch(broken) : reply;
    } catch (cause) {
      return broken(cause);
    }
  }

  readonly #onHubFault = (cause: unknown): void => {
    this.#answerer.service.log({ level: "error", message: "the event hub failed", cause });
  };

  /** No input leads here: only a store that fails, or a fault of ours. */
  #broken(cause: unknown, request: HttpRequest, id?: RequestId): HttpReply {
    const { log } = this.#answerer.service;
    return toReply(refuseBroken(cause, id, this.#adapters.newest, log), request);
  }

  #serve(request: HttpRequest): Awaitable<HttpReply> {
    const refused = this.#guard.check(request);
    if (refused !== undefined) return this.#refuse(refused);
    const { path } = this.#options;
    if (path !== undefined && pathOf(request.target) !== path) {
      return this.#refuse(failure("not-found", `nothing is served here; the endpoint is ${path}`));
    }
    return after(this.#route(request), (reply) => allowOrigin(request, reply));
  }

  #route(request: HttpRequest): Awaitable<HttpReply> {
    switch (request.method) {
      case "POST":
        return this.#post(request);
      case "GET":
      case "DELETE":
        return this.#useSession(request, request.method);
      case "OPTIONS":
        return preflight(request, this.#methods) ?? this.#methodNotAllowed(request.method);
      default:
        return this.#methodNotAllowed(request.method);
    }
  }

  #post(request: HttpRequest): Awaitable<HttpReply> {
    const refused = this.#guard.checkPost(request);
    if (refused !== undefined) return this.#refuse(refused);
    return after(request.body(this.#guard.maxBodyBytes), (body) =>
      body === "too-large" ? this.#refuse(this.#guard.tooLarge()) : this.#read(body, request),
    );
  }

  #read(body: Uint8Array, request: HttpRequest): Awaitable<HttpReply> {
    const preamble = readPreamble(body, request.headers, queryOf(request.target));
    // From here on whoever waits for an answer can be told by its id that there is none.
    const broken = (cause: unknown): HttpReply => this.#broken(cause, request, readId(preamble));
    try {
      const reply = this.#decide(preamble, request);
      return isPromise(reply) ? reply.catch(broken) : reply;
    } catch (cause) {
      return broken(cause);
    }
  }

  #decide(preamble: Preamble, request: HttpRequest): Awaitable<HttpReply> {
    const stated = decideStated(preamble, this.#adapters);
    if (stated?.kind === "failure") {
      return toReply(refuse(stated, readId(preamble), this.#adapters.newest), request);
    }
    const { sessions } = this.#answerer;
    const id = stated?.adapter.era === "modern" ? undefined : request.headers(sessionHeader);
    if (id === undefined || sessions === undefined) {
      return this.#select(preamble, request, stated, undefined);
    }
    return after(sessions.find(id.trim()), (session) =>
      this.#select(preamble, request, stated, session ?? "unknown"),
    );
  }

  #select(
    preamble: Preamble,
    request: HttpRequest,
    stated: Selection | undefined,
    session: SessionRecord | "unknown" | undefined,
  ): Awaitable<HttpReply> {
    const live = session === "unknown" ? undefined : session;
    const selection = stated ?? decideUnstated(preamble, this.#adapters, live?.revision);
    this.#options.onSelection?.(selection, preamble.method);
    const { adapter } = selection;
    const refused = this.#findFault(preamble, selection, session === "unknown");
    if (refused !== undefined) return toReply(refused, request);
    const kept = adapter.era === "handshake" ? live : undefined;
    const outlet = new CallOutlet({
      request,
      adapter,
      session: kept,
      hub: this.#hub,
      keepAliveMs: this.#keepAliveMs,
      // The id of the session that it opens is a header.
      headersWait: preamble.method === "initialize",
      onFault: this.#onHubFault,
      onEnding: (ending) => void this.#answerer.inFlight.count(ending),
    });
    const answered = this.#run(preamble, {
      adapter,
      binding: this.#binder.bind(preamble, selection, true),
      session: kept,
      caller: kept?.id,
      onDisconnect: (callback) => request.onDisconnect(callback),
      outlet: outlet.factory,
    });
    return outlet.reply(answered);
  }

  #findFault(
    preamble: Preamble,
    { adapter, reason }: Selection,
    sessionUnknown: boolean,
  ): Answer | undefined {
    if (reason === "unparseable") {
      return refuse(failure("parse-error", "the body is not JSON in UTF-8"), undefined, adapter);
    }
    if (sessionUnknown && adapter.era === "handshake") {
      return refuse(unknownSession, readId(preamble), adapter);
    }
    const fault = findFault(preamble.text ?? "", this.#maxDepth);
    if (fault === undefined) return undefined;
    return refuse(failure("invalid-request", fault.message), undefined, adapter);
  }

  #run(preamble: Preamble, place: Place): Awaitable<Answer> {
    if (Array.isArray(preamble.json)) {
      if (place.adapter.arrays === "batch" && this.#options.batch !== false) {
        return answerBatch(preamble.json, place, this.#answerer);
      }
      return refuse(
        failure("invalid-request", "send one message at a time"),
        undefined,
        place.adapter,
      );
    }
    if (preamble.method === "initialize" && preamble.raw.byteLength > maxHandshakeBytes) {
      // What a handshake says is kept with the session, so it may not be of any size.
      const why = `initialize must fit in ${maxHandshakeBytes} bytes`;
      return refuse(failure("invalid-params", why), readId(preamble), place.adapter);
    }
    return answer(readMessage(preamble.json), place, this.#answerer);
  }

  /** GET opens the notification stream of a live session, DELETE ends the session. */
  #useSession(request: HttpRequest, method: "GET" | "DELETE"): Awaitable<HttpReply> {
    const { sessions } = this.#answerer;
    if (sessions === undefined) return this.#methodNotAllowed(method);
    const preamble = readPreamble(new Uint8Array(), request.headers, queryOf(request.target));
    const stated = decideVersion(preamble, this.#adapters);
    if (stated?.kind === "failure") return this.#refuse(stated);
    if (stated?.adapter.era === "modern") return this.#methodNotAllowed(method);
    const id = request.headers(sessionHeader)?.trim();
    const adapter = stated?.adapter ?? this.#adapters.newest;
    if (id === undefined) {
      return this.#refuse(failure("missing-session", `${method} needs Mcp-Session-Id`), adapter);
    }
    return after(sessions.find(id), (session) => {
      if (session === undefined) return this.#refuse(unknownSession, adapter);
      if (method === "DELETE") return this.#end(session.id, sessions);
      const speaks = stated?.adapter ?? this.#adapters.find(session.revision) ?? adapter;
      return this.#openStream(request, session, sessions, speaks);
    });
  }

  #end(id: string, sessions: Sessions): Awaitable<HttpReply> {
    return after(sessions.end(id), async () => {
      // Side by side: a hub that is away is waited for once. The session has ended either way.
      const told = await Promise.allSettled([
        (async () => this.#answerer.inFlight.cancelAllOf(id, "the session ended"))(),
        (async () => endSessionStreams(this.#hub, id))(),
      ]);
      for (const one of told) if (one.status === "rejected") this.#onHubFault(one.reason);
      return emptyReply(204);
    });
  }

  async #openStream(
    request: HttpRequest,
    session: SessionRecord,
    sessions: Sessions,
    adapter: Adapter,
  ): Promise<HttpReply> {
    if (!takesStream(request)) return this.#methodNotAllowed("GET without an event stream");
    const stream = await openSessionStream({
      hub: this.#hub,
      feed: this.#answerer.feed,
      sessions,
      session,
      adapter,
      lastEventId: request.headers("last-event-id"),
      closing: this.#closing,
      keepAliveMs: this.#keepAliveMs,
      onFault: this.#onHubFault,
    });
    if (stream !== undefined) return streamReply(stream);
    const why = "Last-Event-ID names no event that can be gone on from; open the stream without it";
    return this.#refuse(failure("invalid-request", why), adapter);
  }

  #methodNotAllowed(method: string): HttpReply {
    const why = `${method.slice(0, 40)} is not served here; POST JSON-RPC messages to this URL`;
    const reply = this.#refuse(failure("method-not-allowed", why));
    return { ...reply, headers: { ...reply.headers, allow: this.#methods } };
  }

  #refuse(refused: Failure, adapter: Adapter = this.#adapters.newest): HttpReply {
    const { status, text } = refuse(refused, undefined, adapter);
    return jsonReply(status, text ?? "");
  }
}

const unknownSession: Failure = failure(
  "unknown-session",
  "this session is unknown or has ended; send initialize without Mcp-Session-Id to open one",
);

function pathOf(target: string): string {
  const end = target.indexOf("?");
  return end < 0 ? target : target.slice(0, end);
}

function queryOf(target: string): string {
  const start = target.indexOf("?");
  return start < 0 ? "" : target.slice(start + 1);
}

function readId({ json }: Preamble): RequestId | undefined {
  if (!isObject(json)) return undefined;
  const message = readMessage(json);
  return message.kind === "request" ? message.id : undefined;
}
