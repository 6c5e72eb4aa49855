/** The contracts of the stores, kept by those in PostgreSQL, over each driver. */
import { createPostgresStores, type PostgresStoresOptions } from "anyrev/stores/postgres";
import { passInPostgres, postgresDrivers } from "../support/postgres-clients.ts";
import { sharedPostgres } from "../support/servers.ts";
import { describeStores, makePrefix, type OpenWorkers } from "../support/shared-stores.ts";

/** Two workers, each with a pool of its own. */
const openWith =
  (
    connect: (typeof postgresDrivers)[string],
    more: Partial<PostgresStoresOptions> = {},
  ): OpenWorkers =>
  async (options) => {
    const url = await sharedPostgres();
    const [first, second] = [connect(url), connect(url)];
    const prefix = makePrefix();
    const own = { prefix, ...options, ...more };
    const [one, other] = [first, second].map(({ client }) => createPostgresStores(client, own));
    return {
      one: one!,
      other: other!,
      pass: (ms) => passInPostgres(url, prefix, ms),
      close: async () => {
        await Promise.all([one!.close(), other!.close()]);
        await Promise.all([first.close(), second.close()]);
      },
    };
  };

for (const [driver, connect] of Object.entries(postgresDrivers)) {
  describeStores(`PostgreSQL over ${driver}`, openWith(connect));
}
