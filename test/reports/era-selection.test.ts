/** Which revision a request is taken to be written in, when its parts say different things. */
import { createServer, MemorySessions, type Server } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { bridges, openBridge } from "../support/bridges.ts";
import { handshakes, rows } from "../support/matrix.ts";
import { envelope, request } from "../support/messages.ts";
import { type Exchanged, openCaller, shakeHands, textOf } from "../support/raw-caller.ts";
import { type Revision, revisions } from "../support/wire.ts";

const modern: Revision = "2026-07-28";
const versionKey = "io.modelcontextprotocol/protocolVersion";
const capabilitiesKey = "io.modelcontextprotocol/clientCapabilities";

/** A server with one tool that counts how often it ran. */
function counting(): { readonly server: Server; readonly runs: () => number } {
  let runs = 0;
  const server = createServer({ name: "counting", version: "1.0.0" });
  server.tool("count", { title: "Count" }, () => `${++runs}`);
  return { server, runs: () => runs };
}

/** The newest revision whose fields a tool in this listing shows. */
function shapeOf(listed: Exchanged): Revision {
  const tools = listed.result["tools"] as Record<string, unknown>[];
  const add = tools.find((tool) => tool["name"] === "add") ?? {};
  if ("resultType" in listed.result) return modern;
  if ("icons" in add) return "2025-11-25";
  if ("title" in add) return "2025-06-18";
  return "annotations" in add ? "2025-03-26" : "2024-11-05";
}

describe.each(bridges)("over the %s bridge", (name) => {
  it("R002: a header and a body that state two revisions are refused and harm no session", async () => {
    const { server, runs } = counting();
    await using bridge = await openBridge(name, server);
    const caller = await openCaller(bridge, "2025-11-25");
    const params = { name: "count", _meta: envelope(modern) };
    const refused = await caller.send(request("2025-11-25", 8, "tools/call", params), {
      answeredBy: modern,
    });
    expect([refused.status, refused.error.code]).toEqual([400, -32020]);
    expect(runs()).toBe(0);
    expect(textOf(await caller.request("tools/call", { name: "count" }))).toBe("1");
  });

  it("R002: a request of 2026-07-28 is served whatever session it names, and echoes none", async () => {
    await using bridge = await openBridge(name, createFixture());
    const caller = await openCaller(bridge, modern);
    const { session } = await shakeHands(bridge, "2025-11-25");
    for (const id of ["left-over-from-before", session]) {
      const listed = await caller.request("tools/list", {}, { headers: { "mcp-session-id": id } });
      expect(listed.status).toBe(200);
      expect(listed.headers.has("mcp-session-id")).toBe(false);
      expect(shapeOf(listed)).toBe(modern);
    }
  });

  it.each(["2026-05-11", "2026-07-28", "1999-01-01", "draft", ""])(
    "R006: initialize asking for %j settles on the newest handshake revision",
    async (protocolVersion) => {
      await using bridge = await openBridge(name, createFixture());
      const caller = await openCaller(bridge, "2025-11-25", { session: false });
      const params = {
        protocolVersion,
        capabilities: {},
        clientInfo: { name: "c", version: "1" },
      };
      const opened = await caller.request("initialize", params);
      expect(opened.status).toBe(200);
      expect(opened.result["protocolVersion"]).toBe("2025-11-25");
      expect(opened.headers.has("mcp-session-id")).toBe(true);
    },
  );

  it.each([{}, { protocolVersion: null }, { protocolVersion: 5 }, { protocolVersion: ["a"] }])(
    "R006: initialize with the params %j is refused by the name of the field",
    async (params) => {
      await using bridge = await openBridge(name, createFixture());
      const caller = await openCaller(bridge, "2025-11-25", { session: false });
      const refused = await caller.send(request("2025-11-25", 1, "initialize", params));
      expect(refused.error.code).toBe(-32602);
      expect(refused.error.message).toContain("protocolVersion");
      expect(refused.headers.has("mcp-session-id")).toBe(false);
    },
  );

  it("R012: a plain initialize without any MCP header shakes hands", async () => {
    await using bridge = await openBridge(name, createFixture());
    for (const revision of handshakes) {
      const caller = await openCaller(bridge, revision, { session: false });
      const params = {
        protocolVersion: revision,
        capabilities: {},
        clientInfo: { name: "mcp", version: "0.1.0" },
        _meta: {},
      };
      const opened = await caller.send(request(revision, 1, "initialize", params), {
        headers: { "mcp-protocol-version": undefined },
      });
      expect(opened.status).toBe(200);
      expect(opened.result["protocolVersion"]).toBe(revision);
    }
  });

  it("R011: initialize that declares 2026-07-28 is told where to go, and leaves nothing behind", async () => {
    const sessionStore = new MemorySessions();
    await using bridge = await openBridge(name, createFixture(), { sessionStore });
    const caller = await openCaller(bridge, modern);
    const params = {
      protocolVersion: modern,
      capabilities: {},
      clientInfo: { name: "c", version: "1" },
      _meta: { [versionKey]: modern, [capabilitiesKey]: {} },
    };
    const message = { jsonrpc: "2.0", id: 1, method: "initialize", params };
    for (const headers of [{}, { "mcp-protocol-version": modern, "mcp-method": "initialize" }]) {
      const refused = await caller.send(message, { headers });
      expect([refused.status, refused.error.code]).toEqual([404, -32601]);
      expect(refused.error.message).toContain("server/discover");
      for (const revision of revisions) expect(refused.error.message).toContain(revision);
      expect(refused.headers.has("mcp-session-id")).toBe(false);
    }
    expect(sessionStore.size).toBe(0);
    expect((await shakeHands(bridge, "2025-11-25")).session).toBeDefined();
  });

  it("R015: what 2026-07-28 took away is refused there, and the next request is served", async () => {
    await using bridge = await openBridge(name, createFixture());
    const caller = await openCaller(bridge, modern);
    const gone: [string, Record<string, unknown>][] = [
      ["ping", {}],
      ["logging/setLevel", { level: "debug" }],
      ["resources/subscribe", { uri: "test://static-text" }],
      ["resources/unsubscribe", { uri: "test://static-text" }],
    ];
    for (const [method, params] of gone) {
      const refused = await caller.send(request(modern, method, method, params));
      expect([refused.status, refused.error.code]).toEqual([404, -32601]);
    }
    expect((await caller.request("tools/list")).status).toBe(200);
  });

  it("R017: a header of 2026-07-28 over a body without its envelope is refused by name", async () => {
    const { server, runs } = counting();
    await using bridge = await openBridge(name, server);
    const caller = await openCaller(bridge, modern);
    const spoiled: [string, Record<string, unknown> | undefined][] = [
      [versionKey, undefined],
      [versionKey, {}],
      [versionKey, { _meta: {} }],
      [versionKey, { _meta: [] }],
      [versionKey, { _meta: null }],
      [versionKey, { _meta: "x" }],
      [versionKey, { _meta: { [capabilitiesKey]: {} } }],
      [versionKey, { _meta: { [versionKey]: 5, [capabilitiesKey]: {} } }],
      [versionKey, { _meta: { [versionKey]: null, [capabilitiesKey]: {} } }],
      [capabilitiesKey, { _meta: { [versionKey]: modern } }],
      [capabilitiesKey, { _meta: { [versionKey]: modern, [capabilitiesKey]: null } }],
      [capabilitiesKey, { _meta: { [versionKey]: modern, [capabilitiesKey]: [] } }],
    ];
    for (const [field, params] of spoiled) {
      const called = params && { name: "count", ...params };
      const refused = await caller.send(
        { jsonrpc: "2.0", id: 3, method: "tools/call", params: called },
        { headers: { "mcp-name": "count" } },
      );
      expect([refused.status, refused.error.code]).toEqual([400, -32602]);
      expect(refused.error.message).toContain(field);
    }
    expect(runs()).toBe(0);
  });
});

