/** Every session store with every hub: two workers that share both serve one client as one. */

import { join } from "node:path";
import { createServer, type EventHub, MemoryHub, MemorySessions, type SessionStore } from "anyrev";
import { createPostgresStores } from "anyrev/stores/postgres";
import { createRedisStores } from "anyrev/stores/redis";
import { createSqliteStores, type SharedStores } from "anyrev/stores/sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openWorker } from "../support/live.ts";
import { postgresDrivers } from "../support/postgres-clients.ts";
import { redisDrivers } from "../support/redis-clients.ts";
import { isObject, type JsonObject } from "../support/schemas.ts";
import { sharedPostgres, sharedRedis } from "../support/servers.ts";
import { makePrefix } from "../support/shared-stores.ts";
import { createGate, until } from "../support/signals.ts";
import { makeFolder, withBetterSqlite } from "../support/sqlite.ts";
import { Talker } from "../support/talk.ts";

type Stores = Pick<SharedStores, "sessions" | "hub">;

const closing: (() => unknown)[] = [];
/** What each of two workers has of a backend. */
const backends: Record<string, readonly [Stores, Stores]> = {};
const names = ["memory", "sqlite", "redis", "postgres"] as const;

beforeAll(async () => {
  const inMemory = { sessions: new MemorySessions(), hub: new MemoryHub() };
  backends["memory"] = [inMemory, inMemory];
  const options = { prefix: makePrefix(), timeoutMs: 20_000 };
  const file = join(await makeFolder(), "stores.db");
  const sqlite = [withBetterSqlite(file), withBetterSqlite(file)] as const;
  const [redisUrl, postgresUrl] = [await sharedRedis(), await sharedPostgres()];
  const redis = [await redisDrivers["redis"]!(redisUrl), await redisDrivers["ioredis"]!(redisUrl)];
  const postgres = [postgresDrivers["pg"]!(postgresUrl), postgresDrivers["postgres"]!(postgresUrl)];
  const made: Record<string, readonly SharedStores[]> = {
    sqlite: sqlite.map((db) => createSqliteStores(db, options)),
    redis: redis.map(({ client }) => createRedisStores(client, options)),
    postgres: postgres.map(({ client }) => createPostgresStores(client, options)),
  };
  for (const [name, [one, other]] of Object.entries(made)) {
    backends[name] = [one!, other!];
    closing.push(
      () => one!.close(),
      () => other!.close(),
    );
  }
  closing.push(...[...sqlite, ...redis, ...postgres].map((each) => () => each.close()));
});
afterAll(async () => {
  for (const close of closing) await close();
});

/** Two workers, each with its own way to both stores. */
async function openPair(sessions: string, hub: string) {
  const gate = createGate();
  const aborted: string[] = [];
  const declare = (worker: string) => {
    const server = createServer({ name: worker, version: "1.0.0", log: () => undefined });
    server.resource("note://1", { name: "Note" }, () => "note");
    server.tool("roots", { description: "Asks for the roots." }, async (_, ex) =>
      (await ex.roots()).map(({ uri }) => `${worker} ${uri}`).join(),
    );
    server.tool("tell", { description: "Tells four things, with a break." }, async (_, ex) => {
      for (const entry of [1, 2]) ex.log("warning", entry);
      await gate.opened;
      for (const entry of [3, 4]) ex.log("warning", entry);
      return worker;
    });
    server.tool("wait", { description: "Waits to be cancelled." }, async (_, ex) => {
      ex.log("warning", "waiting");
      await new Promise((resolve) => ex.signal.addEventListener("abort", resolve, { once: true }));
      aborted.push(worker);
      return "cancelled";
    });
    server.tool("announce", { description: "Changes the note." }, () => {
      server.changed("note://1");
      return "announced";
    });
    return server;
  };
  const [a, b] = await Promise.all(
    ["a", "b"].map((worker, at) => {
      const sessionStore: SessionStore = backends[sessions]![at]!.sessions;
      const eventHub: EventHub = backends[hub]![at]!.hub;
      return openWorker("fetch", declare(worker), { sessionStore, eventHub });
    }),
  );
  return { a: a!, b: b!, gate, aborted };
}

function logged(messages: readonly JsonObject[]): unknown[] {
  return messages
    .filter(({ method }) => method === "notifications/message")
    .map(({ params }) => isObject(params) && params["data"]);
}

const pairs = names.flatMap((sessions) => names.map((hub) => [sessions, hub] as const));

describe.concurrent("Two workers", () => {
  test.for(pairs)("with sessions in %s and events in %s serve as one", async ([sessions, hub]) => {
    const { a, b, gate, aborted } = await openPair(sessions, hub);
    const onA = await Talker.open(a, "2025-11-25");
    const onB = onA.on(b);

    const call = onA.call("roots");
    const asked = await call.told("roots/list");
    expect(await onB.answer(asked, { roots: [{ uri: "file:///home" }] })).toBe(202);
    expect(await call.text()).toBe("a file:///home");

    await onB.ask("resources/subscribe", { uri: "note://1" }).result();
    const stream = onB.listen();
    await stream.live;
    expect(await onA.call("announce").text()).toBe("announced");
    await stream.told("notifications/resources/updated");

    const lost = onA.call("tell");
    await lost.next();
    lost.drop();
    const resumed = onB.resume(lost);
    await resumed.next();
    gate.open();
    expect(await resumed.text()).toBe("a");
    expect([...logged(lost.messages), ...logged(resumed.messages)]).toEqual([1, 2, 3, 4]);

    const waiting = onA.call("wait");
    await waiting.told("notifications/message");
    expect(await onB.end()).toBe(204);
    await waiting.rest();
    await until("the call is cancelled", () => aborted.length > 0);
    expect(await onA.call("announce").status()).toBe(404);
    await a[Symbol.asyncDispose]();
    await b[Symbol.asyncDispose]();
  });
});
