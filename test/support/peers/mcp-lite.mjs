// A server on mcp-lite: `stateful` or `stateless`, over HTTP, which is all it has.
import {
  InMemoryClientRequestAdapter,
  InMemorySessionAdapter,
  McpServer,
  StreamableHttpTransport,
} from "mcp-lite";
import { z } from "zod";
import { listenFetch } from "./listen.mjs";

const text = (value) => ({ content: [{ type: "text", text: String(value) }] });

const server = new McpServer({
  name: "mcp-lite",
  version: "1.0.0",
  schemaAdapter: (schema) => z.toJSONSchema(schema),
});
server.tool("add", {
  description: "Adds.",
  inputSchema: z.object({ a: z.number().int(), b: z.number().int() }),
  outputSchema: z.object({ sum: z.number().int() }),
  handler: ({ a, b }) => ({ ...text(a + b), structuredContent: { sum: a + b } }),
});
server.tool("who", {
  description: "Asks for a name.",
  handler: async (_args, ctx) => {
    const schema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
    const { action, content } = await ctx.elicit({ message: "Who are you?", schema });
    return text(action === "accept" ? `Hello, ${content.name}!` : action);
  },
});
server.tool("imagine", {
  description: "Asks a model.",
  handler: async (_args, ctx) => {
    const { content } = await ctx.sample({ prompt: "Imagine.", maxTokens: 10 });
    return text(content.text);
  },
});
server.tool("count", {
  description: "Counts, and tells.",
  inputSchema: z.object({ to: z.number().int() }),
  handler: async ({ to }, ctx) => {
    for (let progress = 1; progress <= to; progress++) {
      await ctx.progress?.({ progress, total: to });
    }
    return text(`counted to ${to}`);
  },
});
server.tool("fail", {
  description: "Fails.",
  handler: () => ({ ...text("on purpose"), isError: true }),
});
server.resource("note://one", { name: "one", mimeType: "text/plain" }, async (uri) => ({
  contents: [{ uri: uri.href, mimeType: "text/plain", text: "the note" }],
}));
server.resource("note://{name}", { description: "Any note." }, async (uri, { name }) => ({
  contents: [{ uri: uri.href, text: `the note of ${name}` }],
}));
server.prompt("welcome", {
  description: "Welcomes.",
  arguments: z.object({ name: z.string() }),
  handler: ({ name }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Welcome ${name}.` } }],
  }),
});

const modes = {
  stateful: {
    sessionAdapter: new InMemorySessionAdapter({ maxEventBufferSize: 1_024 }),
    clientRequestAdapter: new InMemoryClientRequestAdapter({ defaultTimeoutMs: 30_000 }),
  },
  stateless: {},
};

listenFetch(new StreamableHttpTransport(modes[process.argv[2]]).bind(server));
