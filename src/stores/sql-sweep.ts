/** Clears tables of what has expired: by one worker at a time, and a bounded part of it at once. */
import { type Awaitable, after } from "../util/awaitable.ts";
import { letGo, pause } from "../util/timer.ts";
import type { Settings } from "./options.ts";
import type { Sql, SqlParams, Statement } from "./sql.ts";
import { maxForgotten } from "./sql-topics.ts";

/** Rows of a table that one sweep deletes at most. */
const most = 500;

/** Topics that one sweep forgets at most: each may hold a thousand events. */
const mostTopics = 50;

/** How often one of the workers sweeps, in milliseconds. */
const everyMs = 15_000;

/** Deletes events, by a statement that marks their topics and returns `epoch` and `last`. @returns how many topics */
export type ForgetEvents = (text: string) => (params: SqlParams) => Awaitable<number>;

/** What is to be done, each with the number of rows that it does at most. */
type Chore = readonly [max: number, run: () => Awaitable<number>];

export interface Chores {
  /** Takes the turn to sweep, if it is time. */
  readonly turn: () => Awaitable<boolean>;
  readonly chores: readonly Chore[];
}

export function choresOf(
  sql: Sql,
  forgetEvents: ForgetEvents,
  trimTopics: () => Awaitable<number>,
  { events, keys }: Settings,
): Chores {
  const { now, unclaimed, tables } = sql;
  const turn = sql.prepare(
    `INSERT INTO ${tables.tasks} AS t (name, due_at) VALUES ('sweep', ${now} + ${everyMs})
     ON CONFLICT (name) DO UPDATE SET due_at = excluded.due_at WHERE t.due_at <= ${now}
     RETURNING name`,
  );
  const drop = (table: string, key: string, column: string, before: string): Statement =>
    sql.prepare(
      `DELETE FROM ${table} WHERE ${key} IN (
         SELECT ${key} FROM ${table} WHERE ${column} <= ${before} ORDER BY ${column}
         LIMIT ${most} ${unclaimed})
       RETURNING ${key}`,
    );
  const dropSessions = drop(tables.sessions, "id", "expires_at", now);
  const dropUsed = drop(tables.used, "id", "expires_at", now);
  const dropKeys = drop(tables.keys, "generation", "made_at", `${now} - :life`);
  const dropEvents = forgetEvents(
    `UPDATE ${tables.topics} SET lost = last WHERE epoch IN (
       SELECT epoch FROM ${tables.topics} WHERE lost < last AND written_at <= ${now} - :ttl
       ORDER BY written_at LIMIT ${mostTopics} ${unclaimed})
     RETURNING epoch, last`,
  );
  const dropTopics = sql.deleteTopics(
    `DELETE FROM ${tables.topics} WHERE epoch IN (
       SELECT epoch FROM ${tables.topics} WHERE used_at <= ${now} - :keep ORDER BY used_at
       LIMIT ${mostTopics} ${unclaimed})
     RETURNING epoch`,
  );
  return {
    turn: () => after(turn({}), (rows) => rows.length > 0),
    chores: [
      [most, () => after(dropSessions({}), count)],
      [most, () => after(dropUsed({}), count)],
      [most, () => after(dropKeys({ life: keys.lifeMs }), count)],
      [mostTopics, () => dropEvents({ ttl: events.ttlMs })],
      [mostTopics, () => dropTopics({ keep: events.keepMs })],
      [maxForgotten, trimTopics],
    ],
  };
}

function count(rows: readonly unknown[]): number {
  return rows.length;
}

/**
 * Sweeps now and then from the first use on. However many workers sweep, one of them has its
 * turn; the others wait for the next.
 */
export class Sweeper {
  readonly #chores: Chores;
  readonly #onFault: (cause: unknown) => void;
  #timer: ReturnType<typeof setInterval> | undefined;
  #isClosed = false;

  constructor(chores: Chores, onFault: (cause: unknown) => void) {
    this.#chores = chores;
    this.#onFault = onFault;
  }

  /** Begins to sweep, if it has not. */
  start(): void {
    if (this.#timer !== undefined || this.#isClosed) return;
    this.#timer = setInterval(() => void this.#sweep(), everyMs);
    letGo(this.#timer);
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
  }

  async #sweep(): Promise<void> {
    try {
      if (await this.#chores.turn()) await this.sweep();
    } catch (cause) {
      this.#onFault(cause);
    }
  }

  /** Sweeps whoever's turn it is, for as long as a turn lasts. @returns how many rows went */
  async sweep(): Promise<number> {
    const end = Date.now() + everyMs;
    let dropped = 0;
    for (const [max, run] of this.#chores.chores) {
      while (!this.#isClosed && Date.now() < end) {
        const done = await run();
        dropped += done;
        if (done < max) break;
        // Others have something to do as well.
        await pause(20);
      }
    }
    return dropped;
  }
}
