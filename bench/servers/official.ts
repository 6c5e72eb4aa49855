/** The official SDK 2.4 on Node: its per-request handler, and sessions where they are asked for. */
import { randomUUID } from "node:crypto";
import { createServer as createHttpServer } from "node:http";
import { NodeStreamableHTTPServerTransport, toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { listen, toolNames } from "./common.ts";

const input = z.object({ a: z.int(), b: z.int() });
const output = z.object({ sum: z.int() });

function build(): McpServer {
  const server = new McpServer({ name: "bench", version: "1.0.0" });
  for (const name of ["add", ...toolNames()]) {
    server.registerTool(
      name,
      { description: "Adds two integers.", inputSchema: input, outputSchema: output },
      ({ a, b }) => {
        const sum = { sum: a + b };
        return { content: [{ type: "text", text: JSON.stringify(sum) }], structuredContent: sum };
      },
    );
  }
  return server;
}

const stateless = toNodeHandler(createMcpHandler(build));
const transports = new Map<string, NodeStreamableHTTPServerTransport>();

async function open(): Promise<NodeStreamableHTTPServerTransport> {
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    enableJsonResponse: true,
    onsessioninitialized: (id) => void transports.set(id, transport),
  });
  await build().connect(transport);
  return transport;
}

const http = createHttpServer((incoming, outgoing) => {
  const id = incoming.headers["mcp-session-id"];
  const opening = incoming.headers["x-bench"] === "initialize";
  if (typeof id !== "string" && !opening) {
    // Its own types ask for fields that Node leaves optional.
    void stateless(incoming as Parameters<typeof stateless>[0], outgoing);
    return;
  }
  const known = typeof id === "string" ? transports.get(id) : undefined;
  void (async () => {
    await (known ?? (await open())).handleRequest(incoming, outgoing);
  })();
});

await listen(http);
