/** Sessions in a table. */
import { type Awaitable, after } from "../util/awaitable.ts";
import { readRecord, writeRecord } from "./record.ts";
import type { SessionLimits, SessionRecord, SessionStore } from "./session-store.ts";
import { type Sql, type SqlRow, type Statement, Tally } from "./sql.ts";
import { toKept, toName } from "./text.ts";

/** So much of its time is left to a session at most, when it is written that it was used. */
const freshPart = 0.9;

/** Sessions ended at most for one that is opened; a cap that was lowered is reached in steps. */
const maxEnded = 100;

export class SqlSessions implements SessionStore {
  readonly #limits: SessionLimits;
  readonly #tally: Tally;
  readonly #insert: Statement;
  readonly #trimOwned: Statement;
  readonly #trimAll: Statement;
  readonly #select: Statement;
  readonly #putOff: Statement;
  readonly #update: Statement;
  readonly #delete: Statement;

  constructor(sql: Sql, limits: SessionLimits) {
    const { now } = sql;
    const { sessions } = sql.tables;
    this.#limits = limits;
    this.#tally = new Tally(limits.maxSessions);
    this.#insert = sql.prepare(
      `INSERT INTO ${sessions} (id, principal, version, expires_at, record)
       VALUES (:id, :principal, :version, ${now} + :ttl, :record)
       ON CONFLICT (id) DO UPDATE SET principal = excluded.principal, version = excluded.version,
         expires_at = excluded.expires_at, record = excluded.record
       RETURNING id`,
    );
    const trim = (of: string): Statement =>
      sql.prepare(
        `DELETE FROM ${sessions} WHERE id IN (
           SELECT id FROM ${sessions} ${of} ORDER BY expires_at DESC, id DESC
           LIMIT ${maxEnded} OFFSET :max)
         RETURNING id`,
      );
    this.#trimOwned = trim("WHERE principal = :principal AND principal <> ''");
    this.#trimAll = trim("");
    this.#select = sql.prepare(
      `SELECT record, version, expires_at - ${now} AS left_ms FROM ${sessions}
       WHERE id = :id AND expires_at > ${now}`,
    );
    this.#putOff = sql.prepare(
      `UPDATE ${sessions} SET expires_at = ${now} + :ttl
       WHERE id = :id AND expires_at > ${now} RETURNING record, version`,
    );
    this.#update = sql.prepare(
      `UPDATE ${sessions} SET record = :record, version = version + 1, expires_at = ${now} + :ttl
       WHERE id = :id AND version = :version AND expires_at > ${now} RETURNING version`,
    );
    this.#delete = sql.prepare(
      `DELETE FROM ${sessions} WHERE id = :id AND expires_at > ${now} RETURNING id`,
    );
  }

  create(record: SessionRecord): Awaitable<void> {
    const { ttlMs, maxLength } = this.#limits;
    const principal = toName("a principal", record.principal);
    const inserted = this.#insert({
      id: toName("a session's id", record.id),
      principal,
      version: record.writeVersion,
      ttl: ttlMs,
      record: writeRecord(record, maxLength),
    });
    return after(inserted, () => this.#makeRoom(principal));
  }

  get(id: string): Awaitable<SessionRecord | undefined> {
    return after(this.#select({ id: toKept(id) }), ([row]) => toRecord(id, row));
  }

  save(record: SessionRecord, writeVersion: number): Awaitable<boolean> {
    const { ttlMs, maxLength } = this.#limits;
    const updated = this.#update({
      id: toKept(record.id),
      version: writeVersion,
      ttl: ttlMs,
      record: writeRecord(record, maxLength),
    });
    return after(updated, (rows) => rows.length > 0);
  }

  /** Most requests only read: writing each time would make every one of them wait for a disk. */
  touch(id: string): Awaitable<SessionRecord | undefined> {
    const { ttlMs } = this.#limits;
    return after(this.#select({ id: toKept(id) }), ([row]) => {
      if (row === undefined || Number(row["left_ms"]) > ttlMs * freshPart) return toRecord(id, row);
      return after(this.#putOff({ id: toKept(id), ttl: ttlMs }), ([used]) => toRecord(id, used));
    });
  }

  delete(id: string): Awaitable<boolean> {
    return after(this.#delete({ id: toKept(id) }), (rows) => rows.length > 0);
  }

  /**
   * After the new one is there, so that of many that open at once the last one sees them
   * all: which are ended is the same for whoever looks.
   */
  #makeRoom(principal: string): Awaitable<void> {
    const { maxSessions, maxSessionsPerPrincipal } = this.#limits;
    const owned =
      principal === "" ? undefined : this.#trimOwned({ principal, max: maxSessionsPerPrincipal });
    return after(owned, () =>
      this.#tally.add() ? after(this.#trimAll({ max: maxSessions }), () => undefined) : undefined,
    );
  }
}

function toRecord(id: string, row: SqlRow | undefined): SessionRecord | undefined {
  if (row === undefined) return undefined;
  return readRecord(id, String(row["record"]), Number(row["version"]));
}
