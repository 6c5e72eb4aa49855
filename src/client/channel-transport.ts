/**
 * Carries messages over one duplex: replies find their requests by id, all else is handed up,
 * and what is no message is passed over.
 */
import type { Network } from "../core/telemetry.ts";
import { LineReader } from "../jsonrpc/lines.ts";
import { isRequestId, type RequestId, type RpcReply, readMessage } from "../jsonrpc/message.ts";
import { findFault } from "../jsonrpc/scan.ts";
import type { WrittenRequest } from "../revisions/client-half.ts";
import { isObject, type JsonObject } from "../util/json.ts";
import type { Duplex, DuplexReader } from "./duplex.ts";
import { ClientError, clientClosed } from "./errors.ts";
import { excerpt } from "./excerpt.ts";
import type { Incoming, Received, Transport, Travel } from "./transport.ts";

/** The limits of what a server may send over a duplex. */
export interface ChannelTransportOptions {
  /**
   * Bytes of one message at most: a server must not fill the memory. A longer one is passed
   * over, and what it answers is rejected with `too-large`. @default 67108864
   */
  readonly maxMessageBytes?: number | undefined;
  /**
   * Levels of nesting in a message at most: what is deeper overflows the stack of whoever walks
   * it. Schemas and results nest deeper than what a server is asked. @default 512
   */
  readonly maxDepth?: number | undefined;
}

interface Pending {
  /** When it was sent, counted in messages. */
  readonly turn: number;
  readonly resolve: (reply: RpcReply) => void;
  readonly reject: (cause: unknown) => void;
}

/** How many requests that were given up are remembered, so that their replies surprise nobody. */
const maxForgotten = 1_000;

/** How much of both ends of a message that is too long is searched for its id. */
const edgeBytes = 256;

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

export class ChannelTransport implements Transport {
  readonly kind = "channel";
  readonly network: Network | undefined;
  readonly follow: undefined;
  readonly session: undefined;
  readonly #duplex: Duplex;
  readonly #maxMessageBytes: number;
  readonly #maxDepth: number;
  readonly #pending: Map<RequestId, Pending> = new Map();
  readonly #forgotten: Set<RequestId> = new Set();
  readonly #lines: LineReader;
  #incoming: Incoming | undefined;
  #sent = 0;
  /** When something was sent, or given up, that an error without an id may be about. */
  #looseTurn: number | undefined;
  /** Why nothing can be sent any more. */
  #gone: ClientError | undefined;

  constructor(duplex: Duplex, options: ChannelTransportOptions = {}) {
    this.#duplex = duplex;
    this.network = duplex.network;
    this.#maxMessageBytes = options.maxMessageBytes ?? 67_108_864;
    this.#maxDepth = options.maxDepth ?? 512;
    this.#lines = new LineReader(this.#maxMessageBytes, edgeBytes);
  }

  async start(incoming: Incoming): Promise<void> {
    this.#incoming = incoming;
    const reader: DuplexReader = {
      bytes: (chunk) => this.#takeBytes(chunk),
      text: (text) => this.#takeText(text),
      message: (message) => this.#take(message),
      closed: (cause) => this.#lose(cause),
    };
    await this.#duplex.open(reader);
  }

