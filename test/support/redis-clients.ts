/** Clients of every driver of Redis, connected and with an ear for errors. */
import type { RedisClient } from "anyrev/stores/redis";
import { Redis } from "ioredis";
import { Redis as Valkey } from "iovalkey";
import { createClient } from "redis";

export interface Connected {
  readonly client: RedisClient;
  close(): unknown;
}

/** Makes all keys of a prefix, and all that is in their order of time, so much older. */
const age = `
local function older(at) return string.format('%.0f', tonumber(at) - tonumber(ARGV[2])) end
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
  local left = redis.call('PTTL', key)
  if left > 0 then redis.call('PEXPIRE', key, older(left)) end
  if redis.call('TYPE', key).ok == 'zset' then
    local all = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
    for at = 1, #all, 2 do redis.call('ZADD', key, older(all[at + 1]), all[at]) end
  end
end`;

export async function passInRedis(url: string, prefix: string, ms: number): Promise<void> {
  const client = createClient({ url });
  await client.connect();
  await client.eval(age, { arguments: [`{${prefix}}*`, String(ms)] });
  client.destroy();
}

export type ConnectRedis = (url: string) => Promise<Connected>;

/** By the name of their package. */
export const redisDrivers: Readonly<Record<string, ConnectRedis>> = {
  redis: async (url) => {
    const client = createClient({ url });
    client.on("error", () => undefined);
    await client.connect();
    return { client, close: () => client.destroy() };
  },
  ioredis: async (url) => {
    const client = new Redis(url);
    client.on("error", () => undefined);
    return { client, close: () => client.disconnect() };
  },
  iovalkey: async (url) => {
    const client = new Valkey(url);
    client.on("error", () => undefined);
    return { client, close: () => client.disconnect() };
  },
};
