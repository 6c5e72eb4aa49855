/**
 * Sessions, events, used ids and keys in one SQLite file, for the workers of one machine.
 *
 * @module
 */
import { letGo } from "../util/timer.ts";
import { type HubLimits, type SharedStoresOptions, toPrefix, toSettings } from "./options.ts";
import { SharedHub } from "./shared-hub.ts";
import type { SharedStores } from "./shared-stores.ts";
import { type SqlParams, type SqlRow, sharedTables, type Tables, tablesOf } from "./sql.ts";
import { SqlKeys } from "./sql-keys.ts";
import { SqlOneTime } from "./sql-one-time.ts";
import { SqlSessions } from "./sql-sessions.ts";
import { choresOf, Sweeper } from "./sql-sweep.ts";
import { type PutEvent, SqlTopics } from "./sql-topics.ts";
import { type SqliteDatabase, SqliteDriver } from "./sqlite-driver.ts";
import type { Bell, Ringing } from "./topics.ts";

export type { SharedHubOptions, SharedOneTimeOptions, SharedStoresOptions } from "./options.ts";
export type { SharedStores } from "./shared-stores.ts";
export type { SqliteDatabase, SqliteStatement } from "./sqlite-driver.ts";

export interface SqliteStoresOptions extends SharedStoresOptions {
  /**
   * How often a worker that follows events looks for those of others, in milliseconds; its
   * own it hears of at once. @default 20
   */
  readonly pollMs?: number | undefined;
}

/**
 * Makes stores of a connection to a SQLite file. Any number of processes may do so with the
 * same file on a local disk, each with a connection of its own; over a network file system
 * SQLite's locks do not work. Nothing is read or written before the first use, and missing
 * tables are made then.
 *
 * @param db - a connection that is used for nothing else
 */
