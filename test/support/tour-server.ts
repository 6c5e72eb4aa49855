/** A server with one of everything that a client can ask for, and the means to see what it did. */
import { setTimeout as delay } from "node:timers/promises";
import { createServer, type Server, user } from "anyrev/node";
import { z } from "zod";

/** So that every listing has several pages. */
const pageSize = 3;

export interface TourServer {
  readonly server: Server;
  /** How many tools that wait have begun to. */
  begun: number;
  /** What ended the waiting of those, in order. */
  readonly ends: string[];
  /** How often a tool ran its effect. */
  effects: number;
}

export function createTourServer(): TourServer {
  const server = createServer({
    name: "tour",
    version: "1.0.0",
    instructions: "Look around.",
    pageSize,
    log: () => undefined,
  });
  const tour: TourServer = { server, begun: 0, ends: [], effects: 0 };
  declareTools(tour);
  declareAsking(tour);
  declareResources(server);
  declarePrompts(server);
  return tour;
}

function declareTools(tour: TourServer): void {
  const { server, ends } = tour;
  server.tool(
    "add",
    {
      input: z.object({ a: z.int(), b: z.int() }),
      output: z.object({ sum: z.int() }),
    },
    ({ a, b }) => ({ sum: a + b }),
  );
  server.tool("fail", {}, () => {
    throw new Error("It is broken.");
  });
  server.tool("echo", { input: z.object({ text: z.string() }) }, ({ text }) => text);
  server.tool(
    "region",
    {
      input: {
        type: "object",
        properties: {
          region: { type: "string", "x-mcp-header": "Region" },
          deep: {
            type: "object",
            properties: { tier: { type: "integer", "x-mcp-header": "Tier" } },
          },
        },
        required: ["region"],
      },
    },
    ({ region }) => String(region),
  );
  server.tool("whoami", {}, (_, ex) => JSON.stringify({ ...ex.client, ...ex.capabilities }));
  server.tool("wait", { input: z.object({ ms: z.int() }) }, async ({ ms }, ex) => {
    tour.begun++;
    try {
      await delay(ms, undefined, { signal: ex.signal });
      ends.push("waited");
    } catch {
      ends.push("cancelled");
    }
    return "waited";
  });
  server.tool(
    "steps",
    { input: z.object({ n: z.int(), everyMs: z.int() }) },
    async ({ n, everyMs }, ex) => {
      for (let step = 1; step <= n; step++) {
        await delay(everyMs, undefined, { signal: ex.signal });
        await ex.progress(step, n, `step ${step}`);
      }
      return `took ${n} steps`;
    },
  );
  server.tool("log", {}, async (_, ex) => {
    ex.log("debug", "too small to tell");
    ex.log("warning", { disk: "full" }, "storage");
    ex.log("error", "that was all");
    return "logged";
  });
  server.tool("touch", { input: z.object({ uri: z.string() }) }, ({ uri }) => {
    server.changed(uri);
    return `touched ${uri}`;
  });
  server.tool("add_tool", {}, () => {
    server.tool("passing", {}, () => "here").remove();
    return "added and removed";
  });
}

const nameForm = z.object({ name: z.string(), age: z.int().default(7) });

function declareAsking(tour: TourServer): void {
  const { server } = tour;
  server.tool("ask_form", { asks: true }, async (_, ex) => {
    const { action, content } = await ex.ask("who", { message: "Who are you?", schema: nameForm });
    return action === "accept" ? `${content?.name}, ${content?.age}` : action;
  });
  server.tool("ask_url", {}, async (_, ex) => {
    const { action } = await ex.ask("visit", {
      message: "Have a look.",
      url: "https://example.com/page?x=1#y",
    });
    return action;
  });
  server.tool(
    "ask_rounds",
    { input: z.object({ rounds: z.int() }), asks: true },
    async ({ rounds }, ex) => {
      await ex.once("effect", () => ++tour.effects);
      const names: string[] = [];
      for (let round = 1; round <= rounds; round++) {
        const asked = { message: `Name ${round}?`, schema: nameForm };
        const { action, content } = await ex.ask(`name${round}`, asked);
        names.push(content?.name ?? action);
      }
      return names.join(", ");
    },
  );
  server.tool("sample", {}, async (_, ex) => {
    const { text, model } = await ex.sample("poem", { messages: "A poem, please.", maxTokens: 9 });
    return `${model}: ${text}`;
  });
  server.tool("roots", {}, async (_, ex) => {
    const roots = await ex.roots();
    return roots.map(({ uri, name }) => `${uri} ${name}`).join(", ");
  });
}

function declareResources(server: Server): void {
  for (const name of ["a", "b", "c", "d"]) {
    server.resource(`note://${name}`, { name, mimeType: "text/plain" }, () => `note ${name}`);
    server.template(
      `${name}://{id}`,
      { name: `template ${name}`, complete: { id: ["one", "other", "third"] } },
      ({ id }) => `${name} of ${id}`,
    );
  }
  server.resource("note://bytes", { name: "bytes" }, () => new Uint8Array([1, 2, 3]));
  server.resource("note://café", { name: "café" }, () => "note café");
}

function declarePrompts(server: Server): void {
  for (const name of ["greet", "leave", "stay", "café"]) {
    server.prompt(
      name,
      { arguments: { whom: { required: true, complete: ["ann", "anton", "bob"] } } },
      ({ whom }) => user(`${name} ${whom}`),
    );
  }
  server.prompt("ask", {}, async (_, ex) => {
    const asked = { message: "Who?", schema: nameForm, default: { name: "nobody", age: 0 } };
    const { content } = await ex.ask("who", asked);
    return user(`It is ${content?.name}.`);
  });
}
