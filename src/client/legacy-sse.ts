/**
 * The HTTP+SSE transport of 2024-11-05: a stream to read from, whose first event names the
 * URL to post to (basic/transports, HTTP with SSE, 2024-11-05). The stream is the session:
 * it cannot be resumed.
 */
import type { Network } from "../core/telemetry.ts";
import { isRequestId, type RequestId } from "../jsonrpc/message.ts";
import type { WrittenRequest } from "../revisions/client-half.ts";
import { Ending } from "../util/ending.ts";
import type { JsonObject } from "../util/json.ts";
import { letGo } from "../util/timer.ts";
import { ChannelTransport } from "./channel-transport.ts";
import type { DuplexReader } from "./duplex.ts";
import { ClientError, clientClosed } from "./errors.ts";
import type { SourceEvent } from "./event-source.ts";
import { type HttpAnswer, type HttpSender, swallowMs, tooLarge } from "./http-exchange.ts";
import { findRefusal, isEventStream, type ReadAnswer, toHttpError } from "./http-failure.ts";
import { createPosition, HttpWay, type HttpWayOptions, messageOf } from "./http-way.ts";
import { networkOf } from "./network.ts";
import { leave } from "./stream-reader.ts";
import type { CallSignal, Incoming, Received, Transport, Travel } from "./transport.ts";

export interface LegacySseTransportOptions extends HttpWayOptions {
  /**
   * How long the server may take to open the stream and to name where to post, in
   * milliseconds. @default 10000
   */
  readonly openTimeoutMs?: number | undefined;
}

type HeaderRecord = Readonly<Record<string, string>>;

const ofStreams = { accept: "text/event-stream" };
const ofPosts = { "content-type": "application/json", accept: "application/json" };
const none = {};

export class LegacySseTransport implements Transport {
  readonly kind = "channel";
  readonly network: Network;
  readonly follow: undefined;
  readonly session: undefined;
  readonly #openTimeoutMs: number;
  readonly #ending: Ending = new Ending();
  readonly #way: HttpWay;
  /** Knows which replies are waited for; what is posted goes around it. */
  readonly #channel: ChannelTransport;
  readonly #opening: AbortController = new AbortController();
  #incoming: Incoming | undefined;
  /** Over when nobody waits any more for the stream to open. */
  #waiting: CallSignal | undefined;
  #reader: DuplexReader | undefined;
  /** Where to post; undefined before the stream has said so, and after it has ended. */
  #endpoint: URL | undefined;

