/** Events in the memory of one process: the default, for one worker. */
import { RecencyMap } from "../util/recency-map.ts";
import type { Cursor, EventHub, HubEvent } from "./event-hub.ts";

/** How much a hub in memory holds: past any of these the oldest is forgotten. */
export interface MemoryHubOptions {
  /** Events kept of a topic at most; older ones are forgotten first. @default 1000 */
  readonly maxEvents?: number | undefined;
  /** Characters of data kept of a topic at most. @default 1048576 */
  readonly maxLength?: number | undefined;
  /**
   * Characters of data kept of all topics together, at most: many callers that each fill a
   * topic must not fill the memory. The topic written longest ago is forgotten first.
   * @default 67108864
   */
  readonly maxTotalLength?: number | undefined;
  /** Topics kept at most; the one written longest ago is forgotten first. @default 10000 */
  readonly maxTopics?: number | undefined;
  /** How long a topic is kept after its last event, in milliseconds. @default 300000 */
  readonly ttlMs?: number | undefined;
  /** The clock, in milliseconds. @default Date.now */
  readonly now?: (() => number) | undefined;
}

const defaults = Object.freeze({
  maxEvents: 1_000,
  maxLength: 1_048_576,
  maxTotalLength: 67_108_864,
  maxTopics: 10_000,
  ttlMs: 300_000,
});

interface Topic {
  /** The number of the last event that is no longer held. */
  lostUpTo: number;
  last: number;
  readonly events: Numbered[];
  length: number;
  writtenAt: number;
}

interface Numbered extends HubEvent {
  readonly number: number;
}

interface Follower {
  readonly onEvent: (event: HubEvent) => void;
  readonly signal: AbortSignal;
  /** What it has not seen yet. */
  readonly queue: HubEvent[];
  /** It is being called; what comes meanwhile waits its turn. */
  busy: boolean;
}

/**
 * A hub for the endpoints of one process. Whoever comes back for what was forgotten is told
 * that it is lost.
 */
export class MemoryHub implements EventHub {
  /** Written longest ago first. */
  readonly #topics: RecencyMap<Topic> = new RecencyMap();
  readonly #followers: Map<string, Set<Follower>> = new Map();
  readonly #maxEvents: number;
  readonly #maxLength: number;
  readonly #maxTotalLength: number;
  readonly #maxTopics: number;
  readonly #ttlMs: number;
  readonly #now: () => number;
  /** Cursors of another hub, such as this one before a restart, are told apart by it. */
  readonly #epoch: string = crypto.randomUUID().slice(0, 8);
  /** The sum of what all topics hold. */
  #length = 0;
  /** Events are numbered over all topics, so that one forgotten and begun anew goes on. */
  #last = 0;
  /** The last number of each topic that was forgotten whole, longest ago first. */
  readonly #forgotten: Map<string, number> = new Map();
  /** The highest number in any topic of which not even that is known any more. */
  #forgottenUpTo = 0;

  constructor(options: MemoryHubOptions = {}) {
    this.#maxEvents = options.maxEvents ?? defaults.maxEvents;
    this.#maxTotalLength = options.maxTotalLength ?? defaults.maxTotalLength;
    this.#maxLength = Math.min(options.maxLength ?? defaults.maxLength, this.#maxTotalLength);
    this.#maxTopics = options.maxTopics ?? defaults.maxTopics;
    this.#ttlMs = options.ttlMs ?? defaults.ttlMs;
    this.#now = options.now ?? Date.now;
  }

