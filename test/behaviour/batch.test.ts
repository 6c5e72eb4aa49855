/** Arrays of messages, which 2025-03-26 has and no other revision. */
import { createServer, type Server } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { type BridgeName, bridges, openBridge } from "../support/bridges.ts";
import { initializeParams, notification, request } from "../support/messages.ts";
import { type Exchanged, openCaller } from "../support/raw-caller.ts";
import { isObject } from "../support/schemas.ts";
import { type Revision, revisions } from "../support/wire.ts";

const batching: Revision = "2025-03-26";

const ask = (id: string | number, method: string, params?: Record<string, unknown>) =>
  request(batching, id, method, params);

const add = (id: string | number, a: unknown, b: unknown = 1) =>
  ask(id, "tools/call", { name: "add", arguments: { a, b } });

/** The replies, each as its id and its error's code or the word "result". */
function outline({ message }: Exchanged): unknown[] {
  if (!Array.isArray(message)) throw new Error(`no array: ${JSON.stringify(message)}`);
  return message.map((reply) => {
    if (!isObject(reply)) return reply;
    const error = reply["error"];
    return [reply["id"], isObject(error) ? error["code"] : "result"];
  });
}

/** A server whose calls end in the reverse of the order they came in. */
function reversing(count: number): { readonly server: Server; readonly ended: () => number[] } {
  const ended: number[] = [];
  const held: (() => void)[] = [];
  const server = createServer({ name: "reversing", version: "1" });
  const input = { type: "object", properties: { n: { type: "integer" } } } as const;
  server.tool("hold", { input }, async ({ n = 0 }) => {
    await new Promise<void>((release) => {
      held.push(release);
      if (held.length === count) held.at(-1)?.();
    });
    ended.push(n);
    held.pop();
    // The next one ends in a turn of its own.
    setTimeout(() => held.at(-1)?.(), 1);
    return `${n}`;
  });
  return { server, ended: () => ended };
}

const table: { readonly bridge: BridgeName; readonly session: boolean }[] = bridges.flatMap(
  (bridge) => [true, false].map((session) => ({ bridge, session })),
);

describe.each(table)("over $bridge with sessions $session", ({ bridge: name, session }) => {
  const open = async (server: Server, options = {}) => {
    const bridge = await openBridge(name, server, { sessions: session, ...options });
    return { bridge, caller: await openCaller(bridge, batching, { session }) };
  };

  it("answers requests and leaves out notifications, wherever they stand", async () => {
    const { bridge, caller } = await open(createFixture());
    await using _ = bridge;
    const answered = await caller.send([
      notification("notifications/initialized"),
      ask("a", "ping"),
      notification("notifications/cancelled", { requestId: "none" }),
      notification("no/such"),
      ask("b", "tools/list"),
      notification("notifications/x"),
    ]);
    expect(answered.status).toBe(200);
    expect(answered.headers.get("content-type")).toBe("application/json");
    expect(outline(answered)).toEqual([
      ["a", "result"],
      ["b", "result"],
    ]);
  });

  it("spares the siblings of a message that fails, each failing in its own way", async () => {
    const { bridge, caller } = await open(createFixture({ log: () => undefined }));
    await using _ = bridge;
    const answered = await caller.send([
      add(1, 1),
      ask(2, "no/such"),
      ask(3, "tools/call", { name: "nope" }),
      ask(4, "tools/list", { cursor: "nope" }),
      add(5, "not a number"),
      { jsonrpc: "1.0", id: 6, method: "ping" },
      { jsonrpc: "2.0", id: 7, method: 5 },
      { jsonrpc: "2.0", id: null, method: "ping" },
      "words",
      42,
      null,
      [ask(8, "ping")],
      {},
      add(9, 9),
    ]);
    expect(answered.status).toBe(200);
    expect(outline(answered)).toEqual([
      [1, "result"],
      [2, -32601],
      [3, -32602],
      [4, -32602],
      [5, "result"],
      [6, -32600],
      [7, -32600],
      [null, -32600],
      [null, -32600],
      [null, -32600],
      [null, -32600],
      [null, -32600],
      [null, -32600],
      [9, "result"],
    ]);
  });

  it("keeps the order of the requests while they end in another", async () => {
    const { server, ended } = reversing(5);
    const { bridge, caller } = await open(server);
    await using _ = bridge;
    const calls = [0, 1, 2, 3, 4].map((n) =>
      ask(`n${n}`, "tools/call", { name: "hold", arguments: { n } }),
    );
    const answered = await caller.send(calls);
    expect(ended()).toEqual([4, 3, 2, 1, 0]);
    expect(answered.message).toMatchObject(
      [0, 1, 2, 3, 4].map((n) => ({ id: `n${n}`, result: { content: [{ text: `${n}` }] } })),
    );
  });

  it("refuses the whole of an array in which two requests have one id", async () => {
    let runs = 0;
    const server = createServer({ name: "s", version: "1" });
    server.tool("count", {}, () => `${++runs}`);
    const { bridge, caller } = await open(server);
    await using _ = bridge;
    const count = (id: string | number) => ask(id, "tools/call", { name: "count" });
    for (const ids of [
      [1, 1],
      ["a", 2, "a"],
      [0, 5, 0],
      ["", ""],
    ]) {
      const refused = await caller.send(ids.map(count));
      expect([refused.status, refused.error.code]).toEqual([400, -32600]);
    }
    expect(runs).toBe(0);
    expect(outline(await caller.send([count(1), count("1")]))).toEqual([
      [1, "result"],
      ["1", "result"],
    ]);
  });

  it("takes fifty messages and refuses one more", async () => {
    const { bridge, caller } = await open(createFixture());
    await using _ = bridge;
    const pings = (count: number) => Array.from({ length: count }, (_, id) => ask(id, "ping"));
    expect(outline(await caller.send(pings(50)))).toHaveLength(50);
    const notices = Array.from({ length: 51 }, () => notification("notifications/x"));
    for (const over of [pings(51), notices]) {
      const refused = await caller.send(over);
      expect([refused.status, refused.error.code]).toEqual([400, -32600]);
    }
  });

  it("refuses initialize inside, opens no session for it, and answers the others", async () => {
    const { bridge, caller } = await open(createFixture());
    await using _ = bridge;
    const opening = ask(1, "initialize", initializeParams(batching));
    const answered = await caller.send([opening, ask(2, "ping")]);
    expect(outline(answered)).toEqual([
      [1, -32600],
      [2, "result"],
    ]);
    expect(answered.headers.has("mcp-session-id")).toBe(false);
  });

  it("accepts replies inside, and answers an array of nothing else with 202", async () => {
    const { bridge, caller } = await open(createFixture());
    await using _ = bridge;
    const replies = [
      { jsonrpc: "2.0", id: 1, result: {} },
      { jsonrpc: "2.0", id: 1, error: { code: -1, message: "no" } },
    ];
    const mixed = await caller.send([...replies, ask(1, "ping")]);
    expect(outline(mixed)).toEqual([[1, "result"]]);
    for (const quiet of [
      replies,
      [notification("notifications/x")],
      [notification("a"), ...replies],
    ]) {
      const accepted = await caller.send(quiet);
      expect([accepted.status, accepted.text]).toEqual([202, ""]);
    }
  });

  it("refuses an empty array", async () => {
    const { bridge, caller } = await open(createFixture());
    await using _ = bridge;
    const refused = await caller.send([]);
    expect([refused.status, refused.error.code]).toEqual([400, -32600]);
  });

  it("answers one event to a caller that takes only a stream", async () => {
    const { bridge, caller } = await open(createFixture());
    await using _ = bridge;
    const headers = { accept: "text/event-stream" };
    const answered = await caller.send([ask(1, "ping"), ask(2, "ping")], { headers });
    expect(answered.headers.get("content-type")).toBe("text/event-stream");
    expect(outline(answered)).toHaveLength(2);
  });

  it("refuses every array where an operator turned them off", async () => {
    const { bridge, caller } = await open(createFixture(), { batch: false });
    await using _ = bridge;
    for (const array of [[ask(1, "ping")], [notification("notifications/x")], []]) {
      const refused = await caller.send(array);
      expect([refused.status, refused.error.code]).toEqual([400, -32600]);
    }
    expect((await caller.request("ping")).result).toEqual({});
  });

  it("refuses the whole array when the envelope of one message names a member twice", async () => {
    let runs = 0;
    const server = createServer({ name: "s", version: "1" });
    server.tool("count", {}, () => `${++runs}`);
    const { bridge, caller } = await open(server);
    await using _ = bridge;
    const calls = [1, 2, 3].map((id) => ask(id, "tools/call", { name: "count", arguments: {} }));
    const whole = JSON.stringify(calls);
    for (const spoiled of ['"id":2,"id":4,', '"id":2,"i\\u0064":2,', '"id":2,"method":"ping",']) {
      const text = whole.replace('"id":2,', spoiled);
      const refused = await caller.send(calls, { text });
      expect([refused.status, refused.error.code]).toEqual([400, -32600]);
    }
    expect(runs).toBe(0);
    const fine = whole.replaceAll('"arguments":{}', '"arguments":{"id":1,"id":2}');
    expect(outline(await caller.send(calls, { text: fine }))).toHaveLength(3);
  });
});

