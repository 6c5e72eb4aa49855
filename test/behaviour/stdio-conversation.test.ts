/** What goes on during and between calls on one pipe, and how it ends. */
import { setTimeout as delay } from "node:timers/promises";
import { createServer, type Exchange, type Server } from "anyrev/node";
import { describe, expect, test } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { openPipe, type PipeEnd } from "../support/pipe.ts";
import type { JsonObject, Revision } from "../support/wire.ts";
import { revisions } from "../support/wire.ts";

const modern: Revision = "2026-07-28";
const handshakes = revisions.filter((revision) => revision !== modern);
const quiet = () => createFixture({ log: () => undefined });
const capabilities = { elicitation: {}, sampling: {}, roots: {} };
const subscriptionKey = "io.modelcontextprotocol/subscriptionId";

const textOf = (result: JsonObject | undefined) =>
  ((result?.["content"] ?? []) as readonly { readonly text?: string }[])[0]?.text;

/** A server with one tool that runs until it is told to stop, or for ever. */
function hanging(): { readonly server: Server; readonly entered: Promise<Exchange> } {
  const server = createServer({ name: "hanging", version: "1", log: () => undefined });
  const entered = new Promise<Exchange>((resolve) => {
    server.tool("hang", { description: "Never returns." }, (_, ex) => {
      resolve(ex);
      return new Promise<string>(() => undefined);
    });
  });
  return { server, entered };
}

describe.each(revisions)("a call on stdio in %s", (revision) => {
  test("is cancelled by a notice that names it, and is heard of no more", async () => {
    const { server, entered } = hanging();
    await using pipe = openPipe(server);
    const { end } = pipe;
    await end.open(revision);
    const id = end.start(revision, "tools/call", { name: "hang", _meta: { progressToken: "t" } });
    const ex = await entered;
    expect(ex.signal.aborted).toBe(false);
    for (const requestId of [`${id}`, id + 1, null]) {
      end.notify(revision, "notifications/cancelled", { requestId });
    }
    await end.ask(revision, "tools/list");
    expect(ex.signal.aborted).toBe(false);
    end.notify(revision, "notifications/cancelled", { requestId: id, reason: "enough" });
    const before = end.lines;
    await end.ask(revision, "tools/list");
    expect(ex.signal.aborted).toBe(true);
    await ex.progress(1, 2);
    ex.log("emergency", "too late");
    end.notify(revision, "notifications/cancelled", { requestId: id });
    await end.ask(revision, "tools/list");
    expect(end.lines).toBe(before + 2);
    expect(end.problems).toEqual([]);
  });

  test("tells its progress to a caller that gave a token, before its result", async () => {
    await using pipe = openPipe(quiet());
    const { end } = pipe;
    await end.open(revision);
    const counting = { name: "count_to", arguments: { n: 3, delayMs: 25 } };
    for (const progressToken of ["t", 0]) {
      const params = { ...counting, _meta: { progressToken } };
      const { message } = await end.ask(revision, "tools/call", params);
      const told = end
        .told("notifications/progress")
        .map(({ params: told }) => told as JsonObject)
        .filter((each) => each["progressToken"] === progressToken);
      expect(told.map(({ progress }) => progress)).toEqual([1, 2, 3]);
      expect(end.received.at(-1)).toBe(message);
    }
    const before = end.lines;
    await end.ask(revision, "tools/call", counting);
    expect(end.lines).toBe(before + 1);
    expect(end.problems).toEqual([]);
  });

  test("logs at the level that its caller set", async () => {
    await using pipe = openPipe(quiet());
    const { end } = pipe;
    await end.open(revision);
    const logging = (level: string) =>
      revision === modern ? { _meta: { "io.modelcontextprotocol/logLevel": level } } : {};
    for (const [level, count] of [
      ["warning", 0],
      ["debug", 3],
    ] as const) {
      if (revision !== modern) await end.ask(revision, "logging/setLevel", { level });
      await end.ask(revision, "tools/call", { name: "test_logging_tool", ...logging(level) });
      expect(end.told("notifications/message")).toHaveLength(count);
    }
    expect(end.problems).toEqual([]);
  });

  test("asks its caller, in the way of the revision", async () => {
    await using pipe = openPipe(quiet());
    const { end } = pipe;
    await end.open(revision, { capabilities });
    const result = await answerTwice(end, revision);
    const told = JSON.parse(textOf(result) ?? "");
    expect(told).toMatchObject({ first: "one", second: "two", count: 1, effects: 1 });
    expect(end.problems).toEqual([]);
  });

  test("asks nothing of a caller that declared nothing", async () => {
    await using pipe = openPipe(quiet());
    const { end } = pipe;
    await end.open(revision);
    const { error } = await end.ask(revision, "tools/call", {
      name: "test_sampling",
      arguments: { prompt: "Hi" },
    });
    expect(error).toMatchObject({ code: revision === modern ? -32021 : -32603 });
    expect(end.received.filter((message) => "method" in message)).toEqual([]);
    expect(end.problems).toEqual([]);
  });
});

