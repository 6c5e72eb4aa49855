import { createServer, DeclarationError } from "anyrev";
import { describe, expect, it } from "vitest";
import { compileJsonSchema } from "../../src/core/json-schema-compiler.ts";
import { findSchemaProblem } from "../../src/core/json-schema-guard.ts";
import { dialectOf } from "../../src/core/schema-nodes.ts";

type Json = Readonly<Record<string, unknown>>;

const known: readonly (readonly [string, string])[] = [
  ["https://json-schema.org/draft/2020-12/schema", "2020-12"],
  ["https://json-schema.org/draft/2019-09/schema", "2019-09"],
  ["http://json-schema.org/draft-07/schema#", "7"],
  ["http://json-schema.org/draft-06/schema", "7"],
  ["http://json-schema.org/draft-04/schema#", "4"],
];

function nest(levels: number): Json {
  let schema: Json = { type: "string" };
  for (let level = 0; level < levels; level++) schema = { items: schema };
  return schema;
}

function wide(count: number): Json {
  return { $defs: Object.fromEntries(Array.from({ length: count }, (_, index) => [index, {}])) };
}

describe("a dialect", () => {
  it.each(known)("%s is known", ($schema, dialect) => {
    expect(dialectOf({ $schema })).toBe(dialect);
    expect(findSchemaProblem({ $schema, type: "object" })).toBeUndefined();
  });

  it("is 2020-12 unless one is named", () => {
    expect(dialectOf({})).toBe("2020-12");
  });

  it.each([
    "http://json-schema.org/draft-03/schema#",
    "https://example.com/mine",
    "http://json-schema.org/draft/2020-12/schema",
    "",
    7,
    null,
  ])("%j is refused with the list of those there are", ($schema) => {
    const problem = findSchemaProblem({ $schema });
    expect(problem?.path).toBe("/$schema");
    for (const [name] of known) expect(problem?.message).toContain(name.replace("#", ""));
  });
});

