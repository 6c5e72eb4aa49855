/** One URL that serves every revision: guard, read, select, answer. */

import { type Access, anyone } from "../core/access.ts";
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
import { tellingRefusals } from "./access-log.ts";
import { type Answer, type Answerer, answer, type Place, refuse, refuseBroken } from "./answer.ts";
import { assemble, Binder, toAdapterSet } from "./answerer.ts";
import { answerBatch } from "./batch.ts";
import { CallOutlet, takesStream, toJsonReply, toReply } from "./call-outlet.ts";
import { allowOrigin, preflight } from "./cors.ts";
import type { Endpoint, EndpointOptions } from "./endpoint-options.ts";
import { type Entrance, entranceOf, takenByAuth } from "./entrance.ts";
import { defaultKeepAliveMs } from "./event-stream.ts";
import { serveFetch } from "./fetch.ts";
import { Guard } from "./guard.ts";
import { emptyReply, type HttpReply, type HttpRequest, streamReply } from "./http.ts";
import { compareWorkers, openKept } from "./kept.ts";
import { Load } from "./load.ts";
import type { Readiness, ReadyState } from "./readiness.ts";
import { fromOf, pathOf, queryOf, readId } from "./request-parts.ts";
import {
  endSessionStreams,
  openSessionStream,
  type SessionStreamOptions,
} from "./session-stream.ts";
import type { Sessions } from "./sessions.ts";

export type { Endpoint, EndpointOptions };

const maxHandshakeBytes = 65_536;

/** Serves a server at one URL. It may be called from any number of bridges. */
export function createEndpoint(server: Server, options: EndpointOptions = {}): Endpoint {
  const endpoint = new HttpEndpoint(server, options);
  const bridged = tellingRefusals(endpoint, server.logger);
  return {
    fetch: (request) => serveFetch(bridged, request),
    fetchAs: (principal, request) => serveFetch(bridged, request, principal),
    handle: (request) => bridged.handle(request),
    metadataPath: endpoint.metadataPath,
    state: () => endpoint.state(),
    close: () => endpoint.close(),
    settled: () => endpoint.settled(),
  };
}

