/** Sessions in the memory of one process: the default, for one worker. */
import { RecencyMap } from "../util/recency-map.ts";
import { writeRecord } from "./record.ts";
import {
  type SessionLimits,
  type SessionRecord,
  type SessionStore,
  type SessionStoreOptions,
  toSessionLimits,
} from "./session-store.ts";

export interface MemorySessionsOptions extends SessionStoreOptions {
  /** The clock, in milliseconds. @default Date.now */
  readonly now?: (() => number) | undefined;
}

interface Kept {
  record: SessionRecord;
  expiresAt: number;
}

export class MemorySessions implements SessionStore {
  readonly #kept: RecencyMap<Kept> = new RecencyMap();
  /** The sessions of each principal; nobody in particular has none here. */
  readonly #owned: Map<string, RecencyMap<Kept>> = new Map();
  readonly #limits: SessionLimits;
  readonly #now: () => number;

  constructor(options: MemorySessionsOptions = {}) {
    this.#limits = toSessionLimits(options);
    this.#now = options.now ?? Date.now;
  }

  /** How many there are, expired ones that nobody asked for included. */
  get size(): number {
    return this.#kept.size;
  }

  create(record: SessionRecord): void {
    writeRecord(record, this.#limits.maxLength);
    this.#drop(record.id);
    this.#makeRoom(record.principal);
    const kept: Kept = { record, expiresAt: 0 };
    this.#use(record.id, kept);
  }

  get(id: string): SessionRecord | undefined {
    return this.#find(id)?.record;
  }

  save(record: SessionRecord, writeVersion: number): boolean {
    writeRecord(record, this.#limits.maxLength);
    const kept = this.#find(record.id);
    if (kept === undefined || kept.record.writeVersion !== writeVersion) return false;
    const { principal } = kept.record;
    kept.record = { ...record, principal, writeVersion: writeVersion + 1 };
    this.#use(record.id, kept);
    return true;
  }

  touch(id: string): SessionRecord | undefined {
    const kept = this.#find(id);
    if (kept === undefined) return undefined;
    this.#use(id, kept);
    return kept.record;
  }

  delete(id: string): boolean {
    const live = this.#find(id) !== undefined;
    this.#drop(id);
    return live;
  }

  #find(id: string): Kept | undefined {
    const kept = this.#kept.get(id);
    if (kept === undefined || kept.expiresAt > this.#now()) return kept;
    this.#drop(id);
    return undefined;
  }

  #use(id: string, kept: Kept): void {
    kept.expiresAt = this.#now() + this.#limits.ttlMs;
    this.#kept.set(id, kept);
    const { principal } = kept.record;
    if (principal === "") return;
    const owned = this.#owned.get(principal);
    if (owned !== undefined) owned.set(id, kept);
    else {
      const first = new RecencyMap<Kept>();
      first.set(id, kept);
      this.#owned.set(principal, first);
    }
  }

  #drop(id: string): void {
    const kept = this.#kept.get(id);
    if (kept === undefined) return;
    this.#kept.delete(id);
    const owned = this.#owned.get(kept.record.principal);
    owned?.delete(id);
    if (owned?.size === 0) this.#owned.delete(kept.record.principal);
  }

  /** All sessions live equally long, so those that expired stand at the front. */
  #makeRoom(principal: string): void {
    const now = this.#now();
    for (const [id] of this.#owned.get(principal) ?? []) {
      const owned = this.#owned.get(principal)?.size ?? 0;
      if (owned < this.#limits.maxSessionsPerPrincipal) break;
      this.#drop(id);
    }
    for (const [id, kept] of this.#kept) {
      if (kept.expiresAt > now && this.#kept.size < this.#limits.maxSessions) return;
      this.#drop(id);
    }
  }
}
