/** One URL that serves every revision: guard, read, select, answer. */

import { type Failure, failure } from "../core/outcome.ts";
import type { Server } from "../core/server.ts";
import { type RequestId, readMessage } from "../jsonrpc/message.ts";
import { findFault } from "../jsonrpc/scan.ts";
import type { Adapter, Binding } from "../revisions/adapter.ts";
import type { AdapterSet } from "../revisions/adapter-set.ts";
import { allRevisions } from "../revisions/index.ts";
import { type Preamble, readPreamble, sessionHeader } from "../revisions/preamble.ts";
import {
  decideStated,
  decideUnstated,
  decideVersion,
  type Selection,
} from "../revisions/selection.ts";
import { MemorySessions } from "../stores/memory.ts";
import type { SessionRecord, SessionStore } from "../stores/session-store.ts";
import { type Awaitable, after, isPromise } from "../util/awaitable.ts";
import { isObject } from "../util/json.ts";
import { type Answer, type Answerer, answer, type Place, refuse } from "./answer.ts";
import { answerBatch } from "./batch.ts";
import { allowOrigin, preflight } from "./cors.ts";
import { serveFetch } from "./fetch.ts";
import { Guard, type GuardOptions } from "./guard.ts";
import { asEventStream, emptyReply, type HttpReply, type HttpRequest, jsonReply } from "./http.ts";
import { InFlight } from "./in-flight.ts";
import { acceptable } from "./media.ts";
import { Sessions } from "./sessions.ts";

export interface EndpointOptions extends GuardOptions {
  /** The revisions served: dates, or a set with adapters of your own. @default all five */
  readonly revisions?: AdapterSet | readonly string[] | undefined;
  /**
   * Whether `initialize` opens a session. Without, no id is ever given out, one that
   * arrives is ignored, and any worker serves any request. @default true
   */
  readonly sessions?: boolean | undefined;
  /** Where sessions are kept. @default the memory of this process */
  readonly sessionStore?: SessionStore | undefined;
  /** Whether arrays of messages are served where the revision has them. @default true */
  readonly batch?: boolean | undefined;
  /** Levels of nesting in a message at most; deeper is refused. @default 64 */
  readonly maxDepth?: number | undefined;
  /** The one path that is served; others are answered 404. @default every path */
  readonly path?: string | undefined;
  /** Hears which revision each message was taken to be written in, and why. */
  readonly onSelection?: ((selection: Selection, method: string | undefined) => void) | undefined;
}

export interface Endpoint {
  /** For runtimes and frameworks that speak the Fetch standard. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** For bridges: one neutral request to one neutral reply. Never rejects. */
  readonly handle: (request: HttpRequest) => Awaitable<HttpReply>;
}

const maxHandshakeBytes = 65_536;

/** Serves a server at one URL. It may be called from any number of bridges. */
export function createEndpoint(server: Server, options: EndpointOptions = {}): Endpoint {
  const endpoint = new HttpEndpoint(server, options);
  return {
    fetch: (request) => serveFetch(endpoint, request),
    handle: (request) => endpoint.handle(request),
  };
}

class HttpEndpoint {
  readonly #guard: Guard;
  readonly #adapters: AdapterSet;
  readonly #answerer: Answerer;
  readonly #options: EndpointOptions;
  readonly #maxDepth: number;
  readonly #methods: string;
  readonly #paramHeaders: Binding["paramHeaders"];

  constructor(server: Server, options: EndpointOptions) {
    const { revisions } = options;
    this.#guard = new Guard(options);
    this.#adapters =
      revisions === undefined
        ? allRevisions
        : "adapters" in revisions
          ? revisions
          : allRevisions.narrow(revisions);
    const keepsSessions = options.sessions !== false && this.#adapters.handshakes.length > 0;
    this.#answerer = {
      service: server,
      encoders: encodersOf(server, this.#adapters),
      inFlight: new InFlight(),
      sessions: keepsSessions
        ? new Sessions(options.sessionStore ?? new MemorySessions())
        : undefined,
    };
    this.#options = options;
    this.#maxDepth = options.maxDepth ?? 64;
    this.#methods = keepsSessions ? "POST, DELETE" : "POST";
    const { view } = this.#adapters.newest;
    this.#paramHeaders = (tool) => server.registry.tool(tool, view)?.paramHeaders ?? [];
  }