  /** @param sender - is closed with the transport */
  constructor(url: string | URL, sender: HttpSender, options: LegacySseTransportOptions = {}) {
    this.network = networkOf(url);
    this.#openTimeoutMs = options.openTimeoutMs ?? 10_000;
    this.#way = new HttpWay(url, sender, options, this.#ending);
    const { maxDepth } = options;
    this.#channel = new ChannelTransport(
      {
        open: (reader) => this.#open(reader),
        send: () => undefined,
        close: () => this.#hangUp(),
      },
      { maxDepth },
    );
  }

  /** @throws ClientError when the server opens no stream, or one that names nowhere to post */
  start(incoming: Incoming, waiting?: CallSignal): Promise<void> {
    this.#incoming = incoming;
    this.#waiting = waiting;
    return this.#channel.start(incoming);
  }

  async request(written: WrittenRequest, { signal, resumption }: Travel): Promise<Received> {
    const id = written.message["id"];
    if (!isRequestId(id)) throw new TypeError("a request has an id");
    signal.throwIfAborted();
    const failed = new AbortController();
    const posting = new AbortController();
    const onAbort = (): void => {
      failed.abort(signal.reason);
      posting.abort(signal.reason);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      const replied = this.#channel.request(written, { signal: failed.signal, resumption });
      const hold = (): (() => void) => signal.hold?.() ?? (() => undefined);
      const posted = this.#post(written.message, written.headers, posting.signal, hold)
        .then((answer) => this.#readPosted(answer, id))
        .catch((cause: unknown) => failed.abort(cause));
      return await replied.finally(() => letFinish(posted, posting));
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  async send(message: JsonObject, headers: HeaderRecord, signal: AbortSignal): Promise<void> {
    await this.#channel.send(message, headers, signal);
    await this.#readPosted(await this.#post(message, headers, signal), undefined);
  }

  forgetSession(): void {
    // The stream is the session.
  }

  close(): Promise<void> {
    return this.#channel.close();
  }

  async #hangUp(): Promise<void> {
    this.#endpoint = undefined;
    this.#ending.end();
    this.#opening.abort(clientClosed());
    this.#way.sender.close();
  }

  async #open(reader: DuplexReader): Promise<void> {
    this.#reader = reader;
    const start = (): ReturnType<typeof setTimeout> =>
      setTimeout(() => {
        this.#opening.abort(new ClientError("timeout", "the server does not say where to post"));
      }, this.#openTimeoutMs);
    let late = start();
    try {
      const answer = await this.#openStream(() => {
        clearTimeout(late);
        const release = this.#waiting?.hold?.();
        return () => {
          release?.();
          clearTimeout(late);
          late = start();
        };
      });
      const events = this.#way.events(answer, createPosition());
      try {
        this.#endpoint = await findEndpoint(events, answer.url);
      } catch (cause) {
        leave(answer, events);
        throw cause;
      }
      void this.#read(answer, events, reader);
    } finally {
      clearTimeout(late);
    }
  }

  async #openStream(hold: () => () => void): Promise<HttpAnswer> {
    const answer = await this.#way.send({
      method: "GET",
      headers: none,
      common: ofStreams,
      signal: this.#opening.signal,
      hold,
      repeatable: true,
    });
    if (answer.status === 200 && isEventStream(answer)) return answer;
    const read = await this.#way.read(answer);
    throw findRefusal(read) ?? toHttpError(read);
  }

  async #read(
    answer: HttpAnswer,
    events: AsyncGenerator<SourceEvent>,
    reader: DuplexReader,
  ): Promise<void> {
    try {
      for await (const event of events) {
        const text = messageOf(event);
        if (text !== undefined) reader.text(text);
        else if (event.kind === "too-large") {
          this.#incoming?.warn(`passed over: ${tooLarge(this.#way.maxMessageBytes).message}`);
        }
      }
      reader.closed(new ClientError("interrupted", "the server ended the stream"));
    } catch (cause) {
      answer.discard();
      reader.closed(cause);
    } finally {
      this.#endpoint = undefined;
    }
  }

  async #post(
    message: JsonObject,
    headers: HeaderRecord,
    signal: AbortSignal,
    hold?: CallSignal["hold"],
  ): Promise<HttpAnswer> {
    if (this.#endpoint === undefined) throw clientClosed();
    return this.#way.send({
      method: "POST",
      url: this.#endpoint,
      headers,
      common: ofPosts,
      body: JSON.stringify(message),
      signal,
      hold,
      repeatable: false,
    });
  }

  /** A message that was taken is answered on the stream; one that was refused may be, here. */
  async #readPosted(answer: HttpAnswer, id: RequestId | undefined): Promise<void> {
    if (answer.status >= 200 && answer.status < 300) {
      answer.discard();
      return;
    }
    const read = await this.#way.read(answer);
    const refusal = findRefusal(read);
    if (refusal !== undefined) throw refusal;
    const error = id === undefined ? undefined : findError(read, id);
    if (error === undefined) throw toHttpError(read);
    this.#reader?.message({ jsonrpc: "2.0", id, error });
  }
}

/** An error that is this request's by its id, or by having none. */
function findError({ messages }: ReadAnswer, id: RequestId): unknown {
  const reply = messages?.find((message) => message.kind === "reply");
  if (reply?.kind !== "reply" || reply.error === undefined) return undefined;
  return reply.id === null || reply.id === id ? reply.error : undefined;
}

/** The reply may overtake the answer to the POST, which gets a moment to keep its connection. */
function letFinish(posted: Promise<void>, posting: AbortController): void {
  const late = setTimeout(() => posting.abort(clientClosed()), swallowMs);
  letGo(late);
  void posted.then(() => clearTimeout(late));
}

async function findEndpoint(events: AsyncGenerator<SourceEvent>, from: URL): Promise<URL> {
  for (;;) {
    const next = await events.next();
    if (next.done) throw new ClientError("interrupted", "the stream ended before it began");
    const event = next.value;
    if (event.kind === "event" && event.name === "endpoint") return toEndpoint(event.data, from);
  }
}

/** Elsewhere, what is posted would be a stranger's: credentials, and all that users ask. */
function toEndpoint(text: string, from: URL): URL {
  const endpoint = URL.canParse(text, from.href) ? new URL(text, from) : undefined;
  if (endpoint === undefined || endpoint.origin !== from.origin) {
    throw new ClientError(
      "invalid-answer",
      `the server would have messages posted to ${endpoint?.origin ?? "no URL"}, not to ${from.origin}`,
    );
  }
  endpoint.username = "";
  endpoint.password = "";
  return endpoint;
}
