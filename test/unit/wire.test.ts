import { describe, expect, it } from "vitest";
import { checkReply, type Revision, revisions } from "../support/wire.ts";

type Fields = Record<string, unknown>;

const handshake = revisions.filter((revision) => revision !== "2026-07-28");
const cached = { resultType: "complete", ttlMs: 0, cacheScope: "private" };
const plain = { resultType: "complete" };

/** The fields that a list or a read of the revision adds to its result. */
function listed(revision: Revision, fields: Fields): Fields {
  return revision === "2026-07-28" ? { ...fields, ...cached } : fields;
}

function done(revision: Revision, fields: Fields): Fields {
  return revision === "2026-07-28" ? { ...fields, ...plain } : fields;
}

function reply(result: unknown, id: unknown = 1) {
  return { jsonrpc: "2.0", id, result };
}

function check(revision: Revision, method: string, result: unknown, params?: unknown): string[] {
  return checkReply(revision, { method, id: 1, params }, reply(result));
}

function call(revision: Revision, ...content: unknown[]): string[] {
  return check(revision, "tools/call", done(revision, { content }));
}

function tools(revision: Revision, tool: Fields): string[] {
  const full = { name: "add", inputSchema: { type: "object" }, ...tool };
  return check(revision, "tools/list", listed(revision, { tools: [full] }));
}

const text = { type: "text", text: "hello" };
const link = { type: "resource_link", name: "a", uri: "file:///a" };
const audio = { type: "audio", data: "UklGRg==", mimeType: "audio/wav" };
const icon = { src: "https://example.com/icon.png" };
const serverInfo = { name: "server", version: "1.0.0" };
const infoMeta = { _meta: { "io.modelcontextprotocol/serverInfo": serverInfo } };

