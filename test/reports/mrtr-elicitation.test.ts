/** Asking a user in the middle of a call: by rounds, by push, or not at all. */
import { createServer, type Server } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { openWorker } from "../support/live.ts";
import { handshakes, rows } from "../support/matrix.ts";
import { initializeParams, request } from "../support/messages.ts";
import { isObject, type JsonObject, type Revision } from "../support/schemas.ts";
import { Talk, Talker, textOf } from "../support/talk.ts";

const form = {
  type: "object",
  properties: { name: { type: "string", minLength: 2 } },
  required: ["name"],
} as const;

function declare(): Server {
  const server = createServer({ name: "asking", version: "1.0.0", log: () => undefined });
  const question = { message: "What is your name?", schema: form };
  server.tool("greet", { description: "Greets.", asks: true }, async (_, ex) => {
    const { action, accepted, content } = await ex.ask("name", question);
    return accepted ? `hello ${content?.name}` : `${action}, then`;
  });
  server.tool("push", { description: "Greets, where it can push." }, async (_, ex) => {
    const { action, content } = await ex.ask("name", question);
    return `${action} ${content?.name}`;
  });
  server.prompt("greeting", { description: "Greets." }, async (_, ex) => {
    const { action, content } = await ex.ask("name", question);
    return `hello ${content?.name ?? action}`;
  });
  server.resource("note://name", { name: "Name" }, async (_, ex) => {
    const { action, content } = await ex.ask("name", question);
    return `hello ${content?.name ?? action}`;
  });
  return server;
}

const asked: readonly (readonly [method: string, params: JsonObject])[] = [
  ["tools/call", { name: "greet", arguments: {} }],
  ["prompts/get", { name: "greeting" }],
  ["resources/read", { uri: "note://name" }],
];

describe.each(["fetch", "node"] as const)("in 2026-07-28 over %s", (bridge) => {
  describe.each(asked)("R086: %s", (method, params) => {
    const ask = async (
      talker: Talker,
      inputResponses?: JsonObject,
      requestState?: unknown,
    ): Promise<JsonObject> => {
      const more = inputResponses === undefined ? {} : { inputResponses, requestState };
      return talker.ask(method, { ...params, ...more }).result();
    };
    const said = (result: JsonObject): string => JSON.stringify(result);

    it.each([
      ["accept", { action: "accept", content: { name: "Ann" } }, "hello Ann"],
      ["decline", { action: "decline" }, "decline"],
      ["cancel", { action: "cancel" }, "cancel"],
    ])(
      "lets %s reach its handler, among answers that nobody asked for",
      async (_, answer, words) => {
        await using worker = await openWorker(bridge, declare());
        const talker = await Talker.open(worker, "2026-07-28");
        const first = await ask(talker);
        expect(first).toMatchObject({
          resultType: "input_required",
          inputRequests: { name: { method: "elicitation/create" } },
        });
        const other = { action: "accept", content: { name: "Eve" } };
        const second = await ask(talker, { other, name: answer }, first["requestState"]);
        expect(second["resultType"]).toBe("complete");
        expect(said(second)).toContain(words);
      },
    );

    it.each([
      ["nothing", {}],
      ["another key", { other: { action: "accept", content: { name: "Eve" } } }],
      ["content that is not what was asked", { name: { action: "accept", content: { name: 7 } } }],
      ["content that is too short", { name: { action: "accept", content: { name: "A" } } }],
      ["no content", { name: { action: "accept" } }],
    ])("asks again when it is answered with %s", async (_, answers) => {
      await using worker = await openWorker(bridge, declare());
      const talker = await Talker.open(worker, "2026-07-28");
      const first = await ask(talker);
      const second = await ask(talker, answers, first["requestState"]);
      expect(second["resultType"]).toBe("input_required");
      expect(second["inputRequests"]).toEqual(first["inputRequests"]);
      const good = { name: { action: "accept", content: { name: "Ann" } } };
      const third = await ask(talker, good, second["requestState"]);
      expect(said(third)).toContain("hello Ann");
    });
  });

  it("R086: every round is a request of its own, answered under its own id", async () => {
    await using worker = await openWorker(bridge, declare());
    const talker = await Talker.open(worker, "2026-07-28");
    const call = { name: "greet", arguments: {} };
    const first = talker.ask("tools/call", call, { id: "first" });
    const { requestState } = await first.result();
    const inputResponses = { name: { action: "accept", content: { name: "Ann" } } };
    const again = { ...call, inputResponses, requestState };
    const second = talker.ask("tools/call", again, { id: 2 });
    expect((await second.reply())["id"]).toBe(2);
    expect((await first.reply())["id"]).toBe("first");
  });

  it("R087: a tool that asks ends its round with what it needs", async () => {
    await using worker = await openWorker(bridge, declare());
    const talker = await Talker.open(worker, "2026-07-28");
    const result = await talker.call("push").result();
    expect(result).toMatchObject({ resultType: "input_required" });
    const mute = await Talker.open(worker, "2026-07-28", { capabilities: {} });
    const refused = mute.call("push");
    expect(await refused.status()).toBe(400);
    expect(await refused.reply()).toMatchObject({
      error: { code: -32021, data: { requiredCapabilities: { elicitation: {} } } },
    });
  });
});