/** Answers both questions of `ask_twice`. @returns its result. */
async function answerTwice(end: PipeEnd, revision: Revision): Promise<JsonObject | undefined> {
  const name = "ask_twice";
  const args = { first: "First?", second: "Second?" };
  const accept = (answer: string) => ({ action: "accept", content: { answer } });
  if (revision === "2025-11-25" || revision === "2025-06-18") {
    const id = end.start(revision, "tools/call", { name, arguments: args }, { capabilities });
    for (const [message, answer] of [
      ["First?", "one"],
      ["Second?", "two"],
    ] as const) {
      const asked = await end.next(
        ({ params }) => (params as JsonObject | undefined)?.["message"] === message,
      );
      end.answer(asked, accept(answer));
    }
    return (await end.reply(id)).result;
  }
  const call = async (params: JsonObject) =>
    (await end.ask(revision, "tools/call", { name, arguments: args, ...params }, { capabilities }))
      .result;
  if (revision === modern) {
    const one = await call({});
    const carry = (from: JsonObject | undefined) => ({ requestState: from?.["requestState"] });
    const two = await call({ inputResponses: { first: accept("one") }, ...carry(one) });
    return call({ inputResponses: { second: accept("two") }, ...carry(two) });
  }
  return answerInArguments(end, revision, args);
}

/** The two oldest revisions cannot ask: the model is told, and calls again with the answers. */
async function answerInArguments(
  end: PipeEnd,
  revision: Revision,
  args: JsonObject,
): Promise<JsonObject | undefined> {
  let given: JsonObject = {};
  for (const _answers of [{ first: { answer: "one" } }, { second: { answer: "two" } }]) {
    const params = { name: "ask_twice", arguments: { ...args, ...given } };
    const { result } = await end.ask(revision, "tools/call", params);
    const [, state] = /"_state": "([^"]+)"/.exec(textOf(result) ?? "") ?? [];
    given = { _answers, _state: state };
  }
  const last = { name: "ask_twice", arguments: { ...args, ...given } };
  return (await end.ask(revision, "tools/call", last)).result;
}

describe.each(handshakes)("a client of %s on stdio", (revision) => {
  test("lends its model and its roots, and is asked under ids of the server's own", async () => {
    await using pipe = openPipe(quiet());
    const { end } = pipe;
    await end.open(revision, { capabilities });
    const call = { name: "test_sampling", arguments: { prompt: "Say it." } };
    const id = end.start(revision, "tools/call", call);
    const asked = await end.asked("sampling/createMessage");
    expect(typeof asked["id"]).toBe("string");
    expect((await end.ask(revision, "ping")).result).toEqual({});
    end.answer({ id: "ask-nothing" }, { role: "assistant", model: "m" });
    end.answer(asked, { role: "assistant", model: "m", content: { type: "text", text: "It." } });
    expect(textOf((await end.reply(id)).result)).toBe("LLM response: It.");
    const listing = { name: "test_input_required_result_list_roots" };
    const counted = end.ask(revision, "tools/call", listing);
    end.answer(await end.asked("roots/list"), { roots: [{ uri: "file:///a" }] });
    expect(textOf((await counted).result)).toBe("There are 1 roots.");
    expect(end.problems).toEqual([]);
  });

  test("takes its question back from a call that it cancels", async () => {
    await using pipe = openPipe(quiet());
    const { end } = pipe;
    await end.open(revision, { capabilities });
    const call = { name: "test_sampling", arguments: { prompt: "Say it." } };
    const id = end.start(revision, "tools/call", call);
    const asked = await end.asked("sampling/createMessage");
    end.notify(revision, "notifications/cancelled", { requestId: id });
    const taken = await end.next(({ method }) => method === "notifications/cancelled");
    expect(taken["params"]).toMatchObject({ requestId: asked["id"] });
    end.answer(asked, { role: "assistant", model: "m", content: { type: "text", text: "Late." } });
    expect((await end.ask(revision, "ping")).result).toEqual({});
    expect(end.received.some((message) => message["id"] === id && "result" in message)).toBe(false);
    expect(end.problems).toEqual([]);
  });

  test("hears of changed lists, and of the resources that it watches", async () => {
    await using pipe = openPipe(quiet());
    const { end } = pipe;
    await end.ask(revision, "tools/call", { name: "toggle", arguments: { name: "early" } });
    await delay(30);
    await end.open(revision);
    const uri = "test://watched-resource";
    const touch = { name: "touch", arguments: { uri } };
    const toggle = { name: "toggle", arguments: { name: "late" } };
    await end.ask(revision, "tools/call", touch);
    await delay(30);
    await end.ask(revision, "resources/subscribe", { uri });
    await delay(30);
    expect(end.told("notifications/resources/updated")).toEqual([]);
    await end.ask(revision, "tools/call", touch);
    await end.ask(revision, "tools/call", toggle);
    await end.next(({ method }) => method === "notifications/resources/updated");
    await end.next(({ method }) => method === "notifications/tools/list_changed");
    await end.ask(revision, "resources/unsubscribe", { uri });
    await end.ask(revision, "tools/call", touch);
    await delay(30);
    expect(end.told("notifications/resources/updated")).toHaveLength(1);
    expect(end.told("notifications/tools/list_changed")).toHaveLength(1);
    expect(end.problems).toEqual([]);
  });
});

