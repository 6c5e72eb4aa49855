/** Topics in two tables: where each stands, and the events. */
import { type Awaitable, after } from "../util/awaitable.ts";
import type { HubLimits } from "./options.ts";
import { makeEpoch, type Place } from "./place.ts";
import { type Sql, type SqlParams, type SqlRow, type Statement, Tally } from "./sql.ts";
import type { Reading, Topics } from "./topics.ts";

/** Events read at once at most; a reader that gets so many asks again. */
const pageSize = 200;

/** Topics forgotten at once at most, where there are too many. */
export const maxForgotten = 100;

/** Puts an event at the end of a topic, in one step that no other publisher comes between. */
export type PutEvent = (params: {
  readonly topic: string;
  /** The topic's epoch if it is begun by this. */
  readonly epoch: string;
  readonly data: string;
}) => Awaitable<readonly SqlRow[]>;

export class SqlTopics implements Topics {
  readonly #limits: HubLimits;
  readonly #tally: Tally;
  readonly #put: PutEvent;
  readonly #begin: Statement;
  readonly #stand: Statement;
  readonly #exists: Statement;
  readonly #read: Statement;
  readonly #delete: Statement;
  readonly #keep: Statement;
  readonly #trim: (params: SqlParams) => Awaitable<number>;

  constructor(sql: Sql, limits: HubLimits, put: PutEvent) {
    const { now } = sql;
    const { topics, events } = sql.tables;
    this.#limits = limits;
    this.#tally = new Tally(limits.maxTopics);
    this.#put = put;
    this.#begin = sql.prepare(
      `INSERT INTO ${topics} (epoch, topic, last, lost, length, written_at, used_at)
       VALUES (:epoch, :topic, 0, 0, 0, 0, ${now})
       ON CONFLICT (topic) DO UPDATE SET used_at = excluded.used_at RETURNING epoch, last`,
    );
    this.#stand = sql.prepare(
      `SELECT epoch, last, ${now} - used_at AS idle_ms FROM ${topics} WHERE topic = :topic`,
    );
    this.#exists = sql.prepare(
      `SELECT 1 AS one FROM ${topics}
       WHERE topic = :topic AND lost < last AND written_at > ${now} - :ttl`,
    );
    this.#read = sql.prepare(
      `SELECT t.epoch, t.last, t.lost, e.number, e.data,
         CASE WHEN t.written_at > ${now} - :ttl THEN 1 ELSE 0 END AS live,
         (SELECT MIN(f.number) FROM ${events} f WHERE f.epoch = t.epoch) AS first
       FROM ${topics} t LEFT JOIN ${events} e ON e.epoch = t.epoch AND e.number > t.lost
         AND e.number > CASE WHEN t.epoch = :epoch THEN CAST(:number AS BIGINT) ELSE 0 END
         AND t.written_at > ${now} - :ttl
       WHERE t.topic = :topic ORDER BY e.number LIMIT ${pageSize}`,
    );
    this.#delete = sql.prepare(
      // The row goes with the next sweep: until then nobody finds it, and no event can be
      // added to it while its events are deleted.
      `UPDATE ${topics} SET topic = NULL, lost = last, written_at = 0, used_at = 0
       WHERE topic = :topic RETURNING epoch`,
    );
    this.#keep = sql.prepare(
      `UPDATE ${topics} SET used_at = ${now} WHERE topic = :topic RETURNING epoch`,
    );
    this.#trim = sql.deleteTopics(
      `DELETE FROM ${topics} WHERE epoch IN (
         SELECT epoch FROM ${topics} ORDER BY used_at DESC, epoch DESC
         LIMIT ${maxForgotten} OFFSET :max)
       RETURNING epoch`,
    );
  }

  publish(topic: string, data: string): Awaitable<Place> {
    return after(this.#put({ topic, epoch: makeEpoch(), data }), ([row]) => this.#placed(row));
  }

  position(topic: string): Awaitable<Place> {
    return after(this.#stand({ topic }), ([row]) => {
      // One that is close to being forgotten is put off, for whoever is about to follow it.
      if (row !== undefined && Number(row["idle_ms"]) < this.#limits.keepMs / 2)
        return toPlace(row);
      return after(this.#begin({ topic, epoch: makeEpoch() }), ([begun]) => this.#placed(begun));
    });
  }

  exists(topic: string): Awaitable<boolean> {
    const { ttlMs } = this.#limits;
    return after(this.#exists({ topic, ttl: ttlMs }), (rows) => rows.length > 0);
  }

  read(topic: string, { epoch, number }: Place): Awaitable<Reading | undefined> {
    const { ttlMs } = this.#limits;
    return after(this.#read({ topic, epoch, number, ttl: ttlMs }), toReading);
  }

  delete(topic: string): Awaitable<void> {
    return after(this.#delete({ topic }), () => undefined);
  }

  async keep(topics: readonly string[]): Promise<void> {
    for (const topic of topics) await this.#keep({ topic });
  }

  /** Forgets what was used longest ago, where there are too many topics. @returns how many */
  trim(): Awaitable<number> {
    return this.#trim({ max: this.#limits.maxTopics });
  }

  #placed(row: SqlRow | undefined): Awaitable<Place> {
    const place = toPlace(row);
    const isNew = place.number <= 1;
    if (!isNew || !this.#tally.add()) return place;
    return after(this.trim(), () => place);
  }
}

function toPlace(row: SqlRow | undefined): Place {
  return { epoch: String(row?.["epoch"]), number: Number(row?.["last"]) };
}

function toReading(rows: readonly SqlRow[]): Reading | undefined {
  const [row] = rows;
  if (row === undefined) return undefined;
  const last = Number(row["last"]);
  // What was cut off for its size shows by what is left.
  const kept = row["first"] === null ? last : Number(row["first"]) - 1;
  return {
    epoch: String(row["epoch"]),
    last,
    lost: Number(row["live"]) === 1 ? Math.max(Number(row["lost"]), kept) : last,
    events: rows.flatMap(({ number, data }) =>
      number === null ? [] : [{ number: Number(number), data: String(data) }],
    ),
    isFull: rows.length >= pageSize,
  };
}
