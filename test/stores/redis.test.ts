/** The contracts of the stores, kept by those in Redis, over each driver. */
import { createRedisStores } from "anyrev/stores/redis";
import { type ConnectRedis, passInRedis, redisDrivers } from "../support/redis-clients.ts";
import { sharedRedis } from "../support/servers.ts";
import { describeLimits } from "../support/shared-limits.ts";
import { describeStores, makePrefix, type OpenWorkers } from "../support/shared-stores.ts";

/** Two workers, each with a client of its own. */
const openWith =
  (connect: ConnectRedis): OpenWorkers =>
  async (options) => {
    const url = await sharedRedis();
    const [first, second] = await Promise.all([connect(url), connect(url)]);
    const prefix = makePrefix();
    const own = { prefix, ...options };
    const [one, other] = [first, second].map(({ client }) => createRedisStores(client, own));
    return {
      one: one!,
      other: other!,
      pass: (ms) => passInRedis(url, prefix, ms),
      close: async () => {
        await Promise.all([one!.close(), other!.close()]);
        await Promise.all([first.close(), second.close()]);
      },
    };
  };

for (const [driver, connect] of Object.entries(redisDrivers)) {
  describeStores(`Redis over ${driver}`, openWith(connect));
  describeLimits(`Redis over ${driver}`, openWith(connect));
}
