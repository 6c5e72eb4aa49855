/** "What a handshake request sees" of SELECTION.md, over both bridges, with sessions and without. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { type Bridge, bridgeKinds, openBridge } from "../support/bridge.ts";
import { ask, type How, naming, open, send } from "../support/caller.ts";
import { notification, request } from "../support/messages.ts";
import { isObject, type JsonObject, type Revision, revisions } from "../support/schemas.ts";
import { assertReply } from "../support/wire.ts";

const server = createFixture();
const handshakes = revisions.slice(1);

/** Every kind of result, by a request that gets it. */
const requests: readonly (readonly [method: string, params: JsonObject | undefined])[] = [
  ["ping", undefined],
  ["tools/list", undefined],
  ["tools/call", { name: "add", arguments: { a: 2, b: 3 } }],
  ["tools/call", { name: "test_multiple_content_types", arguments: {} }],
  ["tools/call", { name: "test_error_handling", arguments: {} }],
  ["resources/list", undefined],
  ["resources/templates/list", undefined],
  ["resources/read", { uri: "test://static-text" }],
  ["resources/read", { uri: "test://template/7/data" }],
  ["prompts/list", undefined],
  ["prompts/get", { name: "test_simple_prompt" }],
  [
    "completion/complete",
    {
      ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
      argument: { name: "arg1", value: "te" },
    },
  ],
];

/** Envelope keys and mirrored headers that contradict every request they come with. */
const reserved: readonly JsonObject[] = [
  { "io.modelcontextprotocol/clientCapabilities": "none" },
  { "io.modelcontextprotocol/clientInfo": 7, "io.modelcontextprotocol/logLevel": "shout" },
  { "io.modelcontextprotocol/clientCapabilities": {}, "io.modelcontextprotocol/serverInfo": {} },
];
const mirrored: readonly Record<string, string>[] = [
  { "mcp-method": "prompts/get", "mcp-name": "someone-else" },
  { "mcp-name": "=?base64?$$$?=", "mcp-param-region": "=?base64?//4=?=" },
  { "mcp-method": "", "mcp-param-a": "99" },
];

const matrix = bridgeKinds.flatMap((kind) =>
  (["with", "without"] as const).flatMap((mode) =>
    handshakes.map((revision) => [revision, kind, mode] as const),
  ),
);

describe.each(matrix)("%s over the %s bridge %s sessions", (revision, kind, mode) => {
  let bridge: Bridge;
  let how: How & { readonly headers: Record<string, string> };

  beforeAll(async () => {
    bridge = await openBridge(kind, server, { sessions: mode === "with" });
    const id = await open(bridge, revision);
    how = { headers: id === undefined ? { "mcp-protocol-version": revision } : naming(id) };
  });
  afterAll(() => bridge[Symbol.asyncDispose]());

  test.each(requests)(
    "the result of %s has nothing that 2026-07-28 brought",
    async (method, params) => {
      const { status, result, headers, selections } = await ask(
        bridge,
        revision,
        method,
        params,
        how,
      );
      expect(status).toBe(200);
      expect(selections[0]?.revision).toBe(revision);
      expect(result).toBeDefined();
      for (const name of ["resultType", "_meta", "ttlMs", "cacheScope"]) {
        expect(result).not.toHaveProperty([name]);
      }
      expect(headers.get("mcp-session-id")).toBeNull();
    },
  );

  test("a method that does not exist is -32601 on 200", async () => {
    const absent = ["nope/nothing", "Tools/List", "subscriptions/listen", "toString", ""];
    for (const method of absent) {
      const { status, error } = await send(bridge, revision, request(revision, 1, method), how);
      expect({ status, code: error?.["code"] }).toEqual({ status: 200, code: -32601 });
    }
  });

  test("notifications are 202 with an empty body, known or not", async () => {
    for (const method of ["notifications/initialized", "notifications/cancelled", "nope/nothing"]) {
      const { status, text } = await send(bridge, revision, notification(method), how);
      expect({ status, text }).toEqual({ status: 202, text: "" });
    }
  });

  test("server/discover lists every revision in the shape of a handshake", async () => {
    const { status, result } = await ask(bridge, revision, "server/discover", undefined, how);
    expect(status).toBe(200);
    expect(result?.["supportedVersions"]).toEqual(revisions);
    expect(result?.["serverInfo"]).toMatchObject({ name: "anyrev-fixture" });
    for (const name of ["resultType", "_meta", "ttlMs", "cacheScope"]) {
      expect(result).not.toHaveProperty([name]);
    }
  });

  test("reserved _meta keys and mirrored headers are neither checked nor a signal", async () => {
    for (const [method, params] of requests) {
      const plain = await ask(bridge, revision, method, params, how);
      for (const _meta of reserved) {
        const message = request(revision, `${method} 1`, method, { ...params, _meta });
        const { json, selections } = await send(bridge, revision, message, how);
        expect(json).toEqual(plain.json);
        expect(selections).toMatchObject(plain.selections.map(({ reason }) => ({ reason })));
      }
      for (const headers of mirrored) {
        const misled = { ...how, headers: { ...how.headers, ...headers } };
        const { json, selections } = await ask(bridge, revision, method, params, misled);
        expect(json).toEqual(plain.json);
        expect(selections).toMatchObject(plain.selections.map(({ reason }) => ({ reason })));
      }
    }
  });

  test("a response that the client POSTs is 202", async () => {
    const responses = [
      { jsonrpc: "2.0", id: 1, result: {} },
      { jsonrpc: "2.0", id: "a", result: { action: "accept", content: {} } },
      { jsonrpc: "2.0", id: 2, error: { code: -32603, message: "no" } },
    ];
    for (const message of responses) {
      const { status, text } = await send(bridge, revision, message, how);
      expect({ status, text }).toEqual({ status: 202, text: "" });
    }
  });

  test("an array is served in 2025-03-26, and refused whole elsewhere", async () => {
    const stated = { ...how.headers, "mcp-protocol-version": revision };
    const batch = [
      request(revision, 1, "ping"),
      notification("notifications/initialized"),
      request(revision, 2, "nope/nothing"),
    ];
    const got = await bridge.send({ headers: stated, body: batch });
    if (revision !== "2025-03-26") {
      expectInvalid(revision, got);
      return;
    }
    expect(got.status).toBe(200);
    const replies = got.json as readonly JsonObject[];
    expect(replies).toHaveLength(2);
    assertReply(revision, { method: "ping", id: 1 }, replies[0]);
    assertReply(revision, { method: "nope/nothing", id: 2 }, replies[1]);
    expect(replies[1]?.["error"]).toMatchObject({ code: -32601 });
    const silent = await bridge.send({
      headers: stated,
      body: [notification("notifications/initialized"), { jsonrpc: "2.0", id: 1, result: {} }],
    });
    expect({ status: silent.status, text: silent.text }).toEqual({ status: 202, text: "" });
    expectInvalid(revision, await bridge.send({ headers: stated, body: [] }));
  });
});

