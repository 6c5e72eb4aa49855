/** One worker over a store: a call that needs nothing kept, and calls that read or write a value. */
import { createServer, serve } from "anyrev/node";
import { z } from "zod";
import { openStores } from "../../fixture/stores.ts";

const [, , address = "memory", prefix = "bench"] = process.argv;
const opened = await openStores(address === "memory" ? "" : `${address}?prefix=${prefix}`);

const server = createServer({ name: "bench", version: "1.0.0" });
const input = z.object({ a: z.int(), b: z.int() });
server.tool("add", { description: "Adds two integers.", input }, ({ a, b }) => ({ sum: a + b }));
server.tool("look", { description: "Reads a value." }, async (_, ex) => ({
  n: (await ex.session?.get("n")) ?? 0,
}));
server.tool("count", { description: "Counts up." }, async (_, ex) => {
  const values = await ex.session?.update(({ n }) => ({ n: Number(n ?? 0) + 1 }));
  return { n: values?.n };
});

const serving = await serve(server, {
  port: 0,
  stores: opened?.stores,
  signals: true,
  onClosed: () => opened?.close(),
});
process.on("message", () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ micros: user + system });
});
process.send?.({ port: serving.port });
