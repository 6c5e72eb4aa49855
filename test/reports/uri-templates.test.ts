/** URIs that a template must judge in linear time, through resources/read. */
import { createServer, type Server } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { openBridge } from "../support/bridges.ts";
import { rows } from "../support/matrix.ts";
import { request } from "../support/messages.ts";
import { openCaller } from "../support/raw-caller.ts";
import type { Revision } from "../support/wire.ts";

/** Far above what a linear matcher needs, far below what a backtracking one takes. */
const maxMs = 250;

function templated(): Server {
  const server = createServer({ name: "s", version: "1" });
  const template = "x://{a}-{b}-{c}-{d}-{e}-{f}-{g}-{h}";
  server.template("users://all{/id*}", {}, ({ id }) => JSON.stringify(id ?? null));
  server.template("find://all{?tags*}", {}, ({ tags }) => JSON.stringify(tags ?? null));
  server.template(template, {}, (all) => JSON.stringify(all));
  server.template("doc://{name}", {}, ({ name }) => JSON.stringify(name));
  return server;
}

function notFound(revision: Revision): number {
  return revision === "2026-07-28" ? -32602 : -32002;
}

describe.each(rows())("in $revision over $bridge", ({ revision, bridge: name }) => {
  it.each([
    ["R099", "users://all/", "a,".repeat(40), "/"],
    ["R099", "users://all/", "a,".repeat(4000), "/%"],
    ["R099", "users://all", "/a".repeat(4000), "//%"],
    ["R099", "find://all?", "tags=a&".repeat(40), "/"],
    ["R099", "find://all?tags=", "a,".repeat(4000), "%"],
    ["R100", "x://", "-".repeat(80), "/"],
    ["R100", "x://", "a-".repeat(4000), "/"],
  ])("%s: %s and more, made to backtrack, is judged at once", async (_, start, middle, end) => {
    await using bridge = await openBridge(name, templated());
    const caller = await openCaller(bridge, revision);
    const uri = start + middle + end;
    // The first replies also pay for reading the schemas that judge them.
    await caller.request("resources/read", { uri: "doc://warm" });
    await caller.request("resources/read", { uri: "none://warm" });
    const started = performance.now();
    const judged = await caller.send(request(revision, 1, "resources/read", { uri }));
    expect(performance.now() - started).toBeLessThan(maxMs);
    expect(judged.status).toBe(200);
    const isFound = "result" in (judged.message as object);
    if (start === "x://" || end.endsWith("%")) expect(isFound).toBe(false);
    if (!isFound) expect(judged.error.code).toBe(notFound(revision));
  });

  it("R099: a list in a path or a query is found where it is one", async () => {
    await using bridge = await openBridge(name, templated());
    const caller = await openCaller(bridge, revision);
    const read = (uri: string) => caller.request("resources/read", { uri });
    expect(await read("users://all/a/b").then(textOf)).toBe('["a","b"]');
    expect(await read("find://all?tags=a&tags=b").then(textOf)).toBe('["a","b"]');
  });

  it("R100: what a variable captured is decoded once; a bad escape is not found", async () => {
    await using bridge = await openBridge(name, templated());
    const caller = await openCaller(bridge, revision);
    const read = (uri: string) => caller.request("resources/read", { uri });
    expect(await read("doc://a%20b").then(textOf)).toBe('"a b"');
    expect(await read("doc://a%2Fb").then(textOf)).toBe('"a/b"');
    expect(await read("doc://a%252Fb").then(textOf)).toBe('"a%2Fb"');
    expect(await read("doc://caf%C3%A9").then(textOf)).toBe('"caf\u00e9"');
    expect(await read("x://1-2-3-4-5-6-7-8").then(textOf)).toContain('"h":"8"');
  });

  it.each(["doc://%ZZ", "doc://%", "doc://%C3", "doc://a/b"])(
    "R100: %s is not found, and no crash",
    async (uri) => {
      await using bridge = await openBridge(name, templated());
      const caller = await openCaller(bridge, revision);
      const refused = await caller.send(request(revision, 1, "resources/read", { uri }));
      expect([refused.status, refused.error.code]).toEqual([200, notFound(revision)]);
    },
  );
});

function textOf(read: { readonly result: Readonly<Record<string, unknown>> }): unknown {
  const [first] = read.result["contents"] as Record<string, unknown>[];
  return first?.["text"];
}
