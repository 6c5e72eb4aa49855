/** One of several workers behind a balancer: what it keeps is in Redis, and none is special. */
import { createServer, serve } from "anyrev/node";
import { createRedisStores } from "anyrev/stores/redis";
import { createClient } from "redis";

const { env } = process;
const client = createClient({ url: env["REDIS_URL"] ?? "redis://127.0.0.1:6379" });
// Without a listener a connection that breaks would end the process.
client.on("error", (cause) => console.error(String(cause)));
await client.connect();
const stores = createRedisStores(client);

const server = createServer({ name: "counter", version: "1.0.0" });
server.tool(
  "count",
  {
    description: "Counts up. Without a session it gives a handle to pass along the next time.",
    input: { type: "object", properties: { handle: { type: "string" } } },
  },
  async ({ handle }, ex) => {
    const kept =
      handle === undefined
        ? (ex.session ?? (await ex.sessions.open()))
        : await ex.sessions.use(handle);
    const { count } = await kept.update(({ count = 0 }) => ({ count: Number(count) + 1 }));
    return { count, worker: process.pid, ...(kept === ex.session ? {} : { handle: kept.id }) };
  },
);

const serving = await serve(server, {
  port: Number(env["PORT"] ?? "8080"),
  host: env["HOST"] ?? "127.0.0.1",
  allowedHosts: (env["ALLOWED_HOSTS"] ?? "localhost,127.0.0.1").split(","),
  stores,
  signals: true,
  onClosed: async () => {
    await stores.close();
    client.destroy();
  },
});
console.log(`listening ${serving.url}`);
