/** Used ids in a table. */
import type { OneTimeStore } from "../core/one-time.ts";
import { StoreError } from "../core/store-error.ts";
import { type Awaitable, after } from "../util/awaitable.ts";
import { type Sql, type Statement, Tally } from "./sql.ts";
import { toName } from "./text.ts";

export class SqlOneTime implements OneTimeStore {
  readonly #max: number;
  readonly #tally: Tally;
  readonly #claim: Statement;
  readonly #count: Statement;

  constructor(sql: Sql, max: number) {
    const { now } = sql;
    const { used } = sql.tables;
    this.#max = max;
    this.#tally = new Tally(max);
    this.#claim = sql.prepare(
      `INSERT INTO ${used} AS u (id, expires_at) VALUES (:id, ${now} + :ttl)
       ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at WHERE u.expires_at <= ${now}
       RETURNING id`,
    );
    this.#count = sql.prepare(`SELECT COUNT(*) AS count FROM ${used} WHERE expires_at > ${now}`);
  }

  claim(id: string, ttlMs: number): Awaitable<boolean> {
    const params = { id: toName("an id", id), ttl: Math.ceil(ttlMs) };
    return after(this.#checkRoom(), () => after(this.#claim(params), (rows) => rows.length > 0));
  }

  #checkRoom(): Awaitable<void> {
    if (!this.#tally.add()) return;
    return after(this.#count({}), ([row]) => {
      if (Number(row?.["count"]) < this.#max) return;
      this.#tally.hold();
      throw new StoreError("full", `${this.#max} used ids are remembered; no more fit`, {
        retryAfterMs: 60_000,
      });
    });
  }
}
