/** The event hub over a store that workers share, whatever that is. */
import { StoreError } from "../core/store-error.ts";
import { type Awaitable, after } from "../util/awaitable.ts";
import { letGo } from "../util/timer.ts";
import type { Cursor, EventHub, HubEvent } from "./event-hub.ts";
import type { HubLimits } from "./options.ts";
import { toCursor, toPlace } from "./place.ts";
import { Follower, Tail } from "./tail.ts";
import { toKept, toName } from "./text.ts";
import { type Bell, type Ringing, reaches, type Topics } from "./topics.ts";

export class SharedHub implements EventHub {
  readonly #topics: Topics;
  readonly #limits: HubLimits;
  readonly #bell: Bell;
  readonly #tails: Map<string, Tail> = new Map();
  readonly #onFault: (cause: unknown) => void;
  #keeping: ReturnType<typeof setInterval> | undefined;
  #closed = false;

  constructor(
    topics: Topics,
    limits: HubLimits,
    bell: (ringing: Ringing) => Bell,
    onFault: (cause: unknown) => void,
  ) {
    this.#topics = topics;
    this.#limits = limits;
    this.#onFault = onFault;
    this.#bell = bell({
      one: (topic, place) => this.#tails.get(topic)?.ring(place),
      all: () => {
        for (const tail of [...this.#tails.values()]) tail.ring();
      },
      topics: () => [...this.#tails.keys()],
      fault: onFault,
    });
  }

  publish(topic: string, data: string): Awaitable<Cursor> {
    const name = this.#name(topic);
    const kept = toKept(data);
    const { maxEventLength } = this.#limits;
    if (kept.length > maxEventLength) {
      const sizes = `an event takes ${kept.length} characters; ${maxEventLength} are kept`;
      throw new StoreError("too-large", sizes);
    }
    return after(this.#topics.publish(name, kept), (place) => {
      this.#tails.get(name)?.offer(place, data);
      return toCursor(place);
    });
  }

  position(topic: string): Awaitable<Cursor> {
    return after(this.#topics.position(this.#name(topic)), toCursor);
  }

  exists(topic: string): Awaitable<boolean> {
    return this.#topics.exists(this.#name(topic));
  }

  delete(topic: string): Awaitable<void> {
    return this.#topics.delete(this.#name(topic));
  }

  async follow(
    topic: string,
    from: Cursor,
    onEvent: (event: HubEvent) => void,
    signal: AbortSignal,
  ): Promise<boolean> {
    const name = this.#name(topic);
    const place = toPlace(from);
    if (place === undefined) return false;
    if (signal.aborted) return reaches(await this.#topics.read(name, place), place);
    const follower = new Follower(place, onEvent, signal, this.#onFault);
    return this.#tail(name).join(follower);
  }

  /** Whoever follows is called back no more. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#keeping);
    for (const tail of this.#tails.values()) tail.close();
    this.#tails.clear();
    await this.#bell.close();
  }

  #name(topic: string): string {
    if (this.#closed) throw new StoreError("closed", "the event hub was closed");
    return toName("a topic", topic);
  }

  /** Registered before anything is read, so that no ring in between is missed. */
  #tail(name: string): Tail {
    const known = this.#tails.get(name);
    if (known !== undefined) return known;
    const tail = new Tail({
      read: (place) => this.#topics.read(name, place),
      fault: this.#onFault,
      onEmpty: () => {
        if (this.#tails.get(name) === tail) this.#tails.delete(name);
      },
    });
    this.#tails.set(name, tail);
    this.#bell.open();
    this.#keep();
    return tail;
  }

  #keep(): void {
    if (this.#keeping !== undefined) return;
    const keep = async (): Promise<void> => {
      try {
        await this.#topics.keep([...this.#tails.keys()]);
      } catch (cause) {
        this.#onFault(cause);
      }
    };
    this.#keeping = setInterval(() => void keep(), Math.min(this.#limits.keepMs / 4, 2 ** 31 - 1));
    letGo(this.#keeping);
  }
}
