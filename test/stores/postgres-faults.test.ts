/** What the stores in PostgreSQL do while it fails, over each driver. */
import { setTimeout as delay } from "node:timers/promises";
import { createPostgresStores, type PostgresStoresOptions } from "anyrev/stores/postgres";
import { storeFaultsSuite } from "anyrev/testing";
import pg from "pg";
import { afterAll, beforeAll, describe, test } from "vitest";
import { postgresDrivers } from "../support/postgres-clients.ts";
import { type PostgresServer, startPostgres } from "../support/postgres-server.ts";
import { makePrefix, warmUp } from "../support/shared-stores.ts";
import { proxyFaults, TcpProxy } from "../support/tcp-proxy.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

type Connect = (typeof postgresDrivers)[string];

async function open(connect: Connect, more: PostgresStoresOptions = {}) {
  const proxy = await TcpProxy.open(server.port);
  const url = server.url.replace(String(server.port), String(proxy.port));
  const [first, second] = [connect(url), connect(url)];
  const own = { prefix: makePrefix(), timeoutMs: 1_000, ...more };
  const [one, other] = [first, second].map(({ client }) => createPostgresStores(client, own));
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

/** Says something to the server that the proxy has no part in. */
async function tell(text: string, values: unknown[] = []): Promise<void> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await client.query(text, values);
  await client.end();
}

const faults = {
  ...proxyFaults,
  "replies are lost": async ({ proxy }: Opened) => {
    for (let at = 0; at < 3; at++) {
      proxy.dropsReplies = true;
      await delay(100);
      proxy.dropsReplies = false;
      proxy.cut();
      await delay(300);
    }
  },
  "a table is locked by somebody else": async ({ prefix }: Opened) => {
    await tell(`BEGIN; LOCK TABLE ${prefix}_topics; SELECT pg_sleep(2.5); COMMIT`);
  },
  "it tells of events twice, and of some that are none": async ({ prefix }: Opened) => {
    for (const payload of ["0000000000000-1 t", "0000000000000-9 t", "", "t", "x-y z"]) {
      for (let at = 0; at < 5; at++) {
        await tell("SELECT pg_notify($1, $2)", [`${prefix}_events`, payload]);
      }
    }
  },
};

for (const [driver, connect] of Object.entries(postgresDrivers)) {
  describe.concurrent(`PostgreSQL over ${driver}`, () => {
    storeFaultsSuite(() => open(connect), faults, { test });
  });
}

describe.concurrent("PostgreSQL that tells nothing", () => {
  const { "connections break": cut, "it cannot be reached": refuse } = proxyFaults;
  for (const [driver, connect] of Object.entries(postgresDrivers)) {
    describe(`over ${driver}`, () => {
      const some = { "connections break": cut, "it cannot be reached": refuse };
      storeFaultsSuite(() => open(connect, { notify: false }), some, { test });
    });
  }
});

describe("PostgreSQL that is stopped at once and started again", () => {
  const restart = { "it restarts": () => server.restart() };
  for (const [driver, connect] of Object.entries(postgresDrivers)) {
    describe(`over ${driver}`, () => {
      storeFaultsSuite(() => open(connect), restart, { test });
    });
  }
});