describe("subscriptions on stdio in 2026-07-28", () => {
  const listen = (notifications: JsonObject) => ({ notifications });
  const subscription = (message: JsonObject) =>
    ((message["params"] as JsonObject | undefined)?.["_meta"] as JsonObject | undefined)?.[
      subscriptionKey
    ];

  test("each hears what it asked for, from its acknowledgement to its end", async () => {
    const pipe = openPipe(quiet());
    const { end } = pipe;
    const uri = "test://watched-resource";
    const lists = end.start(modern, "subscriptions/listen", listen({ toolsListChanged: true }));
    const watch = end.start(
      modern,
      "subscriptions/listen",
      listen({ resourceSubscriptions: [uri] }),
    );
    const of = (id: number) => end.received.filter((message) => subscription(message) === id);
    await end.ask(modern, "tools/call", { name: "toggle", arguments: { name: "extra" } });
    await end.ask(modern, "tools/call", { name: "touch", arguments: { uri } });
    await end.next(({ method }) => method === "notifications/resources/updated");
    await end.next(({ method }) => method === "notifications/tools/list_changed");
    for (const [id, method] of [
      [lists, "notifications/tools/list_changed"],
      [watch, "notifications/resources/updated"],
    ] as const) {
      expect(of(id).map((message) => message["method"])).toEqual([
        "notifications/subscriptions/acknowledged",
        method,
      ]);
    }
    end.notify(modern, "notifications/cancelled", { requestId: watch });
    await end.ask(modern, "tools/call", { name: "touch", arguments: { uri } });
    end.end();
    await pipe.served;
    expect(of(watch)).toHaveLength(2);
    expect(end.received.filter(({ id }) => id === watch)).toEqual([]);
    expect(end.received.at(-1)).toMatchObject({ id: lists, result: { resultType: "complete" } });
    expect(end.problems).toEqual([]);
  });

  test("a caller that shook hands and one that did not hear apart from one another", async () => {
    await using pipe = openPipe(quiet());
    const { end } = pipe;
    await end.open("2025-11-25");
    const id = end.start(modern, "subscriptions/listen", listen({ promptsListChanged: true }));
    await end.next(({ method }) => method === "notifications/subscriptions/acknowledged");
    await end.ask(modern, "tools/call", { name: "toggle", arguments: { name: "extra" } });
    await end.ask(modern, "tools/call", { name: "test_trigger_prompt_change" });
    await end.next((message) => subscription(message) === id && "method" in message);
    await delay(30);
    expect(end.told("notifications/tools/list_changed").map(subscription)).toEqual([undefined]);
    expect(end.told("notifications/prompts/list_changed").map(subscription).toSorted()).toEqual([
      id,
      undefined,
    ]);
    expect(end.problems).toEqual([]);
  });
});
