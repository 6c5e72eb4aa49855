// A server on the official SDK 1.x: `stdio`, `stateful`, `stateless`, `json` or `sse`.
import { randomUUID } from "node:crypto";
import { completable } from "@modelcontextprotocol/sdk/server/completable.js";
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";
import { listen, readJson } from "./listen.mjs";

const text = (value) => ({ content: [{ type: "text", text: String(value) }] });
const names = ["Ada", "Alan", "Grace"];
const startingWith = (value) => names.filter((name) => name.startsWith(value));

function declare() {
  const server = new McpServer(
    { name: "sdk-1", version: "1.0.0" },
    { capabilities: { logging: {} }, instructions: "Ask politely." },
  );
  server.registerTool(
    "add",
    {
      description: "Adds.",
      inputSchema: { a: z.number().int(), b: z.number().int() },
      outputSchema: { sum: z.number().int() },
    },
    ({ a, b }) => ({ ...text(a + b), structuredContent: { sum: a + b } }),
  );
  server.registerTool("who", { description: "Asks for a name." }, async () => {
    const { action, content } = await server.server.elicitInput({
      message: "Who are you?",
      requestedSchema: {
        type: "object",
        properties: { name: { type: "string" } },
        required: ["name"],
      },
    });
    return text(action === "accept" ? `Hello, ${content.name}!` : action);
  });
  server.registerTool("imagine", { description: "Asks a model." }, async () => {
    const { content } = await server.server.createMessage({
      messages: [{ role: "user", content: { type: "text", text: "Imagine." } }],
      maxTokens: 10,
    });
    return text(content.text);
  });
  server.registerTool("where", { description: "Asks for roots." }, async () => {
    const { roots } = await server.server.listRoots();
    return text(roots.map(({ uri }) => uri).join(" "));
  });
  server.registerTool(
    "count",
    { description: "Counts, and tells.", inputSchema: { to: z.number().int() } },
    async ({ to }, { sendNotification, _meta }) => {
      for (let progress = 1; progress <= to; progress++) {
        await sendNotification({
          method: "notifications/message",
          params: { level: "info", data: `at ${progress}` },
        });
        if (_meta?.progressToken === undefined) continue;
        await sendNotification({
          method: "notifications/progress",
          params: { progressToken: _meta.progressToken, progress, total: to },
        });
      }
      return text(`counted to ${to}`);
    },
  );
  server.registerTool("fail", { description: "Fails." }, () => {
    throw new Error("on purpose");
  });
  server.registerTool("announce", { description: "Tells that the tools have changed." }, () => {
    server.sendToolListChanged();
    return text("announced");
  });
  server.registerResource("one", "note://one", { mimeType: "text/plain" }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: "text/plain", text: "the note" }],
  }));
  server.registerResource(
    "any",
    new ResourceTemplate("note://{name}", {
      list: undefined,
      complete: { name: startingWith },
    }),
    { mimeType: "text/plain" },
    (uri, { name }) => ({ contents: [{ uri: uri.href, text: `the note of ${name}` }] }),
  );
  server.registerPrompt(
    "welcome",
    { description: "Welcomes.", argsSchema: { name: completable(z.string(), startingWith) } },
    ({ name }) => ({
      messages: [{ role: "user", content: { type: "text", text: `Welcome ${name}.` } }],
    }),
  );
  return server;
}

async function oneOff(request, response, options = {}) {
  const server = declare();
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: undefined,
    ...options,
  });
  response.on("close", () => {
    void transport.close();
    void server.close();
  });
  await server.connect(transport);
  await transport.handleRequest(request, response, await readJson(request));
}

function refuse(response, status, message) {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", error: { code: -32000, message }, id: null }));
}

const modes = {
  stdio: () => declare().connect(new StdioServerTransport()),
  // As the example of its own documentation does it.
  stateful: () => {
    const transports = new Map();
    listen(async (request, response) => {
      const known = transports.get(request.headers["mcp-session-id"]);
      if (known !== undefined) return known.handleRequest(request, response);
      const body = request.method === "POST" ? await readJson(request) : undefined;
      if (request.headers["mcp-session-id"] !== undefined) {
        return refuse(response, 404, "Session not found");
      }
      if (body?.method !== "initialize") {
        return refuse(response, 400, "Bad Request: No valid session ID provided");
      }
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (id) => transports.set(id, transport),
        onsessionclosed: (id) => transports.delete(id),
      });
      await declare().connect(transport);
      return transport.handleRequest(request, response, body);
    });
  },
  stateless: () =>
    listen((request, response) => {
      if (request.method === "POST") return oneOff(request, response);
      return refuse(response, 405, "Method not allowed.");
    }),
  json: () =>
    listen((request, response) => {
      if (request.method === "POST") return oneOff(request, response, { enableJsonResponse: true });
      return refuse(response, 405, "Method not allowed.");
    }),
  sse: () => {
    const transports = new Map();
    listen(async (request, response) => {
      const { pathname, searchParams } = new URL(request.url, "http://localhost");
      if (request.method === "GET" && pathname === "/sse") {
        const transport = new SSEServerTransport("/messages", response);
        transports.set(transport.sessionId, transport);
        response.on("close", () => transports.delete(transport.sessionId));
        return declare().connect(transport);
      }
      const transport = transports.get(searchParams.get("sessionId"));
      if (request.method === "POST" && transport !== undefined) {
        return transport.handlePostMessage(request, response);
      }
      response.writeHead(404).end("Not found");
    }, "/sse");
  },
};

await modes[process.argv[2]]();
