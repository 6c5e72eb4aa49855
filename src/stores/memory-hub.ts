/** Events in the memory of one process: the default, for one worker. */
import type { Cursor, EventHub, HubEvent } from "./event-hub.ts";

export interface MemoryHubOptions {
  /** Events kept of a topic at most; older ones are forgotten first. @default 1000 */
  readonly maxEvents?: number | undefined;
  /** Characters of data kept of a topic at most. @default 1048576 */
  readonly maxLength?: number | undefined;
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

type Follower = (event: HubEvent) => void;

export class MemoryHub implements EventHub {
  /** Written longest ago first. */
  readonly #topics: Map<string, Topic> = new Map();
  readonly #followers: Map<string, Set<Follower>> = new Map();
  readonly #maxEvents: number;
  readonly #maxLength: number;
  readonly #maxTopics: number;
  readonly #ttlMs: number;
  readonly #now: () => number;
  /** Events are numbered over all topics, so that one forgotten and begun anew goes on. */
  #last = 0;
  /**
   * The last numbers of topics that were forgotten whole, longest ago first: a cursor in
   * one topic must not look lost because others came and went.
   */
  readonly #forgotten: Map<string, number> = new Map();
  /** The highest of those that were forgotten here too. */
  #forgottenUpTo = 0;

  constructor(options: MemoryHubOptions = {}) {
    this.#maxEvents = options.maxEvents ?? defaults.maxEvents;
    this.#maxLength = options.maxLength ?? defaults.maxLength;
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
    const event: Numbered = { number, cursor: String(number), data };
    kept.events.push(event);
    kept.length += data.length;
    while (kept.events.length > this.#maxEvents || kept.length > this.#maxLength) {
      const lost = kept.events.shift();
      kept.length -= lost?.data.length ?? 0;
      kept.lostUpTo = lost?.number ?? kept.lostUpTo;
    }
    for (const follower of [...(this.#followers.get(topic) ?? [])]) follower(event);
    return event.cursor;
  }

  position(topic: string): Cursor {
    return String(this.#read(topic)?.last ?? this.#last);
  }

  follow(topic: string, after: Cursor, onEvent: Follower, signal: AbortSignal): boolean {
    const from = Number(after);
    const kept = this.#read(topic);
    const lostUpTo = kept?.lostUpTo ?? this.#lostUpTo(topic);
    if (!/^\d{1,16}$/.test(after) || from < lostUpTo || from > this.#last) return false;
    if (signal.aborted) return true;
    for (const event of kept?.events ?? []) {
      if (event.number > from) onEvent(event);
    }
    this.#subscribe(topic, onEvent, signal);
    return true;
  }

  delete(topic: string): void {
    const kept = this.#topics.get(topic);
    if (kept !== undefined) this.#forget(topic, kept);
  }

  #forget(name: string, topic: Topic): void {
    this.#topics.delete(name);
    this.#forgotten.set(name, topic.last);
    if (this.#forgotten.size <= this.#maxTopics) return;
    for (const [oldest, last] of this.#forgotten) {
      this.#forgotten.delete(oldest);
      this.#forgottenUpTo = Math.max(this.#forgottenUpTo, last);
      break;
    }
  }

  #lostUpTo(name: string): number {
    return this.#forgotten.get(name) ?? this.#forgottenUpTo;
  }

  #subscribe(topic: string, follower: Follower, signal: AbortSignal): void {
    const followers = this.#followers.get(topic) ?? new Set();
    this.#followers.set(topic, followers);
    followers.add(follower);
    signal.addEventListener(
      "abort",
      () => {
        followers.delete(follower);
        if (followers.size === 0) this.#followers.delete(topic);
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
    const kept = this.#read(topic) ?? {
      lostUpTo: this.#lostUpTo(topic),
      last: 0,
      events: [],
      length: 0,
      writtenAt: now,
    };
    kept.writtenAt = now;
    this.#forgotten.delete(topic);
    this.#topics.delete(topic);
    this.#topics.set(topic, kept);
    for (const [name, other] of this.#topics) {
      if (this.#topics.size <= this.#maxTopics && other.writtenAt + this.#ttlMs > now) break;
      if (name !== topic) this.#forget(name, other);
    }
    return kept;
  }
}