describe.each(revisions)("a reply of %s", (revision) => {
  const good: [string, Fields][] = [
    ["tools/list", listed(revision, { tools: [], nextCursor: "2" })],
    ["tools/call", done(revision, { content: [text], isError: true })],
    ["resources/list", listed(revision, { resources: [{ name: "a", uri: "file:///a" }] })],
    [
      "resources/templates/list",
      listed(revision, { resourceTemplates: [{ name: "a", uriTemplate: "file:///{path}" }] }),
    ],
    ["resources/read", listed(revision, { contents: [{ uri: "file:///a", text: "a" }] })],
    ["resources/read", listed(revision, { contents: [{ uri: "file:///a", blob: "YQ==" }] })],
    ["prompts/list", listed(revision, { prompts: [{ name: "a", arguments: [{ name: "b" }] }] })],
    ["prompts/get", done(revision, { messages: [{ role: "user", content: text }] })],
    ["completion/complete", done(revision, { completion: { values: ["a"], hasMore: false } })],
  ];

  it.each(good)("to %s is accepted and may carry _meta", (method, result) => {
    expect(check(revision, method, result)).toEqual([]);
    expect(check(revision, method, { ...result, _meta: { "a/b": 1 } })).toEqual([]);
  });

  it.each(good)("to %s has no property of nobody's making", (method, result) => {
    expect(check(revision, method, { ...result, surprise: 1 })).toEqual([
      `result.surprise: not defined by ${revision}`,
    ]);
  });

  it("to tools/list may describe its schemas freely", () => {
    const inputSchema = { type: "object", properties: { a: { minimum: 1 } }, $comment: "free" };
    expect(tools(revision, { inputSchema })).toEqual([]);
  });

  it("has the id of its request, of the same type", () => {
    const result = listed(revision, { tools: [] });
    for (const [asked, answered] of [
      [1, "1"],
      ["1", 1],
      [1, 2],
      ["", null],
    ]) {
      const outline = { method: "tools/list", id: asked };
      expect(checkReply(revision, outline, reply(result, answered))).not.toEqual([]);
      expect(checkReply(revision, outline, reply(result, asked))).toEqual([]);
    }
  });

  it("has the envelope of JSON-RPC", () => {
    const outline = { method: "tools/list", id: 1 };
    const result = listed(revision, { tools: [] });
    const error = { code: -32602, message: "no", data: { any: ["thing"] } };
    const verdict = (message: unknown) => checkReply(revision, outline, message);
    expect(verdict({ jsonrpc: "2.0", id: 1, error })).toEqual([]);
    expect(verdict({ jsonrpc: "1.0", id: 1, result })).toEqual(['jsonrpc: must be "2.0"']);
    expect(verdict({ jsonrpc: "2.0", id: 1, result, error })).not.toEqual([]);
    expect(verdict({ jsonrpc: "2.0", id: 1, result, took: 3 })).not.toEqual([]);
    expect(verdict({ jsonrpc: "2.0", id: 1 })).not.toEqual([]);
    expect(verdict({ jsonrpc: "2.0", id: 1, error: { ...error, code: 1.5 } })).not.toEqual([]);
    expect(verdict({ jsonrpc: "2.0", id: 1, error: { code: 1 } })).not.toEqual([]);
    expect(verdict({ jsonrpc: "2.0", id: 1, error: { ...error, hint: "" } })).toEqual([
      `error.hint: not defined by ${revision}`,
    ]);
    expect(verdict([{ jsonrpc: "2.0", id: 1, result }])).not.toEqual([]);
    expect(verdict(undefined)).not.toEqual([]);
  });

  it("names a missing property by its path", () => {
    expect(call(revision, text, { type: "text" })).toEqual([
      "result.content[1]: must have required property 'text'",
    ]);
  });

  it("names a content block that no revision knows", () => {
    expect(call(revision, { type: "video" }).join()).toMatch(/^result\.content\[0\]: is none of /);
  });

  it("has Base64 and URIs where they are asked for", () => {
    const read = (contents: Fields) =>
      check(revision, "resources/read", listed(revision, { contents: [contents] }));
    expect(read({ uri: "file:///a", blob: "*" })).not.toEqual([]);
    expect(read({ uri: "not a uri", text: "" })).not.toEqual([]);
    expect(call(revision, { type: "image", mimeType: "image/png", data: "a" })).not.toEqual([]);
  });

  it("to a method without a definition is refused", () => {
    expect(check(revision, "tools/rename", done(revision, {}))).not.toEqual([]);
  });

  it("to a message without an id is an error", () => {
    expect(checkReply(revision, { method: "" }, reply({}))).not.toEqual([]);
    const error = { code: -32700, message: "no JSON" };
    const silent = revision >= "2025-11-25";
    const accepted = (message: unknown) =>
      checkReply(revision, { method: "" }, message).length === 0;
    expect(accepted({ jsonrpc: "2.0", error })).toBe(silent);
    expect(accepted({ jsonrpc: "2.0", id: null, error })).toBe(!silent);
    expect(accepted({ jsonrpc: "2.0", id: 1, error })).toBe(false);
    const outline = { method: "ping", id: 1 };
    expect(checkReply(revision, outline, { jsonrpc: "2.0", id: null, error })).not.toEqual([]);
    expect(checkReply(revision, outline, { jsonrpc: "2.0", error })).not.toEqual([]);
  });
});

describe.each(handshake)("a handshake reply of %s", (revision) => {
  const hello = { protocolVersion: revision, capabilities: { tools: {} }, serverInfo };

  it("to initialize is accepted", () => {
    expect(check(revision, "initialize", hello)).toEqual([]);
    expect(check(revision, "initialize", { ...hello, instructions: "Ask." })).toEqual([]);
  });

  it("to initialize names its server and its capabilities in the revision's words", () => {
    const strange = { ...hello, capabilities: { tools: { list: true }, experimental: { a: {} } } };
    expect(check(revision, "initialize", strange)).toEqual([
      `result.capabilities.tools.list: not defined by ${revision}`,
    ]);
    expect(check(revision, "initialize", { ...hello, serverInfo: undefined })).not.toEqual([]);
  });

  it.each(["ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"])(
    "to %s is exactly {}",
    (method) => {
      expect(check(revision, method, {})).toEqual([]);
      expect(check(revision, method, { _meta: {} })).not.toEqual([]);
      expect(check(revision, method, { ok: true })).not.toEqual([]);
    },
  );

  it("has no trace of the stateless revision", () => {
    for (const [name, value] of Object.entries(cached)) {
      expect(check(revision, "tools/list", { tools: [], [name]: value })).toEqual([
        `result.${name}: not defined by ${revision}`,
      ]);
    }
    expect(check(revision, "tools/list", { tools: [], ...infoMeta })).not.toEqual([]);
    expect(check(revision, "subscriptions/listen", {})).not.toEqual([]);
    expect(check(revision, "tools/call", { resultType: "input_required" })).not.toEqual([]);
  });

  it("to server/discover has the handshake shape", () => {
    const found = { supportedVersions: [...revisions], capabilities: {} };
    const verdict = (fields: Fields) => check(revision, "server/discover", { ...found, ...fields });
    expect(verdict({})).toEqual([]);
    expect(verdict({ instructions: "Ask.", serverInfo })).toEqual([]);
    expect(verdict(cached)).toHaveLength(3);
    expect(verdict({ supportedVersions: [1] })).not.toEqual([]);
    expect(verdict({ supportedVersions: undefined })).not.toEqual([]);
    expect(verdict({ capabilities: undefined })).not.toEqual([]);
    expect(verdict({ serverInfo: { name: "a" } })).not.toEqual([]);
    expect(verdict({ protocolVersion: revision })).not.toEqual([]);
  });
});

