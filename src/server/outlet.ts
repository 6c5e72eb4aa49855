/**
 * Where a running call's own messages go. Over HTTP they turn the reply into a stream, at
 * the first of them; where the revision can resume, they pass through a topic of the hub,
 * so that another connection, on another worker, can take up the rest.
 */
import { StoreError } from "../core/store-error.ts";
import { encodeEvent } from "../sse/encode.ts";
import type { Cursor, EventHub, HubEvent } from "../stores/event-hub.ts";
import { type Awaitable, after, isPromise } from "../util/awaitable.ts";
import type { JsonObject } from "../util/json.ts";
import { letGo, pause } from "../util/timer.ts";
import { aliveMark, sayAlive } from "./alive.ts";
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
  /** Given what is to be finished before the process may end. */
  readonly onEnding?: ((ending: Promise<unknown>) => void) | undefined;
}

/** The data of the event after which nothing comes. */
const endMark = "";

/**
 * How often a call says that it runs, to whoever has come back for it on another worker, and
 * after what silence that one takes its worker to be gone, in milliseconds.
 */
const [beatMs, silenceMs] = [20_000, 65_000];

/** How long a hub that is away is waited for, and how often it is tried, in milliseconds. */
const [patienceMs, retryMs] = [60_000, 250];

/** Begins the data of the event from which on only the connection it names is written to. */
const takenMark = ">";

/** The outlet of one POST: nothing until the first message, then a stream. */
export class PostOutlet implements Outlet {
  readonly detach: ((retryMs: number) => void) | undefined;
  readonly onLost: ((callback: () => void) => void) | undefined;
  readonly #resumption: Resumption | undefined;
  #stream: EventStream | undefined;
  #topic: Topic | undefined;
  #onOpen: ((stream: EventStream) => void) | undefined;
  readonly #keepAliveMs: number | undefined;
  #closed = false;

