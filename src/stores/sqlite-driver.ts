/** One connection to a SQLite file: waits for other writers without holding up the process. */
import { StoreError } from "../core/store-error.ts";
import type { Awaitable } from "../util/awaitable.ts";
import { isObject } from "../util/json.ts";
import { pause } from "../util/timer.ts";
import type { Sql, SqlParams, SqlRow, Statement, Tables } from "./sql.ts";

/** As much of a prepared statement as is used. */
export interface SqliteStatement {
  run(params: SqlParams): unknown;
  get(params: SqlParams): unknown;
  all(params: SqlParams): unknown[];
}

/**
 * As much of a connection as is used: one of `better-sqlite3` or of `node:sqlite` has it. Give
 * the stores one of their own: they set pragmas on it, and begin transactions.
 */
export interface SqliteDatabase {
  prepare(sql: string): SqliteStatement;
}

export interface SqliteDriverOptions {
  readonly tables: Tables;
  readonly schema: readonly string[];
  readonly timeoutMs: number;
  /** Called once, when the tables are there. */
  readonly onReady: () => void;
}

/** The process stands still while SQLite itself waits, so that it waits for the shortest locks only. */
const busyMs = 4;

interface Waiting {
  readonly run: () => void;
  readonly refuse: (cause: unknown) => void;
  readonly end: number;
}

export class SqliteDriver implements Sql {
  readonly now = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)";
  /** There is one writer at a time. */
  readonly unclaimed = "";
  readonly tables: Tables;
  readonly #db: SqliteDatabase;
  readonly #options: SqliteDriverOptions;
  /** What waits for another writer, in order. */
  readonly #waiting: Waiting[] = [];
  #isReady = false;
  #isClosed = false;

  constructor(db: SqliteDatabase, options: SqliteDriverOptions) {
    this.#db = db;
    this.#options = options;
    this.tables = options.tables;
  }

  close(): void {
    this.#isClosed = true;
  }

  prepare(text: string): Statement {
    const run = this.#compile(text);
    // A reader never waits for a writer, so it need not wait behind one who does.
    const isReading = text.startsWith("SELECT");
    return (params) => this.#attempt(() => run(params), isReading);
  }

  /** Several statements as one step. @param compile - given what compiles each of them, once */
  transaction<A extends unknown[], T>(
    compile: (
      prepare: (text: string) => (params: SqlParams) => readonly SqlRow[],
    ) => (...args: A) => T,
  ): (...args: A) => Awaitable<T> {
    const steps = compile((text) => this.#compile(text));
    return (...args) => this.#attempt(() => this.#commit(() => steps(...args)), false);
  }

  deleteTopics(text: string): (params: SqlParams) => Awaitable<number> {
    return this.transaction((prepare) => {
      const deleteTopics = prepare(text);
      const deleteEvents = prepare(
        `DELETE FROM ${this.tables.events} WHERE epoch = :epoch RETURNING id`,
      );
      return (params) => {
        const gone = deleteTopics(params);
        for (const { epoch } of gone) deleteEvents({ epoch: String(epoch) });
        return gone.length;
      };
    });
  }

  /** Compiled when it is first run: before that there may be no table. */
  #compile(text: string): (params: SqlParams) => readonly SqlRow[] {
    let statement: SqliteStatement | undefined;
    return (params) => {
      statement ??= this.#db.prepare(text);
      return statement.all(params) as SqlRow[];
    };
  }

  #commit<T>(steps: () => T): T {
    this.#db.prepare("BEGIN IMMEDIATE").run({});
    try {
      const result = steps();
      this.#db.prepare("COMMIT").run({});
      return result;
    } catch (cause) {
      try {
        this.#db.prepare("ROLLBACK").run({});
      } catch {
        // SQLite has rolled back by itself, as it does where the disk is full.
      }
      throw cause;
    }
  }

  #attempt<T>(run: () => T, isReading: boolean): Awaitable<T> {
    if (this.#isClosed) throw new StoreError("closed", "the stores were closed");
    const once = (): T => {
      this.#makeReady();
      return run();
    };
    if (isReading || this.#waiting.length === 0) {
      try {
        return once();
      } catch (cause) {
        if (!isBusy(cause)) throw translate(cause);
      }
    }
    return this.#wait(once);
  }

  #wait<T>(run: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({
        run: () => resolve(run()),
        refuse: (cause) => reject(translate(cause)),
        end: Date.now() + this.#options.timeoutMs,
      });
      if (this.#waiting.length === 1) void this.#serve();
    });
  }

  async #serve(): Promise<void> {
    let waitMs = 1;
    for (let head = this.#waiting[0]; head !== undefined; head = this.#waiting[0]) {
      await pause(waitMs);
      try {
        head.run();
        waitMs = 0;
      } catch (cause) {
        // Others wait as well, and not for the same time, or they would meet again.
        waitMs = Math.min(waitMs * 2 + 1, 15) * (0.5 + Math.random());
        if (isBusy(cause) && Date.now() < head.end) continue;
        head.refuse(cause);
      }
      this.#waiting.shift();
    }
  }

  #makeReady(): void {
    if (this.#isReady) return;
    this.#db.prepare(`PRAGMA busy_timeout = ${busyMs}`).all({});
    const mode = this.#db.prepare("PRAGMA journal_mode").get({});
    // With it readers and one writer do not hinder each other. Not in memory, where it is none.
    if (isObject(mode) && mode["journal_mode"] !== "wal") {
      this.#db.prepare("PRAGMA journal_mode = WAL").all({});
    }
    // A crash of the process loses nothing; one of the machine may lose the last writes.
    this.#db.prepare("PRAGMA synchronous = NORMAL").run({});
    this.#makeTables();
    this.#isReady = true;
    this.#options.onReady();
  }

  #makeTables(): void {
    const { schema, tables } = this.#options;
    const found = this.#db
      .prepare("SELECT name FROM sqlite_master WHERE name = :name")
      .all({ name: tables.tasks });
    if (found.length > 0) return;
    this.#commit(() => {
      for (const statement of schema) this.#db.prepare(statement).run({});
    });
  }
}

/** The result code of an error of either driver, without what extends it. */
function codeOf(cause: unknown): string {
  if (typeof cause !== "object" || cause === null) return "";
  const { code, errcode } = cause as { code?: unknown; errcode?: unknown };
  if (typeof errcode === "number") return codes.get(errcode & 0xff) ?? "";
  const [, name = ""] = typeof code === "string" ? (/^SQLITE_([A-Z]+)/.exec(code) ?? []) : [];
  return name;
}

/** Those that are told apart, by number (https://www.sqlite.org/rescode.html). */
const codes: ReadonlyMap<number, string> = new Map([
  [5, "BUSY"],
  [6, "LOCKED"],
  [10, "IOERR"],
  [13, "FULL"],
  [14, "CANTOPEN"],
  [15, "PROTOCOL"],
]);

function isBusy(cause: unknown): boolean {
  const code = codeOf(cause);
  return code === "BUSY" || code === "LOCKED" || code === "PROTOCOL";
}

function translate(cause: unknown): unknown {
  switch (codeOf(cause)) {
    case "BUSY":
    case "LOCKED":
    case "PROTOCOL":
      return new StoreError("away", "the database was locked for too long", {
        cause,
        retryAfterMs: 1_000,
      });
    case "IOERR":
    case "CANTOPEN":
      return new StoreError("away", "the database cannot be read or written", {
        cause,
        retryAfterMs: 5_000,
      });
    case "FULL":
      return new StoreError("full", "the database has no room left", {
        cause,
        retryAfterMs: 60_000,
      });
    default:
      return cause;
  }
}
