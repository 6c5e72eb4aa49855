/** Results kept for as long as their server says, so that nobody asks for them again meanwhile. */
import type { ChangeableList } from "../core/call.ts";
import type { CacheHints } from "../core/model.ts";
import type { Change } from "../core/notice.ts";
import { isWithin } from "../util/uri.ts";

export interface ResponseCacheOptions {
  /**
   * Results kept at most; the one that was used longest ago goes first, so that a server with
   * endless resources cannot fill the memory. @default 1000
   */
  readonly maxEntries?: number | undefined;
  /** Bytes kept at most, counted as two a character. @default 33554432 */
  readonly maxBytes?: number | undefined;
  /**
   * How long anything is kept at most, in milliseconds, whatever its server says: a slip in a
   * hint must not last. @default 86400000
   */
  readonly maxTtlMs?: number | undefined;
  /**
   * A clock in milliseconds, from any beginning. Once it goes back, all that is kept is stale.
   * @default one that neither a sleeping machine nor a changed time of day holds up
   */
  readonly now?: (() => number) | undefined;
}

/** What was asked, by whom, and which changes make its result stale. */
export interface CacheSubject {
  readonly server: string;
  /** Everything else that a result depends on: method, parameters, how it is spoken. */
  readonly request: string;
  /** Who asks: what is private to one is never given to another. */
  readonly context: string;
  readonly list: ChangeableList | undefined;
  readonly uri: string | undefined;
}

export interface Recalled {
  readonly value: unknown;
  /** What is left of the hints. */
  readonly cache: CacheHints;
}

/** A result that is on its way; what changes until it is here makes it stale at once. */
export interface Expected {
  /** Starts its clock: what it is part of, or all of it, is here. The first time counts. */
  received(): void;
  /** Keeps it, if its server lets it and nothing has changed. `uris` are what it tells of. */
  keep(value: unknown, hints: CacheHints | undefined, uris?: readonly string[]): void;
  /** What is kept is not what the server has now. */
  refused(): void;
  /** It is here, or will not come. */
  end(): void;
}

/** What the clocks say. */
type Stamp = readonly number[];

interface Entry {
  readonly server: string;
  readonly list: ChangeableList | undefined;
  readonly uris: readonly string[];
  /** As text, so that nobody changes what another is given. */
  readonly text: string;
  readonly bytes: number;
  readonly since: Stamp;
  readonly hints: CacheHints;
}

interface Coming {
  readonly server: string;
  readonly request: string;
  readonly list: ChangeableList | undefined;
  readonly uris: readonly string[];
  /** Changes of resources since it was asked for, since only the result says what it tells of. */
  readonly changed: string[];
  isStale: boolean;
}

/** Changes that are remembered for one result; more make it stale. */
const maxChanged = 100;

/**
 * Keeps listings, resources and descriptions of servers for their clients, in memory. Give one to
 * several clients, and what a server calls `public` is shared between them; what is `private`
 * stays with its authorization context (server/utilities/caching, 2026-07-28). Nothing stale is
 * ever given.
 */
export class ResponseCache {
  /** Least recently used first. */
  readonly #entries: Map<string, Entry> = new Map();
  readonly #coming: Set<Coming> = new Set();
  readonly #maxEntries: number;
  readonly #maxBytes: number;
  readonly #maxTtlMs: number;
  readonly #now: (() => number) | undefined;
  #bytes = 0;
  #latest = Number.NEGATIVE_INFINITY;

  constructor(options: ResponseCacheOptions = {}) {
    this.#maxEntries = options.maxEntries ?? 1_000;
    this.#maxBytes = options.maxBytes ?? 33_554_432;
    this.#maxTtlMs = options.maxTtlMs ?? 86_400_000;
    this.#now = options.now;
  }

  /** How many results are kept, stale ones that nobody has asked for since included. */
  get size(): number {
    return this.#entries.size;
  }

  /** How much is kept, counted as two bytes a character. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Forgets everything, what is on its way included. */
  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
    for (const coming of this.#coming) coming.isStale = true;
  }

  /** A result that is fresh, and may be given to whoever asks. */
  recall(subject: CacheSubject): Recalled | undefined {
    const now = this.#read();
    return (
      this.#recall(keyOf(subject, "private"), now) ?? this.#recall(keyOf(subject, "public"), now)
    );
  }

