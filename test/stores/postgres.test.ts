/** The contracts of the stores, kept by those in PostgreSQL, over each driver. */
import { createPostgresStores } from "anyrev/stores/postgres";
import { afterAll } from "vitest";
import {
  type ConnectedPostgres,
  passInPostgres,
  postgresDrivers,
} from "../support/postgres-clients.ts";
import { sharedPostgres } from "../support/servers.ts";
import { describeLimits } from "../support/shared-limits.ts";
import { describeStores, makePrefix, type OpenWorkers } from "../support/shared-stores.ts";

const opened: ConnectedPostgres[] = [];
afterAll(async () => {
  await Promise.all(opened.map(({ close }) => close()));
});

/** Two workers, each with a pool that it has through all tests. */
function openWith(connect: (typeof postgresDrivers)[string]): OpenWorkers {
  let pools: readonly ConnectedPostgres[] | undefined;
  return async (options) => {
    const url = await sharedPostgres();
    if (pools === undefined) {
      pools = [connect(url), connect(url)];
      opened.push(...pools);
    }
    const prefix = makePrefix();
    const own = { prefix, ...options };
    const [one, other] = pools.map(({ client }) => createPostgresStores(client, own));
    return {
      one: one!,
      other: other!,
      pass: (ms) => passInPostgres(url, prefix, ms),
      close: async () => {
        await Promise.all([one!.close(), other!.close()]);
      },
    };
  };
}

for (const [driver, connect] of Object.entries(postgresDrivers)) {
  const open = openWith(connect);
  describeStores(`PostgreSQL over ${driver}`, open);
  describeLimits(`PostgreSQL over ${driver}`, open);
}