export function createSqliteStores(
  db: SqliteDatabase,
  options: SqliteStoresOptions = {},
): SharedStores {
  const settings = toSettings(options);
  const { onFault } = settings;
  const tables = tablesOf(settings.prefix);
  const driver = new SqliteDriver(db, {
    tables,
    schema: statementsOf(tables),
    timeoutMs: settings.timeoutMs,
    onReady: () => sweeper.start(),
  });
  const topics = new SqlTopics(driver, settings.events, putEvent(driver, settings.events));
  const forgetEvents = (text: string) =>
    driver.transaction((prepare) => {
      const mark = prepare(text);
      const forget = prepare(
        `DELETE FROM ${tables.events} WHERE epoch = :epoch AND number <= :last RETURNING id`,
      );
      return (params: SqlParams) => {
        const marked = mark(params);
        for (const { epoch, last } of marked) forget({ epoch: String(epoch), last: Number(last) });
        return marked.length;
      };
    });
  const sweeper = new Sweeper(
    choresOf(driver, forgetEvents, () => topics.trim(), settings),
    onFault,
  );
  const bell = (ringing: Ringing): Bell => new SqliteBell(driver, ringing, options.pollMs ?? 20);
  const hub = new SharedHub(topics, settings.events, bell, onFault);
  const close = async (): Promise<void> => {
    sweeper.close();
    await hub.close();
    driver.close();
  };
  return {
    sessions: new SqlSessions(driver, settings.sessions),
    hub,
    oneTime: new SqlOneTime(driver, settings.maxUsed),
    keys: new SqlKeys(driver, settings.keys),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The statements that make the tables, for who wants to make them beforehand. */
export function sqliteSchema(options: { readonly prefix?: string | undefined } = {}): string {
  return statementsOf(tablesOf(toPrefix(options.prefix)))
    .map((statement) => `${statement};\n`)
    .join("");
}

function statementsOf(tables: Tables): string[] {
  return [
    ...sharedTables(tables),
    // Numbered over all topics and never twice, so that what is new is what has a higher number.
    `CREATE TABLE IF NOT EXISTS ${tables.events} (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  epoch TEXT NOT NULL,
  number BIGINT NOT NULL,
  start BIGINT NOT NULL,
  data TEXT NOT NULL,
  UNIQUE (epoch, number)
)`,
  ];
}

function putEvent(driver: SqliteDriver, { maxEvents, maxLength, ttlMs }: HubLimits): PutEvent {
  const { now, tables } = driver;
  const put = driver.transaction((prepare) => {
    const advance = prepare(
      `INSERT INTO ${tables.topics} AS t (epoch, topic, last, lost, length, written_at, used_at)
       VALUES (:epoch, :topic, 1, 0, :size, ${now}, ${now})
       ON CONFLICT (topic) DO UPDATE SET last = t.last + 1, length = t.length + :size,
         lost = CASE WHEN t.written_at <= ${now} - ${ttlMs} THEN t.last
           ELSE MAX(t.lost, t.last + 1 - ${maxEvents}) END,
         written_at = ${now}, used_at = ${now}
       RETURNING epoch, last, lost, length`,
    );
    const add = prepare(
      `INSERT INTO ${tables.events} (epoch, number, start, data)
       VALUES (:epoch, :number, :start, :data) RETURNING id`,
    );
    const cut = prepare(
      `DELETE FROM ${tables.events} WHERE epoch = :epoch AND (number <= :lost OR start < :start)
       RETURNING id`,
    );
    return (topic: string, epoch: string, data: string): readonly SqlRow[] => {
      const size = data.length;
      const rows = advance({ topic, epoch, size });
      const at = rows[0];
      if (at === undefined) return rows;
      const length = Number(at["length"]);
      const is = { epoch: String(at["epoch"]) };
      add({ ...is, number: Number(at["last"]), start: length - size, data });
      const lost = Number(at["lost"]);
      if (lost > 0 || length > maxLength) cut({ ...is, lost, start: length - maxLength });
      return rows;
    };
  });
  return ({ topic, epoch, data }) => put(topic, epoch, data);
}

/** Looks for events of other workers, as long as there is a topic that is followed. */
class SqliteBell implements Bell {
  readonly #ringing: Ringing;
  readonly #pollMs: number;
  readonly #select: ReturnType<SqliteDriver["prepare"]>;
  readonly #selectLast: ReturnType<SqliteDriver["prepare"]>;
  /** The last event that was looked at; undefined until it is known where to begin. */
  #last: number | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #isLooking = false;

  constructor(driver: SqliteDriver, ringing: Ringing, pollMs: number) {
    const { events, topics } = driver.tables;
    this.#ringing = ringing;
    this.#pollMs = pollMs;
    this.#select = driver.prepare(
      `SELECT e.id, e.epoch, e.number, t.topic FROM ${events} e
       JOIN ${topics} t ON t.epoch = e.epoch WHERE e.id > :last AND t.topic IS NOT NULL
       ORDER BY e.id LIMIT ${page}`,
    );
    this.#selectLast = driver.prepare(`SELECT COALESCE(MAX(id), 0) AS last FROM ${events}`);
  }

  open(): void {
    if (this.#timer !== undefined) return;
    this.#last = undefined;
    this.#timer = setInterval(() => void this.#look(), this.#pollMs);
    letGo(this.#timer);
    void this.#look();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    if (this.#ringing.topics().length === 0) return this.close();
    this.#isLooking = true;
    try {
      if (this.#last === undefined) await this.#begin();
      else await this.#goOn(this.#last);
    } catch (cause) {
      this.#ringing.fault(cause);
    } finally {
      this.#isLooking = false;
    }
  }

  async #begin(): Promise<void> {
    const [row] = await this.#selectLast({});
    this.#last = Number(row?.["last"]);
    this.#ringing.all();
  }

  async #goOn(last: number): Promise<void> {
    const rows = await this.#select({ last });
    if (rows.length >= page) return this.#begin();
    for (const { id, topic, epoch, number } of rows) {
      this.#last = Number(id);
      this.#ringing.one(String(topic), { epoch: String(epoch), number: Number(number) });
    }
  }
}

/** Events looked at at once; where there are more, everybody reads for himself. */
const page = 1_000;