  async request(written: WrittenRequest, { signal }: Travel): Promise<Received> {
    signal.throwIfAborted();
    const id = written.message["id"];
    if (!isRequestId(id)) throw new TypeError("a request has an id");
    // Awaited for before it is sent: what is near may answer within the call.
    const replied = new Promise<RpcReply>((resolve, reject) => {
      this.#pending.set(id, { turn: this.#sent + 1, resolve, reject });
    });
    // The connection may break within the call that sends, which then throws too.
    replied.catch(() => undefined);
    const onAbort = (): void => this.#forget(id, signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      this.#transmit(written.message);
      return { reply: await replied, status: undefined };
    } finally {
      this.#pending.delete(id);
      signal.removeEventListener("abort", onAbort);
    }
  }

  async send(
    message: JsonObject,
    _headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted();
    this.#transmit(message);
    this.#looseTurn = this.#sent;
  }

  forgetSession(): void {
    // A channel is its own session.
  }

  async close(): Promise<void> {
    this.#gone ??= clientClosed();
    this.#rejectAll(this.#gone);
    await this.#duplex.close();
  }

  #transmit(message: JsonObject): void {
    if (this.#gone !== undefined) throw closedBy(this.#gone);
    this.#sent++;
    this.#duplex.send(message);
  }

  #forget(id: RequestId, reason: unknown): void {
    this.#end(id)?.reject(reason);
    this.#looseTurn = this.#sent;
    this.#forgotten.add(id);
    for (const oldest of this.#forgotten) {
      if (this.#forgotten.size <= maxForgotten) break;
      this.#forgotten.delete(oldest);
    }
  }

  /** Takes a request off the list; nothing that comes later can be about it. */
  #end(id: RequestId | undefined): Pending | undefined {
    const pending = id === undefined ? undefined : this.#pending.get(id);
    if (id !== undefined) this.#pending.delete(id);
    return pending;
  }

  #lose(cause: unknown): void {
    if (this.#gone !== undefined) return;
    this.#takeLines(this.#lines.end());
    this.#gone =
      cause instanceof ClientError
        ? cause
        : new ClientError("interrupted", "the connection to the server broke", { cause });
    this.#rejectAll(this.#gone);
    this.#incoming?.closed(this.#gone);
  }

  #rejectAll(cause: ClientError): void {
    for (const id of [...this.#pending.keys()]) this.#end(id)?.reject(cause);
  }

  #takeBytes(chunk: Uint8Array): void {
    this.#takeLines(this.#lines.feed(chunk));
  }

  #takeLines(lines: ReturnType<LineReader["feed"]>): void {
    for (const line of lines) {
      switch (line.kind) {
        case "line":
          this.#takeLine(line.bytes);
          break;
        case "too-long":
          this.#warn(`passed over a message of more than ${this.#maxMessageBytes} bytes`);
          break;
        case "skipped":
          this.#rejectSkipped(line.head, line.tail);
          break;
      }
    }
  }

  #takeLine(bytes: Uint8Array): void {
    let text: string;
    try {
      text = strictUtf8.decode(bytes);
    } catch {
      // Not UTF-8, so no message: nothing that was sent is answered by it.
      this.#warn("passed over a line that is not UTF-8");
      return;
    }
    this.#takeText(text);
  }

  #takeText(text: string): void {
    if (this.#gone !== undefined) return;
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      // Servers log on standard output though they must not: the next line is read as ever.
      this.#warn(`passed over a line that is no message: ${excerpt(text)}`);
      return;
    }
    const fault = findFault(text, this.#maxDepth);
    if (fault === undefined) this.#take(message);
    else this.#refuse(message, fault.message);
  }

  /** One message, or an array of them from a server that answers a batch, or believes it does. */
  #take(message: unknown): void {
    for (const each of Array.isArray(message) ? message : [message]) this.#takeOne(each);
  }

  #takeOne(value: unknown): void {
    if (this.#gone !== undefined) return;
    const message = readMessage(value);
    switch (message.kind) {
      case "request":
      case "notification":
        this.#incoming?.receive(message, undefined);
        break;
      case "reply":
        this.#settle(message);
        break;
      case "malformed":
        this.#refuse(value, message.message);
        break;
    }
  }

  #settle(reply: RpcReply): void {
    const pending = this.#end(reply.id ?? this.#onlyOne());
    if (pending !== undefined) {
      // Servers answer in order more or less: what was loose before this was taken well.
      if (this.#looseTurn !== undefined && pending.turn > this.#looseTurn) {
        this.#looseTurn = undefined;
      }
      pending.resolve(reply);
    } else if (reply.id === null) {
      this.#warn(`the server reports an error without an id: ${messageOf(reply.error)}`);
    } else if (!this.#forgotten.delete(reply.id)) {
      this.#warn("passed over a reply to a request that nobody made");
    }
  }

  /**
   * What an error without an id is about, where it can be about one request only: with others
   * under way, or a notification that may have displeased, one call would get another's error.
   */
  #onlyOne(): RequestId | undefined {
    if (this.#pending.size !== 1 || this.#looseTurn !== undefined) return undefined;
    return this.#pending.keys().next().value;
  }

  /** Passes over what is no message; a request that it was to answer need not wait on. */
  #refuse(value: unknown, why: string): void {
    const id = isObject(value) && resemblesReply(value) ? value["id"] : undefined;
    const pending = isRequestId(id) ? this.#end(id) : undefined;
    if (pending === undefined) this.#warn(`passed over what is no message: ${why}`);
    else pending.reject(new ClientError("invalid-answer", `the reply is no message: ${why}`));
  }

  #rejectSkipped(head: Uint8Array, tail: Uint8Array): void {
    this.#end(idAtEdge(head, tail))?.reject(
      new ClientError("too-large", `the reply is larger than ${this.#maxMessageBytes} bytes`),
    );
  }

  #warn(message: string): void {
    this.#incoming?.warn(message);
  }
}

function closedBy(gone: ClientError): ClientError {
  return gone.kind === "closed" ? gone : new ClientError("closed", gone.message, { cause: gone });
}

/** Lines of a log may be objects too, with an `id` and an `error` of their own. */
function resemblesReply(value: JsonObject): boolean {
  return !("method" in value) && ("jsonrpc" in value || "result" in value);
}

function messageOf(error: unknown): string {
  const message = isObject(error) ? error["message"] : undefined;
  return typeof message === "string" ? excerpt(message) : "no message";
}

const idAtStart = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d+|"[^"\\]*")\s*,/;
const idAtEnd =
  /,\s*"id"\s*:\s*(-?\d+|"[^"\\]*")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$|,\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(-?\d+|"[^"\\]*")\s*\}\s*$/;

/**
 * The id of a message of which only both ends are left. Members next to the outermost braces are
 * the message's own: whatever lies deeper has more braces between.
 */
function idAtEdge(head: Uint8Array, tail: Uint8Array): RequestId | undefined {
  const lenient = new TextDecoder();
  const start = lenient.decode(head);
  const found = idAtStart.exec(start) ?? idAtEnd.exec(lenient.decode(tail));
  const literal = found?.[1] ?? found?.[2];
  if (literal === undefined || /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"method"/.test(start)) {
    return undefined;
  }
  const id: unknown = JSON.parse(literal);
  return isRequestId(id) ? id : undefined;
}
