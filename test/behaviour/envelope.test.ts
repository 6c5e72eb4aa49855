/** Envelopes at their edges: depth, ids, names that JavaScript knows, members named twice. */
import { createServer, type Server } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { openBridge } from "../support/bridges.ts";
import { rows } from "../support/matrix.ts";
import { request } from "../support/messages.ts";
import { openCaller, textOf } from "../support/raw-caller.ts";

const traps = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"];

function open(): { readonly server: Server; readonly runs: () => number } {
  let runs = 0;
  const server = createServer({ name: "s", version: "1", log: () => undefined });
  server.tool("count", {}, (args) => {
    runs++;
    return JSON.stringify(args);
  });
  server.prompt("plain", { arguments: { a: {} } }, (args) => JSON.stringify(args));
  return { server, runs: () => runs };
}

/** A list in a list, so many deep, as text. */
function nested(levels: number): string {
  return "[".repeat(levels) + "]".repeat(levels);
}

describe.each(rows())("in $revision over $bridge", ({ revision, bridge: name }) => {
  const call = (args: unknown, id: string | number = 1) =>
    request(revision, id, "tools/call", { name: "count", arguments: { deep: args } });

  it("serves a message of 64 levels and refuses one of 65, however the last is opened", async () => {
    const { server, runs } = open();
    await using bridge = await openBridge(name, server);
    const caller = await openCaller(bridge, revision);
    const message = call("HERE");
    const text = (inside: string) => JSON.stringify(message).replace('"HERE"', inside);
    // The envelope, its params and their arguments are three.
    const fits = await caller.send(message, { text: text(nested(61)) });
    expect(textOf(fits)).toBe(`{"deep":${nested(61)}}`);
    for (const inside of [nested(62), nested(61).replace("[]", "[{}]"), nested(100_000)]) {
      const refused = await caller.send(message, { text: text(inside), echoed: null });
      expect([refused.status, refused.error.code]).toEqual([400, -32600]);
    }
    const quoted = JSON.stringify(`${nested(200)}\\"`);
    expect((await caller.send(message, { text: text(quoted) })).status).toBe(200);
    expect(runs()).toBe(2);
  });

  it.each([0, "", "0", "null", "__proto__", "\u0000\u2028\ud83d\ude00", "x".repeat(100_000), -1])(
    "echoes an id as it came",
    async (id) => {
      await using bridge = await openBridge(name, open().server);
      const caller = await openCaller(bridge, revision);
      const called = await caller.send(call(1, id));
      expect(called.message).toMatchObject({ id });
      const refused = await caller.send(request(revision, id, "no/such"));
      expect(refused.message).toMatchObject({ id, error: { code: -32601 } });
    },
  );

  it.each([
    ["-0", 0],
    ["1e2", 100],
    ["5.0", 5],
    ["9007199254740991", 9007199254740991],
  ])("takes the id %s for the integer it is", async (written, id) => {
    await using bridge = await openBridge(name, open().server);
    const caller = await openCaller(bridge, revision);
    const text = JSON.stringify(call(1, 424242)).replace("424242", written);
    const called = await caller.send(call(1, id), { text });
    expect(called.message).toMatchObject({ id });
  });

  it.each(["null", "0.5", "1e400", "-1e400", "9007199254740992", "1e300", "true", "[1]", "{}"])(
    "refuses the id %s and runs nothing",
    async (written) => {
      const { server, runs } = open();
      await using bridge = await openBridge(name, server);
      const caller = await openCaller(bridge, revision);
      const text = JSON.stringify(call(1, 424242)).replace("424242", written);
      const refused = await caller.send(call(1), { text, echoed: null });
      expect([refused.status, refused.error.code]).toEqual([400, -32600]);
      expect(runs()).toBe(0);
    },
  );

  it.each(traps)("knows no tool, prompt, resource, method or cursor %s", async (trap) => {
    await using bridge = await openBridge(name, open().server);
    const caller = await openCaller(bridge, revision);
    for (const method of ["tools/call", "prompts/get"]) {
      const refused = await caller.request(method, { name: trap, arguments: {} });
      expect(refused.error.code).toBe(-32602);
    }
    expect((await caller.request("tools/list", { cursor: trap })).error.code).toBe(-32602);
    expect((await caller.send(request(revision, 1, trap))).error.code).toBe(-32601);
  });

  it.each(traps)("hands over an argument called %s like any other", async (trap) => {
    await using bridge = await openBridge(name, open().server);
    const caller = await openCaller(bridge, revision);
    // Written as text: in an object literal the first of them would set the prototype.
    const text = (method: string, target: string) =>
      JSON.stringify(
        request(revision, 1, method, { name: target, arguments: { SPOT: "v" } }),
      ).replace("SPOT", trap);
    const called = await caller.send(call(1), { text: text("tools/call", "count") });
    expect(textOf(called)).toBe(`{"${trap}":"v"}`);
    const prompt = request(revision, 1, "prompts/get", { name: "plain" });
    const got = await caller.send(prompt, { text: text("prompts/get", "plain") });
    expect(got.text).toContain(JSON.stringify(`{"${trap}":"v"}`).slice(1, -1));
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(({} as Record<string, unknown>)["v"]).toBeUndefined();
  });

  it.each(traps)("serves a tool and a prompt that are called %s", async (trap) => {
    const { server } = open();
    const properties = { [trap]: { type: "string" } };
    server.tool(trap, { input: { type: "object", properties, required: [trap] } }, () => "tool");
    const needed = { [trap]: { required: true } } as const;
    server.prompt(trap, { arguments: needed }, (args) => `got ${args[trap]}`);
    await using bridge = await openBridge(name, server);
    const caller = await openCaller(bridge, revision);
    expect((await caller.request("tools/list")).text).toContain(`"name":"${trap}"`);
    const args = { [trap]: "v" };
    const called = await caller.request("tools/call", { name: trap, arguments: args });
    expect(textOf(called)).toBe("tool");
    const bare = await caller.request("tools/call", { name: trap, arguments: {} });
    expect(bare.result["isError"]).toBe(true);
    expect((await caller.request("prompts/get", { name: trap, arguments: args })).text).toContain(
      "got v",
    );
    const missing = await caller.request("prompts/get", { name: trap, arguments: {} });
    expect(missing.error.code).toBe(-32602);
  });

  it.each([
    ['"id":1,', '"id":1,"id":2,'],
    ['"id":1,', '"id":1,"id":1,'],
    ['"id":1,', '"id":1,"\\u0069d":2,'],
    ['"method":', '"method":"tools/list","method":'],
    ['"method":', '"m\\u0065thod":"tools/list","method":'],
    ['"jsonrpc":"2.0",', '"jsonrpc":"2.0","jsonrpc":"2.0",'],
    ['"params":', '"params":{},"params":'],
    ['"params":', '"p\\u0061r\\u0061ms":null,"params":'],
  ])("refuses an envelope that puts for %s the members %s", async (once, twice) => {
    const { server, runs } = open();
    await using bridge = await openBridge(name, server);
    const caller = await openCaller(bridge, revision);
    // A spoiled body states no revision that could be trusted, so the header does.
    const headers = { "mcp-protocol-version": revision };
    const text = JSON.stringify(call(1)).replace(once, twice);
    const refused = await caller.send(call(1), { text, headers, echoed: null });
    expect([refused.status, refused.error.code]).toEqual([400, -32600]);
    expect(runs()).toBe(0);
  });

  it("lets members repeat below the envelope, and others inside it", async () => {
    await using bridge = await openBridge(name, open().server);
    const caller = await openCaller(bridge, revision);
    const whole = JSON.stringify(call("HERE"));
    const fine = [
      whole.replace('"HERE"', '{"id":1,"id":2,"method":"a","method":"b"}'),
      whole.replace('"HERE"', '"\\"id\\":1,\\"id\\":2"'),
      whole.replace('"id":1', '"id":1,"note":1,"note":2'),
      whole.replace('"id":1', '"id":1,"ID":2,"Method":"x"'),
      ` \n\t${whole}\r\n`,
      `\ufeff${whole}`,
    ];
    for (const text of fine) expect((await caller.send(call(1), { text })).status).toBe(200);
  });

  it("takes a reply where the server may ask, and refuses it in 2026-07-28", async () => {
    await using bridge = await openBridge(name, open().server);
    const caller = await openCaller(bridge, revision);
    const headers = { "mcp-protocol-version": revision };
    const replies = [
      { jsonrpc: "2.0", id: 1, result: {} },
      { jsonrpc: "2.0", id: "a", error: { code: -32603, message: "no" } },
      { jsonrpc: "2.0", id: null, error: { code: -32603, message: "no" } },
      { jsonrpc: "2.0", error: { code: -32603, message: "no" } },
    ];
    for (const reply of replies) {
      const answer = await caller.send(reply, { headers });
      if (revision === "2026-07-28") {
        expect([answer.status, answer.error.code]).toEqual([400, -32600]);
      } else expect([answer.status, answer.text]).toEqual([202, ""]);
    }
  });

  it.each(["null", "5", '"words"', "true", "{}", '{"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","id":{}}'])(
    "refuses %s, which is no message",
    async (text) => {
      await using bridge = await openBridge(name, open().server);
      const caller = await openCaller(bridge, revision);
      const headers = { "mcp-protocol-version": revision };
      const refused = await caller.send({}, { text, headers, echoed: null });
      expect([refused.status, refused.error.code]).toEqual([400, -32600]);
    },
  );
});