describe.each(rows(handshakes))(
  "in a session of $revision over $bridge",
  ({ revision, bridge: name }) => {
    it("R008: a later header outranks what the handshake settled on, and is never a 400", async () => {
      await using bridge = await openBridge(name, createFixture());
      const caller = await openCaller(bridge, revision);
      for (const stated of handshakes) {
        const listed = await caller.request("tools/list", undefined, {
          headers: { "mcp-protocol-version": stated },
          answeredBy: stated,
        });
        expect(listed.status).toBe(200);
        expect(shapeOf(listed)).toBe(stated);
      }
    });

    it("R009: a session speaks for a request without a header; without either it is 2025-03-26", async () => {
      await using bridge = await openBridge(name, createFixture());
      const caller = await openCaller(bridge, revision);
      const headers = { "mcp-protocol-version": undefined };
      expect(shapeOf(await caller.request("tools/list", undefined, { headers }))).toBe(revision);
      const bare = { ...headers, "mcp-session-id": undefined };
      const options = { headers: bare, answeredBy: "2025-03-26" } as const;
      expect(shapeOf(await caller.request("tools/list", undefined, options))).toBe("2025-03-26");
    });

    it("R010: a body that declares this revision gets its own result and nothing newer", async () => {
      await using bridge = await openBridge(name, createFixture());
      const caller = await openCaller(bridge, revision);
      const params = { _meta: { [versionKey]: revision } };
      for (const stated of [revision, undefined]) {
        const headers = { "mcp-protocol-version": stated, "mcp-session-id": undefined };
        const listed = await caller.request("tools/list", params, { headers });
        expect(Object.keys(listed.result).sort()).toEqual(["tools"]);
        expect(shapeOf(listed)).toBe(revision);
      }
    });

    it("R014: mirrored headers mean nothing, whether they agree with the body or not", async () => {
      const { server, runs } = counting();
      await using bridge = await openBridge(name, server);
      const caller = await openCaller(bridge, revision);
      for (const method of ["tools/list", "tools/call"]) {
        const headers = {
          "mcp-protocol-version": revision,
          "mcp-method": method,
          "mcp-name": "other",
        };
        const called = await caller.request("tools/call", { name: "count" }, { headers });
        expect(textOf(called)).toBe(String(runs()));
      }
      expect(runs()).toBe(2);
    });

    it("R015: ping and logging/setLevel are served", async () => {
      await using bridge = await openBridge(name, createFixture());
      const caller = await openCaller(bridge, revision);
      expect((await caller.request("ping")).result).toEqual({});
      expect((await caller.request("logging/setLevel", { level: "debug" })).result).toEqual({});
    });
  },
);
