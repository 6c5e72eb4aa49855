/** Cursors: each moves on, and one that is not ours is refused. */
import { describe, expect, it } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { openBridge } from "../support/bridges.ts";
import { rows } from "../support/matrix.ts";
import { openCaller } from "../support/raw-caller.ts";

const lists: readonly [method: string, member: string, key: string][] = [
  ["tools/list", "tools", "name"],
  ["resources/list", "resources", "uri"],
  ["prompts/list", "prompts", "name"],
];

function forged(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

describe.each(rows())("in $revision over $bridge", ({ revision, bridge: name }) => {
  it.each(lists)(
    "R102: following the cursors of %s meets everything once and ends",
    async (method, member, key) => {
      await using bridge = await openBridge(name, createFixture({ extra: true }));
      const caller = await openCaller(bridge, revision);
      const met: unknown[] = [];
      const cursors = new Set<unknown>();
      let cursor: unknown;
      do {
        const page = await caller.request(method, cursor === undefined ? {} : { cursor });
        const entries = page.result[member] as Record<string, unknown>[];
        expect(entries.length).toBeGreaterThan(0);
        met.push(...entries.map((entry) => entry[key]));
        cursor = page.result["nextCursor"];
        expect(cursors.has(cursor)).toBe(false);
        cursors.add(cursor);
      } while (cursor !== undefined);
      expect(met.length).toBeGreaterThan(200);
      expect(new Set(met).size).toBe(met.length);
    },
  );

  it.each(lists)("R102: a cursor that %s never gave out is -32602", async (method) => {
    await using bridge = await openBridge(name, createFixture({ extra: true }));
    const caller = await openCaller(bridge, revision);
    const other = method === "tools/list" ? "prompts/list" : "tools/list";
    const foreign = (await caller.request(other)).result["nextCursor"];
    const list = method.split("/")[0];
    const cursors = [
      "nope",
      "",
      "c1",
      "0",
      "__proto__",
      "constructor",
      "\u65e5",
      "x".repeat(10_000),
      foreign,
      forged(null),
      forged([]),
      forged({}),
      forged({ list, position: -1, last: "a" }),
      forged({ list, position: 0.5, last: "a" }),
      forged({ list, position: 50, last: 1 }),
      forged({ list, position: "50", last: "a" }),
    ];
    for (const cursor of cursors) {
      const refused = await caller.request(method, { cursor });
      expect([refused.status, refused.error.code]).toEqual([200, -32602]);
      expect(refused.error.message).toContain("cursor");
    }
  });

  it("R102: a cursor still leads on after the entry it names was removed", async () => {
    const server = createFixture({ extra: true });
    const gone = server.tool("between", {}, () => "between");
    await using bridge = await openBridge(name, server);
    const caller = await openCaller(bridge, revision);
    const { nextCursor } = (await caller.request("tools/list")).result;
    gone.remove();
    const next = await caller.request("tools/list", { cursor: nextCursor });
    expect(next.status).toBe(200);
  });
});
