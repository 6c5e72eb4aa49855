/** The dialect of PostgreSQL: numbered parameters, its clock, and changes as parts of a query. */
import { StoreError } from "../core/store-error.ts";
import type { Awaitable } from "../util/awaitable.ts";
import type { PostgresConnection } from "./postgres-driver.ts";
import type { Sql, SqlParams, Statement, Tables } from "./sql.ts";

export interface PostgresSqlOptions {
  readonly tables: Tables;
  readonly schema: string;
  readonly timeoutMs: number;
  /** Called once, when the tables are there. */
  readonly onReady: () => void;
}

export class PostgresSql implements Sql {
  /** Of the statement, so that it is one time for all of it and an index can be used. */
  readonly now = "CAST(EXTRACT(EPOCH FROM statement_timestamp()) * 1000 AS BIGINT)";
  readonly unclaimed = "FOR UPDATE SKIP LOCKED";
  readonly tables: Tables;
  readonly connection: PostgresConnection;
  readonly timeoutMs: number;
  readonly #options: PostgresSqlOptions;
  #readying: Promise<void> | undefined;
  #isReady = false;
  #isClosed = false;

  constructor(connection: PostgresConnection, options: PostgresSqlOptions) {
    this.connection = connection;
    this.tables = options.tables;
    this.timeoutMs = options.timeoutMs;
    this.#options = options;
  }

  close(): void {
    this.#isClosed = true;
  }

  prepare(text: string): Statement {
    const { numbered, names } = number(text);
    return async (params) => {
      if (this.#isClosed) throw new StoreError("closed", "the stores were closed");
      const end = Date.now() + this.timeoutMs;
      if (!this.#isReady) await this.#makeReady();
      const values = names.map((name) => params[name] ?? "");
      return this.connection.query(numbered, values, Math.max(1, end - Date.now()));
    };
  }

  deleteTopics(text: string): (params: SqlParams) => Awaitable<number> {
    const gone = this.prepare(
      `WITH gone AS (${text}), cut AS (
         DELETE FROM ${this.tables.events} WHERE epoch IN (SELECT epoch FROM gone))
       SELECT epoch FROM gone`,
    );
    return async (params) => (await gone(params)).length;
  }

  /** Many statements at once find the tables missing, and one of them makes them. */
  #makeReady(): Promise<void> {
    this.#readying ??= this.#makeTables().finally(() => {
      this.#readying = undefined;
    });
    return this.#readying;
  }

  async #makeTables(): Promise<void> {
    const { connection, timeoutMs } = this;
    const [found] = await connection.query(
      "SELECT to_regclass($1) IS NOT NULL AS found",
      [this.tables.tasks],
      timeoutMs,
    );
    if (found?.["found"] !== true) await connection.script(this.#options.schema, timeoutMs);
    if (this.#isReady) return;
    this.#isReady = true;
    this.#options.onReady();
  }
}

/** `:name` as `$1`, and which value goes where. A cast, `::`, is none. */
function number(text: string): { readonly numbered: string; readonly names: readonly string[] } {
  const names: string[] = [];
  const numbered = text.replace(/(?<!:):([a-zA-Z]+)/g, (_, name: string) => {
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  return { numbered, names };
}
