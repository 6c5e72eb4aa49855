/** What the stores over SQL have in common: the driver they need, tables, and what is counted. */
import type { Awaitable } from "../util/awaitable.ts";

export type SqlValue = string | number;
export type SqlParams = Readonly<Record<string, SqlValue>>;
export type SqlRow = Readonly<Record<string, unknown>>;

/** Runs one statement. Every statement of these stores returns rows, if only to count them. */
export type Statement = (params: SqlParams) => Awaitable<readonly SqlRow[]>;

/** A database, by what its dialect differs in. */
export interface Sql {
  /** The database's clock in milliseconds, as an expression that an index can be used with. */
  readonly now: string;
  /** Ends a subquery that picks rows to change, so that no other worker picks the same ones. */
  readonly unclaimed: string;
  readonly tables: Tables;
  /** Parameters are written `:name`. */
  prepare(text: string): Statement;
  /** Deletes topics, by a statement that returns their epochs, and their events with them. @returns how many */
  deleteTopics(text: string): (params: SqlParams) => Awaitable<number>;
}

export interface Tables {
  readonly sessions: string;
  readonly topics: string;
  readonly events: string;
  readonly used: string;
  readonly keys: string;
  readonly tasks: string;
}

export function tablesOf(prefix: string): Tables {
  return {
    sessions: `${prefix}_sessions`,
    topics: `${prefix}_topics`,
    events: `${prefix}_events`,
    used: `${prefix}_used`,
    keys: `${prefix}_keys`,
    tasks: `${prefix}_tasks`,
  };
}

/**
 * The statements that make the tables, apart from the table of events, in which the dialects
 * differ.
 */
export function sharedTables({ sessions, topics, used, keys, tasks }: Tables): string[] {
  return [
    `CREATE TABLE IF NOT EXISTS ${sessions} (
  id TEXT PRIMARY KEY,
  principal TEXT NOT NULL,
  version BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  record TEXT NOT NULL
)`,
    `CREATE INDEX IF NOT EXISTS ${sessions}_expiry ON ${sessions} (expires_at, id)`,
    `CREATE INDEX IF NOT EXISTS ${sessions}_owner ON ${sessions} (principal, expires_at, id) WHERE principal <> ''`,
    `CREATE TABLE IF NOT EXISTS ${topics} (
  epoch TEXT PRIMARY KEY,
  topic TEXT UNIQUE,
  last BIGINT NOT NULL,
  lost BIGINT NOT NULL,
  length BIGINT NOT NULL,
  written_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL
)`,
    `CREATE INDEX IF NOT EXISTS ${topics}_use ON ${topics} (used_at, epoch)`,
    `CREATE INDEX IF NOT EXISTS ${topics}_expiry ON ${topics} (written_at) WHERE lost < last`,
    `CREATE TABLE IF NOT EXISTS ${used} (id TEXT PRIMARY KEY, expires_at BIGINT NOT NULL)`,
    `CREATE INDEX IF NOT EXISTS ${used}_expiry ON ${used} (expires_at)`,
    `CREATE TABLE IF NOT EXISTS ${keys} (
  generation BIGINT PRIMARY KEY,
  bytes TEXT NOT NULL,
  made_at BIGINT NOT NULL
)`,
    `CREATE TABLE IF NOT EXISTS ${tasks} (name TEXT PRIMARY KEY, due_at BIGINT NOT NULL)`,
  ];
}

/**
 * Says when a table is to be counted. Counting takes as long as there are rows, so with a
 * cap of thousands it is done once in a while, and the cap may be passed by a fiftieth for
 * each worker; a small cap is kept to the row.
 */
export class Tally {
  readonly #step: number;
  #since: number;

  constructor(max: number) {
    this.#step = Math.max(1, Math.floor(max / 50));
    // Nobody knows how many there are at the start.
    this.#since = this.#step;
  }

  /** One more row. @returns whether it is time to count. */
  add(): boolean {
    if (++this.#since < this.#step) return false;
    this.#since = 0;
    return true;
  }

  /** What was counted is full: count again at the next one. */
  hold(): void {
    this.#since = this.#step;
  }
}
