/** What the stores in SQLite do while the file is held by others, or cannot be read. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { StoreError } from "anyrev";
import { createSqliteStores, type SqliteDatabase } from "anyrev/stores/sqlite";
import { storeFaultsSuite } from "anyrev/testing";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { record } from "../../src/testing/record.ts";
import { makeFolder } from "../support/sqlite.ts";

async function open() {
  const folder = await makeFolder();
  const path = join(folder, "stores.db");
  const fault: { code?: string } = {};
  const [first, second, foreign] = [new Database(path), new Database(path), new Database(path)];
  const options = { timeoutMs: 1_000 };
  const one = createSqliteStores(failing(first, fault), options);
  const other = createSqliteStores(failing(second, fault), options);
  return {
    one,
    other,
    fault,
    /** Holds the file as a writer does, for so long. */
    hold: async (ms: number): Promise<void> => {
      foreign.pragma("busy_timeout = 5000");
      foreign.prepare("BEGIN IMMEDIATE").run();
      await delay(ms);
      foreign.prepare("COMMIT").run();
    },
    close: async () => {
      await Promise.all([one.close(), other.close()]);
      for (const each of [first, second, foreign]) each.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** The same connection, of which every statement fails as long as there is a code. */
function failing(db: SqliteDatabase, fault: { readonly code?: string }): SqliteDatabase {
  const guard = <A extends unknown[], T>(run: (...args: A) => T) => {
    return (...args: A): T => {
      if (fault.code === undefined) return run(...args);
      throw Object.assign(new Error("failed on purpose"), { code: fault.code });
    };
  };
  return {
    prepare: guard((text: string) => {
      const statement = db.prepare(text);
      return {
        run: guard((params) => statement.run(params)),
        get: guard((params) => statement.get(params)),
        all: guard((params) => statement.all(params)),
      };
    }),
  };
}

type Opened = Awaited<ReturnType<typeof open>>;

const fail = (code: string) => async (opened: Opened) => {
  opened.fault.code = code;
  await delay(1_500);
  delete opened.fault.code;
};

describe.concurrent("SQLite", () => {
  storeFaultsSuite(
    open,
    {
      "another writer holds the file for 6 seconds": ({ hold }) => hold(6_000),
      "others write in turn": async ({ hold }) => {
        for (let at = 0; at < 20; at++) {
          await hold(30);
          await delay(5);
        }
      },
      "the disk cannot be read": fail("SQLITE_IOERR_READ"),
      "the file is locked in other ways": fail("SQLITE_BUSY_SNAPSHOT"),
    },
    { test },
  );

  test("waits for who holds the file for a moment, in the order of the calls", async () => {
    const { one, hold, close } = await open();
    const seen: string[] = [];
    const start = await one.hub.position("t");
    await one.hub.follow("t", start, ({ data }) => seen.push(data), new AbortController().signal);
    const held = hold(300);
    const published = [1, 2, 3].map(async (at) => one.hub.publish("t", `${at}`));
    await Promise.all([one.sessions.create(record("a")), ...published, held]);
    await expect.poll(() => seen).toEqual(["1", "2", "3"]);
    expect(await one.sessions.get("a")).toBeDefined();
    await close();
  });

  test("reads while another writes, and says how long to wait where it must write", async () => {
    const { one, other, hold, close } = await open();
    await one.sessions.create(record("a"));
    await other.hub.publish("t", "a");
    const held = hold(2_500);
    expect(await other.sessions.touch("a")).toEqual(record("a"));
    expect(await one.hub.exists("t")).toBe(true);
    const start = Date.now();
    const refused = await Promise.allSettled([
      one.sessions.save(record("a"), 0),
      one.hub.publish("t", "b"),
      one.oneTime.claim("a", 1_000),
      one.keys.rotate(new Uint8Array(32)),
      one.sessions.delete("a"),
    ]);
    expect(Date.now() - start).toBeLessThan(2_000);
    for (const each of refused) {
      if (each.status === "fulfilled") throw new Error("something was written");
      const { code, retryAfterMs } = each.reason as StoreError;
      expect([code, retryAfterMs]).toEqual(["away", 1_000]);
    }
    await held;
    expect(await other.sessions.get("a")).toEqual(record("a"));
    expect(await other.keys.read()).toEqual([]);
    expect(await other.oneTime.claim("a", 1_000)).toBe(true);
    await close();
  });

  test("says that it is full where there is no room on the disk", async () => {
    const { one, fault, close } = await open();
    await one.sessions.create(record("a"));
    fault.code = "SQLITE_FULL";
    const refused = (async () => one.sessions.create(record("b")))();
    await expect(refused).rejects.toMatchObject({ name: "StoreError", code: "full" });
    fault.code = "SQLITE_CORRUPT";
    const broken = (async () => one.sessions.get("a"))();
    await expect(broken).rejects.toMatchObject({ code: "SQLITE_CORRUPT" });
    await close();
  });
});
