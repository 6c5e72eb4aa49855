/**
 * Sessions, events, used ids and keys in PostgreSQL, for the workers of many machines.
 *
 * @module
 */
import type { HubLimits, SharedStoresOptions } from "./options.ts";
import { toPrefix, toSettings } from "./options.ts";
import { PostgresBell } from "./postgres-bell.ts";
import { type PostgresClient, toConnection } from "./postgres-driver.ts";
import { PostgresSql } from "./postgres-sql.ts";
import { SharedHub } from "./shared-hub.ts";
import type { SharedStores } from "./shared-stores.ts";
import { type SqlParams, sharedTables, type Tables, tablesOf } from "./sql.ts";
import { SqlKeys } from "./sql-keys.ts";
import { SqlOneTime } from "./sql-one-time.ts";
import { SqlSessions } from "./sql-sessions.ts";
import { choresOf, Sweeper } from "./sql-sweep.ts";
import { type PutEvent, SqlTopics } from "./sql-topics.ts";
import type { Bell, Ringing } from "./topics.ts";

export type { SharedHubOptions, SharedOneTimeOptions, SharedStoresOptions } from "./options.ts";
export type {
  PgNotification,
  PgPool,
  PgPoolClient,
  PgQuery,
  PostgresClient,
  PostgresTag,
} from "./postgres-driver.ts";
export type { SharedStores } from "./shared-stores.ts";

export interface PostgresStoresOptions extends SharedStoresOptions {
  /**
   * Whether workers tell each other by NOTIFY that there is an event. It takes one connection
   * of the pool while anything is followed. Without, as behind a pooler that gives no
   * connection for long, they look every `pollMs`. The same for all workers. @default true
   */
  readonly notify?: boolean | undefined;
  /**
   * How often a worker that follows events looks for those that it was not told of, in
   * milliseconds. @default 1000, and 100 without `notify`
   */
  readonly pollMs?: number | undefined;
  /** Whether statements are prepared by name; off for poolers that cannot. @default true */
  readonly prepare?: boolean | undefined;
}

/**
 * Makes stores of a `Pool` of `pg`, or of the tag that `postgres` makes. Missing tables are
 * made on the first use, in the schema that comes first in the search path.
 *
 * @param client - a pool with a listener for its `error` event, without which it ends the
 *   process when a connection breaks
 * @throws TypeError when the client is of neither kind
 */
export function createPostgresStores(
  client: PostgresClient,
  options: PostgresStoresOptions = {},
): SharedStores {
  const settings = toSettings(options);
  const { onFault, prefix } = settings;
  const tables = tablesOf(prefix);
  const notify = options.notify ?? true;
  const channel = notify ? `${prefix}_events` : undefined;
  const sql = new PostgresSql(toConnection(client, options.prepare ?? true), {
    tables,
    schema: schemaOf(tables),
    timeoutMs: settings.timeoutMs,
    onReady: () => sweeper.start(),
  });
  const topics = new SqlTopics(sql, settings.events, putEvent(sql, settings.events, channel));
  const forgetEvents = (text: string) => {
    const marked = sql.prepare(
      `WITH marked AS (${text}), cut AS (
         DELETE FROM ${tables.events} e USING marked m
         WHERE e.epoch = m.epoch AND e.number <= m.last)
       SELECT epoch FROM marked`,
    );
    return async (params: SqlParams) => (await marked(params)).length;
  };
  const sweeper = new Sweeper(
    choresOf(sql, forgetEvents, () => topics.trim(), settings),
    onFault,
  );
  const pollMs = options.pollMs ?? (notify ? 1_000 : 100);
  const bell = (ringing: Ringing): Bell => new PostgresBell(sql, ringing, { channel, pollMs });
  const hub = new SharedHub(topics, settings.events, bell, onFault);
  const close = async (): Promise<void> => {
    sweeper.close();
    await hub.close();
    sql.close();
  };
  return {
    sessions: new SqlSessions(sql, settings.sessions),
    hub,
    oneTime: new SqlOneTime(sql, settings.maxUsed),
    keys: new SqlKeys(sql, settings.keys),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The statements that make the tables, for who wants to make them beforehand. */
export function postgresSchema(options: { readonly prefix?: string | undefined } = {}): string {
  return schemaOf(tablesOf(toPrefix(options.prefix)));
}

function schemaOf(tables: Tables): string {
  const statements = [
    // Without it, two workers that start at once fail at each other.
    `SELECT pg_advisory_xact_lock(hashtext('${tables.tasks}'))`,
    ...sharedTables(tables),
    `CREATE TABLE IF NOT EXISTS ${tables.events} (
  epoch TEXT NOT NULL,
  number BIGINT NOT NULL,
  start BIGINT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (epoch, number)
)`,
  ];
  return statements.map((statement) => `${statement};\n`).join("");
}

/**
 * One statement: whoever publishes to the same topic meanwhile waits for it at the topic's
 * row, so that events are seen in the order of their numbers and none can come late.
 */
function putEvent(
  sql: PostgresSql,
  { maxEvents, maxLength, ttlMs }: HubLimits,
  channel: string | undefined,
): PutEvent {
  const { now, tables } = sql;
  const told =
    channel === undefined ? "" : `, pg_notify('${channel}', epoch || '-' || last || ' ' || topic)`;
  const put = sql.prepare(
    `WITH at AS (
       INSERT INTO ${tables.topics} AS t (epoch, topic, last, lost, length, written_at, used_at)
       VALUES (:epoch, :topic, 1, 0, CAST(:size AS BIGINT), ${now}, ${now})
       ON CONFLICT (topic) DO UPDATE SET last = t.last + 1, length = t.length + CAST(:size AS BIGINT),
         lost = CASE WHEN t.written_at <= ${now} - ${ttlMs} THEN t.last
           ELSE GREATEST(t.lost, t.last + 1 - ${maxEvents}) END,
         written_at = ${now}, used_at = ${now}
       RETURNING topic, epoch, last, lost, length
     ), added AS (
       INSERT INTO ${tables.events} (epoch, number, start, data)
       SELECT epoch, last, length - CAST(:size AS BIGINT), :data FROM at
     ), cut AS (
       DELETE FROM ${tables.events} e USING at
       WHERE e.epoch = at.epoch AND (e.number <= at.lost OR e.start < at.length - ${maxLength})
     )
     SELECT epoch, last${told} FROM at`,
  );
  return ({ topic, epoch, data }) => put({ topic, epoch, data, size: data.length });
}