  /** Says that a result is being asked for; whoever does ends it. */
  expect(subject: CacheSubject): Expected {
    const { server, request, list, uri } = subject;
    const uris = uri === undefined ? [] : [uri];
    const coming: Coming = { server, request, list, uris, changed: [], isStale: false };
    this.#coming.add(coming);
    let since: Stamp | undefined;
    return {
      received: () => {
        since ??= this.#read();
      },
      keep: (value, hints, told = []) => {
        since ??= this.#read();
        this.#supersede(subject, coming);
        if (hints !== undefined) this.#keep(subject, coming, { value, hints, told, since });
      },
      refused: () => this.#supersede(subject, coming),
      end: () => void this.#coming.delete(coming),
    };
  }

  /** Makes what a change of a server is about stale, for everybody. */
  invalidate(server: string, change: Change): void {
    for (const [key, entry] of this.#entries) {
      if (entry.server === server && concerns(change, entry)) this.#drop(key, entry);
    }
    for (const coming of this.#coming) {
      if (coming.server !== server || coming.isStale) continue;
      if (change.kind === "resource-updated") coming.changed.push(change.uri);
      coming.isStale = concerns(change, coming) || coming.changed.length > maxChanged;
    }
  }

  /** Forgets what is older than a result, kept or still coming, whether or not it is kept itself. */
  #supersede(subject: CacheSubject, coming: Coming): void {
    // Then what is kept is younger.
    if (coming.isStale) return;
    this.#forget(keyOf(subject, "private"));
    // Its server may have changed its mind about who may see it.
    this.#forget(keyOf(subject, "public"));
    for (const earlier of this.#coming) {
      if (earlier === coming) break;
      const { server, request } = earlier;
      earlier.isStale ||= server === subject.server && request === subject.request;
    }
  }

  #recall(key: string, now: Stamp): Recalled | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const leftMs = entry.hints.ttlMs - age(entry.since, now);
    this.#drop(key, entry);
    if (!(leftMs > 0)) return undefined;
    this.#add(key, entry);
    const cache = { ttlMs: Math.ceil(leftMs), scope: entry.hints.scope };
    return { value: JSON.parse(entry.text), cache };
  }

  #keep(subject: CacheSubject, coming: Coming, { value, hints, told, since }: Received): void {
    const { server, list } = subject;
    const { scope } = hints;
    const ttlMs = Math.min(hints.ttlMs, this.#maxTtlMs);
    const isFresh = age(since, this.#read()) < ttlMs;
    const about = { list, uris: [...new Set([...coming.uris, ...told])] };
    const hasChanged = coming.changed.some((uri) =>
      concerns({ kind: "resource-updated", uri }, about),
    );
    if (coming.isStale || !isFresh || hasChanged) return;
    const key = keyOf(subject, scope);
    const text = JSON.stringify(value);
    const bytes = 2 * (key.length + text.length + about.uris.join("").length);
    if (bytes > this.#maxBytes) return;
    this.#add(key, { server, ...about, text, bytes, since, hints: { ttlMs, scope } });
    for (const [oldest, entry] of this.#entries) {
      if (this.#entries.size <= this.#maxEntries && this.#bytes <= this.#maxBytes) break;
      this.#drop(oldest, entry);
    }
  }

  #add(key: string, entry: Entry): void {
    this.#entries.set(key, entry);
    this.#bytes += entry.bytes;
  }

  #drop(key: string, entry: Entry): void {
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
  }

  #forget(key: string): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) this.#drop(key, entry);
  }

  #read(): Stamp {
    // One of the two stops while the machine sleeps, the other can be set: the elder is right.
    if (this.#now === undefined) return [performance.now(), Date.now()];
    const now = this.#now();
    // So written that it holds for NaN too.
    if (!(now >= this.#latest)) this.clear();
    this.#latest = now;
    return [now];
  }
}

interface Received {
  readonly value: unknown;
  readonly hints: CacheHints;
  readonly told: readonly string[];
  readonly since: Stamp;
}

function keyOf({ server, request, context }: CacheSubject, scope: CacheHints["scope"]): string {
  return JSON.stringify(scope === "public" ? [server, request] : [server, request, context]);
}

function age(since: Stamp, now: Stamp): number {
  return Math.max(...now.map((at, clock) => at - (since[clock] ?? Number.NaN)));
}

/** Whether a result tells of what has changed, a part of it, or what it is a part of. */
function concerns(
  change: Change,
  { list, uris }: { readonly list: ChangeableList | undefined; readonly uris: readonly string[] },
): boolean {
  return change.kind === "list-changed"
    ? change.list === list
    : uris.some((uri) => isWithin(change.uri, uri) || isWithin(uri, change.uri));
}
