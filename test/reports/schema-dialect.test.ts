/** Schemas as authors bring them: judged when declared, and on the wire as they were written. */
import { createServer as createTcpServer } from "node:net";
import { createServer, DeclarationError, type JsonSchema } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { openBridge } from "../support/bridges.ts";
import { rows } from "../support/matrix.ts";
import { openCaller, textOf } from "../support/raw-caller.ts";

const draft07 = "http://json-schema.org/draft-07/schema#";
const draft2020 = "https://json-schema.org/draft/2020-12/schema";

function open() {
  return createServer({ name: "s", version: "1", log: () => undefined });
}

function nested(levels: number): JsonSchema {
  let schema: JsonSchema = { type: "object" };
  for (let level = 0; level < levels; level++) {
    schema = { type: "object", properties: { a: schema } };
  }
  return schema;
}

/** Declares a tool with that schema on either side, each of which must be refused. */
function refusals(schema: JsonSchema): DeclarationError[] {
  const server = open();
  return [{ input: schema }, { output: schema }].map((options) => {
    try {
      server.tool("bad", options, () => ({}) as never);
    } catch (cause) {
      if (cause instanceof DeclarationError) return cause;
      throw cause;
    }
    throw new Error("the declaration was taken");
  });
}

describe("a declaration", () => {
  it("R091: of a dialect nobody knows is refused by its name, and the others live", () => {
    for (const dialect of ["urn:x-unknown", "", "http://json-schema.org/draft-99/schema#"]) {
      for (const error of refusals({ $schema: dialect, type: "object" })) {
        expect(error.message).toContain(JSON.stringify(dialect));
        expect(error.message).toContain(draft2020);
      }
    }
    for (const $schema of [5, null, ["a"]]) {
      expect(refusals({ $schema, type: "object" })).toHaveLength(2);
    }
  });

  it.each([{}, { type: "array" }, { type: ["object", "null"] }, { anyOf: [{ type: "object" }] }])(
    "R091: of the input schema %j is refused, since arguments are named",
    (input) => {
      expect(() => open().tool("bad", { input }, () => "")).toThrow(DeclarationError);
    },
  );

  it("R093: of a reference to elsewhere is refused, and nothing is fetched", async () => {
    let connections = 0;
    const tcp = createTcpServer((socket) => {
      connections++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => tcp.listen(0, "127.0.0.1", resolve));
    const address = tcp.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const refs = [
      `http://127.0.0.1:${port}/x.json`,
      `//127.0.0.1:${port}/x.json`,
      "file:///etc/passwd",
      "other.json#/a",
      "#/$defs/missing",
      "urn:elsewhere",
    ];
    for (const $ref of refs) {
      const schemas: JsonSchema[] = [
        { type: "object", properties: { a: { $ref } } },
        { type: "object", properties: { a: { items: { not: { $ref } } } } },
        { type: "object", $defs: { b: { $ref } }, properties: { a: { $ref: "#/$defs/b" } } },
      ];
      for (const schema of schemas) {
        for (const error of refusals(schema)) expect(error.message).toContain($ref);
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(connections).toBe(0);
    tcp.close();
  });

  it.each<JsonSchema>([
    { type: "object", allOf: [{ $ref: "#" }, { $ref: "#" }] },
    { type: "object", $ref: "#" },
    { type: "object", not: { $ref: "#" } },
    {
      type: "object",
      $defs: { a: { $ref: "#/$defs/b" }, b: { anyOf: [{ $ref: "#/$defs/a" }] } },
      properties: { x: { $ref: "#/$defs/a" } },
    },
  ])("R094: of %j is refused, since judging by it would never end", (schema) => {
    for (const error of refusals(schema)) expect(error.message).toContain("refers to itself");
  });

  it("R094: of 5,000 nested levels is refused without overflowing the stack", () => {
    expect(refusals(nested(5000))).toHaveLength(2);
    const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`p${i}`, {}]));
    expect(refusals({ type: "object", properties: wide })).toHaveLength(2);
  });

  it("R094: that is refused leaves its name free", () => {
    const server = open();
    const bad = { type: "object", allOf: [{ $ref: "#" }] };
    expect(() => server.tool("t", { input: bad }, () => "")).toThrow(DeclarationError);
    expect(() => server.tool("t", {}, () => "")).not.toThrow();
  });
});