const pushing: readonly Revision[] = ["2025-11-25", "2025-06-18"];

describe.each(rows(pushing))("in $revision over $bridge", ({ revision, bridge }) => {
  it("R087: the same tool asks on the stream of its call, and goes on", async () => {
    await using worker = await openWorker(bridge, declare());
    const talker = await Talker.open(worker, revision);
    const call = talker.call("push");
    const question = await call.told("elicitation/create");
    const content = { name: "Ann" };
    expect(await talker.answer(question, { action: "accept", content })).toBe(202);
    expect(await call.text()).toBe("accept Ann");
  });
});

describe.each(rows(handshakes))("in $revision over $bridge", ({ revision, bridge }) => {
  it.each([true, false])(
    "R087: a caller that nobody can ask gets a plain error, with sessions %s",
    async (sessions) => {
      await using worker = await openWorker(bridge, declare(), { sessions });
      // Without a session nothing is known of what it can do; with one it said that it cannot.
      const capabilities = sessions ? {} : undefined;
      const talker = await Talker.open(worker, revision, capabilities && { capabilities });
      const call = talker.call("push");
      const reply = await call.reply();
      expect(call.messages).toHaveLength(1);
      expect(reply).toMatchObject({ error: { code: -32603, message: /elicitation/ } });
      expect(JSON.stringify(reply)).not.toMatch(/resultType|inputRequests|requestState/);
    },
  );

  it("R088: capabilities of another revision, or of nobody, are no reason to refuse", async () => {
    await using worker = await openWorker(bridge, declare());
    const capabilities = {
      elicitation: { form: {}, "x-more": { deep: [null] } },
      tasks: { list: {} },
      sampling: { context: {}, tools: {} },
      experimental: { any: {} },
      "x-vendor": { a: [1] },
    };
    const hello = request(
      revision,
      "hello",
      "initialize",
      initializeParams(revision, { capabilities }),
    );
    const { "content-type": type, accept } = { "content-type": "application/json", accept: "*/*" };
    const begun = worker.begin({
      headers: { "content-type": type, accept },
      body: JSON.stringify(hello),
    });
    const opening = new Talk(revision, hello, begun);
    expect(await opening.result()).toMatchObject({ protocolVersion: revision });
    const session = (await opening.live).headers.get("mcp-session-id") ?? undefined;
    const talker = new Talker(worker, revision, {}, session);
    if (pushing.includes(revision)) {
      const call = talker.call("push");
      const question = await call.told("elicitation/create");
      await talker.answer(question, { action: "decline" });
      expect(await call.text()).toBe("decline undefined");
    } else {
      expect(isObject(await talker.ask("ping").result())).toBe(true);
    }
  });
});

describe.each(rows(handshakes.filter((each) => !pushing.includes(each))))(
  "in $revision over $bridge",
  ({ revision, bridge }) => {
    it("R087: the same tool asks for arguments, where nobody can be asked otherwise", async () => {
      await using worker = await openWorker(bridge, declare(), { sessions: false });
      const talker = await Talker.open(worker, revision);
      const result = await talker.call("greet").result();
      expect(result["isError"] ?? false).toBe(false);
      expect(textOf(result)).toContain("What is your name?");
      expect(Object.keys(result)).not.toContain("inputRequests");
    });
  },
);