describe("a reply of 2026-07-28", () => {
  const revision = "2026-07-28";

  it("states its type, how long it holds and for whom", () => {
    for (const name of Object.keys(cached)) {
      const result = { tools: [], ...cached, [name]: undefined };
      expect(check(revision, "tools/list", result).join()).toContain(name);
    }
    expect(check(revision, "tools/list", { tools: [], ...cached, ttlMs: -1 })).not.toEqual([]);
    expect(check(revision, "tools/list", { tools: [], ...cached, cacheScope: "all" })).not.toEqual(
      [],
    );
    expect(check(revision, "tools/call", { content: [] })).not.toEqual([]);
    expect(check(revision, "tools/call", { content: [], resultType: "odd" })).not.toEqual([]);
  });

  it("may name its server, in full", () => {
    expect(check(revision, "tools/call", { content: [], ...plain, ...infoMeta })).toEqual([]);
    const badly = (info: Fields) => ({ _meta: { "io.modelcontextprotocol/serverInfo": info } });
    const result = { content: [], ...plain };
    expect(check(revision, "tools/call", { ...result, ...badly({ name: "a" }) })).not.toEqual([]);
    expect(
      check(revision, "tools/call", { ...result, ...badly({ ...serverInfo, port: 1 }) }),
    ).not.toEqual([]);
  });

  it.each(["tools/call", "prompts/get", "resources/read"])("to %s may ask for input", (method) => {
    const ask = { method: "roots/list" };
    const result = { resultType: "input_required", inputRequests: { a: ask } };
    expect(check(revision, method, result)).toEqual([]);
    expect(check(revision, method, { ...result, content: [] })).not.toEqual([]);
    expect(check(revision, method, { resultType: "input_required" })).not.toEqual([]);
    expect(check(revision, method, { ...result, inputRequests: { a: { ...ask, id: 1 } } })).toEqual(
      ["result.inputRequests.a.id: not defined by 2026-07-28"],
    );
    expect(check(revision, "tools/list", result)).not.toEqual([]);
  });

  it("to server/discover has no serverInfo of its own", () => {
    const found = { supportedVersions: [revision], capabilities: {}, ...cached };
    expect(check(revision, "server/discover", { ...found, ...infoMeta })).toEqual([]);
    expect(check(revision, "server/discover", { ...found, serverInfo })).not.toEqual([]);
  });

  it("to what only a handshake has is refused", () => {
    for (const method of ["initialize", "ping", "logging/setLevel", "roots/list"]) {
      expect(check(revision, method, plain)).not.toEqual([]);
    }
  });

  it("explains a refusal in the data of its code", () => {
    const outline = { method: "tools/list", id: 1 };
    const verdict = (error: Fields) =>
      checkReply(revision, outline, { jsonrpc: "2.0", id: 1, error });
    const error = { code: -32022, message: "unsupported" };
    expect(verdict(error)).not.toEqual([]);
    expect(verdict({ ...error, data: { supported: [revision], requested: "x" } })).toEqual([]);
  });
});

