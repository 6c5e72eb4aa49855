/** Our server over stdio: validated input, structured output with its schema, all defaults on. */
import { createServer, serveStdio } from "anyrev/node";
import { z } from "zod";
import { report } from "./common.ts";

const server = createServer({ name: "bench", version: "1.0.0" });
server.tool(
  "add",
  {
    description: "Adds two integers.",
    input: z.object({ a: z.int(), b: z.int() }),
    output: z.object({ sum: z.int() }),
  },
  ({ a, b }) => ({ sum: a + b }),
);

report(0);
await serveStdio(server);
