/** Plainer schemas for callers that need them; what they admit stays the same. */
import { anyone, createServer } from "anyrev";
import { describe, expect, test } from "vitest";
import { compileJsonSchema } from "../../src/core/json-schema-compiler.ts";
import { simplifySchema } from "../../src/core/simplify-schema.ts";

const nullable = {
  type: "object",
  properties: { x: { type: ["string", "null"], maxLength: 3, description: "An x." } },
} as const;

const referring = {
  type: "object",
  properties: { x: { $ref: "#/$defs/D" }, y: { $ref: "#/$defs/D", description: "A y." } },
  required: ["x"],
  $defs: { D: { type: "object", properties: { n: { type: ["integer", "null"] } } } },
} as const;

const recursive = {
  type: "object",
  properties: { tree: { $ref: "#/$defs/Tree" } },
  $defs: {
    Tree: {
      type: "object",
      properties: { children: { type: "array", items: { $ref: "#/$defs/Tree" } } },
    },
  },
} as const;

describe("a simplified schema", () => {
  test("R092: says a nullable type as anyOf", () => {
    expect(simplifySchema(nullable)).toEqual({
      type: "object",
      properties: {
        x: {
          description: "An x.",
          anyOf: [{ maxLength: 3, type: "string" }, { type: "null" }],
        },
      },
    });
  });

  test("R092: holds what it referred to", () => {
    const inlined = {
      type: "object",
      properties: { n: { anyOf: [{ type: "integer" }, { type: "null" }] } },
    };
    expect(simplifySchema(referring)).toEqual({
      type: "object",
      properties: { x: inlined, y: { ...inlined, description: "A y." } },
      required: ["x"],
    });
  });

  test("keeps the definitions of what holds itself", () => {
    const simple = simplifySchema(recursive);
    expect(simple["$defs"]).toEqual(recursive.$defs);
    expect(JSON.stringify(simple)).toContain("#/$defs/Tree");
  });

  test.each([
    [nullable, [{ x: "abc" }, { x: null }, {}], [{ x: "abcd" }, { x: 1 }]],
    [referring, [{ x: { n: 1 } }, { x: { n: null }, y: {} }], [{}, { x: { n: "1" } }, { x: 1 }]],
    [
      recursive,
      [{ tree: { children: [{ children: [] }] } }],
      [{ tree: { children: [{ children: [1] }] } }],
    ],
  ])("admits what it admitted and refuses what it refused: %j", (schema, good, bad) => {
    const check = compileJsonSchema(simplifySchema(schema));
    for (const value of good) expect(check(value)).toEqual([]);
    for (const value of bad) expect(check(value)).not.toEqual([]);
  });

  test("is listed where the author asked for it, and else the schema as it was written", () => {
    for (const simplifySchemas of [true, false]) {
      const server = createServer({ name: "plain", version: "1.0.0", simplifySchemas });
      server.tool("x", { description: "Takes x.", input: nullable }, () => "taken");
      const listed = server.registry.tool("x", { offers: () => true }, anyone)?.inputSchema;
      expect(listed).toEqual(simplifySchemas ? simplifySchema(nullable) : nullable);
    }
  });
});