describe.each(rows())("in $revision over $bridge", ({ revision, bridge: name }) => {
  it.each([draft07, draft2020, undefined])(
    "R091: a schema of %s is served and checks",
    async ($schema) => {
      const shape = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };
      const schema = { ...($schema !== undefined && { $schema }), ...shape };
      const server = open();
      server.tool("t", { input: schema, output: schema }, (args) => args as never);
      await using bridge = await openBridge(name, server);
      const caller = await openCaller(bridge, revision);
      const [tool] = (await caller.request("tools/list")).result["tools"] as JsonSchema[];
      expect(tool?.["inputSchema"]).toEqual(schema);
      if (revision >= "2025-06-18") expect(tool?.["outputSchema"]).toEqual(schema);
      const good = await caller.request("tools/call", { name: "t", arguments: { a: "x" } });
      expect(textOf(good)).toBe('{"a":"x"}');
      const bad = await caller.request("tools/call", { name: "t", arguments: { a: 5 } });
      expect(bad.result["isError"]).toBe(true);
    },
  );

  it("R091: schemas of a library come in one dialect, with an object at the root", async () => {
    const server = open();
    server.tool("t", { input: z.object({ a: z.string().nullable() }) }, () => "");
    server.tool("bare", {}, () => "");
    await using bridge = await openBridge(name, server);
    const caller = await openCaller(bridge, revision);
    for (const tool of (await caller.request("tools/list")).result["tools"] as JsonSchema[]) {
      const input = tool["inputSchema"] as JsonSchema;
      expect(input["type"]).toBe("object");
      expect([draft2020, undefined]).toContain(input["$schema"]);
    }
  });

  it("R092: nullable types, definitions and references pass through untouched", async () => {
    const input: JsonSchema = {
      type: "object",
      $defs: { D: { type: "object", properties: { y: { $ref: "#/$defs/E" } } }, E: { const: 1 } },
      properties: {
        x: { type: ["string", "null"] },
        d: { $ref: "#/$defs/D" },
        e: { oneOf: [{ $ref: "#/$defs/E" }, { enum: ["a", null] }] },
      },
      additionalProperties: false,
      "x-vendor": { kept: true },
    };
    const server = open();
    server.tool("t", { input }, (args) => JSON.stringify(args));
    await using bridge = await openBridge(name, server);
    const caller = await openCaller(bridge, revision);
    const [tool] = (await caller.request("tools/list")).result["tools"] as JsonSchema[];
    expect(tool?.["inputSchema"]).toEqual(input);
    const call = (args: JsonSchema) => caller.request("tools/call", { name: "t", arguments: args });
    for (const args of [{ x: null }, { x: "s" }, { d: { y: 1 } }, { e: null }, {}]) {
      expect(textOf(await call(args))).toBe(JSON.stringify(args));
    }
    for (const args of [{ x: 5 }, { d: { y: 2 } }, { e: "b" }, { z: 1 }]) {
      expect((await call(args)).result["isError"]).toBe(true);
    }
  });

  it("R094: two tools whose schemas share an $id are checked each by its own", async () => {
    const server = open();
    const input = (field: string) => ({ $id: "urn:x", type: "object", required: [field] });
    server.tool("one", { input: input("a") }, () => "one");
    server.tool("two", { input: input("b") }, () => "two");
    await using bridge = await openBridge(name, server);
    const caller = await openCaller(bridge, revision);
    const call = (tool: string, args: JsonSchema) =>
      caller.request("tools/call", { name: tool, arguments: args });
    expect(textOf(await call("one", { a: 1 }))).toBe("one");
    expect(textOf(await call("two", { b: 1 }))).toBe("two");
    expect((await call("one", { b: 1 })).result["isError"]).toBe(true);
    expect((await call("two", { a: 1 })).result["isError"]).toBe(true);
  });

  it("R094: a recursive schema judges deep arguments without a crash", async () => {
    const server = open();
    const input = {
      type: "object",
      properties: { child: { $ref: "#" }, n: { type: "integer" } },
      additionalProperties: false,
    };
    server.tool("tree", { input }, () => "fine");
    await using bridge = await openBridge(name, server);
    const caller = await openCaller(bridge, revision);
    let tree: JsonSchema = { n: 1 };
    for (let depth = 0; depth < 50; depth++) tree = { child: tree };
    const called = await caller.request("tools/call", { name: "tree", arguments: tree });
    expect(textOf(called)).toBe("fine");
  });
});
