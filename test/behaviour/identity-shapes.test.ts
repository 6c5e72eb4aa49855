/** Who the server says it is, what it announces, and how it refuses, in each revision. */
import { createServer, McpError, type Server } from "anyrev";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Line, matrix, openLine, Peer } from "../support/peer.ts";
import { createShowcase, icons } from "../support/showcase.ts";
import { isObject, type JsonObject, revisions } from "../support/wire.ts";

const identityKey = "io.modelcontextprotocol/serverInfo";

describe.each(matrix)("a server of %s over %s", (revision, bridge) => {
  const modern = revision === "2026-07-28";
  const since = (has: boolean, fields: JsonObject) => (has ? fields : {});
  const identity = {
    name: "showcase",
    version: "1.2.3",
    ...since(revision >= "2025-06-18", { title: "Showcase" }),
    ...since(revision >= "2025-11-25", {
      description: "Shows everything.",
      icons,
      websiteUrl: "https://example.com",
    }),
  };

  async function withPeer<T>(server: Server, run: (peer: Peer) => Promise<T>): Promise<T> {
    const line = await openLine(bridge, server);
    try {
      return await run(await Peer.open(line, revision));
    } finally {
      await line.close();
    }
  }

  /** What the handshake said, or the discovery where there is none. */
  const introduction = async (peer: Peer) => peer.opened ?? (await peer.result("server/discover"));

  it("says who it is with the fields that the revision has", () =>
    withPeer(createShowcase(), async (peer) => {
      const said = await introduction(peer);
      const meta = said["_meta"];
      expect(modern ? isObject(meta) && meta[identityKey] : said["serverInfo"]).toEqual(identity);
      expect(said["instructions"]).toBe("Look around.");
    }));

  it("leaves out instructions that it has not", () =>
    withPeer(createServer({ name: "plain", version: "1" }), async (peer) => {
      expect("instructions" in (await introduction(peer))).toBe(false);
    }));

  it("tells the same by discovery as by the handshake, and every revision it serves", () =>
    withPeer(createShowcase(), async (peer) => {
      const { supportedVersions, capabilities, instructions, ...rest } =
        await peer.result("server/discover");
      expect(supportedVersions).toEqual(revisions);
      if (modern) {
        expect(rest).toEqual({
          resultType: "complete",
          ttlMs: 60_000,
          cacheScope: "public",
          _meta: { [identityKey]: identity },
        });
        return;
      }
      expect({ capabilities, instructions, ...rest, protocolVersion: revision }).toEqual(
        peer.opened,
      );
    }));

  it("announces what was declared, and completion where the revision can say it", () =>
    withPeer(createShowcase(), async (peer) => {
      const changes = { listChanged: true };
      expect((await introduction(peer))["capabilities"]).toEqual({
        logging: {},
        tools: changes,
        resources: { ...changes, subscribe: true },
        prompts: changes,
        ...since(revision >= "2025-03-26", { completions: {} }),
      });
    }));

  it("does not announce changes once it is frozen", () =>
    withPeer(createShowcase().freeze(), async (peer) => {
      expect((await introduction(peer))["capabilities"]).toMatchObject({
        tools: {},
        resources: { subscribe: true },
        prompts: {},
      });
      expect(JSON.stringify(await introduction(peer))).not.toContain("listChanged");
    }));

  it.each([
    ["tools", ["tools/list", "tools/call"]],
    ["resources", ["resources/list", "resources/templates/list", "resources/read"]],
    ["prompts", ["prompts/list", "prompts/get"]],
    ["completions", ["completion/complete"]],
  ] as const)("has no method of %s when none was declared", (capability, methods) => {
    const server = createServer({ name: "lacking", version: "1" });
    if (capability !== "tools") server.tool("t", {}, () => "");
    if (capability !== "resources") server.resource("a://b", {}, () => "");
    if (capability !== "prompts") {
      const complete = capability === "completions" ? undefined : ["x"];
      server.prompt("p", { arguments: { a: { complete } } }, () => "");
    }
    return withPeer(server, async (peer) => {
      expect((await introduction(peer))["capabilities"]).not.toHaveProperty(capability);
      for (const method of methods) {
        const { code, status } = await peer.error(method, {
          ...(method === "resources/read" ? { uri: "a://b" } : {}),
          ...(method === "tools/call" || method === "prompts/get" ? { name: "x" } : {}),
          ...(method === "completion/complete"
            ? { ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } }
            : {}),
        });
        expect({ code, status }, method).toEqual({ code: -32601, status: modern ? 404 : 200 });
      }
    });
  });

  it("keeps a capability whose last declaration was taken back", async () => {
    const server = createServer({ name: "changing", version: "1" });
    const declared = [
      server.tool("t", {}, () => ""),
      server.template("a://{b}", { complete: { b: ["c"] } }, () => ""),
      server.prompt("p", {}, () => ""),
    ];
    for (const each of declared) each.remove();
    await withPeer(server, async (peer) => {
      const { capabilities } = await introduction(peer);
      expect(Object.keys(capabilities as JsonObject).sort()).toEqual(
        ["completions", "logging", "prompts", "resources", "tools"].filter(
          (name) => name !== "completions" || revision >= "2025-03-26",
        ),
      );
      expect((await peer.result("tools/list"))["tools"]).toEqual([]);
    });
  });
});