describe.each(bridges)("what the elements state, over %s", (name) => {
  const versionKey = "io.modelcontextprotocol/protocolVersion";
  const stating = (id: number, version: unknown) =>
    ask(id, "ping", version === undefined ? {} : { _meta: { [versionKey]: version } });

  it("counts when they agree, and those that state nothing agree with all", async () => {
    await using bridge = await openBridge(name, createFixture());
    const caller = await openCaller(bridge, batching, { session: false });
    const agreed = [stating(1, batching), stating(2, undefined), stating(3, batching)];
    expect(outline(await caller.send(agreed))).toHaveLength(3);
    for (const version of revisions.filter((each) => each !== batching)) {
      const refused = await caller.send([stating(1, version)], {
        answeredBy: version,
        echoed: null,
      });
      expect([refused.status, refused.error.code]).toEqual([400, -32600]);
    }
  });

  it("is refused when they differ, are no strings, or are not served", async () => {
    await using bridge = await openBridge(name, createFixture());
    const caller = await openCaller(bridge, batching, { session: false });
    const spoiled: [number, unknown[]][] = [
      [-32020, [batching, "2025-06-18"]],
      [-32020, ["2025-06-18", undefined, batching]],
      [-32602, [batching, 5]],
      [-32022, ["1999-01-01", "1999-01-01"]],
    ];
    for (const [code, versions] of spoiled) {
      const array = versions.map((version, id) => stating(id, version));
      const refused = await caller.send(array, { answeredBy: "2026-07-28", echoed: null });
      expect([refused.status, refused.error.code]).toEqual([400, code]);
    }
  });

  it("cancels a call of the same array that its session is still running", async () => {
    await using bridge = await openBridge(name, createFixture({ log: () => undefined }));
    const caller = await openCaller(bridge, batching);
    const slow = ask("slow", "tools/call", {
      name: "echo",
      arguments: { text: "never", delayMs: 60_000 },
    });
    const cancel = notification("notifications/cancelled", { requestId: "slow" });
    const answered = await caller.send([slow, ask("b", "ping"), cancel]);
    expect(outline(answered)).toEqual([
      ["slow", -32800],
      ["b", "result"],
    ]);
  });
});