class HttpEndpoint {
  readonly #guard: Guard;
  readonly #entrance: Entrance | undefined;
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
      load: new Load(options),
      rateLimits: options.rateLimits,
      authenticates: options.auth !== undefined,
      telemetry: options.telemetry,
      network: { transport: "tcp", protocol: "http" },
    });
    this.#entrance = entranceOf(options, server, this.#adapters.newest);
    this.#answerer = answerer;
    this.#hub = hub;
    this.#options = options;
    this.#maxDepth = options.maxDepth ?? 64;
    this.#keepAliveMs = options.keepAliveMs ?? defaultKeepAliveMs;
    this.#methods = keepsSessions ? "POST, GET, DELETE" : "POST";
  }

  get metadataPath(): string | undefined {
    return this.#entrance?.metadataTarget;
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
    const allowed = (reply: HttpReply): HttpReply => allowOrigin(request, reply);
    const broken = (cause: unknown): HttpReply => allowed(this.#broken(cause, request));
    try {
      const turnedAway = this.#turnAway(request);
      if (turnedAway !== undefined) return turnedAway;
      const reply = this.#entrance?.document(request) ?? this.#serve(request);
      return isPromise(reply) ? reply.then(allowed, broken) : allowed(reply);
    } catch (cause) {
      return broken(cause);
    }
  }

  readonly #onHubFault = (cause: unknown): void => {
    this.#answerer.service.log({ level: "error", message: "the event hub failed", cause });
  };

  readonly #onEnding = (ending: Promise<unknown>): void => {
    void this.#answerer.inFlight.count(ending);
  };

  /** No input leads here: only a store that fails, or a fault of ours. */
  #broken(cause: unknown, request: HttpRequest, id?: RequestId): HttpReply {
    const { log } = this.#answerer.service;
    return toReply(refuseBroken(cause, id, this.#adapters.newest, log), request);
  }

  /** Whoever is not let in may not read why either, from a page of its own. */
  #turnAway(request: HttpRequest): HttpReply | undefined {
    const refused = this.#guard.check(request);
    return refused && this.#refuse(refused);
  }

  #serve(request: HttpRequest): Awaitable<HttpReply> {
    const { path } = this.#options;
    if (path === undefined || pathOf(request.target) === path) return this.#admit(request);
    const why = this.#entrance
      ? "nothing is served here"
      : `nothing is served here; the endpoint is ${path}`;
    return this.#refuse(failure("not-found", why));
  }

  #admit(request: HttpRequest): Awaitable<HttpReply> {
    const entrance = this.#entrance;
    if (entrance === undefined) {
      if (request.principal !== undefined) throw new Error(takenByAuth);
      return this.#route(request, anyone);
    }
    // Browsers ask first, and never show who they ask for (Fetch standard, CORS-preflight).
    const allowed = request.method === "OPTIONS" ? preflight(request, this.#methods) : undefined;
    return (
      allowed ??
      after(entrance.admit(request), (admitted) =>
        "status" in admitted ? admitted : this.#route(request, admitted),
      )
    );
  }

  #route(request: HttpRequest, access: Access): Awaitable<HttpReply> {
    switch (request.method) {
      case "POST":
        return this.#post(request, access);
      case "GET":
      case "DELETE":
        return this.#useSession(request, request.method, access);
      case "OPTIONS":
        return preflight(request, this.#methods) ?? this.#methodNotAllowed(request.method);
      default:
        return this.#methodNotAllowed(request.method);
    }
  }

  #post(request: HttpRequest, access: Access): Awaitable<HttpReply> {
    const refused = this.#guard.checkPost(request);
    if (refused !== undefined) return this.#refuse(refused);
    return after(request.body(this.#guard.maxBodyBytes), (body) =>
      body === "too-large"
        ? this.#refuse(this.#guard.tooLarge())
        : this.#read(body, request, access),
    );
  }

  #read(body: Uint8Array, request: HttpRequest, access: Access): Awaitable<HttpReply> {
    const preamble = readPreamble(body, request.headers, queryOf(request.target));
    // From here on whoever waits for an answer can be told by its id that there is none.
    const broken = (cause: unknown): HttpReply => this.#broken(cause, request, readId(preamble));
    try {
      const reply = this.#decide(preamble, request, access);
      return isPromise(reply) ? reply.catch(broken) : reply;
    } catch (cause) {
      return broken(cause);
    }
  }

  #decide(preamble: Preamble, request: HttpRequest, access: Access): Awaitable<HttpReply> {
    const stated = decideStated(preamble, this.#adapters);
    if (stated?.kind === "failure") {
      return toReply(refuse(stated, readId(preamble), this.#adapters.newest), request);
    }
    const { sessions } = this.#answerer;
    const id = stated?.adapter.era === "modern" ? undefined : request.headers(sessionHeader);
    if (id === undefined || sessions === undefined) {
      return this.#select(preamble, request, access, stated, undefined);
    }
    return after(sessions.find(id.trim(), access.owner), (session) =>
      this.#select(preamble, request, access, stated, session ?? "unknown"),
    );
  }

  #select(
    preamble: Preamble,
    request: HttpRequest,
    access: Access,
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
      onEnding: this.#onEnding,
    });
    const answered = this.#run(preamble, {
      adapter,
      reason: selection.reason,
      binding: this.#binder.bind(preamble, selection, access, true),
      access,
      session: kept,
      caller: kept?.id,
      from: this.#answerer.rates && fromOf(request, this.#options),
      onDisconnect: (callback) => request.onDisconnect(callback),
      outlet: outlet.factory,
    });
    const entrance = this.#entrance;
    if (entrance === undefined) return outlet.reply(answered);
    return outlet.reply(after(answered, (found) => entrance.challenge(found, request)));
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
  #useSession(
    request: HttpRequest,
    method: "GET" | "DELETE",
    access: Access,
  ): Awaitable<HttpReply> {
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
    return after(sessions.find(id, access.owner), (session) => {
      if (session === undefined) return this.#refuse(unknownSession, adapter);
      if (method === "DELETE") return this.#end(session.id, sessions);
      const speaks = stated?.adapter ?? this.#adapters.find(session.revision) ?? adapter;
      return this.#openStream(request, { session, access, sessions, adapter: speaks });
    });
  }

  #end(id: string, sessions: Sessions): Awaitable<HttpReply> {
    return after(sessions.end(id), async () => {
      this.#answerer.clock?.end(id);
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
    of: Pick<SessionStreamOptions, "session" | "access" | "sessions" | "adapter">,
  ): Promise<HttpReply> {
    if (!takesStream(request)) return this.#methodNotAllowed("GET without an event stream");
    const { streams } = this.#answerer.load;
    const whose = of.access.owner === "" ? of.session.id : of.access.owner;
    const full = streams.take(whose);
    if (full !== undefined) return toReply(refuse(full, undefined, of.adapter), request);
    const stream = await this.#follow(request, of).catch((cause: unknown) => {
      streams.free(whose);
      throw cause;
    });
    if (stream !== undefined) {
      stream.onClose(() => streams.free(whose));
      return streamReply(stream);
    }
    streams.free(whose);
    const why = "Last-Event-ID names no event that can be gone on from; open the stream without it";
    return this.#refuse(failure("invalid-request", why), of.adapter);
  }

  #follow(
    request: HttpRequest,
    of: Pick<SessionStreamOptions, "session" | "access" | "sessions" | "adapter">,
  ): ReturnType<typeof openSessionStream> {
    return openSessionStream({
      hub: this.#hub,
      feed: this.#answerer.feed,
      ...of,
      lastEventId: request.headers("last-event-id"),
      closing: this.#closing,
      keepAliveMs: this.#keepAliveMs,
      onFault: this.#onHubFault,
    });
  }

  #methodNotAllowed(method: string): HttpReply {
    const why = `${method.slice(0, 40)} is not served here; POST JSON-RPC messages to this URL`;
    const reply = this.#refuse(failure("method-not-allowed", why));
    return { ...reply, headers: { ...reply.headers, allow: this.#methods } };
  }

  #refuse(refused: Failure, adapter: Adapter = this.#adapters.newest): HttpReply {
    return toJsonReply(refuse(refused, undefined, adapter));
  }
}

const unknownSession: Failure = failure(
  "unknown-session",
  "this session is unknown or has ended; send initialize without Mcp-Session-Id to open one",
);
