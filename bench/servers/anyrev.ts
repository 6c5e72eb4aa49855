/** Our server: validated input, structured output with its schema, all defaults on. */
import { createServer as createHttpServer } from "node:http";
import { createEndpoint, createServer, toNodeHandler } from "anyrev/node";
import { z } from "zod";
import { listen, toolNames } from "./common.ts";

const input = z.object({ a: z.int(), b: z.int() });
const output = z.object({ sum: z.int() });

const server = createServer({ name: "bench", version: "1.0.0" });
for (const name of ["add", ...toolNames()]) {
  server.tool(name, { description: "Adds two integers.", input, output }, ({ a, b }) => ({
    sum: a + b,
  }));
}

await listen(createHttpServer(toNodeHandler(createEndpoint(server))));
