// A server on the official SDK 2.x: `stdio`, `http`, `stateful`, `modern-stdio` or `modern`.
import { randomUUID } from "node:crypto";
import { NodeStreamableHTTPServerTransport, toNodeHandler } from "@modelcontextprotocol/node";
import {
  acceptedContent,
  completable,
  createMcpHandler,
  createRequestStateCodec,
  inputRequired,
  inputResponse,
  McpServer,
  ResourceTemplate,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
import { listen, readJson } from "./listen.mjs";

const text = (value) => ({ content: [{ type: "text", text: String(value) }] });
const names = ["Ada", "Alan", "Grace"];
const startingWith = (value) => names.filter((name) => name.startsWith(value));
const named = z.object({ name: z.string() });
const codec = createRequestStateCodec({ key: new Uint8Array(32).fill(7) });

const ask = (message) => inputRequired.elicit({ message, requestedSchema: named });

/** @param handler - what streams of requests without a session hang on, where there is one */
function declare(handler) {
  const server = new McpServer(
    { name: "sdk-2", version: "1.0.0" },
    {
      capabilities: { logging: {} },
      instructions: "Ask politely.",
      cacheHints: { "tools/list": { ttlMs: 60_000, cacheScope: "public" } },
      requestState: { verify: codec.verify },
    },
  );
  server.registerTool(
    "add",
    {
      description: "Adds.",
      inputSchema: z.object({ a: z.number().int(), b: z.number().int() }),
      outputSchema: z.object({ sum: z.number().int() }),
    },
    ({ a, b }) => ({ ...text(a + b), structuredContent: { sum: a + b } }),
  );
  server.registerTool("who", { description: "Asks for a name." }, ({ mcpReq }) => {
    const answer = acceptedContent(mcpReq.inputResponses, "name", named);
    return answer === undefined
      ? inputRequired({ inputRequests: { name: ask("Who are you?") } })
      : text(`Hello, ${answer.name}!`);
  });
  server.registerTool("twice", { description: "Asks in two rounds." }, async ({ mcpReq }) => {
    const answer = acceptedContent(mcpReq.inputResponses, "name", named);
    const first = mcpReq.requestState()?.first;
    if (answer === undefined) return inputRequired({ inputRequests: { name: ask("First?") } });
    if (first !== undefined) return text(`${first} and ${answer.name}`);
    return inputRequired({
      inputRequests: { name: ask("Second?") },
      requestState: await codec.mint({ first: answer.name }),
    });
  });
  server.registerTool("imagine", { description: "Asks a model." }, ({ mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, "model");
    if (answer.kind === "sampling") return text(answer.result.content.text);
    const request = {
      messages: [{ role: "user", content: { type: "text", text: "Imagine." } }],
      maxTokens: 10,
    };
    return inputRequired({ inputRequests: { model: inputRequired.createMessage(request) } });
  });
  server.registerTool("where", { description: "Asks for roots." }, ({ mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, "roots");
    if (answer.kind === "roots") return text(answer.roots.map(({ uri }) => uri).join(" "));
    return inputRequired({ inputRequests: { roots: inputRequired.listRoots() } });
  });
  server.registerTool(
    "count",
    { description: "Counts, and tells.", inputSchema: z.object({ to: z.number().int() }) },
    async ({ to }, { mcpReq }) => {
      for (let progress = 1; progress <= to; progress++) {
        await mcpReq.log("info", `at ${progress}`);
        const progressToken = mcpReq._meta?.progressToken;
        if (progressToken === undefined) continue;
        const params = { progressToken, progress, total: to };
        await mcpReq.notify({ method: "notifications/progress", params });
      }
      return text(`counted to ${to}`);
    },
  );
  server.registerTool("fail", { description: "Fails." }, () => {
    throw new Error("on purpose");
  });
  server.registerTool("announce", { description: "Tells that the tools have changed." }, () => {
    if (handler === undefined) server.sendToolListChanged();
    else handler().notify.toolsChanged();
    return text("announced");
  });
  server.registerResource("one", "note://one", { mimeType: "text/plain" }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: "text/plain", text: "the note" }],
  }));
  server.registerResource(
    "any",
    new ResourceTemplate("note://{name}", { list: undefined, complete: { name: startingWith } }),
    { mimeType: "text/plain" },
    (uri, { name }) => ({ contents: [{ uri: uri.href, text: `the note of ${name}` }] }),
  );
  server.registerPrompt(
    "welcome",
    {
      description: "Welcomes.",
      argsSchema: z.object({ name: completable(z.string(), startingWith) }),
    },
    ({ name }) => ({
      messages: [{ role: "user", content: { type: "text", text: `Welcome ${name}.` } }],
    }),
  );
  return server;
}

function listenBare(options) {
  const handler = createMcpHandler(() => declare(() => handler), options);
  listen(toNodeHandler(handler));
}

const modes = {
  stdio: () => serveStdio(() => declare()),
  "modern-stdio": () => serveStdio(() => declare(), { legacy: "reject" }),
  http: () => listenBare(),
  modern: () => listenBare({ legacy: "reject" }),
  sse: () => listenBare({ responseMode: "sse" }),
  // The handshake with sessions, as its documentation wires it by hand.
  stateful: () => {
    const transports = new Map();
    listen(async (request, response) => {
      const known = transports.get(request.headers["mcp-session-id"]);
      if (known !== undefined) return known.handleRequest(request, response);
      const body = request.method === "POST" ? await readJson(request) : undefined;
      const transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (id) => transports.set(id, transport),
        onsessionclosed: (id) => transports.delete(id),
      });
      await declare().connect(transport);
      return transport.handleRequest(request, response, body);
    });
  },
};

await modes[process.argv[2]]();
