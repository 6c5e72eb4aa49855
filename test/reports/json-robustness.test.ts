/** Bodies that are not what they should be: an error that tells, never a crash or a guess. */
import { createServer, type Server } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { bridges, openBridge } from "../support/bridges.ts";
import { handshakes, rows } from "../support/matrix.ts";
import { request } from "../support/messages.ts";
import { openCaller, textOf } from "../support/raw-caller.ts";
import { revisions } from "../support/wire.ts";

function withNow(): { readonly server: Server; readonly runs: () => number } {
  let runs = 0;
  const server = createServer({ name: "s", version: "1" });
  server.tool("now", {}, (args) => {
    runs++;
    return JSON.stringify(args);
  });
  return { server, runs: () => runs };
}

describe.each(rows())("in $revision over $bridge", ({ revision, bridge: name }) => {
  it.each(["null", "{}", "[]", "true", "1.5", "1e400", "9007199254740992"])(
    "R070: a request with the id %s is refused, not taken for a notification",
    async (id) => {
      const { server, runs } = withNow();
      await using bridge = await openBridge(name, server);
      const caller = await openCaller(bridge, revision);
      const message = request(revision, 424242, "tools/call", { name: "now", arguments: {} });
      const text = JSON.stringify(message).replace("424242", id);
      const refused = await caller.send(message, { text, echoed: null });
      expect([refused.status, refused.error.code]).toEqual([400, -32600]);
      expect(runs()).toBe(0);
    },
  );

  it.each([0, "", -5, "0", 9007199254740991])(
    "R070: the id %j is echoed as it came",
    async (id) => {
      await using bridge = await openBridge(name, withNow().server);
      const caller = await openCaller(bridge, revision);
      const listed = await caller.request("tools/list", {}, { id });
      expect(listed.message).toMatchObject({ id });
      expect(listed.status).toBe(200);
    },
  );

  it("R072: a body that breaks off is a parse error under no invented id", async () => {
    await using bridge = await openBridge(name, createFixture());
    const caller = await openCaller(bridge, revision);
    const options = { answeredBy: "2026-07-28", echoed: null } as const;
    for (const text of ['{"jsonrpc":"2.0","id":5,"method":', "", "{", "nul", "\u0000"]) {
      const refused = await caller.send({}, { ...options, text });
      expect([refused.status, refused.error.code]).toEqual([400, -32700]);
      expect(refused.message).not.toHaveProperty("id");
    }
  });

  it("R073: parameters of the wrong shape are -32602, by name and without a stack", async () => {
    await using bridge = await openBridge(name, createFixture());
    const caller = await openCaller(bridge, revision);
    const isModern = revision === "2026-07-28";
    const spoiled: [string, string, Record<string, unknown>][] = [
      ["cursor", "tools/list", { cursor: 5 }],
      ["cursor", "resources/list", { cursor: {} }],
      ["cursor", "resources/templates/list", { cursor: null }],
      ["cursor", "prompts/list", { cursor: ["a"] }],
      ["arguments", "prompts/get", { name: "test_simple_prompt", arguments: "x" }],
      ["arguments.a", "prompts/get", { name: "test_simple_prompt", arguments: { a: 1 } }],
      ["ref", "completion/complete", { argument: { name: "a", value: "" } }],
      ["argument", "completion/complete", { ref: { type: "ref/prompt", name: "x" } }],
      ["ref.type", "completion/complete", { ref: {}, argument: { name: "a", value: "" } }],
    ];
    if (!isModern) {
      spoiled.push(
        ["level", "logging/setLevel", { level: "nope" }],
        ["level", "logging/setLevel", {}],
        ["name", "tools/call", {}],
        ["name", "tools/call", { name: 7 }],
        ["name", "prompts/get", { name: null }],
        ["uri", "resources/read", { uri: 1 }],
      );
    }
    for (const [field, method, params] of spoiled) {
      const refused = await caller.send(request(revision, 1, method, params));
      expect([method, refused.status, refused.error.code]).toEqual([method, 200, -32602]);
      expect(refused.error.message).toContain(field);
      expect(refused.error.message).not.toMatch(/ at |\.ts|\.js/);
    }
  });

  it("R074: arguments left out, empty and null are one; anything else that is no object is refused", async () => {
    const { server, runs } = withNow();
    await using bridge = await openBridge(name, server);
    const caller = await openCaller(bridge, revision);
    for (const given of [{}, { arguments: {} }, { arguments: null }]) {
      const called = await caller.send(
        request(revision, 1, "tools/call", { name: "now", ...given }),
      );
      expect(textOf(called)).toBe("{}");
    }
    expect(runs()).toBe(3);
    for (const args of [[], "x", 0, false, ""]) {
      const params = { name: "now", arguments: args };
      const refused = await caller.send(request(revision, 1, "tools/call", params));
      expect(refused.error.code).toBe(-32602);
    }
    expect(runs()).toBe(3);
  });
});

describe.each(bridges)("over the %s bridge", (name) => {
  it.each(handshakes)(
    "R072: where %s is the newest, it says how a missing id is written",
    async (newest) => {
      const older = revisions.slice(revisions.indexOf(newest));
      await using bridge = await openBridge(name, createFixture(), { revisions: older });
      const caller = await openCaller(bridge, newest);
      const refused = await caller.send({}, { text: "{", echoed: null });
      expect(refused.error.code).toBe(-32700);
      if (newest === "2025-11-25") expect(refused.message).not.toHaveProperty("id");
      else expect(refused.message).toMatchObject({ id: null });
    },
  );

  it("R073: in 2026-07-28 a name that no header can mirror is a mismatch first", async () => {
    await using bridge = await openBridge(name, createFixture());
    const caller = await openCaller(bridge, "2026-07-28");
    const spoiled: [string, Record<string, unknown>, string | undefined][] = [
      ["tools/call", {}, undefined],
      ["tools/call", {}, "undefined"],
      ["resources/read", { uri: 1 }, "1"],
      ["prompts/get", { name: null }, "null"],
    ];
    for (const [method, params, header] of spoiled) {
      const headers = { "mcp-name": header };
      const refused = await caller.send(request("2026-07-28", 1, method, params), { headers });
      expect([refused.status, refused.error.code]).toEqual([400, -32020]);
    }
  });
});
