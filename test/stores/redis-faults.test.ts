/** What the stores in Redis do while it fails, over each driver. */
import { setTimeout as delay } from "node:timers/promises";
import { createRedisStores } from "anyrev/stores/redis";
import { storeFaultsSuite } from "anyrev/testing";
import { createClient } from "redis";
import { afterAll, beforeAll, describe, test } from "vitest";
import { type ConnectRedis, redisDrivers } from "../support/redis-clients.ts";
import { type RedisServer, startRedis } from "../support/redis-server.ts";
import { makePrefix, warmUp } from "../support/shared-stores.ts";
import { proxyFaults, TcpProxy } from "../support/tcp-proxy.ts";

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

async function open(connect: ConnectRedis) {
  const proxy = await TcpProxy.open(server.port);
  const url = `redis://127.0.0.1:${proxy.port}`;
  const [first, second] = await Promise.all([connect(url), connect(url)]);
  const own = { prefix: makePrefix(), timeoutMs: 1_000 };
  const [one, other] = [first, second].map(({ client }) => createRedisStores(client, own));
  await Promise.all([warmUp(one!), warmUp(other!)]);
  return {
    one: one!,
    other: other!,
    proxy,
    prefix: own.prefix,
    close: async () => {
      await Promise.all([one!.close(), other!.close()]);
      await Promise.all([first.close(), second.close()]);
      await proxy.close();
    },
  };
}

type Opened = Awaited<ReturnType<typeof open>>;

const faults = {
  ...proxyFaults,
  "replies are lost, and drivers send again": async ({ proxy }: Opened) => {
    for (let at = 0; at < 3; at++) {
      proxy.dropsReplies = true;
      await delay(100);
      proxy.dropsReplies = false;
      proxy.cut();
      await delay(300);
    }
  },
  "it tells of events twice, and of some that are none": async ({ prefix }: Opened) => {
    const client = createClient({ url: server.url });
    await client.connect();
    const bell = `{${prefix}}:bell`;
    for (let at = 0; at < 20; at++) {
      for (const entry of (await client.xRevRange(bell, "+", "-", { COUNT: 5 })) ?? []) {
        if (entry !== null) await client.xAdd(bell, "*", entry.message);
      }
      await client.xAdd(bell, "*", { t: "t", e: "another", n: "1" });
      await delay(10);
    }
    client.destroy();
  },
};

for (const [driver, connect] of Object.entries(redisDrivers)) {
  describe.concurrent(`Redis over ${driver}`, () => {
    storeFaultsSuite(() => open(connect), faults, { test });
  });
}