describe.each(matrix)("a refusal of %s over %s", (revision, bridge) => {
  const modern = revision === "2026-07-28";
  let line: Line;
  let peer: Peer;

  beforeAll(async () => {
    const server = createShowcase();
    const refuse = (code: "failed" | "not-found" | "invalid-params") => () => {
      throw new McpError(`because ${code}`, { code, data: { detail: 1 } });
    };
    for (const code of ["failed", "not-found", "invalid-params"] as const) {
      server.tool(`throws_${code}`, {}, refuse(code));
      server.resource(`throws://${code}`, {}, refuse(code));
      server.prompt(`throws_${code}`, {}, refuse(code));
    }
    const bug = () => {
      throw new TypeError("secret path /etc/shadow");
    };
    server.tool("bug", {}, bug);
    server.resource("throws://bug", {}, bug);
    server.prompt("bug", {}, bug);
    line = await openLine(bridge, server);
    peer = await Peer.open(line, revision);
  });
  afterAll(() => line.close());

  const notFound = { code: modern ? -32602 : -32002, status: 200 };

  it.each(["note://nowhere", "note://gone", "", "no uri"])(
    "names a resource that is not there (%j)",
    async (uri) => {
      const refused = await peer.error("resources/read", { uri });
      expect(refused).toMatchObject({ ...notFound, data: { uri } });
    },
  );

  it.each([
    ["tools/call", { name: "nope" }, "Unknown tool: nope"],
    ["tools/call", { name: "constructor" }, "Unknown tool: constructor"],
    ["tools/call", { name: "__proto__" }, "Unknown tool: __proto__"],
    ["prompts/get", { name: "nope" }, "Unknown prompt: nope"],
    ["prompts/get", { name: "greet" }, "needs the argument name"],
    ["prompts/get", { name: "greet", arguments: { name: 1 } }, "params.arguments.name"],
    ["prompts/get", { name: "greet", arguments: [] }, "params.arguments"],
    ["tools/call", { name: "text", arguments: [] }, "params.arguments"],
    ["tools/call", { name: "text", arguments: "x" }, "params.arguments"],
    ["completion/complete", {}, "params.ref"],
    ["completion/complete", { ref: { type: "ref/prompt", name: "greet" } }, "params.argument"],
    [
      "completion/complete",
      { ref: { type: "ref/tool" }, argument: { name: "a", value: "" } },
      "ref.type",
    ],
    [
      "completion/complete",
      { ref: { type: "ref/prompt", name: "nope" }, argument: { name: "a", value: "" } },
      "Unknown prompt: nope",
    ],
  ])("of %s with %j is -32602 and says %j", async (method, params, words) => {
    const refused = await peer.error(method, params);
    expect(refused).toMatchObject({ code: -32602, status: 200 });
    expect(refused.message).toContain(words);
  });

  it.each(["tools/call", "prompts/get", "resources/read"])(
    "of %s without a target says which field",
    async (method) => {
      const refused = await peer.error(method, {});
      // 2026-07-28 compares the headers first, and one that mirrors nothing is missing.
      expect(refused).toMatchObject(
        modern ? { code: -32020, status: 400 } : { code: -32602, status: 200 },
      );
      expect(refused.message).toContain(method === "resources/read" ? "params.uri" : "params.name");
    },
  );

  it("of bad arguments is a tool result that a model can act on", async () => {
    const { content, isError } = await peer.result(
      "tools/call",
      { name: "everything", arguments: { region: 5 } },
      { "mcp-param-region": "5" },
    );
    expect(isError).toBe(true);
    expect(JSON.stringify(content)).toContain("region");
  });

  it.each(["nope", "tools/List", "", "initialized", "sampling/createMessage", "constructor"])(
    "of the method %j is -32601",
    async (method) => {
      expect(await peer.error(method)).toMatchObject({ code: -32601, status: modern ? 404 : 200 });
    },
  );

  it("of what a handler refuses has the code that it asked for", async () => {
    const tool = await peer.result("tools/call", { name: "throws_failed" });
    expect(tool).toMatchObject({ isError: true, content: [{ text: "because failed" }] });
    const bad = { code: -32602, status: 200, message: "because invalid-params" };
    expect(await peer.error("tools/call", { name: "throws_invalid-params" })).toMatchObject(bad);
    expect(await peer.error("prompts/get", { name: "throws_invalid-params" })).toMatchObject(bad);
    expect(await peer.error("resources/read", { uri: "throws://invalid-params" })).toMatchObject(
      bad,
    );
    expect(await peer.error("resources/read", { uri: "throws://not-found" })).toMatchObject({
      ...notFound,
      data: { uri: "throws://not-found", detail: 1 },
    });
    const failed = { code: -32603, status: 200, message: "because failed", data: { detail: 1 } };
    expect(await peer.error("resources/read", { uri: "throws://failed" })).toMatchObject(failed);
    expect(await peer.error("prompts/get", { name: "throws_failed" })).toMatchObject(failed);
  });

  it("of what a handler did not foresee tells nothing of the cause", async () => {
    const tool = await peer.result("tools/call", { name: "bug" });
    expect(tool["isError"]).toBe(true);
    const resource = await peer.error("resources/read", { uri: "throws://bug" });
    const prompt = await peer.error("prompts/get", { name: "bug" });
    expect([resource, prompt]).toMatchObject([{ code: -32603 }, { code: -32603 }]);
    expect(JSON.stringify([tool, resource, prompt])).not.toContain("secret");
  });
});
