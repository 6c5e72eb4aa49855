/** Ways to get to Redis: a cluster, prefixes of a driver, protocols, and clients of other kinds. */
import { createRedisStores, type RedisClient, type RedisSender } from "anyrev/stores/redis";
import { Cluster, Redis } from "ioredis";
import { createClient, createCluster } from "redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { record } from "../../src/testing/record.ts";
import { until } from "../../src/testing/runner.ts";
import { type RedisServer, startRedis } from "../support/redis-server.ts";
import { makePrefix } from "../support/shared-stores.ts";

let server: RedisServer;
/** One node that has all slots: it refuses what a cluster of many would. */
let node: RedisServer;

beforeAll(async () => {
  server = await startRedis();
  node = await startRedis({
    args: ["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1"],
  });
  const client = createClient({ url: node.url });
  await client.connect();
  await client.sendCommand(["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
  let state = "";
  while (!state.includes("cluster_state:ok")) {
    state = String(await client.sendCommand(["CLUSTER", "INFO"]));
  }
  client.destroy();
});
afterAll(async () => {
  await server.stop();
  await node.stop();
});

interface Made {
  readonly client: RedisClient;
  readonly reader?: RedisClient;
  close(): unknown;
}

const heard = <T extends { on(event: "error", listener: (cause: Error) => void): unknown }>(
  client: T,
): T => {
  client.on("error", () => undefined);
  return client;
};

/** As somebody would write it for a driver that is not known. */
function toSender(client: Redis): RedisSender {
  return {
    send: ([name = "", ...args]) => client.call(name, ...args),
    duplicate: async () => toSender(heard(client.duplicate())),
    close: () => client.disconnect(),
  };
}

const ways: Readonly<Record<string, () => Promise<Made>>> = {
  "a cluster, over redis": async () => {
    const client = heard(createCluster({ rootNodes: [{ url: node.url }] }));
    await client.connect();
    return { client, close: () => client.destroy() };
  },
  "a cluster, over ioredis": async () => {
    const client = heard(new Cluster([{ host: "127.0.0.1", port: node.port }]));
    return { client, close: () => client.disconnect() };
  },
  "a prefix of the driver's": async () => {
    const client = heard(new Redis(server.url, { keyPrefix: "app:" }));
    return { client, close: () => client.disconnect() };
  },
  "a client that connects when it is used": async () => {
    const client = heard(new Redis(server.url, { lazyConnect: true }));
    return { client, close: () => client.disconnect() };
  },
  "the older protocol": async () => {
    const client = heard(createClient({ url: server.url, RESP: 2 }));
    await client.connect();
    return { client, close: () => client.destroy() };
  },
  "a connection to read with": async () => {
    const client = heard(new Redis(server.url));
    const reader = heard(createClient({ url: server.url }));
    await reader.connect();
    return {
      client,
      reader,
      close: () => {
        client.disconnect();
        reader.destroy();
      },
    };
  },
  "a driver of one's own": async () => {
    const client = heard(new Redis(server.url));
    return { client: toSender(client), close: () => client.disconnect() };
  },
};

describe.concurrent("Stores in Redis work by", () => {
  test.for(Object.entries(ways))("%s", async ([, make]) => {
    const { client, reader, close } = await make();
    const another = await make();
    const options = { prefix: makePrefix(), reader, sessions: { maxSessionsPerPrincipal: 1 } };
    const stores = createRedisStores(client, options);
    const other = createRedisStores(another.client, { ...options, reader: another.reader });
    const seen: string[] = [];
    const start = await stores.hub.position("t");
    const signal = new AbortController().signal;
    await stores.hub.follow("t", start, ({ data }) => seen.push(data), signal);
    for (const data of ["a", "b"]) await other.hub.publish("t", data);
    await until(() => seen.length === 2, "seeing two events");
    await other.sessions.create(record("a", { principal: "p" }));
    await other.sessions.create(record("b", { principal: "p" }));
    expect(await stores.sessions.get("a")).toBeUndefined();
    expect(await stores.sessions.touch("b")).toMatchObject({ id: "b" });
    expect(await stores.sessions.save(record("b"), 0)).toBe(true);
    expect(await stores.sessions.delete("b")).toBe(true);
    expect(await stores.oneTime.claim("a", 10_000)).toBe(true);
    expect(await other.oneTime.claim("a", 10_000)).toBe(false);
    expect(await stores.keys.rotate(new Uint8Array(32))).toHaveLength(1);
    expect(await other.hub.exists("t")).toBe(true);
    await other.hub.delete("t");
    expect(await stores.hub.exists("t")).toBe(false);
    await Promise.all([stores.close(), other.close()]);
    await Promise.all([close(), another.close()]);
  });

  test("nothing that is no client", () => {
    for (const client of [{}, null, "redis://", { send: () => 1 }, () => undefined]) {
      expect(() => createRedisStores(client as unknown as RedisClient)).toThrow(TypeError);
    }
  });

  test("none that was not connected, and say so in time", async () => {
    const client = heard(createClient({ url: server.url }));
    const stores = createRedisStores(client, { timeoutMs: 200 });
    await expect((async () => stores.sessions.get("a"))()).rejects.toMatchObject({ code: "away" });
    const ended = new Redis(server.url);
    ended.disconnect();
    const late = createRedisStores(ended, { timeoutMs: 200 });
    await expect((async () => late.hub.position("t"))()).rejects.toMatchObject({ code: "away" });
    await Promise.all([stores.close(), late.close()]);
  });
});

describe("Redis that was started again, empty", () => {
  test("is used anew: who followed goes on, and what is gone is gone", async () => {
    const first = await startRedis();
    const client = heard(createClient({ url: first.url }));
    await client.connect();
    const faults: unknown[] = [];
    const stores = createRedisStores(client, { onFault: (cause) => faults.push(cause) });
    const seen: string[] = [];
    const start = await stores.hub.position("t");
    const signal = new AbortController().signal;
    await stores.hub.follow("t", start, ({ data }) => seen.push(data), signal);
    const last = await stores.hub.publish("t", "before");
    await stores.sessions.create(record("a"));
    await first.stop();
    const second = await startRedis({ port: first.port });
    const works = async (): Promise<boolean> =>
      (async () => stores.hub.publish("t", "after"))().then(
        () => true,
        () => false,
      );
    while (!(await works()));
    await until(() => seen.includes("after"), "an event of the new one");
    expect(seen).toEqual(["before", "after"]);
    expect(await stores.sessions.get("a")).toBeUndefined();
    expect(await stores.hub.follow("t", last, () => undefined, AbortSignal.abort())).toBe(false);
    await stores.close();
    client.destroy();
    await second.stop();
  });

  test("kills connections, and they are opened again", async () => {
    const client = heard(new Redis(server.url));
    const admin = heard(new Redis(server.url));
    const stores = createRedisStores(client, { prefix: makePrefix() });
    const seen: string[] = [];
    const signal = new AbortController().signal;
    const start = await stores.hub.position("t");
    await stores.hub.follow("t", start, ({ data }) => seen.push(data), signal);
    for (let at = 0; at < 5; at++) {
      await admin.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
      await stores.hub.publish("t", `${at}`);
    }
    await until(() => seen.length >= 5, "five events");
    expect(seen).toEqual(["0", "1", "2", "3", "4"]);
    await stores.close();
    client.disconnect();
    admin.disconnect();
  });
});