function expectInvalid(
  revision: Revision,
  { status, json }: { status: number; json: unknown },
): void {
  expect(status).toBe(400);
  assertReply(revision, { method: "none" }, json);
  expect(isObject(json) && json["error"]).toMatchObject({ code: -32600 });
}

describe.each(bridgeKinds)("Over the %s bridge", (kind) => {
  test.each(handshakes)("an endpoint of %s alone does not answer server/discover", async (date) => {
    await using bridge = await openBridge(kind, server, { revisions: [date] });
    const { status, error } = await ask(bridge, date, "server/discover");
    expect({ status, code: error?.["code"] }).toEqual({ status: 200, code: -32601 });
  });

  test("an endpoint of every handshake does not answer server/discover", async () => {
    await using bridge = await openBridge(kind, server, { revisions: handshakes });
    for (const date of handshakes) {
      const how = { headers: { "mcp-protocol-version": date } };
      const { status, error } = await ask(bridge, date, "server/discover", undefined, how);
      expect({ status, code: error?.["code"] }).toEqual({ status: 200, code: -32601 });
    }
  });

  test("2026-07-28 takes a notification without its headers, and no response at all", async () => {
    await using bridge = await openBridge(kind, server);
    const headers = { "mcp-protocol-version": "2026-07-28" };
    for (const method of ["notifications/initialized", "notifications/cancelled"]) {
      const { status, text } = await bridge.send({ headers, body: notification(method) });
      expect({ status, text }).toEqual({ status: 202, text: "" });
    }
    const response = { jsonrpc: "2.0", id: 1, result: {} };
    const { status, error } = await send(bridge, "2026-07-28", response);
    expect({ status, code: error?.["code"] }).toEqual({ status: 400, code: -32600 });
  });

  test("a version header on several lines counts as one that is joined", async () => {
    await using bridge = await openBridge(kind, server);
    const body = request("2025-06-18", 1, "tools/list");
    const same = await bridge.send({
      headers: { "MCP-Protocol-Version": ["2025-06-18", "2025-06-18"] },
      body,
    });
    expect(same.status).toBe(200);
    assertReply("2025-06-18", body, same.json);
    expect(same.selections[0]).toMatchObject({ revision: "2025-06-18", reason: "header" });
    const other = await bridge.send({
      headers: { "mcp-protocol-version": ["2025-06-18", "2025-11-25"] },
      body,
    });
    expect(other.status).toBe(400);
    assertReply("2026-07-28", body, other.json);
    expect(other.json).toMatchObject({ error: { code: -32020 } });
  });
});