  constructor(resumption: Resumption | undefined, keepAliveMs?: number) {
    this.#resumption = resumption;
    this.#keepAliveMs = keepAliveMs;
    // A reader that was told no event id yet has nothing to come back with.
    this.detach = resumption?.primed ? (retryMs) => this.#detach(retryMs) : undefined;
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
    if (this.#closed) return;
    const stream = this.#open();
    // A handler may go on telling for long after its reader is gone: that costs nothing more.
    if (this.#topic !== undefined || stream.open) this.#write(stream, JSON.stringify(message));
  }

  /** Turns the reply into a stream, though there is nothing to say yet. */
  begin(): void {
    if (!this.#closed) this.#open();
  }

  /** Nothing is said after the answer, whatever a handler that was cancelled goes on doing. */
  close(): void {
    this.#closed = true;
  }

  /** The answer, after which the stream ends. */
  finish(text: string | undefined): void {
    const stream = this.#open();
    this.close();
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
    const stream = new EventStream(this.#keepAliveMs);
    this.#stream = stream;
    if (this.#resumption !== undefined) {
      this.#topic = new Topic(this.#resumption, stream);
    }
    this.#onOpen?.(stream);
    return stream;
  }

  #detach(retryMs: number): void {
    if (this.#closed) return;
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
  readonly #rest: () => void;
  #ready: Awaitable<unknown>;
  /** The hub has failed: the stream is written to without it. */
  #broken = false;

  constructor(resumption: Resumption, stream: EventStream) {
    this.#resumption = resumption;
    this.#stream = stream;
    this.#name = topicOf(resumption.session, this.#id);
    stream.onClose(() => this.#following.abort());
    // Whoever comes back to a call that is still running must find it.
    this.#rest = sayAlive(() => this.#then(() => this.#beat()), beatMs);
    this.#then(() => this.#pour());
  }

  publish(data: string): void {
    if (data === endMark) this.#rest();
    const without = (): void => {
      if (data === endMark) this.#stream.end();
      else this.#stream.write(encodeEvent({ event: "message", data }));
    };
    this.#then(() => this.#say(data), without);
    if (data === endMark && isPromise(this.#ready)) this.#resumption.onEnding?.(this.#ready);
  }

  /** With nobody connected the hub alone has it, so that one that is away is waited for. */
  #say(data: string): Awaitable<Cursor> {
    const said = this.#publish(data);
    if (this.#stream.open || !isPromise(said)) return said;
    return said.catch((cause: unknown) => {
      if (!isAway(cause)) throw cause;
      return this.#sayPatiently(data);
    });
  }

  #publish(data: string): Awaitable<Cursor> {
    return this.#resumption.hub.publish(this.#name, data);
  }

  async #sayPatiently(data: string): Promise<Cursor> {
    for (const end = performance.now() + patienceMs; ; await pause(retryMs)) {
      try {
        return await this.#publish(data);
      } catch (cause) {
        if (!isAway(cause) || performance.now() > end) throw cause;
      }
    }
  }

  /** A sign of life that is lost breaks nothing: the next message shows what the hub can do. */
  async #beat(): Promise<void> {
    try {
      await this.#say(aliveMark);
    } catch (cause) {
      this.#resumption.onFault(cause);
    }
  }

  /** Ends the connection, once its reader was told where it can come back to. */
  letGo(retryMs: number): void {
    this.#then(() => {
      this.#stream.write(`retry: ${retryMs}\n\n`);
      this.#stream.end();
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
    this.#rest();
    this.#following.abort();
    this.#resumption.onFault(cause);
    // Whoever came back for the rest elsewhere is not left to wait for what never comes.
    if (isAway(cause)) this.#sayPatiently(endMark).catch(() => undefined);
  }

  #pour(): Awaitable<unknown> {
    const { hub, primed } = this.#resumption;
    // Whoever is told an id must find the topic, also before anything else is in it.
    const started = primed ? this.#say(aliveMark) : hub.position(this.#name);
    return after(started, (start) => {
      if (primed) {
        this.#stream.write(encodeEvent({ id: `${this.#id}.${start}`, data: "", retryMs: 1_000 }));
      }
      const read = reader(this.#stream, this.#id, undefined);
      const followed = hub.follow(this.#name, start, read, this.#following.signal);
      return after(followed, (known) => {
        if (!known) throw new Error("the hub lost the topic of a call that has just begun");
      });
    });
  }
}

function isAway(cause: unknown): boolean {
  return cause instanceof StoreError && cause.code === "away";
}

function topicOf(session: string, stream: string): string {
  return `stream:${session}:${stream}`;
}

/**
 * Takes up a call's stream after an event. Only the session that the call belongs to knows
 * the topic, whatever id it is given. A message goes to one connection only, so whichever
 * was written to before ends, on whatever worker, even if it only seems to be alive
 * (basic/transports, Multiple Connections, 2025-11-25).
 *
 * @returns false when the event is unknown or too old, or there is no such stream: what can
 * never say anything is not waited for.
 */
export async function resumeStream(
  hub: EventHub,
  session: string,
  lastEventId: string,
  stream: EventStream,
): Promise<boolean> {
  const dot = lastEventId.lastIndexOf(".");
  const id = lastEventId.slice(0, dot);
  if (!/^[0-9a-f-]{36}$/.test(id)) return false;
  const topic = topicOf(session, id);
  const from = lastEventId.slice(dot + 1);
  // Only asks: nothing is written to a topic that is not there, or cannot be read.
  if (!(await hub.exists(topic))) return false;
  if (!(await hub.follow(topic, from, () => undefined, AbortSignal.abort()))) return false;
  const taken = `${takenMark}${crypto.randomUUID()}`;
  await hub.publish(topic, taken);
  const ended = new AbortController();
  const watch = endAtSilence(stream);
  stream.onClose(() => ended.abort());
  const read = reader(stream, id, taken);
  const heard = (event: HubEvent): void => {
    watch();
    read(event);
  };
  return hub.follow(topic, from, heard, ended.signal);
}

/**
 * Ends a stream that waits for a worker that was killed, or its reader would wait for ever.
 *
 * @returns what is to be called at every sign of life
 */
function endAtSilence(stream: EventStream): () => void {
  let heardAt = performance.now();
  const timer = setInterval(() => {
    if (performance.now() - heardAt > silenceMs) stream.end();
  }, beatMs);
  letGo(timer);
  stream.onClose(() => clearInterval(timer));
  return () => {
    heardAt = performance.now();
  };
}

/**
 * Writes what a call's topic holds to one connection.
 *
 * @param id - what the ids of its events begin with
 * @param taken - the event by which this connection took over; undefined for the first
 */
function reader(
  stream: EventStream,
  id: string,
  taken: string | undefined,
): (event: HubEvent) => void {
  // Those that took over earlier are among what is read again.
  let own = taken === undefined;
  return ({ cursor, data }) => {
    if (data === aliveMark) return;
    if (data === endMark) stream.end();
    else if (data.startsWith(takenMark)) {
      if (own) stream.end();
      else own = data === taken;
    } else stream.write(encodeEvent({ event: "message", id: `${id}.${cursor}`, data }));
  };
}
