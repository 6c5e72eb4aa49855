/** What an author puts around every operation, in every revision and over every bridge. */
import { type LogEntry, McpError, type Middleware, Rejection, type Server } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { Conversant } from "../support/conversant.ts";
import { answerAll, createConversing, mechanic } from "../support/conversing.ts";
import {
  createShop,
  errorOf,
  modern,
  operations,
  resultOf,
  type Seen,
  say,
  sessionOperations,
  sum,
  tried,
  watching,
} from "../support/shop.ts";
import type { Revision } from "../support/wire.ts";

describe.each(tried)("in %s over %s", (revision: Revision, wire) => {
  const open = (server: Server) => Conversant.open(wire, revision, server);

  it("a middleware sees every operation and what it came to, and changes none", async () => {
    const seen: Seen[] = [];
    const plain = createShop();
    const watched = createShop();
    watched.use(watching(seen));
    await using bare = await open(plain);
    await using peer = await open(watched);
    expect(seen.map(({ call }) => call.operation)).toEqual(
      revision === modern ? [] : ["initialize"],
    );
    expect(peer.opened).toEqual(bare.opened);
    const all = { ...operations, ...(revision !== modern && sessionOperations) };
    for (const [operation, [method, params]] of Object.entries(all)) {
      expect(await resultOf(peer, method, params)).toEqual(await resultOf(bare, method, params));
      expect(seen.at(-1)?.call.operation).toBe(operation);
    }
    const found = (operation: string) => seen.find(({ call }) => call.operation === operation);
    expect(found("call-tool")).toMatchObject({
      call: { target: "sum", arguments: { a: 1, b: 2 }, owner: "", continued: false },
      result: { kind: "tool", structured: { total: 3 }, isError: false },
    });
    expect(found("read-resource")).toMatchObject({
      call: { target: "shop://1" },
      result: { kind: "contents", contents: [{ uri: "shop://1", text: "first" }] },
    });
    expect(found("get-prompt")).toMatchObject({
      call: { target: "greet", arguments: {} },
      result: { kind: "messages", messages: [{ role: "user" }] },
    });
    expect(found("complete")?.result).toMatchObject({ kind: "completion", values: ["small"] });
    expect(found("list")?.result).toMatchObject({ kind: "list", list: "tools" });
  });

  it("the first that was put there stands outermost, and each may answer without the rest", async () => {
    const server = createShop();
    const order: string[] = [];
    server.use(async (_, next) => {
      order.push("outer in");
      const result = await next();
      order.push("outer out");
      return result;
    });
    server.use((call, next) => {
      if (call.operation !== "call-tool" || call.target !== "sum") return next();
      order.push("inner");
      return { kind: "tool", content: [], structured: { total: 99 } };
    });
    await using peer = await open(server);
    order.length = 0;
    const result = await sum(peer);
    expect(order).toEqual(["outer in", "inner", "outer out"]);
    expect(JSON.stringify(result)).toContain("99");
  });

  it("what stands in for a result is held to what the tool declares", async () => {
    const logged: LogEntry[] = [];
    const server = createShop((entry) => logged.push(entry));
    server.use(async (call, next) => {
      const result = await next();
      return call.operation === "call-tool" && result.kind === "tool"
        ? { ...result, structured: { total: "a lot" } }
        : result;
    });
    await using peer = await open(server);
    expect(await sum(peer)).toMatchObject({ isError: true });
    expect(logged).toMatchObject([{ message: expect.stringContaining("output schema") }]);
  });

  it("resources, prompts, completions and listings can be replaced as well", async () => {
    const server = createShop();
    server.use(async (_, next) => {
      const result = await next();
      switch (result.kind) {
        case "contents":
          return { ...result, contents: [{ uri: "shop://1", text: "other" }] };
        case "messages":
          return { ...result, messages: [] };
        case "completion":
          return { ...result, values: ["huge"] };
        case "list":
          return { ...result, entries: result.entries.filter(({ key }) => key === "say") };
        default:
          return result;
      }
    });
    await using peer = await open(server);
    const [read, got, completed, listed] = await Promise.all(
      ["read-resource", "get-prompt", "complete", "list"].map((operation) =>
        resultOf(peer, ...(operations[operation] ?? ["", {}])),
      ),
    );
    expect(read).toMatchObject({ contents: [{ text: "other" }] });
    expect(got).toMatchObject({ messages: [] });
    expect(completed).toMatchObject({ completion: { values: ["huge"] } });
    expect(listed).toMatchObject({ tools: [{ name: "say" }] });
    if (revision === modern) expect(listed).toMatchObject({ cacheScope: "private" });
  });

  it("a throw is to the caller what the same throw of a handler is", async () => {
    const logged: LogEntry[] = [];
    const server = createShop((entry) => logged.push(entry));
    let cause: unknown;
    server.use((call, next) => {
      if (cause === undefined || call.operation === "initialize") return next();
      throw cause;
    });
    await using peer = await open(server);
    cause = new McpError("over quota");
    expect(await say(peer)).toMatchObject({ isError: true, content: [{ text: "over quota" }] });
    const read = () => errorOf(peer, "resources/read", { uri: "shop://1" });
    expect(await read()).toMatchObject({ code: -32603, message: "over quota" });
    cause = new McpError("not this", { code: "invalid-params" });
    expect(await errorOf(peer, "tools/call", { name: "say", arguments: {} })).toMatchObject({
      code: -32602,
      message: "not this",
    });
    cause = new McpError("none", { code: "not-found" });
    expect(await read()).toMatchObject({ code: revision === modern ? -32602 : -32002 });
    cause = new Rejection({ kind: "failure", failure: "invalid-params", message: "no" });
    expect(await errorOf(peer, "tools/list", {})).toMatchObject({ code: -32602, message: "no" });
    expect(logged).toEqual([]);
    cause = new Error("the password is 1234");
    const told = [await say(peer), await read(), await errorOf(peer, "tools/list", {})];
    expect(told).toMatchObject([{ isError: true }, { code: -32603 }, { code: -32603 }]);
    expect(JSON.stringify(told)).not.toContain("1234");
    expect(logged.map((entry) => entry.cause)).toEqual([cause, cause, cause]);
  });

  it("a failure of a handler or of what stands inside is a result, not a throw", async () => {
    const server = createShop();
    const seen: Seen[] = [];
    server.use(watching(seen));
    server.use((call, next) => {
      if (call.operation === "get-prompt") throw new McpError("no prompts today");
      return next();
    });
    await using peer = await open(server);
    seen.length = 0;
    await resultOf(peer, "tools/call", { name: "fail", arguments: {} });
    await errorOf(peer, "tools/call", { name: "none", arguments: {} });
    await errorOf(peer, "prompts/get", { name: "greet" });
    expect(seen.map(({ result }) => result)).toMatchObject([
      { kind: "tool", isError: true },
      { kind: "failure", failure: "invalid-params" },
      { kind: "failure", failure: "internal", message: "no prompts today" },
    ]);
  });

  it("next can be called once, and what is no result is no answer", async () => {
    const logged: LogEntry[] = [];
    const server = createShop((entry) => logged.push(entry));
    let runs = 0;
    server.tool("count", {}, () => `${++runs}`);
    server.use(async (call, next) => {
      if (call.operation !== "call-tool") return next();
      if (call.target === "say") return undefined as never;
      if (call.target === "sum") return { kind: "empty" };
      await next();
      return next();
    });
    await using peer = await open(server);
    const count = await resultOf(peer, "tools/call", { name: "count", arguments: {} });
    expect([count, await say(peer), await sum(peer)]).toMatchObject([
      { isError: true },
      { isError: true },
      { isError: true },
    ]);
    expect(runs).toBe(1);
    expect(logged.map(({ cause }) => String(cause))).toEqual([
      expect.stringContaining("next() can be called once"),
      expect.stringContaining("returns what next() gives"),
      expect.stringContaining("cannot answer call-tool with empty"),
    ]);
  });

  it("each round of a call that asks has its middleware, and none can answer a question", async () => {
    const { server, effects } = createConversing();
    const seen: Seen[] = [];
    server.use(async (call, next) => {
      const result = await next();
      if (call.operation === "call-tool") seen.push({ call, result });
      // As a careless cache would.
      return result.kind === "asking" ? { kind: "tool", content: [] } : result;
    });
    await using peer = await Conversant.open(wire, revision, server, { answer: answerAll() });
    expect(await peer.call("once")).toEqual({ before: 1, between: 1, after: 1 });
    const rounds = mechanic(revision, "form") === "push" ? 1 : 3;
    expect(seen.map(({ call }) => call.continued)).toEqual([false, true, true].slice(0, rounds));
    const kinds = seen.map(({ result }) => result.kind);
    expect(kinds).toEqual([...Array(rounds - 1).fill("asking"), "tool"]);
    expect(effects.runs).toBe(rounds);
    const targets = seen.map(({ call }) => (call.operation === "call-tool" ? call.target : ""));
    expect(new Set(targets)).toEqual(new Set(["once"]));
  });

  it("one that is added or removed while calls run concerns those that begin afterwards", async () => {
    const server = createShop();
    const seen: string[] = [];
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let begun = (): void => {};
    const running = new Promise<void>((resolve) => {
      begun = resolve;
    });
    server.tool("hold", {}, async () => {
      begun();
      await held;
      return "held";
    });
    const note =
      (name: string): Middleware =>
      async (call, next) => {
        const result = await next();
        if (call.operation === "call-tool") seen.push(`${name}: ${call.target}`);
        return result;
      };
    const first = server.use(note("first"));
    await using peer = await open(server);
    const { reply } = peer.start("tools/call", { name: "hold", arguments: {} });
    await running;
    server.use(note("second"));
    expect(first.remove()).toBe(true);
    expect(first.remove()).toBe(false);
    await say(peer);
    release();
    await reply;
    expect(seen).toEqual(["second: say", "first: hold"]);
  });

  it("hears of the caller's cancel by its signal", async () => {
    const { server, effects } = createConversing();
    const heard = new Promise<boolean>((resolve) => {
      server.use((call, next) => {
        if (call.operation === "call-tool") {
          call.signal.addEventListener("abort", () => resolve(call.signal.aborted));
        }
        return next();
      });
    });
    await using peer = await Conversant.open(wire, revision, server);
    const params = { name: "wait", arguments: {}, _meta: { progressToken: 1 } };
    const { id, sending } = peer.start("tools/call", params);
    await peer.until(() => peer.heard.length > 0, "the call runs");
    if (revision === modern && wire !== "stdio") sending.disconnect();
    else await peer.notify("notifications/cancelled", { requestId: id }).over;
    expect(await heard).toBe(true);
    await effects.isCancelled();
  });
});

it("without middleware nothing stands around a call, and after the last is removed neither", () => {
  const server = createShop();
  expect(server.around).toBeUndefined();
  const one = server.use((_, next) => next());
  const composed = server.around;
  expect(composed).toBeTypeOf("function");
  expect(server.around).toBe(composed);
  one.remove();
  expect(server.around).toBeUndefined();
});
