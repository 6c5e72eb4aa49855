/**
 * The HTTP+SSE transport of 2024-11-05: a stream to read from, and a URL to post to, which
 * the stream's first event names (basic/transports, HTTP with SSE, 2024-11-05). For clients
 * that know nothing newer; new ones are served by the endpoint.
 */
import type { AuthOptions } from "../auth/gate.ts";
import { type Access, anyone } from "../core/access.ts";
import { type Failure, failure } from "../core/outcome.ts";
import type { Server } from "../core/server.ts";
import type { Adapter } from "../revisions/adapter.ts";
import { AdapterSet } from "../revisions/adapter-set.ts";
import { encodeEvent } from "../sse/encode.ts";
import type { EventHub, HubEvent } from "../stores/event-hub.ts";
import { MemorySessions } from "../stores/memory.ts";
import { MemoryHub } from "../stores/memory-hub.ts";
import type { SessionStore } from "../stores/session-store.ts";
import { type Awaitable, after, isPromise } from "../util/awaitable.ts";
import { encodeBytes } from "../util/base64.ts";
import { letGo } from "../util/timer.ts";
import { tellingRefusals } from "./access-log.ts";
import { refuse, refuseBroken } from "./answer.ts";
import { toAdapterSet } from "./answerer.ts";
import { toJsonReply, toReply } from "./call-outlet.ts";
import { Channel, type ChannelOptions } from "./channel.ts";
import { allowOrigin, preflight } from "./cors.ts";
import type { EndpointOptions } from "./endpoint-options.ts";
import { Entrance, takenByAuth } from "./entrance.ts";
import { EventStream } from "./event-stream.ts";
import { onExpiry } from "./expiry.ts";
import { serveFetch } from "./fetch.ts";
import { Guard, type GuardOptions } from "./guard.ts";
import { emptyReply, type HttpReply, type HttpRequest, streamReply } from "./http.ts";
import { Load } from "./load.ts";
import { admitsStream } from "./media.ts";
import { fromOf, pathOf } from "./request-parts.ts";

/** Where HTTP+SSE is served, what is let in, and what is kept where. */
export interface LegacySseOptions
  extends GuardOptions,
    Pick<EndpointOptions, "clientAddress">,
    Omit<ChannelOptions, "access" | "from"> {
  /** Who may open streams and post to them, as on the endpoint. @default nobody is asked */
  readonly auth?: AuthOptions | undefined;
  /** How long a stream is silent at most, in milliseconds. @default 20000 */
  readonly keepAliveMs?: number | undefined;
  /** Where streams are opened. @default "/sse" */
  readonly path?: string | undefined;
  /** The last part of the URL that messages are posted to, beside `path`. @default "messages" */
  readonly messages?: string | undefined;
  /**
   * Where it is kept which streams there are; one that the workers share lets a message be
   * posted to any of them. @default those of `stores`, else the memory of this process
   */
  readonly sessionStore?: SessionStore | undefined;
  /** Through which a message reaches its stream. @default that of `stores`, else as above */
  readonly eventHub?: EventHub | undefined;
}

/** The HTTP+SSE transport of one server. */
export interface LegacySse {
  /** For runtimes and frameworks that speak the Fetch standard. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** For bridges, such as `toNodeHandler`. Never rejects. */
  readonly handle: (request: HttpRequest) => Awaitable<HttpReply>;
  /** Whether a request is for this transport, by its target: a path, with or without a query. */
  readonly serves: (target: string) => boolean;
  /** Ends every stream. */
  readonly close: () => void;
}

/**
 * Serves a server over HTTP+SSE, for clients that know nothing newer: 2025-03-26 replaced it.
 * Revisions with a handshake only; hosts, origins and sizes are checked as on the endpoint.
 */
export function createLegacySse(server: Server, options: LegacySseOptions = {}): LegacySse {
  const transport = new SseTransport(server, options);
  const bridged = tellingRefusals(transport, server.logger);
  return {
    fetch: (request) => serveFetch(bridged, request),
    handle: (request) => bridged.handle(request),
    serves: (target) => transport.serves(target),
    close: () => transport.close(),
  };
}

const idSyntax = /^[0-9a-f-]{36}$/;

/** How often an open stream says that it is, to a store that forgets what is silent. */
const touchMs = 60_000;

interface Connection {
  readonly stream: EventStream;
  readonly channel: Channel;
}

