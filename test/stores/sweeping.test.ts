/** How tables are cleared of what has expired: in parts, and by one worker at a time. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createPostgresStores, type PgPool } from "anyrev/stores/postgres";
import { createSqliteStores, type SqliteDatabase, sqliteSchema } from "anyrev/stores/sqlite";
import Database from "better-sqlite3";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { record } from "../../src/testing/record.ts";
import { sharedPostgres } from "../support/servers.ts";
import { makePrefix } from "../support/shared-stores.ts";
import { makeFolder } from "../support/sqlite.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** The rows that each statement of one worker deleted, by table. */
type Deleted = Record<string, number[]>;

function note(deleted: Deleted, text: string, rows: readonly unknown[]): void {
  const [, table] = /^(?:WITH \w+ AS \()?DELETE FROM \w+_([a-z]+) WHERE/.exec(text) ?? [];
  if (table !== undefined && rows.length > 0)
    deleted[table] = [...(deleted[table] ?? []), rows.length];
}

function watchPool(pool: pg.Pool, deleted: Deleted): PgPool {
  return {
    options: { max: 10 },
    connect: async () => {
      const client = await pool.connect();
      return {
        query: async (config) => {
          const done = await client.query({ ...config });
          note(deleted, config.text, done.rows ?? []);
          return done;
        },
        release: (destroy) => client.release(destroy),
        on: client.on.bind(client),
        off: client.off.bind(client),
      };
    },
  };
}

function watchDatabase(db: SqliteDatabase, deleted: Deleted): SqliteDatabase {
  return {
    prepare: (text) => {
      const statement = db.prepare(text);
      return {
        run: (params) => statement.run(params),
        get: (params) => statement.get(params),
        all: (params) => {
          const rows = statement.all(params);
          note(deleted, text, rows);
          return rows;
        },
      };
    },
  };
}

const options = { timeoutMs: 20_000, events: { ttlMs: 60_000 }, sessions: { maxSessions: 5_000 } };

async function openPostgres() {
  const url = await sharedPostgres();
  const pool = new pg.Pool({ connectionString: url });
  const prefix = makePrefix();
  const workers: Deleted[] = [{}, {}];
  const stores = workers.map((deleted) =>
    createPostgresStores(watchPool(pool, deleted), { prefix, ...options }),
  );
  return {
    prefix,
    workers,
    stores,
    run: async (text: string): Promise<unknown[]> => (await pool.query(text)).rows,
    close: async () => {
      await Promise.all(stores.map((each) => each.close()));
      await pool.end();
    },
  };
}

async function openSqlite() {
  const folder = await makeFolder();
  const path = join(folder, "stores.db");
  const databases = [new Database(path), new Database(path)];
  const workers: Deleted[] = [{}, {}];
  const stores = databases.map((db, at) =>
    createSqliteStores(watchDatabase(db, workers[at] ?? {}), options),
  );
  return {
    prefix: "anyrev",
    workers,
    stores,
    run: async (text: string): Promise<unknown[]> => {
      const statement = databases[0]!.prepare(text);
      return statement.reader ? statement.all() : [statement.run()];
    },
    close: async () => {
      await Promise.all(stores.map((each) => each.close()));
      for (const db of databases) db.close();
      await rm(folder, { recursive: true });
    },
  };
}

async function settles(counts: () => Promise<string>, expected: string): Promise<void> {
  for (let attempt = 0; attempt < 200 && (await counts()) !== expected; attempt++) await delay(20);
  expect(await counts()).toBe(expected);
}

const many = (count: number): string =>
  `WITH RECURSIVE many(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < ${count})`;

describe.each([
  ["PostgreSQL", openPostgres],
  ["SQLite", openSqlite],
] as const)("Sweeping of %s", (_, open) => {
  test("deletes all that has expired, once, in parts, and nothing else", async () => {
    const { prefix, workers, stores, run, close } = await open();
    const [one, other] = stores;
    await one!.sessions.create(record("live"));
    await other!.sessions.get("live");
    await one!.hub.publish("live", "a");
    await run(`INSERT INTO ${prefix}_sessions (id, principal, version, expires_at, record)
      ${many(1_200)} SELECT 's' || n, '', 0, n, '{}' FROM many`);
    await run(
      `INSERT INTO ${prefix}_used (id, expires_at) ${many(700)} SELECT 'u' || n, n FROM many`,
    );
    await run(`INSERT INTO ${prefix}_topics (epoch, topic, last, lost, length, written_at, used_at)
      ${many(120)} SELECT 'e' || n, 't' || n, 2, 0, 2, n, n FROM many`);
    await run(`INSERT INTO ${prefix}_events (epoch, number, start, data)
      ${many(120)} SELECT 'e' || n, 1, 0, 'x' FROM many`);
    await run(`INSERT INTO ${prefix}_events (epoch, number, start, data)
      ${many(120)} SELECT 'e' || n, 2, 1, 'x' FROM many`);
    const counts = async (): Promise<string> => {
      const tables = ["sessions", "used", "topics", "events"];
      const rows = await Promise.all(
        tables.map((table) => run(`SELECT COUNT(*) AS count FROM ${prefix}_${table}`)),
      );
      return rows.map(([row]) => Number((row as { count: unknown }).count)).join(" ");
    };
    expect(await counts()).toBe("1201 700 121 241");
    vi.advanceTimersByTime(15_000);
    await settles(counts, "1 0 1 1");
    const busy = workers.filter((deleted) => Object.keys(deleted).length > 0);
    expect(busy).toHaveLength(1);
    const [{ sessions, used, topics }] = busy as [Deleted];
    expect([sessions, used, topics]).toEqual([[500, 500, 200], [500, 200], expect.anything()]);
    expect(topics?.reduce((sum, each) => sum + each)).toBe(120);
    expect(Math.max(...(topics ?? []))).toBeLessThanOrEqual(50);
    expect(await one!.sessions.get("live")).toBeDefined();
    expect(await other!.hub.exists("live")).toBe(true);
    // The next turn is a while off, for both of them.
    await run(`INSERT INTO ${prefix}_used (id, expires_at) VALUES ('late', 1)`);
    vi.advanceTimersByTime(15_000);
    await delay(100);
    expect(await counts()).toBe("1 1 1 1");
    await run(`UPDATE ${prefix}_tasks SET due_at = 0`);
    vi.advanceTimersByTime(15_000);
    await settles(counts, "1 0 1 1");
    await close();
  });
});

test("the tables of SQLite may be made beforehand, and are the same", async () => {
  const tables = (db: Database.Database): unknown[] =>
    db.prepare("SELECT name, sql FROM sqlite_master ORDER BY name").all();
  const [made, lazy] = [new Database(":memory:"), new Database(":memory:")];
  made.exec(sqliteSchema({ prefix: "mine" }));
  made.exec(sqliteSchema({ prefix: "mine" }));
  const stores = createSqliteStores(lazy, { prefix: "mine" });
  await stores.sessions.get("a");
  expect(tables(lazy)).toEqual(tables(made));
  expect(tables(lazy).length).toBeGreaterThan(6);
  expect(() => sqliteSchema({ prefix: "a b" })).toThrow(RangeError);
  await stores.close();
  for (const db of [made, lazy]) db.close();
});