  handle(request: HttpRequest): Awaitable<HttpReply> {
    try {
      const reply = this.#serve(request);
      return isPromise(reply) ? reply.catch((cause) => this.#broken(request, cause)) : reply;
    } catch (cause) {
      return this.#broken(request, cause);
    }
  }

  /** No input leads here: only a store that fails, or a fault of ours. */
  #broken(request: HttpRequest, cause: unknown): HttpReply {
    this.#answerer.service.log({ level: "error", message: "a request could not be served", cause });
    const why = "the server failed to serve this; its log says why";
    return allowOrigin(request, { ...this.#refuse(failure("internal", why)), status: 500 });
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
      case "DELETE":
        return this.#delete(request);
      case "OPTIONS":
        return preflight(request, this.#methods) ?? this.#methodNotAllowed(request.method);
      default:
        return this.#methodNotAllowed(request.method);
    }
  }

  #post(request: HttpRequest): Awaitable<HttpReply> {
    const refused = this.#guard.checkPost(request);
    if (refused !== undefined) return this.#refuse(refused);
    return after(request.body(this.#guard.maxBodyBytes), (body) => {
      if (body === "too-large") return this.#refuse(this.#guard.tooLarge());
      return after(this.#answer(body, request), (found) => toReply(found, request));
    });
  }

  #answer(body: Uint8Array, request: HttpRequest): Awaitable<Answer> {
    const preamble = readPreamble(body, request.headers, queryOf(request.target));
    const stated = decideStated(preamble, this.#adapters);
    if (stated?.kind === "failure") return refuse(stated, readId(preamble), this.#adapters.newest);
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
  ): Awaitable<Answer> {
    const live = session === "unknown" ? undefined : session;
    const selection = stated ?? decideUnstated(preamble, this.#adapters, live?.revision);
    this.#options.onSelection?.(selection, preamble.method);
    const { adapter } = selection;
    if (selection.reason === "unparseable") {
      return refuse(failure("parse-error", "the body is not JSON in UTF-8"), undefined, adapter);
    }
    if (session === "unknown" && adapter.era === "handshake") {
      return refuse(unknownSession, readId(preamble), adapter);
    }
    const fault = findFault(preamble.text ?? "", this.#maxDepth);
    if (fault !== undefined) {
      return refuse(failure("invalid-request", fault.message), undefined, adapter);
    }
    return this.#run(preamble, {
      adapter,
      binding: this.#bind(preamble, selection),
      session: adapter.era === "handshake" ? live : undefined,
      onDisconnect: (callback) => request.onDisconnect(callback),
    });
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

  #bind(preamble: Preamble, selection: Selection): Binding {
    return {
      served: this.#adapters,
      pinned: selection.reason === "pin" ? selection.revision : undefined,
      http: { version: preamble.header, headers: preamble.headers },
      paramHeaders: this.#paramHeaders,
    };
  }

  #delete(request: HttpRequest): Awaitable<HttpReply> {
    const { sessions } = this.#answerer;
    if (sessions === undefined) return this.#methodNotAllowed(request.method);
    const preamble = readPreamble(new Uint8Array(), request.headers, queryOf(request.target));
    const stated = decideVersion(preamble, this.#adapters);
    if (stated?.kind === "failure") return this.#refuse(stated);
    if (stated?.adapter.era === "modern") return this.#methodNotAllowed(request.method);
    const adapter = stated?.adapter ?? this.#adapters.newest;
    const id = request.headers(sessionHeader)?.trim();
    if (id === undefined) {
      const why = "DELETE ends a session; name it in Mcp-Session-Id";
      return this.#refuse(failure("missing-session", why), adapter);
    }
    return after(sessions.end(id), (ended) =>
      ended ? emptyReply(204) : this.#refuse(unknownSession, adapter),
    );
  }

  #methodNotAllowed(method: string): HttpReply {
    const why = `${method.slice(0, 20)} is not served here; POST JSON-RPC messages to this URL`;
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

function encodersOf(server: Server, adapters: AdapterSet): Answerer["encoders"] {
  const described = {
    info: server.info,
    instructions: server.instructions,
    registry: server.registry,
    lists: server.cache.lists,
    supported: adapters.supported,
  };
  return new Map(adapters.adapters.map((adapter) => [adapter, adapter.encoder(described)]));
}

function toReply({ status, text, sessionId }: Answer, request: HttpRequest): HttpReply {
  if (text === undefined) return emptyReply(status);
  const headers = sessionId === undefined ? undefined : { [sessionHeader]: sessionId };
  const reply = jsonReply(status, text, headers);
  const streamed = status === 200 && acceptable(request.headers("accept")) === "event-stream";
  return streamed ? asEventStream(reply) : reply;
}

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