class SseTransport {
  readonly #server: Server;
  readonly #options: LegacySseOptions;
  readonly #guard: Guard;
  readonly #entrance: Entrance | undefined;
  readonly #adapters: AdapterSet;
  readonly #store: SessionStore;
  readonly #hub: EventHub;
  readonly #path: string;
  readonly #messages: string;
  readonly #messagesPath: string;
  readonly #connections: Set<Connection> = new Set();
  /** Of all connections together. */
  readonly #load: Load;

  constructor(server: Server, options: LegacySseOptions) {
    this.#server = server;
    this.#options = options;
    this.#load = new Load(options);
    this.#guard = new Guard(options);
    this.#adapters = handshakesOf(toAdapterSet(options.revisions));
    this.#store = options.sessionStore ?? options.stores?.sessions ?? new MemorySessions();
    this.#hub = options.eventHub ?? options.stores?.hub ?? new MemoryHub();
    this.#path = options.path ?? "/sse";
    this.#messages = options.messages ?? "messages";
    this.#messagesPath = new URL(this.#messages, `http://localhost${this.#path}`).pathname;
    const { auth, allowedHosts } = options;
    const [path, adapter] = [this.#path, this.#adapters.newest];
    this.#entrance = auth && new Entrance({ auth, path, allowedHosts, server, adapter });
  }

  serves(target: string): boolean {
    const path = pathOf(target);
    return (
      path === this.#path || path === this.#messagesPath || path === this.#entrance?.metadataTarget
    );
  }

  close(): void {
    for (const { stream, channel } of this.#connections) {
      channel.hangUp();
      void channel.settled().then(() => stream.end());
    }
  }

  handle(request: HttpRequest): Awaitable<HttpReply> {
    try {
      const reply = this.#serve(request);
      return isPromise(reply) ? reply.catch((cause) => this.#broken(cause, request)) : reply;
    } catch (cause) {
      return this.#broken(cause, request);
    }
  }

  #serve(request: HttpRequest): Awaitable<HttpReply> {
    const refused = this.#guard.check(request);
    if (refused !== undefined) return this.#refuse(refused);
    const document = this.#entrance?.document(request);
    if (document !== undefined) return allowOrigin(request, document);
    if (!this.serves(request.target)) {
      return this.#refuse(failure("not-found", `nothing is served here; open ${this.#path}`));
    }
    const allowed =
      request.method === "OPTIONS" ? preflight(request, this.#methodOf(request)) : undefined;
    return after(allowed ?? this.#admit(request), (reply) => allowOrigin(request, reply));
  }

  #admit(request: HttpRequest): Awaitable<HttpReply> {
    const entrance = this.#entrance;
    if (entrance === undefined) {
      if (request.principal !== undefined) throw new Error(takenByAuth);
      return this.#route(request, anyone);
    }
    return after(entrance.admit(request), (admitted) =>
      "status" in admitted ? admitted : this.#route(request, admitted),
    );
  }

  #broken(cause: unknown, request: HttpRequest): HttpReply {
    const { log } = this.#server;
    return toReply(refuseBroken(cause, undefined, this.#adapters.newest, log), request);
  }

  #route(request: HttpRequest, access: Access): Awaitable<HttpReply> {
    const posts = this.#isPost(request);
    const method = this.#methodOf(request);
    if (request.method !== method) {
      const why = `${request.method.slice(0, 20)} is not served here; use ${method}`;
      const reply = this.#refuse(failure("method-not-allowed", why));
      return { ...reply, headers: { ...reply.headers, allow: method } };
    }
    return posts ? this.#post(request, access) : this.#open(request, access);
  }

  #isPost({ target }: HttpRequest): boolean {
    return pathOf(target) === this.#messagesPath;
  }

  #methodOf(request: HttpRequest): "POST" | "GET" {
    return this.#isPost(request) ? "POST" : "GET";
  }

