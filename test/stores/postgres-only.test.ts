/** What only PostgreSQL can get wrong: commits out of order, and tables that are made at once. */
import {
  createPostgresStores,
  type PgPool,
  type PostgresClient,
  postgresSchema,
} from "anyrev/stores/postgres";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { record } from "../../src/testing/record.ts";
import { until } from "../../src/testing/runner.ts";
import { sharedPostgres } from "../support/servers.ts";
import { makePrefix } from "../support/shared-stores.ts";

let url = "";
let pool: pg.Pool;
beforeAll(async () => {
  url = await sharedPostgres();
  pool = new pg.Pool({ connectionString: url, max: 20 });
});
afterAll(() => pool.end());

/** With as much time as a slow machine takes. */
const own = (prefix: string) => ({ prefix, timeoutMs: 20_000 });

/** A pool whose statements are done at once, and seen by others when a gate opens. */
function committingLate(gate: Promise<unknown>): PgPool {
  return {
    connect: async () => {
      const client = await pool.connect();
      return {
        query: async (config) => {
          if (!config.text.includes("_events")) return client.query({ ...config });
          await client.query("BEGIN");
          const done = await client.query({ ...config });
          await gate;
          await client.query("COMMIT");
          return done;
        },
        release: (destroy) => client.release(destroy),
        on: client.on.bind(client),
        off: client.off.bind(client),
      };
    },
  };
}

async function collect(from: PostgresClient, prefix: string): Promise<string[]> {
  const seen: string[] = [];
  const { hub } = createPostgresStores(from, { ...own(prefix), notify: false, pollMs: 3 });
  const start = await hub.position("t");
  await hub.follow("t", start, ({ data }) => seen.push(data), new AbortController().signal);
  return seen;
}

describe.concurrent("Events in PostgreSQL", () => {
  test("wait for one whose commit comes late, and are never seen before it", async () => {
    const prefix = makePrefix();
    const stores = createPostgresStores(pool, own(prefix));
    const seen = await collect(pool, prefix);
    await stores.hub.publish("t", "first");
    let open: (value?: unknown) => void = () => undefined;
    const gate = new Promise((resolve) => {
      open = resolve;
    });
    const late = createPostgresStores(committingLate(gate), { ...own(prefix), prepare: false });
    const written = (async () => late.hub.publish("t", "late"))();
    await new Promise((resolve) => setTimeout(resolve, 100));
    const next = (async () => stores.hub.publish("t", "next"))();
    // Another topic waits for nothing.
    await stores.hub.publish("u", "other");
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(seen).toEqual(["first"]);
    open();
    await Promise.all([written, next]);
    await until(() => seen.length === 3, "all three");
    expect(seen).toEqual(["first", "late", "next"]);
    await Promise.all([stores.close(), late.close()]);
  });

  test("are in one order and whole for whoever looks now and then, under many publishers", async () => {
    const prefix = makePrefix();
    const all = Array.from({ length: 6 }, () => createPostgresStores(pool, own(prefix)));
    const followers = await Promise.all([1, 2, 3].map(() => collect(pool, prefix)));
    await Promise.all(
      all.map(async ({ hub }, publisher) => {
        for (let at = 0; at < 30; at++) await hub.publish("t", `${publisher}.${at}`);
      }),
    );
    await until(() => followers.every((seen) => seen.length >= 180), "all events");
    for (const seen of followers) expect(seen).toEqual(followers[0]);
    expect(new Set(followers[0]).size).toBe(180);
    await Promise.all(all.map((stores) => stores.close()));
  });
});

describe.concurrent("Tables in PostgreSQL", () => {
  test("are made once by many workers that start at once", async () => {
    const prefix = makePrefix();
    const all = Array.from({ length: 10 }, () => createPostgresStores(pool, own(prefix)));
    await Promise.all(all.map(({ sessions }, at) => sessions.create(record(`s${at}`))));
    for (const [at] of all.entries()) {
      expect(await all[0]?.sessions.get(`s${at}`)).toBeDefined();
    }
    await Promise.all(all.map((stores) => stores.close()));
  });

  test("may be made beforehand, for a role that may make none", async () => {
    const prefix = makePrefix();
    const role = `${prefix}_role`;
    await pool.query(postgresSchema({ prefix }));
    // What it says may be said twice.
    await pool.query(postgresSchema({ prefix }));
    await pool.query(`CREATE ROLE ${role} LOGIN`);
    await pool.query("REVOKE CREATE ON SCHEMA public FROM PUBLIC");
    for (const table of ["sessions", "topics", "events", "used", "keys", "tasks"]) {
      await pool.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${prefix}_${table} TO ${role}`);
    }
    const limited = new pg.Pool({ connectionString: url.replace("tests@", `${role}@`) });
    const stores = createPostgresStores(limited, own(prefix));
    await stores.sessions.create(record("a"));
    await stores.hub.publish("t", "a");
    expect(await stores.oneTime.claim("a", 1_000)).toBe(true);
    expect(await stores.keys.rotate(new Uint8Array(32))).toHaveLength(1);
    const missing = createPostgresStores(limited, own(makePrefix()));
    await expect((async () => missing.sessions.get("a"))()).rejects.toMatchObject({
      code: "42501",
    });
    await Promise.all([stores.close(), missing.close()]);
    await limited.end();
  });
});

describe("PostgreSQL", () => {
  test("is used with a pool of one connection", async () => {
    const prefix = makePrefix();
    const single = new pg.Pool({ connectionString: url, max: 1 });
    const stores = createPostgresStores(single, { ...own(prefix), pollMs: 20 });
    const other = createPostgresStores(pool, own(prefix));
    const seen: string[] = [];
    const start = await stores.hub.position("t");
    const signal = new AbortController().signal;
    await stores.hub.follow("t", start, ({ data }) => seen.push(data), signal);
    await other.hub.publish("t", "a");
    await until(() => seen.length === 1, "an event of another");
    await Promise.all([stores.close(), other.close()]);
    await single.end();
  });

  test("is told to be away while it cannot be connected to, and nothing is sent later", async () => {
    const prefix = makePrefix();
    const one = new pg.Pool({ connectionString: url, max: 1 });
    const stores = createPostgresStores(one, { prefix, notify: false });
    await stores.hub.publish("t", "a");
    // Whoever has the only connection gives it back too late.
    const held = await one.connect();
    const refused = (async () => stores.hub.publish("t", "b"))();
    await expect(refused).rejects.toMatchObject({ code: "away", retryAfterMs: 1_000 });
    held.release();
    await stores.hub.publish("t", "c");
    const { rows } = await one.query(`SELECT data FROM ${prefix}_events ORDER BY number`);
    expect(rows).toEqual([{ data: "a" }, { data: "c" }]);
    await stores.close();
    await one.end();
  });

  test("refuses what is no client", () => {
    for (const client of [{}, { query: () => 1 }, () => 1]) {
      expect(() => createPostgresStores(client as unknown as PgPool)).toThrow(TypeError);
    }
  });
});
