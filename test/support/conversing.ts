/** A server whose tools converse in every way there is, and what becomes of it in each revision. */
import { createServer, type Exchange, type Server, type ServerOptions } from "anyrev/node";
import type { Answering, Question } from "./conversant.ts";
import { isObject, type JsonObject, type Revision, revisions } from "./schemas.ts";
import { type WireKind, wireKinds } from "./wires.ts";

export type Column = readonly [revision: Revision, wire: WireKind];

/** The old transport is older than 2026-07-28, which is not served there. */
export const columns: readonly Column[] = revisions.flatMap((revision) =>
  wireKinds
    .filter((wire) => wire !== "sse" || revision !== "2026-07-28")
    .map((wire) => [revision, wire] as const),
);

export type Kind = "form" | "url" | "sample" | "roots";

/** How a question is to reach a client of the revision, by the specification. */
export function mechanic(
  revision: Revision,
  kind: Kind,
): "restart" | "push" | "arguments" | "never" {
  if (revision === "2026-07-28") return "restart";
  if (kind === "url") return revision === "2025-11-25" ? "push" : "never";
  if (kind === "form" && revision < "2025-06-18") return "arguments";
  return "push";
}

export const nameForm = {
  type: "object",
  properties: { name: { type: "string", minLength: 1 } },
  required: ["name"],
} as const;

const orderForm = {
  type: "object",
  properties: {
    count: { type: "integer", default: 2 },
    toppings: { type: "array", items: { type: "string", enum: ["basil", "olives"] } },
  },
} as const;

export const page = "https://example.com/sign-in";