  /** How many topics hold events, and how many followers there are: for tests of leaks. */
  get counts(): { readonly topics: number; readonly followers: number } {
    let followers = 0;
    for (const each of this.#followers.values()) followers += each.size;
    return { topics: this.#topics.size, followers };
  }

  publish(topic: string, data: string): Cursor {
    const kept = this.#write(topic);
    const number = ++this.#last;
    kept.last = number;
    const event: Numbered = { number, cursor: this.#cursor(number), data };
    this.#keep(topic, kept, event);
    // All are given the event before any is called: one may publish in turn.
    const followers = [...(this.#followers.get(topic) ?? [])];
    for (const follower of followers) follower.queue.push(event);
    for (const follower of followers) drain(follower);
    return event.cursor;
  }

  position(topic: string): Cursor {
    return this.#cursor(this.#read(topic)?.last ?? this.#last);
  }

  exists(topic: string): boolean {
    return (this.#read(topic)?.events.length ?? 0) > 0;
  }

  follow(
    topic: string,
    after: Cursor,
    onEvent: (event: HubEvent) => void,
    signal: AbortSignal,
  ): boolean {
    const from = this.#number(after);
    const kept = this.#read(topic);
    const lostUpTo = kept?.lostUpTo ?? this.#lostOf(topic);
    if (from === undefined || from < lostUpTo || from > this.#last) return false;
    if (signal.aborted) return true;
    const queue = (kept?.events ?? []).filter(({ number }) => number > from);
    const follower: Follower = { onEvent, signal, queue, busy: false };
    this.#subscribe(topic, follower);
    drain(follower);
    return true;
  }

  delete(topic: string): void {
    const kept = this.#topics.get(topic);
    if (kept !== undefined) this.#forget(topic, kept);
  }

  #keep(name: string, topic: Topic, event: Numbered): void {
    const before = topic.length;
    topic.events.push(event);
    topic.length += event.data.length;
    while (topic.events.length > this.#maxEvents || topic.length > this.#maxLength) {
      const lost = topic.events.shift();
      topic.length -= lost?.data.length ?? 0;
      topic.lostUpTo = lost?.number ?? topic.lostUpTo;
    }
    this.#length += topic.length - before;
    for (const [other, oldest] of this.#topics) {
      if (this.#length <= this.#maxTotalLength || other === name) return;
      this.#forget(other, oldest);
    }
  }

  #cursor(number: number): Cursor {
    return `${this.#epoch}-${number}`;
  }

  /** The number in a cursor; undefined when this hub did not give it out. */
  #number(cursor: Cursor): number | undefined {
    const number = Number(cursor.slice(this.#epoch.length + 1));
    return Number.isSafeInteger(number) && cursor === this.#cursor(number) ? number : undefined;
  }

  #lostOf(topic: string): number {
    return Math.max(this.#forgotten.get(topic) ?? 0, this.#forgottenUpTo);
  }

  #forget(name: string, topic: Topic): void {
    this.#topics.delete(name);
    this.#length -= topic.length;
    this.#forgotten.delete(name);
    this.#forgotten.set(name, topic.last);
    if (this.#forgotten.size <= this.#maxTopics) return;
    const [oldest] = this.#forgotten;
    if (oldest === undefined) return;
    this.#forgotten.delete(oldest[0]);
    this.#forgottenUpTo = Math.max(this.#forgottenUpTo, oldest[1]);
  }

  #subscribe(topic: string, follower: Follower): void {
    const followers = this.#followers.get(topic) ?? new Set();
    this.#followers.set(topic, followers);
    followers.add(follower);
    follower.signal.addEventListener(
      "abort",
      () => {
        followers.delete(follower);
        if (followers.size === 0 && this.#followers.get(topic) === followers) {
          this.#followers.delete(topic);
        }
      },
      { once: true },
    );
  }

  #read(topic: string): Topic | undefined {
    const kept = this.#topics.get(topic);
    if (kept === undefined || kept.writtenAt + this.#ttlMs > this.#now()) return kept;
    this.#forget(topic, kept);
    return undefined;
  }

  #write(topic: string): Topic {
    const now = this.#now();
    const kept = this.#read(topic) ?? this.#begin(topic, now);
    kept.writtenAt = now;
    this.#topics.set(topic, kept);
    for (const [name, other] of this.#topics) {
      if (this.#topics.size <= this.#maxTopics && other.writtenAt + this.#ttlMs > now) break;
      if (name !== topic) this.#forget(name, other);
    }
    return kept;
  }

  #begin(topic: string, now: number): Topic {
    const lostUpTo = this.#lostOf(topic);
    this.#forgotten.delete(topic);
    return { lostUpTo, last: 0, events: [], length: 0, writtenAt: now };
  }
}

/** Shows a follower what waits for it, in order, until it has had enough. */
function drain(follower: Follower): void {
  if (follower.busy) return;
  follower.busy = true;
  try {
    for (let event = follower.queue.shift(); event !== undefined; event = follower.queue.shift()) {
      if (follower.signal.aborted) return;
      follower.onEvent(event);
    }
  } finally {
    follower.busy = false;
  }
}
