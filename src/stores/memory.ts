/** Sessions in the memory of one process: the default, for one worker. */
import type { SessionRecord, SessionStore } from "./session-store.ts";

export interface MemorySessionsOptions {
  /** How long a session lives without a request, in milliseconds. @default 3600000 */
  readonly ttlMs?: number | undefined;
  /**
   * How many sessions there are at most. Past it the one that was longest idle ends, and
   * its client starts anew: a flood of handshakes cannot fill the memory, nor lock anyone
   * out. @default 10000
   */
  readonly max?: number | undefined;
  /** The clock, in milliseconds. @default Date.now */
  readonly now?: (() => number) | undefined;
}

const defaults = Object.freeze({ ttlMs: 3_600_000, max: 10_000 });

interface Kept {
  record: SessionRecord;
  expiresAt: number;
}

export class MemorySessions implements SessionStore {
  /** Longest idle first: every use moves a session to the end. */
  readonly #kept: Map<string, Kept> = new Map();
  readonly #ttlMs: number;
  readonly #max: number;
  readonly #now: () => number;

  constructor(options: MemorySessionsOptions = {}) {
    this.#ttlMs = options.ttlMs ?? defaults.ttlMs;
    this.#max = options.max ?? defaults.max;
    this.#now = options.now ?? Date.now;
  }

  /** How many there are, expired ones that nobody asked for included. */
  get size(): number {
    return this.#kept.size;
  }

  create(record: SessionRecord): void {
    this.#makeRoom();
    this.#kept.set(record.id, { record, expiresAt: this.#now() + this.#ttlMs });
  }

  get(id: string): SessionRecord | undefined {
    return this.#find(id)?.record;
  }

  save(record: SessionRecord, writeVersion: number): boolean {
    const kept = this.#find(record.id);
    if (kept === undefined || kept.record.writeVersion !== writeVersion) return false;
    kept.record = { ...record, writeVersion: writeVersion + 1 };
    this.#use(record.id, kept);
    return true;
  }

  touch(id: string): boolean {
    const kept = this.#find(id);
    if (kept === undefined) return false;
    this.#use(id, kept);
    return true;
  }

  delete(id: string): boolean {
    const live = this.#find(id) !== undefined;
    this.#kept.delete(id);
    return live;
  }

  #find(id: string): Kept | undefined {
    const kept = this.#kept.get(id);
    if (kept === undefined || kept.expiresAt > this.#now()) return kept;
    this.#kept.delete(id);
    return undefined;
  }

  #use(id: string, kept: Kept): void {
    kept.expiresAt = this.#now() + this.#ttlMs;
    this.#kept.delete(id);
    this.#kept.set(id, kept);
  }

  /** All sessions live equally long, so those that expired stand at the front. */
  #makeRoom(): void {
    const now = this.#now();
    for (const [id, kept] of this.#kept) {
      if (kept.expiresAt > now && this.#kept.size < this.#max) return;
      this.#kept.delete(id);
    }
  }
}
