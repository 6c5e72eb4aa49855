/**
 * Where a running call's own messages go. Over HTTP they turn the reply into a stream, at
 * the first of them; where the revision can resume, they pass through a topic of the hub,
 * so that another connection, on another worker, can take up the rest.
 */
import { encodeEvent } from "../sse/encode.ts";
import type { Cursor, EventHub } from "../stores/event-hub.ts";
import { type Awaitable, after } from "../util/awaitable.ts";
import type { JsonObject } from "../util/json.ts";
import { EventStream } from "./event-stream.ts";

export interface Outlet {
  /** Sends a notification or a request that belongs to the call. */
  send(message: JsonObject): void;
  /** Lets go of the connection, where the caller can come back for the rest. */
  readonly detach: ((retryMs: number) => void) | undefined;
}

/** What a call's stream is resumed by. */
export interface Resumption {
  readonly hub: EventHub;
  readonly session: string;
  /** Whether the stream begins with an event that only says where it begins. */
  readonly primed: boolean;
}

/** The data of the event after which nothing comes. */
const endMark = "";

/** The outlet of one POST: nothing until the first message, then a stream. */
export class PostOutlet implements Outlet {
  readonly detach: ((retryMs: number) => void) | undefined;
  readonly #resumption: Resumption | undefined;
  #stream: EventStream | undefined;
  #topic: Topic | undefined;
  #onOpen: ((stream: EventStream) => void) | undefined;

  constructor(resumption: Resumption | undefined) {
    this.#resumption = resumption;
    // A reader that was told no event id yet has nothing to come back with.
    this.detach = resumption?.primed ? (retryMs) => this.#detach(retryMs) : undefined;
  }

  /** The stream, once there was something to say before the answer. */
  get stream(): EventStream | undefined {
    return this.#stream;
  }

  /** Calls back when the first message turns the reply into a stream. */
  onOpen(callback: (stream: EventStream) => void): void {
    if (this.#stream === undefined) this.#onOpen = callback;
    else callback(this.#stream);
  }

  send(message: JsonObject): void {
    this.#write(this.#open(), JSON.stringify(message));
  }

  /** The answer, after which the stream ends. */
  finish(text: string | undefined): void {
    const stream = this.#open();
    if (text !== undefined) this.#write(stream, text);
    if (this.#topic === undefined) stream.end();
    else this.#topic.publish(endMark);
  }

  #write(stream: EventStream, text: string): void {
    if (this.#topic === undefined) stream.write(encodeEvent({ event: "message", data: text }));
    else this.#topic.publish(text);
  }

  #open(): EventStream {
    if (this.#stream !== undefined) return this.#stream;
    const stream = new EventStream();
    this.#stream = stream;
    if (this.#resumption !== undefined) {
      this.#topic = new Topic(this.#resumption);
      this.#topic.pour(stream, this.#resumption.primed);
    }
    this.#onOpen?.(stream);
    return stream;
  }

  #detach(retryMs: number): void {
    const stream = this.#open();
    this.#topic?.whenReady(() => {
      stream.write(`retry: ${Math.max(0, Math.round(retryMs))}\n\n`);
      stream.end();
    });
  }
}

/** The topic behind one call's stream. Publishing keeps its order, however long it takes. */
class Topic {
  readonly #hub: EventHub;
  readonly #name: string;
  readonly #id: string = crypto.randomUUID();
  #ready: Awaitable<unknown>;
  readonly #start: Awaitable<Cursor>;

  constructor({ hub, session }: Resumption) {
    this.#hub = hub;
    this.#name = topicOf(session, this.#id);
    this.#start = hub.position(this.#name);
    this.#ready = this.#start;
  }

  publish(data: string): void {
    this.whenReady(() => this.#hub.publish(this.#name, data));
  }

  /** Does something once all that came before it is done. */
  whenReady(next: () => Awaitable<unknown>): void {
    this.#ready = after(this.#ready, next);
  }

  pour(stream: EventStream, primed: boolean): void {
    this.#ready = after(this.#start, (start) => {
      if (primed)
        stream.write(encodeEvent({ id: `${this.#id}.${start}`, data: "", retryMs: 1_000 }));
      return follow(this.#hub, this.#name, this.#id, start, stream);
    });
  }
}

function topicOf(session: string, stream: string): string {
  return `stream:${session}:${stream}`;
}

/**
 * Takes up a call's stream after an event. Only the session that the call belongs to knows
 * the topic, whatever id it is given.
 *
 * @returns false when the event is unknown or too old.
 */
export function resumeStream(
  hub: EventHub,
  session: string,
  lastEventId: string,
  stream: EventStream,
): Awaitable<boolean> {
  const dot = lastEventId.lastIndexOf(".");
  const id = lastEventId.slice(0, dot);
  if (!/^[0-9a-f-]{36}$/.test(id)) return false;
  return follow(hub, topicOf(session, id), id, lastEventId.slice(dot + 1), stream);
}

function follow(
  hub: EventHub,
  topic: string,
  id: string,
  from: Cursor,
  stream: EventStream,
): Awaitable<boolean> {
  const ended = new AbortController();
  stream.onClose(() => ended.abort());
  return hub.follow(
    topic,
    from,
    ({ cursor, data }) => {
      if (data === endMark) stream.end();
      else stream.write(encodeEvent({ event: "message", id: `${id}.${cursor}`, data }));
    },
    ended.signal,
  );
}
