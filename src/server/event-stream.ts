/** A reply that goes on: text written as it comes, to a reader that may be slow or gone. */
import { keepAlive } from "../sse/encode.ts";
import { letGo } from "../util/timer.ts";
import { Backlog, type Queue } from "./backlog.ts";

/** Where a bridge lets a stream write: the other end of {@link EventStream.attach}. */
export interface Sink {
  write(text: string): void;
  /** How many bytes of what was written wait to be read. */
  waiting(): number;
  end(): void;
  /** Breaks the connection off, for a reader that does not read. */
  destroy(): void;
}

/**
 * Bytes that may wait for a reader when there is more to write; a reader further behind is
 * dropped, not buffered for. One message may be larger: its reader has had no time for it yet.
 */
export const maxQueuedBytes = 1_048_576;

/** Memory is one for all endpoints of a process. */
const backlog = new Backlog();

/** What may wait until a bridge can write: a stream that is resumed begins with all it missed. */
const maxUnattachedLength = 2 * maxQueuedBytes;

/** How often a silent stream says that it is alive: proxies cut at 60 seconds, some earlier. */
export const defaultKeepAliveMs = 20_000;

/**
 * The body of a reply that goes on, as a bridge gets it in `HttpReply.stream`. It attaches a
 * sink once, and tells when the reader is gone; the rest is the endpoint's.
 */
export class EventStream {
  readonly #closed: Set<() => void> = new Set();
  #sink: Sink | undefined;
  #waiting: string[] = [];
  #waitingLength = 0;
  #ended = false;
  #gone = false;
  #timer: ReturnType<typeof setInterval> | undefined;
  readonly #keepAliveMs: number;
  readonly #queue: Queue = {
    waiting: () => this.#sink?.waiting() ?? 0,
    drop: () => this.#drop(),
  };

  constructor(keepAliveMs: number = defaultKeepAliveMs) {
    this.#keepAliveMs = keepAliveMs;
  }

  get open(): boolean {
    return !this.#ended && !this.#gone;
  }

  write(text: string): void {
    if (!this.open) return;
    if (this.#sink !== undefined) {
      if (this.#sink.waiting() > maxQueuedBytes) {
        this.#drop();
        return;
      }
      this.#sink.write(text);
      backlog.written(this.#queue);
      return;
    }
    if (this.#waitingLength > maxUnattachedLength) {
      this.#drop();
      return;
    }
    this.#waiting.push(text);
    this.#waitingLength += text.length;
  }

  end(): void {
    if (!this.open) return;
    this.#ended = true;
    this.#finish();
    this.#sink?.end();
  }

  /** Calls back once, when the stream is over for whatever reason. */
  onClose(callback: () => void): void {
    if (this.open) this.#closed.add(callback);
    else callback();
  }

  /** Called by the bridge, once it can write. */
  attach(sink: Sink): void {
    this.#sink = sink;
    for (const text of this.#waiting) sink.write(text);
    this.#waiting = [];
    if (this.#gone) sink.destroy();
    else if (this.#ended) sink.end();
    else {
      this.#timer = setInterval(() => this.write(keepAlive), this.#keepAliveMs);
      letGo(this.#timer);
    }
  }

  /** Called by the bridge, when the reader is gone. */
  disconnect(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#finish();
  }

  #drop(): void {
    this.#gone = true;
    this.#finish();
    this.#sink?.destroy();
  }

  #finish(): void {
    clearInterval(this.#timer);
    backlog.forget(this.#queue);
    // What is ended before it could be written is written yet; what is dropped is not.
    if (this.#gone) this.#waiting = [];
    const callbacks = [...this.#closed];
    this.#closed.clear();
    for (const callback of callbacks) callback();
  }
}