describe("what a revision does not define", () => {
  const since = (first: Revision, verdict: (revision: Revision) => string[]) => {
    for (const revision of revisions) {
      expect([revision, verdict(revision).length === 0]).toEqual([revision, revision >= first]);
    }
  };

  it.each<[string, Revision, Fields]>([
    ["annotations", "2025-03-26", { annotations: { readOnlyHint: true } }],
    ["title", "2025-06-18", { title: "Add" }],
    ["outputSchema", "2025-06-18", { outputSchema: { type: "object" } }],
    ["_meta", "2025-06-18", { _meta: {} }],
    ["icons", "2025-11-25", { icons: [icon] }],
  ])("a tool has %s since %s", (_, first, tool) => {
    since(first, (revision) => tools(revision, tool));
  });

  it("a tool has execution in 2025-11-25 only", () => {
    for (const revision of revisions) {
      const accepted = tools(revision, { execution: { taskSupport: "optional" } }).length === 0;
      expect([revision, accepted]).toEqual([revision, revision === "2025-11-25"]);
    }
  });

  it("names the property and the revision", () => {
    expect(tools("2024-11-05", { title: "Add" })).toEqual([
      "result.tools[0].title: not defined by 2024-11-05",
    ]);
    expect(tools("2025-06-18", { icons: [icon] })).toEqual([
      "result.tools[0].icons: not defined by 2025-06-18",
    ]);
    expect(tools("2025-11-25", { annotations: { risky: true } })).toEqual([
      "result.tools[0].annotations.risky: not defined by 2025-11-25",
    ]);
  });

  it("audio is content since 2025-03-26", () =>
    since("2025-03-26", (revision) => call(revision, audio)));

  it("a link is content since 2025-06-18", () =>
    since("2025-06-18", (revision) => call(revision, link)));

  it("structuredContent came with 2025-06-18, for objects, and with 2026-07-28 for all", () => {
    const structured = (structuredContent: unknown) => (revision: Revision) =>
      check(revision, "tools/call", done(revision, { content: [], structuredContent }));
    since("2025-06-18", structured({ any: { thing: 1 } }));
    since("2026-07-28", structured([1]));
  });

  it("annotations of a content block have lastModified since 2025-06-18", () => {
    const annotations = { priority: 1, audience: ["user"] };
    since("2024-11-05", (revision) => call(revision, { ...text, annotations }));
    const dated = { ...annotations, lastModified: "2025-01-12T15:00:58Z" };
    since("2025-06-18", (revision) => call(revision, { ...text, annotations: dated }));
  });

  it("an embedded resource has one kind of contents", () => {
    const embedded = (fields: Fields) => (revision: Revision) =>
      call(revision, { type: "resource", resource: { uri: "file:///a", ...fields } });
    since("2024-11-05", embedded({ text: "a", mimeType: "text/plain" }));
    since("2025-06-18", embedded({ text: "a", _meta: {} }));
    for (const revision of revisions) {
      expect(embedded({ text: "a", blob: "YQ==" })(revision)).not.toEqual([]);
      expect(embedded({ text: "a", name: "a" })(revision)).not.toEqual([]);
    }
  });

  it("a resource, template, prompt and argument have a title since 2025-06-18", () => {
    const argument = { name: "a", arguments: [{ name: "b", title: "B" }] };
    const places: [string, string, Fields][] = [
      ["resources/list", "resources", { name: "a", uri: "file:///a", title: "A" }],
      [
        "resources/templates/list",
        "resourceTemplates",
        { name: "a", uriTemplate: "a:{b}", title: "A" },
      ],
      ["prompts/list", "prompts", { name: "a", title: "A" }],
      ["prompts/list", "prompts", argument],
    ];
    for (const [method, key, item] of places) {
      since("2025-06-18", (revision) =>
        check(revision, method, listed(revision, { [key]: [item] })),
      );
    }
  });

  it("completions are a capability since 2025-03-26, tasks in 2025-11-25", () => {
    const accepted = (capabilities: Fields) =>
      handshake.filter((revision) => {
        const hello = { protocolVersion: revision, capabilities, serverInfo };
        return check(revision, "initialize", hello).length === 0;
      });
    expect(accepted({ completions: {} })).toEqual(["2025-11-25", "2025-06-18", "2025-03-26"]);
    expect(accepted({ tasks: { list: {} } })).toEqual(["2025-11-25"]);
    expect(accepted({ extensions: {} })).toEqual([]);
  });

  it("a task answers a call that asked for one", () => {
    const at = "2025-11-25T00:00:00Z";
    const task = { taskId: "a", status: "working", createdAt: at, lastUpdatedAt: at, ttl: 1 };
    expect(check("2025-11-25", "tools/call", { task }, { name: "a", task: {} })).toEqual([]);
    expect(check("2025-11-25", "tools/call", { task }, { name: "a" })).not.toEqual([]);
    expect(check("2025-11-25", "tasks/get", task)).toEqual([]);
    expect(check("2025-06-18", "tasks/get", task)).not.toEqual([]);
  });
});