/** What the tools did, to be compared with what they said. */
export class Effects {
  counted = 0;
  runs = 0;
  ended = 0;
  /** Why calls were cancelled. */
  readonly cancelled: unknown[] = [];
  /** Resolves when a call was cancelled. */
  async isCancelled(): Promise<void> {
    while (this.cancelled.length === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  }
  /** Lets the tools go on that wait for it. */
  proceed = (): void => {};
  readonly release: Promise<void> = new Promise((resolve) => {
    this.proceed = resolve;
  });
}

export interface Conversing {
  readonly server: Server;
  readonly effects: Effects;
}

export function createConversing(options: Partial<ServerOptions> = {}): Conversing {
  const server = createServer({ name: "conversing", version: "1", log: () => {}, ...options });
  const effects = new Effects();
  declareForms(server);
  declareOthers(server);
  declareMemory(server, effects);
  declareInsatiable(server, effects);
  declareTelling(server);
  declareCancelling(server, effects);
  declareLeaving(server, effects);
  declareElsewhere(server);
  server.resource("note://1", { name: "one" }, () => "noted");
  return { server, effects };
}

function tool(server: Server, name: string, run: (ex: Exchange) => Promise<unknown>): void {
  server.tool(name, { asks: true }, async (_, ex) => JSON.stringify(await run(ex)));
}

function declareForms(server: Server): void {
  const ask = (ex: Exchange, key: string) => ex.ask(key, { message: `${key}?`, schema: nameForm });
  tool(server, "ask", (ex) => ask(ex, "who"));
  tool(server, "ask_twice", async (ex) => [await ask(ex, "first"), await ask(ex, "second")]);
  tool(server, "confirm", (ex) => ex.ask("sure", { message: "Sure?" }));
  tool(server, "order", (ex) => ex.ask("order", { message: "order?", schema: orderForm }));
  tool(server, "both", (ex) =>
    ex.askAll({
      one: { message: "One?", schema: nameForm },
      two: { message: "Two?", schema: nameForm },
    }),
  );
  tool(server, "ask_briefly", (ex) =>
    ex.ask("who", { message: "who?", schema: nameForm, timeoutMs: 30 }),
  );
  server.tool("ask_or_default", {}, async (_, ex) =>
    JSON.stringify(
      await ex.ask("who", { message: "who?", schema: nameForm, default: { name: "Nobody" } }),
    ),
  );
  tool(server, "ask_and_leave", async (ex) => {
    void ask(ex, "who");
    return "left";
  });
  server.tool("ask_or_fail", {}, async (_, ex) => JSON.stringify(await ask(ex, "who")));
}

function declareOthers(server: Server): void {
  tool(server, "sample", (ex) => ex.sample("poem", { messages: "Write.", maxTokens: 10 }));
  tool(server, "roots", (ex) => ex.roots());
  tool(server, "url", (ex) => ex.ask("visit", { message: "Sign in.", url: page }));
  tool(server, "several", async (ex) => {
    const [who, poem, roots] = await Promise.all([
      ex.ask("who", { message: "who?", schema: nameForm }),
      ex.sample("poem", { messages: "Write." }),
      ex.roots(),
    ]);
    return [who.content, poem.text, roots];
  });
  tool(server, "sample_or_default", (ex) =>
    ex.sample("poem", { messages: "Write.", default: "no poem" }),
  );
  tool(server, "roots_or_default", (ex) => ex.roots({ default: [{ uri: "file:///default" }] }));
}

function declareMemory(server: Server, effects: Effects): void {
  tool(server, "once", async (ex) => {
    effects.runs++;
    const count = () => ex.once("count", () => ++effects.counted);
    const before = await count();
    await ex.ask("first", { message: "first?", schema: nameForm });
    const between = await count();
    await ex.ask("second", { message: "second?", schema: nameForm });
    return { before, between, after: await count() };
  });
  tool(server, "state", async (ex) => {
    ex.state["started"] ??= "yes";
    await ex.ask("first", { message: "first?", schema: nameForm });
    ex.state["asked"] = Number(ex.state["asked"] ?? 0) + 1;
    await ex.ask("second", { message: "second?", schema: nameForm });
    return { started: ex.state["started"], isKept: Number(ex.state["asked"]) >= 1 };
  });
}

/** Handlers that ask again and again: ten times, or without end. */
function declareInsatiable(server: Server, effects: Effects): void {
  const more = { message: "More?", schema: nameForm };
  const again = (name: string, ask: (ex: Exchange, index: number) => Promise<unknown>): void => {
    for (const [prefix, times] of [
      ["ten", 10],
      ["insatiable", 30],
    ] as const) {
      tool(server, `${prefix}_${name}`, async (ex) => {
        for (let index = 0; index < times; index++) {
          effects.runs++;
          await ask(ex, index);
        }
        return "satisfied";
      });
    }
  };
  again("forms", (ex, index) => ex.ask(`question ${index}`, more));
  again("pairs", (ex, index) => ex.askAll({ [`a ${index}`]: more, [`b ${index}`]: more }));
  again("samples", (ex, index) => ex.sample(`poem ${index}`, { messages: "Write." }));
  again("pages", (ex, index) => ex.ask(`visit ${index}`, { message: "Go.", url: page }));
  again("mixed", (ex, index) =>
    index % 2 === 0
      ? ex.ask(`question ${index}`, more)
      : ex.sample(`poem ${index}`, { messages: "Write." }),
  );
}

function declareTelling(server: Server): void {
  server.tool("progress", {}, async (_, ex) => {
    await ex.progress(1, 3, "first");
    await ex.progress(1, 3, "no rise");
    await ex.progress(0.5, 3, "a fall");
    await ex.progress(3, 3, "last");
    return '"done"';
  });
  server.tool("log", {}, (_, ex) => {
    ex.log("debug", { detail: 1 });
    ex.log("info", "going on", "worker");
    ex.log("error", null);
    return '"done"';
  });
  server.tool("touch", {}, () => {
    server.changed("note://1");
    server.changed("note://2");
    return '"touched"';
  });
  server.tool("grow", {}, () => {
    for (const name of ["grown", "taller"]) server.tool(name, {}, () => '"new"');
    server.prompt("grown", {}, () => "new");
    return '"grown"';
  });
}

function declareCancelling(server: Server, effects: Effects): void {
  server.tool("wait", {}, async (_, ex) => {
    await ex.progress(1);
    await new Promise<void>((resolve) => {
      ex.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    effects.cancelled.push(ex.signal.reason);
    return '"too late"';
  });
  server.tool("ask_and_wait", {}, async (_, ex) => {
    try {
      return JSON.stringify(await ex.ask("who", { message: "who?", schema: nameForm }));
    } finally {
      effects.ended++;
    }
  });
}

function declareLeaving(server: Server, effects: Effects): void {
  server.tool("slow", {}, async (_, ex) => {
    await ex.progress(1, 2);
    await effects.release;
    await ex.progress(2, 2);
    return '"done"';
  });
  server.tool("detach", {}, async (_, ex) => {
    ex.detach(20);
    await effects.release;
    return '"done"';
  });
}

/** Where else a client of 2026-07-28 can be asked. */
function declareElsewhere(server: Server): void {
  const ask = (ex: Exchange) => ex.ask("who", { message: "who?", schema: nameForm });
  server.prompt("asking", {}, async (_, ex) => `for ${(await ask(ex)).content?.name}`);
  server.resource(
    "asking://1",
    { name: "asking" },
    async (_, ex) => `of ${(await ask(ex)).content?.name}`,
  );
}

/** Answers everything; a form with the name that `name` gives for its message. */
export function answerAll(name: (message: string) => string = () => "Ada"): Answering {
  return (question) => {
    switch (question.method) {
      case "elicitation/create":
        if (question.params["mode"] === "url") return { action: "accept" };
        return { action: "accept", content: { name: name(String(question.params["message"])) } };
      case "sampling/createMessage":
        return { role: "assistant", model: "m", content: { type: "text", text: "A poem." } };
      case "roots/list":
        return { roots: [{ uri: "file:///work", name: "work" }] };
      default:
        return undefined;
    }
  };
}

/** What a form shows, by field. */
export function fieldsOf({ params }: Question): JsonObject {
  const schema = params["requestedSchema"];
  const properties = isObject(schema) ? schema["properties"] : undefined;
  if (!isObject(properties)) throw new Error("the question is no form");
  return properties;
}
