/** Arrays of messages: 2025-03-26 must take them, no other revision may. */
import { createServer } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { bridges, openBridge } from "../support/bridges.ts";
import { rows } from "../support/matrix.ts";
import { initializeParams, notification, request } from "../support/messages.ts";
import { openCaller } from "../support/raw-caller.ts";
import { type Revision, revisions } from "../support/wire.ts";

const batching: Revision = "2025-03-26";

describe.each(bridges)("over the %s bridge", (name) => {
  it.each([undefined, batching])(
    "R066: with the header %s an array is answered by an array",
    async (stated) => {
      await using bridge = await openBridge(name, createFixture());
      const headers = { "mcp-protocol-version": stated };
      for (const session of [true, false]) {
        const caller = await openCaller(bridge, batching, { session });
        const answered = await caller.send(
          [
            request(batching, 1, "ping"),
            notification("notifications/x"),
            request(batching, 2, "tools/list"),
          ],
          { headers },
        );
        expect(answered.status).toBe(200);
        expect(answered.message).toMatchObject([
          { id: 1, result: {} },
          { id: 2, result: { tools: expect.any(Array) } },
        ]);
      }
    },
  );

  it("R066: notifications alone draw 202, an empty array and initialize inside one a refusal", async () => {
    await using bridge = await openBridge(name, createFixture());
    const caller = await openCaller(bridge, batching);
    const quiet = await caller.send([notification("notifications/x"), notification("x")]);
    expect([quiet.status, quiet.text]).toEqual([202, ""]);
    const empty = await caller.send([]);
    expect([empty.status, empty.error.code]).toEqual([400, -32600]);
    const opened = await caller.send([
      request(batching, 1, "initialize", initializeParams(batching)),
    ]);
    expect(opened.message).toMatchObject([{ id: 1, error: { code: -32600 } }]);
    expect(opened.headers.has("mcp-session-id")).toBe(false);
  });
});

const others = revisions.filter((revision) => revision !== batching);

describe.each(rows(others))("in $revision over $bridge", ({ revision, bridge: name }) => {
  it.each([1, 2])("R068: an array of %i is refused and nothing in it runs", async (count) => {
    let runs = 0;
    const server = createServer({ name: "s", version: "1" });
    server.tool("delete", {}, () => `${++runs}`);
    await using bridge = await openBridge(name, server);
    const caller = await openCaller(bridge, revision);
    const calls = Array.from({ length: count }, (_, id) =>
      request(revision, id, "tools/call", { name: "delete", arguments: {} }),
    );
    const headers = {
      "mcp-protocol-version": revision,
      ...(revision === "2026-07-28" && { "mcp-method": "tools/call", "mcp-name": "delete" }),
    };
    const refused = await caller.send(calls, { headers });
    expect([refused.status, refused.error.code]).toEqual([400, -32600]);
    expect(runs).toBe(0);
  });
});
