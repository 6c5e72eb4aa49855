/** HTTP exchanges over `node:http` and `node:https`, with connections that are kept. */
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { ClientError, clientClosed } from "../client/errors.ts";
import {
  type HttpAnswer,
  type HttpOutgoing,
  type HttpSender,
  swallowBytes,
  swallowMs,
  toExchangeError,
  tooLarge,
} from "../client/http-exchange.ts";
import { Bag, type Bagged } from "../util/bag.ts";

export interface NodeHttpSenderOptions {
  /**
   * Makes the connections, for example through a proxy or with a certificate authority of
   * one's own; it stays open when the sender is closed. @default one that keeps connections
   */
  readonly agent?: HttpAgent | undefined;
  /**
   * How long a connection is kept unused, in milliseconds. Servers close theirs after 5
   * seconds at the earliest by the defaults of the usual ones; whoever closes first is never
   * surprised by the other. @default 4000
   */
  readonly idleMs?: number | undefined;
}

/** Bytes of an answer's headers; what is longer keeps a server from being read at all. */
const maxHeaderSize = 65_536;
/** Beyond these, connections are closed after use. */
const maxFreeSockets = 64;

export class NodeHttpSender implements HttpSender {
  readonly #options: NodeHttpSenderOptions;
  readonly #exchanges: Bag<Exchange> = new Bag();
  #plain: HttpAgent | undefined;
  #secure: HttpsAgent | undefined;

  constructor(options: NodeHttpSenderOptions = {}) {
    this.#options = options;
  }

  get underWay(): number {
    return this.#exchanges.size;
  }

  send(outgoing: HttpOutgoing): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      const exchange = new Exchange(outgoing, this.#exchanges, resolve, reject);
      exchange.begin(this.#agent(outgoing.url.protocol));
    });
  }

  hangUp(cause: ClientError): void {
    for (const exchange of this.#exchanges.all()) exchange.fail(cause);
  }

  close(): void {
    this.hangUp(clientClosed());
    this.#plain?.destroy();
    this.#secure?.destroy();
    this.#plain = undefined;
    this.#secure = undefined;
  }

  #agent(protocol: string): HttpAgent {
    if (this.#options.agent !== undefined) return this.#options.agent;
    // Idle connections do not keep the process alive, and end by themselves.
    const timeout = this.#options.idleMs ?? 4_000;
    const kept = { keepAlive: true, maxFreeSockets, timeout };
    if (protocol === "https:") {
      this.#secure ??= new HttpsAgent(kept);
      return this.#secure;
    }
    this.#plain ??= new HttpAgent(kept);
    return this.#plain;
  }
}