  #open(request: HttpRequest, access: Access): Awaitable<HttpReply> {
    const accept = request.headers("accept");
    if (accept !== undefined && !admitsStream(accept)) {
      return this.#refuse(
        failure("not-acceptable", "this is an event stream; accept text/event-stream"),
      );
    }
    const full = this.#load.streams.take(access.owner);
    if (full !== undefined) return toReply(refuse(full, undefined, this.#adapters.newest), request);
    return this.#begin(access, request);
  }

  async #begin(access: Access, request: HttpRequest): Promise<HttpReply> {
    const id = crypto.randomUUID();
    try {
      await this.#store.create({
        id: keyOf(id),
        revision: this.#adapters.newest.revision,
        client: undefined,
        capabilities: {},
        logLevel: undefined,
        subscriptions: [],
        principal: access.owner,
        values: {},
        writeVersion: 0,
      });
    } catch (cause) {
      this.#load.streams.free(access.owner);
      throw cause;
    }
    return this.#stream(id, access, request);
  }

  #stream(id: string, access: Access, request: HttpRequest): Awaitable<HttpReply> {
    const stream = new EventStream(this.#options.keepAliveMs);
    const send = (text: string) => stream.write(encodeEvent({ event: "message", data: text }));
    const options = {
      ...this.#options,
      network: { transport: "tcp", protocol: "http" },
      revisions: this.#adapters,
      access,
      from: this.#options.rateLimits && fromOf(request, this.#options),
    } as const;
    const channel = new Channel(this.#server, send, options, this.#load);
    const ended = new AbortController();
    const connection: Connection = { stream, channel };
    this.#connections.add(connection);
    const touching = setInterval(() => this.#quietly(() => this.#store.touch(keyOf(id))), touchMs);
    letGo(touching);
    stream.onClose(onExpiry(access, () => stream.end()));
    stream.onClose(() => {
      this.#connections.delete(connection);
      this.#load.streams.free(access.owner);
      clearInterval(touching);
      ended.abort();
      void channel.close();
      this.#quietly(() => this.#store.delete(keyOf(id)));
      this.#quietly(() => this.#hub.delete(topicOf(id)));
    });
    // Relative, so that it is right behind any prefix that a proxy adds.
    stream.write(encodeEvent({ event: "endpoint", data: `${this.#messages}?sessionId=${id}` }));
    return this.#follow(id, channel, stream, ended.signal);
  }

  async #follow(
    id: string,
    channel: Channel,
    stream: EventStream,
    ended: AbortSignal,
  ): Promise<HttpReply> {
    const topic = topicOf(id);
    try {
      const start = await this.#hub.position(topic);
      const take = ({ data }: HubEvent): void => channel.receive(fromText(data));
      if (await this.#hub.follow(topic, start, take, ended)) return streamReply(stream);
      throw new Error("the hub lost the topic of a stream that was just opened");
    } catch (cause) {
      stream.disconnect();
      throw cause;
    }
  }

  /** What nobody waits for: a store that fails here is told of, and forgets by itself. */
  #quietly(forget: () => Awaitable<unknown>): void {
    new Promise((resolve) => resolve(forget())).catch((cause: unknown) =>
      this.#server.log({ level: "warning", message: "a stream could not be kept track of", cause }),
    );
  }

  #post(request: HttpRequest, access: Access): Awaitable<HttpReply> {
    const refused = this.#guard.checkContent(request.headers);
    if (refused !== undefined) return this.#refuse(refused);
    const query = new URLSearchParams(request.target.split("?")[1] ?? "");
    const id = query.get("sessionId") ?? "";
    if (!idSyntax.test(id)) return this.#refuse(unknownStream);
    return after(this.#store.get(keyOf(id)), (known) => {
      if (known?.principal !== access.owner) return this.#refuse(unknownStream);
      return after(request.body(this.#guard.maxBodyBytes), (body) => {
        if (body === "too-large") return this.#refuse(this.#guard.tooLarge());
        const told = after(this.#store.touch(keyOf(id)), () =>
          this.#hub.publish(topicOf(id), encodeBytes(body)),
        );
        return after(told, () => emptyReply(202));
      });
    });
  }

  #refuse(refused: Failure): HttpReply {
    const adapter: Adapter = this.#adapters.newest;
    return toJsonReply(refuse(refused, undefined, adapter));
  }
}

const unknownStream: Failure = failure(
  "unknown-session",
  "this stream is unknown or has ended; open one with GET",
);

/** @throws RangeError when there is no handshake among them, for nothing would be served. */
function handshakesOf(adapters: AdapterSet): AdapterSet {
  const handshakes = adapters.adapters.filter(({ era }) => era === "handshake");
  if (handshakes.length > 0) return new AdapterSet(handshakes);
  throw new RangeError(
    `the transport of 2024-11-05 begins with a handshake, which ${adapters.supported.join(" and ")} does not have`,
  );
}

function keyOf(id: string): string {
  return `sse-${id}`;
}

function topicOf(id: string): string {
  return `sse:${id}`;
}

function fromText(data: string): Uint8Array {
  return Uint8Array.from(atob(data), (char) => char.charCodeAt(0));
}
