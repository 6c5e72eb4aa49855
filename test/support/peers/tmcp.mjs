// A server on tmcp: `stdio` or `http`.
import { ZodJsonSchemaAdapter } from "@tmcp/adapter-zod";
import { HttpTransport } from "@tmcp/transport-http";
import { StdioTransport } from "@tmcp/transport-stdio";
import { McpServer } from "tmcp";
import { complete, prompt, resource, tool } from "tmcp/utils";
import { z } from "zod";
import { listenFetch } from "./listen.mjs";

const names = ["Ada", "Alan", "Grace"];
const startingWith = (value) => complete.values(names.filter((name) => name.startsWith(value)));

const server = new McpServer(
  { name: "tmcp", version: "1.0.0", description: "A peer." },
  {
    adapter: new ZodJsonSchemaAdapter(),
    capabilities: {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      completions: {},
      logging: {},
    },
    instructions: "Ask politely.",
  },
);
server.tool(
  {
    name: "add",
    description: "Adds.",
    schema: z.object({ a: z.number().int(), b: z.number().int() }),
    outputSchema: z.object({ sum: z.number().int() }),
  },
  async ({ a, b }) => tool.structured({ sum: a + b }),
);
server.tool({ name: "who", description: "Asks for a name.", replayable: true }, async () => {
  const { action, content } = await server.elicitation(
    "Who are you?",
    z.object({ name: z.string() }),
    { key: "name" },
  );
  return tool.text(action === "accept" ? `Hello, ${content.name}!` : action);
});
server.tool({ name: "imagine", description: "Asks a model.", replayable: true }, async () => {
  const { content } = await server.message({
    messages: [{ role: "user", content: { type: "text", text: "Imagine." } }],
    maxTokens: 10,
  });
  return tool.text(content.text);
});
server.tool({ name: "where", description: "Asks for roots." }, async () => {
  await server.refreshRoots();
  return tool.text(server.roots.map(({ uri }) => uri).join(" "));
});
server.tool(
  { name: "count", description: "Counts, and tells.", schema: z.object({ to: z.number().int() }) },
  async ({ to }) => {
    for (let progress = 1; progress <= to; progress++) {
      server.log("info", `at ${progress}`);
      server.progress(progress, to);
    }
    return tool.text(`counted to ${to}`);
  },
);
server.tool({ name: "fail", description: "Fails." }, async () => tool.error("on purpose"));
server.tool({ name: "announce", description: "Tells that the tools have changed." }, async () => {
  server.changed("tools");
  return tool.text("announced");
});
server.resource(
  { name: "one", description: "A note.", uri: "note://one", mimeType: "text/plain" },
  async (uri) => resource.text(uri, "the note", "text/plain"),
);
server.template(
  {
    name: "any",
    description: "Any note.",
    uri: "note://{name}",
    complete: { name: async (value) => startingWith(value) },
  },
  async (uri, { name }) => resource.text(uri, `the note of ${name}`),
);
server.prompt(
  {
    name: "welcome",
    description: "Welcomes.",
    schema: z.object({ name: z.string() }),
    complete: { name: async (value) => startingWith(value) },
  },
  async ({ name }) => prompt.message(`Welcome ${name}.`),
);

const modes = {
  stdio: () => new StdioTransport(server).listen(),
  http: () => {
    const transport = new HttpTransport(server, { path: "/mcp" });
    listenFetch(
      async (request) => (await transport.respond(request)) ?? new Response(null, { status: 404 }),
    );
  },
};

await modes[process.argv[2]]();