/** One exchange from its first byte to its last: one object, for one is made for each call. */
class Exchange implements HttpAnswer, Bagged {
  place = -1;
  readonly #outgoing: HttpOutgoing;
  readonly #open: Bag<Exchange>;
  readonly #resolve: (answer: HttpAnswer) => void;
  readonly #reject: (cause: unknown) => void;
  readonly #onAbort = (): void => this.fail(this.#outgoing.signal?.reason);
  readonly #onClose = (): void => {
    this.#over();
    this.#rejectText?.(endedEarly());
  };
  #agent: HttpAgent | undefined;
  #request: ClientRequest | undefined;
  #incoming: IncomingMessage | undefined;
  /** Rejects the text that is being read, where the answer ends before its end. */
  #rejectText: ((cause: unknown) => void) | undefined;
  #isRepeated = false;
  /** Set once: why it ended before its end. */
  #failure: { readonly cause: unknown } | undefined;

  constructor(
    outgoing: HttpOutgoing,
    open: Bag<Exchange>,
    resolve: (answer: HttpAnswer) => void,
    reject: (cause: unknown) => void,
  ) {
    this.#outgoing = outgoing;
    this.#open = open;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  begin(agent: HttpAgent): void {
    const { signal } = this.#outgoing;
    if (signal?.aborted) {
      this.#reject(signal.reason);
      return;
    }
    this.#agent = agent;
    this.#open.add(this);
    signal?.addEventListener("abort", this.#onAbort);
    this.#start();
  }

  #start(): void {
    const { method, url, headers, body } = this.#outgoing;
    const secure = url.protocol === "https:";
    // A flat list goes out as it is; an object would be copied and looked through first.
    const list = ["host", url.host];
    for (const name in headers) list.push(name, headers[name] ?? "");
    if (body !== undefined) list.push("content-length", String(Buffer.byteLength(body)));
    try {
      const request = (secure ? httpsRequest : httpRequest)({
        method,
        hostname: url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname,
        port: url.port,
        path: url.pathname + url.search,
        headers: list,
        agent: this.#agent,
        maxHeaderSize,
      });
      this.#request = request;
      request.on("response", (incoming) => {
        this.#incoming = incoming;
        incoming.on("close", this.#onClose);
        this.#resolve(this);
      });
      request.on("error", (cause) => this.#broke(request, cause));
      request.end(body);
    } catch (cause) {
      // A header or a URL that Node does not take.
      this.fail(new ClientError("unreachable", String(cause), { cause }));
    }
  }

  #broke(request: ClientRequest, cause: Error): void {
    if (request !== this.#request || this.#failure !== undefined) return;
    // An answer that came before the request was sent whole is still read as far as it goes.
    if (this.#incoming !== undefined) return;
    if (this.#mayRepeat(request, cause)) {
      this.#isRepeated = true;
      // Whatever closed one kept connection has most likely closed the others too.
      for (const sockets of Object.values(this.#agent?.freeSockets ?? {})) {
        for (const socket of sockets ?? []) socket.destroy();
      }
      this.#start();
      return;
    }
    const error = toExchangeError(cause);
    // The first try may have got there, whatever became of the second.
    const mayHaveArrived = this.#isRepeated && error.kind === "unreachable";
    this.fail(
      mayHaveArrived ? new ClientError("interrupted", error.message, { cause: error }) : error,
    );
  }

  #mayRepeat(request: ClientRequest, cause: Error & { readonly code?: string }): boolean {
    const isDead = cause.code === "ECONNRESET" || cause.code === "EPIPE";
    return isDead && request.reusedSocket && this.#outgoing.repeatable && !this.#isRepeated;
  }

  /** Ends it, however far it has come, and its connection. */
  fail(cause: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = { cause };
    this.#over();
    this.#reject(cause);
    // Before its end, which may come though it is destroyed.
    this.#rejectText?.(cause);
    this.#incoming?.destroy();
    this.#request?.destroy();
  }

  #over(): void {
    this.#open.delete(this);
    this.#outgoing.signal?.removeEventListener("abort", this.#onAbort);
  }

  get status(): number {
    return this.#incoming?.statusCode ?? 0;
  }

  get url(): URL {
    return this.#outgoing.url;
  }

  header(name: string): string | undefined {
    const value = this.#incoming?.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  text(maxBytes: number): Promise<string> {
    return new Promise((resolve, reject) => {
      const incoming = this.#incoming;
      if (this.#failure !== undefined || incoming === undefined || incoming.destroyed) {
        reject(this.#failure?.cause ?? endedEarly());
        return;
      }
      const chunks: Buffer[] = [];
      let length = 0;
      this.#rejectText = reject;
      incoming.on("data", (chunk: Buffer) => {
        length += chunk.length;
        if (length > maxBytes) this.fail(tooLarge(maxBytes));
        else chunks.push(chunk);
      });
      incoming.on("end", () => {
        // Closing comes next, and is then no failure.
        this.#rejectText = undefined;
        const [first] = chunks;
        const whole = chunks.length === 1 && first ? first : Buffer.concat(chunks);
        resolve(whole.toString("utf8"));
      });
    });
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    try {
      if (this.#failure === undefined) yield* this.#incoming as AsyncIterable<Buffer>;
    } catch (cause) {
      if (this.#failure === undefined) throw toExchangeError(cause);
    }
    if (this.#failure !== undefined) throw this.#failure.cause;
  }

  discard(): void {
    const incoming = this.#incoming;
    if (incoming === undefined || incoming.readableEnded || incoming.destroyed) return;
    if (incoming.headers["content-length"] === "0") {
      incoming.resume();
      return;
    }
    if (incoming.headers["content-type"]?.startsWith("text/event-stream")) {
      this.fail(new ClientError("interrupted", "the answer was let go of"));
      return;
    }
    let length = 0;
    const late = setTimeout(() => incoming.destroy(), swallowMs);
    late.unref();
    incoming.once("close", () => clearTimeout(late));
    incoming.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length > swallowBytes) incoming.destroy();
    });
  }
}

function endedEarly(): ClientError {
  return new ClientError("interrupted", "the connection broke: the answer ended early");
}