describe("a reference", () => {
  const $defs = { name: { type: "string" }, "a/b~c": {}, "50%": {}, anchored: { $anchor: "here" } };

  it.each([
    "#",
    "#/$defs/name",
    "#/$defs/a~1b~0c",
    "#/$defs/50%25",
    "#here",
    "#/properties/other",
    "named",
  ])("to %s inside the schema is followed", ($ref) => {
    const properties = { a: { $ref }, other: { $id: "named" } };
    expect(findSchemaProblem({ $defs, properties })).toBeUndefined();
  });

  it.each([
    "https://example.com/schema.json",
    "http://127.0.0.1/x",
    "file:///etc/passwd",
    "other.json",
    "#/$defs/missing",
    "#/$defs",
    "#missing",
    "#/%zz",
    "#/__proto__",
    5,
  ])("to %j is refused, since nothing is ever fetched", ($ref) => {
    const problem = findSchemaProblem({ $defs, properties: { a: { $ref } } });
    expect(problem).toMatchObject({ path: "/properties/a/$ref" });
    expect(problem?.message).toContain("never fetched");
  });

  it("that depends on how the schema was reached is refused", () => {
    expect(findSchemaProblem({ items: { $dynamicRef: "#node" } })).toMatchObject({
      path: "/items/$dynamicRef",
    });
  });

  it.each([
    ["an alternative", { anyOf: [{ $ref: "#" }] }],
    ["itself", { $ref: "#" }],
    ["a negation", { not: { $ref: "#" } }],
    ["a condition", { if: { type: "string" }, else: { $ref: "#" } }],
    ["two steps", { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#" } } }],
    ["a dependent schema", { dependentSchemas: { a: { $ref: "#" } } }],
    ["a dependency", { $schema: known[2]?.[0], dependencies: { "a/b": { $ref: "#" } } }],
  ])("that comes back to the same value through %s is refused", (_, schema) => {
    expect(findSchemaProblem(schema)?.message).toContain("without going into the value");
  });

  it.each([
    ["items", { items: { $ref: "#" } }],
    ["properties", { properties: { child: { $ref: "#" } } }],
    ["additional properties", { additionalProperties: { $ref: "#" } }],
    ["prefix items", { prefixItems: [{ $ref: "#" }] }],
    [
      "a shared definition",
      { allOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/a" }], $defs: { a: {} } },
    ],
  ])("that goes into the value through %s is followed", (_, schema) => {
    expect(findSchemaProblem(schema)).toBeUndefined();
    const check = compileJsonSchema(schema);
    expect(check({ child: { child: {} } })).toEqual([]);
  });
});

describe("the size of a schema", () => {
  it("may reach sixty-four levels, and no more", () => {
    expect(findSchemaProblem(nest(64))).toBeUndefined();
    expect(findSchemaProblem(nest(65))?.message).toContain("deeper than 64");
    expect(findSchemaProblem(nest(5000))?.message).toContain("deeper than 64");
  });

  it("may reach ten thousand schemas, and no more", () => {
    expect(findSchemaProblem(wide(9_999))).toBeUndefined();
    expect(findSchemaProblem(wide(10_000))?.message).toContain("more than 10000");
  });

  it("counts what is a schema, not the values that it speaks of", () => {
    let value: unknown = 1;
    for (let level = 0; level < 200; level++) value = [{ value }];
    expect(findSchemaProblem({ default: value, enum: [value], const: value })).toBeUndefined();
  });
});

describe("an unsafe pattern", () => {
  const pattern = "^(a+)+$";

  it.each([
    ["a property", { properties: { a: { pattern } } }],
    ["a pattern of property names", { patternProperties: { [pattern]: {} } }],
    ["names", { propertyNames: { pattern } }],
    ["items", { items: { pattern } }],
    ["an alternative", { anyOf: [{ type: "null" }, { pattern }] }],
    ["a list of items", { $schema: known[1]?.[0], items: [{ pattern }] }],
    ["a dependency", { $schema: known[2]?.[0], dependencies: { a: { pattern } } }],
    ["a definition", { definitions: { a: { pattern } } }],
    ["what is not evaluated", { unevaluatedProperties: { pattern } }],
  ])("is found in %s", (_, schema) => {
    expect(findSchemaProblem(schema)?.message).toContain("exponential time");
  });

  it("is no pattern where it is a value", () => {
    expect(findSchemaProblem({ default: { pattern }, const: { pattern } })).toBeUndefined();
    expect(findSchemaProblem({ properties: { pattern: { type: "string" } } })).toBeUndefined();
  });
});

it("a declaration with a schema that is refused says where and why", () => {
  const server = createServer({ name: "strict", version: "1" });
  const declare = () =>
    server.tool(
      "search",
      { input: { type: "object", properties: { q: { pattern: "(a+)+" } } } },
      () => "",
    );
  expect(declare).toThrow(DeclarationError);
  expect(declare).toThrow(
    /input schema of tool "search" is not usable at \/properties\/q\/pattern/,
  );
});

describe("a keyword", () => {
  it.each([
    ["type", 5],
    ["type", [null]],
    ["required", true],
    ["required", [1]],
    ["enum", { a: 1 }],
    ["minimum", "1"],
    ["multipleOf", 0],
    ["maxLength", -1],
    ["uniqueItems", 1],
    ["pattern", ["^(a+)+$"]],
    ["format", {}],
    ["$id", 1],
    ["items", "string"],
    ["items", [null]],
    ["additionalProperties", null],
    ["allOf", {}],
    ["properties", { a: "string" }],
    ["patternProperties", []],
    ["dependencies", { a: 1 }],
    ["dependentRequired", { a: [1] }],
  ])("%s cannot be %j", (keyword, value) => {
    const problem = findSchemaProblem({ properties: { a: { [keyword]: value } } });
    expect(problem?.path).toBe(`/properties/a/${keyword}`);
    expect(problem?.message).toMatch(/^it must be /);
  });

  it.each([
    ["type", ["string", "null"]],
    ["items", [{}, true]],
    ["additionalProperties", false],
    ["exclusiveMinimum", true],
    ["exclusiveMinimum", 3],
    ["dependencies", { a: ["b"], c: {} }],
    ["required", []],
    ["enum", []],
    ["title", { anything: 1 }],
    ["x-mine", null],
  ])("%s can be %j", (keyword, value) => {
    expect(findSchemaProblem({ properties: { a: { [keyword]: value } } })).toBeUndefined();
  });

  it("may be a property's name, and then be anything", () => {
    expect(findSchemaProblem({ properties: { required: true, pattern: {} } })).toBeUndefined();
  });
});

describe("the work of judging one value", () => {
  const chain = (count: number, link: (next: string) => Json): Json => ({
    $ref: "#/$defs/d0",
    $defs: {
      ...Object.fromEntries(
        Array.from({ length: count }, (_, at) => [`d${at}`, link(`#/$defs/d${at + 1}`)]),
      ),
      [`d${count}`]: {},
    },
  });

  it("may go through sixty-four references, and no more", () => {
    expect(findSchemaProblem(chain(62, ($ref) => ({ $ref })))).toBeUndefined();
    for (const count of [63, 100, 9_000]) {
      const problem = findSchemaProblem(chain(count, ($ref) => ({ $ref })));
      expect(problem?.message).toContain("more than 64 schemas one within another");
    }
  });

  it("may not double at each of a few steps", () => {
    const doubling = (count: number) => chain(count, ($ref) => ({ allOf: [{ $ref }, { $ref }] }));
    expect(findSchemaProblem(doubling(5))).toBeUndefined();
    expect(findSchemaProblem(doubling(20))?.message).toContain("more than 10000 schemas");
  });

  it("is refused, not failed at, where a value is nested deeper than it can go", () => {
    const check = compileJsonSchema({ items: { allOf: [{ $ref: "#" }] } });
    let value: unknown = [];
    for (let level = 0; level < 5_000; level++) value = [value];
    expect(check(value)).toEqual([
      { path: "", message: "It is nested too deep, or wrong in too many places, to be checked." },
    ]);
    expect(check([[[]]])).toEqual([]);
  });
});
