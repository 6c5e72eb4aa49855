/** The ring of keys in a table. */
import { type Awaitable, after } from "../util/awaitable.ts";
import { decodeTokenBytes, encodeTokenBytes } from "../util/base64.ts";
import { checkKey, type KeyStore, type KeyTimes, maxRingKeys, type RingKey } from "./key-store.ts";
import type { Sql, SqlRow, Statement } from "./sql.ts";

export class SqlKeys implements KeyStore {
  readonly #times: KeyTimes;
  readonly #select: Statement;
  readonly #insert: Statement;

  constructor(sql: Sql, times: KeyTimes) {
    const { now } = sql;
    const { keys } = sql.tables;
    this.#times = times;
    this.#select = sql.prepare(
      `SELECT bytes, ${now} - made_at AS age_ms FROM ${keys} WHERE made_at > ${now} - :life
       ORDER BY generation DESC LIMIT ${maxRingKeys}`,
    );
    // Whoever else found the newest too old wants the same generation, and only one gets it.
    this.#insert = sql.prepare(
      `INSERT INTO ${keys} (generation, bytes, made_at)
       SELECT COALESCE(MAX(generation), 0) + 1, CAST(:bytes AS TEXT), ${now} FROM ${keys} WHERE true
       HAVING COALESCE(MAX(made_at), 0) <= ${now} - :rotate
       ON CONFLICT (generation) DO NOTHING RETURNING generation`,
    );
  }

  read(): Awaitable<readonly RingKey[]> {
    return after(this.#select({ life: this.#times.lifeMs }), (rows) => rows.flatMap(toKeys));
  }

  rotate(candidate: Uint8Array): Awaitable<readonly RingKey[]> {
    checkKey(candidate);
    const params = { bytes: encodeTokenBytes(candidate), rotate: this.#times.rotateMs };
    return after(this.#insert(params), () => this.read());
  }
}

/** None for what is no key: better a ring without it than to seal with something else. */
function toKeys(row: SqlRow): RingKey[] {
  const bytes = decodeTokenBytes(String(row["bytes"]));
  return bytes?.length === 32 ? [{ bytes, ageMs: Math.max(0, Number(row["age_ms"])) }] : [];
}
