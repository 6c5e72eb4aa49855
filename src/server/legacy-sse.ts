/**
 * The HTTP+SSE transport of 2024-11-05: a stream to read from, and a URL to post to, which
 * the stream's first event names (basic/transports, HTTP with SSE, 2024-11-05). For clients
 * that know nothing newer; new ones are served by the endpoint.
 */
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
import { refuse } from "./answer.ts";
import { toAdapterSet } from "./answerer.ts";
import { Channel, type ChannelOptions } from "./channel.ts";
import { allowOrigin, preflight } from "./cors.ts";
import { EventStream } from "./event-stream.ts";
import { serveFetch } from "./fetch.ts";
import { Guard, type GuardOptions } from "./guard.ts";
import { emptyReply, type HttpReply, type HttpRequest, jsonReply, streamReply } from "./http.ts";
import { admitsStream, isJson } from "./media.ts";

/** Where HTTP+SSE is served, what is let in, and what is kept where. */
export interface LegacySseOptions extends GuardOptions, ChannelOptions {
  /** Where streams are opened. @default "/sse" */
  readonly path?: string | undefined;
  /** The last part of the URL that messages are posted to, beside `path`. @default "messages" */
  readonly messages?: string | undefined;
  /**
   * Where it is kept which streams there are; one that the workers share lets a message be
   * posted to any of them. @default the memory of this process
   */
  readonly sessionStore?: SessionStore | undefined;
  /** Through which a message reaches its stream. @default the memory of this process */
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
  return {
    fetch: (request) => serveFetch(transport, request),
    handle: (request) => transport.handle(request),
    serves: (target) => transport.serves(target),
    close: () => transport.close(),
  };
}

const idSyntax = /^[0-9a-f-]{36}$/;

class SseTransport {
  readonly #server: Server;
  readonly #options: LegacySseOptions;
  readonly #guard: Guard;
  readonly #adapters: AdapterSet;
  readonly #store: SessionStore;
  readonly #hub: EventHub;
  readonly #path: string;
  readonly #messages: string;
  readonly #streams: Set<EventStream> = new Set();

  constructor(server: Server, options: LegacySseOptions) {
    this.#server = server;
    this.#options = options;
    this.#guard = new Guard(options);
    this.#adapters = new AdapterSet(
      toAdapterSet(options.revisions).adapters.filter(({ era }) => era === "handshake"),
    );
    this.#store = options.sessionStore ?? new MemorySessions();
    this.#hub = options.eventHub ?? new MemoryHub();
    this.#path = options.path ?? "/sse";
    this.#messages = options.messages ?? "messages";
  }

  serves(target: string): boolean {
    const path = target.split("?")[0];
    return path === this.#path || path === this.#messagesPath();
  }

  close(): void {
    for (const stream of this.#streams) stream.end();
  }

  handle(request: HttpRequest): Awaitable<HttpReply> {
    const refused = this.#guard.check(request);
    if (refused !== undefined) return this.#refuse(refused);
    const reply = this.#route(request);
    const finished = after(reply, (found) => allowOrigin(request, found));
    return isPromise(finished) ? finished.catch((cause) => this.#broken(cause)) : finished;
  }

  #messagesPath(): string {
    return new URL(this.#messages, `http://localhost${this.#path}`).pathname;
  }

  #broken(cause: unknown): HttpReply {
    this.#server.log({ level: "error", message: "a request could not be served", cause });
    const why = "the server failed to serve this; its log says why";
    return { ...this.#refuse(failure("internal", why)), status: 500 };
  }

  #route(request: HttpRequest): Awaitable<HttpReply> {
    const posts = request.target.split("?")[0] !== this.#path;
    const method = posts ? "POST" : "GET";
    if (request.method === "OPTIONS") {
      const allowed = preflight(request, method);
      if (allowed !== undefined) return allowed;
    }
    if (request.method !== method) {
      const why = `${request.method.slice(0, 20)} is not served here; use ${method}`;
      const reply = this.#refuse(failure("method-not-allowed", why));
      return { ...reply, headers: { ...reply.headers, allow: method } };
    }
    return posts ? this.#post(request) : this.#open(request);
  }

  #open(request: HttpRequest): Awaitable<HttpReply> {
    const accept = request.headers("accept");
    if (accept !== undefined && !admitsStream(accept)) {
      return this.#refuse(
        failure("not-acceptable", "this is an event stream; accept text/event-stream"),
      );
    }
    const id = crypto.randomUUID();
    const created = this.#store.create({
      id,
      revision: this.#adapters.newest.revision,
      client: undefined,
      capabilities: {},
      logLevel: undefined,
      subscriptions: [],
      writeVersion: 0,
    });
    return after(created, () => this.#stream(id));
  }

  #stream(id: string): Awaitable<HttpReply> {
    const stream = new EventStream();
    const send = (text: string) => stream.write(encodeEvent({ event: "message", data: text }));
    const channel = new Channel(this.#server, send, {
      ...this.#options,
      revisions: this.#adapters,
    });
    const ended = new AbortController();
    this.#streams.add(stream);
    stream.onClose(() => {
      this.#streams.delete(stream);
      ended.abort();
      void channel.close();
      void this.#forget(id);
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

  async #forget(id: string): Promise<void> {
    try {
      await this.#store.delete(id);
      await this.#hub.delete(topicOf(id));
    } catch (cause) {
      // Both expire by themselves.
      this.#server.log({ level: "warning", message: "a stream could not be forgotten", cause });
    }
  }

  #post(request: HttpRequest): Awaitable<HttpReply> {
    if (!isJson(request.headers("content-type"))) {
      return this.#refuse(
        failure("unsupported-media-type", "Content-Type must be application/json"),
      );
    }
    const query = new URLSearchParams(request.target.split("?")[1] ?? "");
    const id = query.get("sessionId") ?? "";
    if (!idSyntax.test(id)) return this.#refuse(unknownStream);
    return after(this.#store.get(id), (known) => {
      if (known === undefined) return this.#refuse(unknownStream);
      return after(request.body(this.#guard.maxBodyBytes), (body) => {
        if (body === "too-large") return this.#refuse(this.#guard.tooLarge());
        const told = after(this.#store.touch(id), () =>
          this.#hub.publish(topicOf(id), encodeBytes(body)),
        );
        return after(told, () => emptyReply(202));
      });
    });
  }

  #refuse(refused: Failure): HttpReply {
    const adapter: Adapter = this.#adapters.newest;
    const { status, text } = refuse(refused, undefined, adapter);
    return jsonReply(status, text ?? "");
  }
}

const unknownStream: Failure = failure(
  "unknown-session",
  "this stream is unknown or has ended; open one with GET",
);

function topicOf(id: string): string {
  return `sse:${id}`;
}

function fromText(data: string): Uint8Array {
  return Uint8Array.from(atob(data), (char) => char.charCodeAt(0));
}
