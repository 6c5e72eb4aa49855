/** The official SDK 2.4 over stdio. */
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
import { report } from "./common.ts";

function build(): McpServer {
  const server = new McpServer({ name: "bench", version: "1.0.0" });
  server.registerTool(
    "add",
    {
      description: "Adds two integers.",
      inputSchema: z.object({ a: z.int(), b: z.int() }),
      outputSchema: z.object({ sum: z.int() }),
    },
    ({ a, b }) => {
      const sum = { sum: a + b };
      return { content: [{ type: "text", text: JSON.stringify(sum) }], structuredContent: sum };
    },
  );
  return server;
}

report(0);
serveStdio(build);
