/** What each revision shows of a declaration that uses every field. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Line, matrix, openLine, Peer } from "../support/peer.ts";
import { annotations, createShowcase, icons, meta, toolAnnotations } from "../support/showcase.ts";
import { isObject, type JsonObject } from "../support/wire.ts";

describe.each(matrix)("a listing of %s over %s", (revision, bridge) => {
  let line: Line;
  let peer: Peer;
  const titled = revision >= "2025-06-18";
  const pictured = revision >= "2025-11-25";
  const modern = revision === "2026-07-28";

  beforeAll(async () => {
    line = await openLine(bridge, createShowcase());
    peer = await Peer.open(line, revision);
  });
  afterAll(() => line.close());

  const shown = { description: "Description." };
  const since = (has: boolean, fields: JsonObject) => (has ? fields : {});
  const extras = {
    ...since(titled, { title: "Title", _meta: meta }),
    ...since(pictured, { icons }),
  };
  const projected = titled ? annotations : { audience: ["user"], priority: 0.5 };

  async function list(method: string, member: string): Promise<JsonObject[]> {
    const entries = (await peer.result(method))[member];
    if (!Array.isArray(entries)) throw new Error(`${method} gave no ${member}`);
    return entries.filter(isObject);
  }

  async function find(method: string, member: string, name: string): Promise<JsonObject> {
    const found = (await list(method, member)).find((entry) => entry["name"] === name);
    if (found === undefined) throw new Error(`${name} is not listed`);
    return found;
  }

  const tool = (name: string) => find("tools/list", "tools", name);

  it("shows of a tool the fields that the revision has, and no other", async () => {
    const found = await tool("everything");
    const region = { type: "string", ...since(modern, { "x-mcp-header": "Region" }) };
    const tier = { type: "integer", ...since(modern, { "x-mcp-header": "Tier" }) };
    expect(found).toEqual({
      name: "everything",
      ...shown,
      ...extras,
      inputSchema: {
        type: "object",
        properties: {
          region,
          deep: { type: "object", properties: { tier } },
          anything: modern ? true : {},
          nothing: modern ? false : { not: {} },
        },
      },
      ...since(titled, {
        outputSchema: {
          type: "object",
          properties: { ok: { type: "boolean" } },
          required: ["ok"],
        },
      }),
      ...since(revision >= "2025-03-26", { annotations: toolAnnotations }),
    });
  });

  it("announces an output schema whose root is no object on 2026-07-28 only", async () => {
    for (const name of ["list", "scalar"]) {
      expect("outputSchema" in (await tool(name)), name).toBe(modern);
    }
  });

  it("leaves out what was not declared", async () => {
    expect(await tool("nothing")).toEqual({ name: "nothing", inputSchema: { type: "object" } });
    const bytes = await find("resources/list", "resources", "note://bytes");
    expect(bytes).toEqual({ uri: "note://bytes", name: "note://bytes" });
    expect(await find("prompts/list", "prompts", "linked")).toEqual({ name: "linked" });
  });

  it("shows of a resource the fields that the revision has, and no other", async () => {
    expect(await find("resources/list", "resources", "one")).toEqual({
      uri: "note://1",
      name: "one",
      mimeType: "text/plain",
      size: 5,
      annotations: projected,
      ...shown,
      ...extras,
    });
  });

  it("shows of a template the fields that the revision has, and no other", async () => {
    expect(await find("resources/templates/list", "resourceTemplates", "by name")).toEqual({
      uriTemplate: "note://by-name/{name}",
      name: "by name",
      mimeType: "text/plain",
      annotations: projected,
      ...shown,
      ...extras,
    });
  });

  it("shows of a prompt the fields that the revision has, and no other", async () => {
    expect(await find("prompts/list", "prompts", "greet")).toEqual({
      name: "greet",
      arguments: [
        {
          name: "name",
          description: "Whom.",
          required: true,
          ...since(titled, { title: "Name" }),
        },
      ],
      ...shown,
      ...extras,
    });
  });

  it("carries cache hints on 2026-07-28 only", async () => {
    for (const method of [
      "tools/list",
      "resources/list",
      "resources/templates/list",
      "prompts/list",
      "server/discover",
    ]) {
      const { ttlMs, cacheScope } = await peer.result(method);
      expect({ ttlMs, cacheScope }, method).toEqual(
        modern ? { ttlMs: 60_000, cacheScope: "public" } : {},
      );
    }
  });

  it.each([
    ["tools/list", "tools", "newcomer", "2025-06-18"],
    ["resources/list", "resources", "note://new", "2025-11-25"],
    ["resources/templates/list", "resourceTemplates", "newer://{id}", "2026-07-28"],
    ["prompts/list", "prompts", "new_prompt", "2025-03-26"],
  ])(
    "of %s hides what exists since a later revision (%s, %s)",
    async (method, member, name, first) => {
      const names = (await list(method, member)).map((entry) => entry["name"]);
      expect(names.includes(name)).toBe(revision >= first);
    },
  );

  it("hides from calls what it hides from listings", async () => {
    const unless = async (has: boolean, method: string, params: JsonObject) => {
      const { message } = await peer.ask(method, params);
      expect("result" in message, JSON.stringify(params)).toBe(has);
      return message["error"];
    };
    await unless(revision >= "2025-06-18", "tools/call", { name: "newcomer" });
    await unless(revision >= "2025-11-25", "resources/read", { uri: "note://new" });
    await unless(modern, "resources/read", { uri: "newer://1" });
    const refused = await unless(revision >= "2025-03-26", "prompts/get", { name: "new_prompt" });
    // A hidden prompt is refused like one that never was.
    if (refused === undefined) return;
    const { message } = await peer.error("prompts/get", { name: "no_prompt" });
    expect(refused).toMatchObject({ message: message.replace("no_prompt", "new_prompt") });
  });
});
