// A server on fastmcp 4: `stdio`, `http` or `stateless`; HTTP+SSE is beside the latter two.
import { createServer } from "node:net";
import { setTimeout } from "node:timers/promises";
import { FastMCP, UserError } from "fastmcp";
import { z } from "zod";

const names = ["Ada", "Alan", "Grace"];
const complete = async (value) => ({ values: names.filter((name) => name.startsWith(value)) });

// A session is known a moment after its first messages.
async function sessionOf(sessionId) {
  for (;;) {
    const known = server.sessions.find((each) => each.sessionId === sessionId);
    if (known ?? server.sessions[0]) return known ?? server.sessions[0];
    await setTimeout(20);
  }
}

const server = new FastMCP({
  name: "fastmcp",
  version: "1.0.0",
  instructions: "Ask politely.",
  ping: { enabled: false },
  logger: { ...console, log: console.error, info: console.error, debug: console.error },
});
server.addTool({
  name: "add",
  description: "Adds.",
  parameters: z.object({ a: z.number().int(), b: z.number().int() }),
  outputSchema: z.object({ sum: z.number().int() }),
  execute: async ({ a, b }) => ({ sum: a + b }),
});
server.addTool({
  name: "who",
  description: "Asks for a name.",
  execute: async (_args, { elicit }) => {
    const { action, content } = await elicit({
      message: "Who are you?",
      requestedSchema: {
        type: "object",
        properties: { name: { type: "string" } },
        required: ["name"],
      },
    });
    return action === "accept" ? `Hello, ${content.name}!` : action;
  },
});
server.addTool({
  name: "imagine",
  description: "Asks a model.",
  execute: async (_args, { sessionId }) => {
    const { content } = await (await sessionOf(sessionId)).requestSampling({
      messages: [{ role: "user", content: { type: "text", text: "Imagine." } }],
      maxTokens: 10,
    });
    return content.text;
  },
});
server.addTool({
  name: "where",
  description: "Tells the roots.",
  execute: async (_args, { sessionId }) => {
    const { roots } = await sessionOf(sessionId);
    return (roots ?? []).map(({ uri }) => uri).join(" ");
  },
});
server.addTool({
  name: "count",
  description: "Counts, and tells.",
  parameters: z.object({ to: z.number().int() }),
  execute: async ({ to }, { log, reportProgress }) => {
    for (let progress = 1; progress <= to; progress++) {
      log.info(`at ${progress}`);
      await reportProgress({ progress, total: to });
    }
    return `counted to ${to}`;
  },
});
server.addTool({
  name: "fail",
  description: "Fails.",
  execute: async () => {
    throw new UserError("on purpose");
  },
});
server.addResource({
  uri: "note://one",
  name: "one",
  mimeType: "text/plain",
  load: async () => ({ text: "the note" }),
});
server.addResourceTemplate({
  uriTemplate: "note://{name}",
  name: "any",
  mimeType: "text/plain",
  arguments: [{ name: "name", required: true, complete }],
  load: async ({ name }) => ({ text: `the note of ${name}` }),
});
const welcome = {
  name: "welcome",
  description: "Welcomes.",
  arguments: [{ name: "name", required: true, complete }],
  load: async ({ name }) => `Welcome ${name}.`,
};
server.addPrompt(welcome);
server.addTool({
  name: "announce",
  description: "Tells that the prompts have changed.",
  execute: async () => {
    // In place of itself: what it adds while it runs is told to all.
    server.addPrompt(welcome);
    return "announced";
  },
});

// It listens where it is told and does not say where that is, so a port is looked for first.
async function freePort() {
  const probe = createServer();
  await new Promise((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

async function listen(stateless) {
  const port = await freePort();
  await server.start({
    transportType: "httpStream",
    httpStream: { port, host: "127.0.0.1", stateless },
  });
  console.log(`listening http://127.0.0.1:${port}/mcp`);
}

const modes = {
  stdio: () => server.start({ transportType: "stdio" }),
  http: () => listen(false),
  stateless: () => listen(true),
};

await modes[process.argv[2]]();
