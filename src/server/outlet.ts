/**
 * Where a running call's own messages go. Over HTTP they turn the reply into a stream, at
 * the first of them; where the revision can resume, they pass through a topic of the hub,
 * so that another connection, on another worker, can take up the rest.
 */
import { encodeEvent } from "../sse/encode.ts";
import type { EventHub, HubEvent } from "../stores/event-hub.ts";
import { type Awaitable, after, isPromise } from "../util/awaitable.ts";
import type { JsonObject } from "../util/json.ts";
import { EventStream } from "./event-stream.ts";

export interface Outlet {
  /** Sends a notification or a request that belongs to the call. */
  send(message: JsonObject): void;
  /** Lets go of the connection, where the caller can come back for the rest. */
  readonly detach: ((retryMs: number) => void) | undefined;
  /** Calls back when nobody hears any more and nobody can come back; undefined where that shows elsewhere. */
  readonly onLost: ((callback: () => void) => void) | undefined;
}

/** What a call's stream is resumed by. */
export interface Resumption {
  readonly hub: EventHub;
  readonly session: string;
  /** Whether the stream begins with an event that only says where it begins. */
  readonly primed: boolean;
  /** Hears what the hub failed at. The call is answered all the same, but cannot be resumed. */
  readonly onFault: (cause: unknown) => void;
}

/** The data of the event after which nothing comes. */
const endMark = "";

/** The outlet of one POST: nothing until the first message, then a stream. */
export class PostOutlet implements Outlet {
  readonly detach: ((retryMs: number) => void) | undefined;
  readonly onLost: ((callback: () => void) => void) | undefined;
  readonly #resumption: Resumption | undefined;
  #stream: EventStream | undefined;
  #topic: Topic | undefined;
  #onOpen: ((stream: EventStream) => void) | undefined;

  constructor(resumption: Resumption | undefined) {
    this.#resumption = resumption;
    this.detach = resumption === undefined ? undefined : (retryMs) => this.#detach(retryMs);
    this.onLost =
      resumption === undefined ? (callback) => this.#open().onClose(callback) : undefined;
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
      this.#topic = new Topic(this.#resumption, stream);
    }
    this.#onOpen?.(stream);
    return stream;
  }

  #detach(retryMs: number): void {
    this.#open();
    this.#topic?.letGo(Math.max(0, Math.round(retryMs)));
  }
}

/**
 * The topic behind one call's stream, and the connection that is there from the start. What
 * is done keeps its order, however long the hub takes.
 */
class Topic {
  readonly #resumption: Resumption;
  readonly #stream: EventStream;
  readonly #id: string = crypto.randomUUID();
  readonly #name: string;
  readonly #following: AbortController = new AbortController();
  #ready: Awaitable<unknown>;
  /** The hub has failed: the stream is written to without it. */
  #broken = false;
  /** Whether the reader knows an event that it could come back after. */
  #canReturn = false;
  #letGoMs: number | undefined;

  constructor(resumption: Resumption, stream: EventStream) {
    this.#resumption = resumption;
    this.#stream = stream;
    this.#name = topicOf(resumption.session, this.#id);
    stream.onClose(() => this.#following.abort());
    this.#then(() => this.#pour());
  }

  publish(data: string): void {
    const publish = (): Awaitable<unknown> => this.#resumption.hub.publish(this.#name, data);
    this.#then(publish, () => this.#show(data, undefined));
  }

  /** Ends the connection as soon as its reader can come back for the rest. */
  letGo(retryMs: number): void {
    this.#then(() => {
      this.#letGoMs = retryMs;
      this.#leave();
    });
  }

  /** Does something once all that came before it is done, and the other thing without a hub. */
  #then(next: () => Awaitable<unknown>, otherwise: () => void = () => undefined): void {
    const failed = (cause: unknown): void => {
      this.#fail(cause);
      otherwise();
    };
    try {
      const done = after(this.#ready, () => (this.#broken ? otherwise() : next()));
      this.#ready = isPromise(done) ? done.catch(failed) : undefined;
    } catch (cause) {
      failed(cause);
    }
  }

  #fail(cause: unknown): void {
    this.#broken = true;
    this.#following.abort();
    this.#resumption.onFault(cause);
  }

  #pour(): Awaitable<unknown> {
    const { hub, primed } = this.#resumption;
    return after(hub.position(this.#name), (start) => {
      if (primed) {
        this.#stream.write(encodeEvent({ id: `${this.#id}.${start}`, data: "", retryMs: 1_000 }));
        this.#canReturn = true;
      }
      const show = ({ cursor, data }: HubEvent): void => this.#show(data, `${this.#id}.${cursor}`);
      const followed = hub.follow(this.#name, start, show, this.#following.signal);
      return after(followed, (known) => {
        if (!known) throw new Error("the hub lost the topic of a call that has just begun");
      });
    });
  }

  #show(data: string, id: string | undefined): void {
    show(this.#stream, data, id);
    this.#canReturn ||= id !== undefined;
    this.#leave();
  }

  #leave(): void {
    if (this.#letGoMs === undefined || !this.#canReturn || this.#broken) return;
    this.#stream.write(`retry: ${this.#letGoMs}\n\n`);
    this.#stream.end();
  }
}

/** One event of a call's topic, to whoever reads it. */
function show(stream: EventStream, data: string, id: string | undefined): void {
  if (data === endMark) stream.end();
  else stream.write(encodeEvent({ event: "message", id, data }));
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
  const ended = new AbortController();
  stream.onClose(() => ended.abort());
  return hub.follow(
    topicOf(session, id),
    lastEventId.slice(dot + 1),
    ({ cursor, data }) => show(stream, data, `${id}.${cursor}`),
    ended.signal,
  );
}
