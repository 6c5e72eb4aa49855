/** Structured results: any JSON where the revision takes any, an object or words before. */
import { createServer, failed, type LogEntry, type Server, text } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { openBridge } from "../support/bridges.ts";
import { rows } from "../support/matrix.ts";
import { openCaller, textOf } from "../support/raw-caller.ts";
import { isObject } from "../support/schemas.ts";
import type { Revision } from "../support/wire.ts";

const output = {
  type: "object",
  properties: { n: { type: "number" } },
  required: ["n"],
} as const;

function carries(revision: Revision): "anything" | "objects" | "none" {
  if (revision === "2026-07-28") return "anything";
  return revision >= "2025-06-18" ? "objects" : "none";
}

function open(): { readonly server: Server; readonly log: LogEntry[] } {
  const log: LogEntry[] = [];
  const server = createServer({ name: "s", version: "1", log: (entry) => log.push(entry) });
  return { server, log };
}

describe.each(rows())("in $revision over $bridge", ({ revision, bridge: name }) => {
  it("R089: an error is not held against the output schema", async () => {
    const { server, log } = open();
    server.tool("fails", { output }, () => failed("not found"));
    const told = failed("not found").with({ structured: { err: 1 } });
    server.tool("fails_in_data", { output }, () => told);
    await using bridge = await openBridge(name, server);
    const caller = await openCaller(bridge, revision);
    for (const tool of ["fails", "fails_in_data"]) {
      const called = await caller.request("tools/call", { name: tool, arguments: {} });
      expect(called.status).toBe(200);
      expect(called.result["isError"]).toBe(true);
      expect(textOf(called)).toBe("not found");
      const hasData = tool === "fails_in_data" && carries(revision) !== "none";
      expect(called.result["structuredContent"]).toEqual(hasData ? { err: 1 } : undefined);
    }
    expect(log).toEqual([]);
  });

  it("R089: a success without its structured result, or with a wrong one, is the server's fault", async () => {
    const { server, log } = open();
    server.tool("forgets", { output }, () => text("fine"));
    server.tool("wrong", { output }, () => text("fine").with({ structured: { n: "secret" } }));
    server.tool("broken", { output }, () => ({ n: "secret" }) as unknown as { n: number });
    await using bridge = await openBridge(name, server);
    const caller = await openCaller(bridge, revision);
    for (const tool of ["forgets", "wrong", "broken"]) {
      const called = await caller.request("tools/call", { name: tool, arguments: {} });
      expect(called.result["isError"]).toBe(true);
      expect(called.result).not.toHaveProperty("structuredContent");
      expect(called.text).not.toContain("secret");
    }
    expect(log.map((entry) => entry.level)).toEqual(["error", "error", "error"]);
  });

  const values = [0, false, "", null, [], [1, "a"], {}, { n: 1 }];

  it.each(values.map((value) => ({ value, json: JSON.stringify(value) })))(
    "R090: the result $json is data where the revision has such data, else words",
    async ({ value, json }) => {
      const { server } = open();
      const type = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
      server.tool("given", { output: { type } }, () => value as never);
      server.tool("beside", { output: { type } }, () => text("words").with({ structured: value }));
      await using bridge = await openBridge(name, server);
      const caller = await openCaller(bridge, revision);
      const isCarried =
        carries(revision) === "anything" || (carries(revision) === "objects" && isObject(value));
      const [listed] = (await caller.request("tools/list")).result["tools"] as object[];
      expect(listed !== undefined && "outputSchema" in listed).toBe(isCarried);
      const given = await caller.request("tools/call", { name: "given", arguments: {} });
      expect(textOf(given)).toBe(json);
      expect("structuredContent" in given.result).toBe(isCarried);
      if (isCarried) expect(given.result["structuredContent"]).toEqual(value);
      const beside = await caller.request("tools/call", { name: "beside", arguments: {} });
      const words = (beside.result["content"] as { text: string }[]).map((block) => block.text);
      expect(words).toEqual(isCarried ? ["words"] : ["words", json]);
      expect("structuredContent" in beside.result).toBe(isCarried);
    },
  );

  it.each([0, false, "", null])(
    "R090: a wrong %j is found out though it is falsy",
    async (value) => {
      const { server, log } = open();
      server.tool("wrong", { output: { type: "array" } }, () => value as never);
      await using bridge = await openBridge(name, server);
      const caller = await openCaller(bridge, revision);
      const called = await caller.request("tools/call", { name: "wrong", arguments: {} });
      expect(called.result["isError"]).toBe(true);
      expect(called.result).not.toHaveProperty("structuredContent");
      expect(log).toHaveLength(1);
    },
  );
});
