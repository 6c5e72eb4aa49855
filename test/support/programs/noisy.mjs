// A program over stdio that does what such programs should not: it writes to the console, and
// holds what keeps a process alive. It ends itself where it is started with "exit".
import { ensureBuilt } from "../../../scripts/built.mjs";

ensureBuilt("dist/node/index.js", ["src"], ["tsconfig.build.json"]);
const { createServer, serveStdio } = await import("../../../dist/node/index.js");

const server = createServer({ name: "noisy", version: "1.0.0" });
server.tool("shout", { description: "Writes to the console in every way." }, () => {
  for (const method of ["log", "info", "debug", "warn", "error", "dir", "dirxml", "trace"]) {
    console[method](`by ${method}`);
  }
  console.table([{ by: "table" }]);
  console.group("by group");
  console.groupEnd();
  console.count("by count");
  console.time("by time");
  console.timeLog("by time");
  console.timeEnd("by time");
  console.assert(false, "by assert");
  return "shouted";
});
server.tool("hang", { description: "Never returns." }, () => new Promise(() => undefined));
server.tool("large", { description: "Returns a mebibyte." }, () => "x".repeat(1_048_576));

const exits = process.argv[2] === "exit";
if (exits) setInterval(() => undefined, 1_000);
await serveStdio(server);
if (exits) process.exit(0);
