/** What a value may cost under a schema that was taken; the schemas themselves are judged elsewhere. */
import { describe, expect, it } from "vitest";
import { compileJsonSchema } from "../../src/core/json-schema-compiler.ts";

const many = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));

const chain = (levels: number, name: string): unknown => {
  let value: unknown = {};
  for (let level = 0; level < levels; level++) value = { [name]: value };
  return value;
};

/** Alike are those that an unhurried validator takes minutes or years for. */
const tooCostly: readonly (readonly [what: string, schema: object, value: unknown, why: RegExp])[] =
  [
    [
      "a pattern of the power of two",
      { pattern: "^.*-.*x$" },
      "-".repeat(200_000),
      /a text of 200000 characters against the pattern "\^\.\*-\.\*x\$"/,
    ],
    [
      "a pattern of the power of four",
      { pattern: "^(.*)-(.*)-(.*)-(.*)x$" },
      "-".repeat(1_000),
      /a text of 1000 characters/,
    ],
    [
      "a pattern that may begin anywhere",
      { pattern: "(?:a|b)+$" },
      `${"a".repeat(300_000)}!`,
      /a text of 300001 characters/,
    ],
    [
      "bounded repetitions",
      { pattern: "^.{0,2000}-.{0,2000}-.{0,2000}x$" },
      "-".repeat(5_000),
      /a text of 5000 characters/,
    ],
    [
      "a look ahead at every place",
      { pattern: "(?=.*-.*x)y" },
      "-".repeat(5_000),
      /a text of 5000 characters/,
    ],
    [
      "a pattern in a negation",
      { not: { properties: { a: { pattern: "^.*-.*-.*x$" } } } },
      { a: "-".repeat(10_000) },
      /a text of 10000 characters/,
    ],
    [
      "a pattern of names",
      { patternProperties: { "^.*-.*-.*x$": {} } },
      { ["-".repeat(10_000)]: 1 },
      /a text of 10000 characters/,
    ],
    [
      "many texts of a middling length",
      { items: { pattern: "^.*-.*x$" } },
      many(1_000, () => "-".repeat(3_000)),
      /a value of this size/,
    ],
    [
      "a list that must have no equals",
      { uniqueItems: true },
      many(100_000, (at) => `item ${at}`),
      /a list of 100000 items that must all differ/,
    ],
    [
      "a list of objects that must have no equals",
      { properties: { a: { uniqueItems: true } } },
      { a: many(10_000, (at) => ({ same: "same", at })) },
      /a list of 10000 items that must all differ/,
    ],
    [
      "a schema that refers to itself twice for one place",
      { patternProperties: { a: { $ref: "#" }, "^a": { $ref: "#" } } },
      chain(60, "a"),
      /a value of this size/,
    ],
    [
      "alternatives that all go into the value",
      { anyOf: many(2, () => ({ properties: { a: { $ref: "#" } } })) },
      chain(60, "a"),
      /a value of this size/,
    ],
    [
      "definitions that double at each step into the value",
      {
        $ref: "#/$defs/d0",
        $defs: Object.fromEntries(
          many(30, (at) => [
            `d${at}`,
            { allOf: many(2, () => ({ properties: { a: { $ref: `#/$defs/d${at + 1}` } } })) },
          ]).concat([["d30", {} as never]]),
        ),
      },
      chain(40, "a"),
      /a value of this size/,
    ],
    [
      "a long list of values for each of many items",
      { contains: { enum: many(50_000, (at) => at) } },
      many(10_000, () => -1),
      /a value of this size/,
    ],
  ];

const cheap: readonly (readonly [what: string, schema: object, value: unknown])[] = [
  ["a long text and an anchored pattern", { pattern: "^[a-z]+$" }, "a".repeat(2_000_000)],
  ["a mail address", { pattern: "^[\\w.+-]+@[\\w-]+\\.[\\w.-]+$" }, `${"a".repeat(64)}@b.example`],
  ["a pattern that may begin anywhere", { pattern: "[a-z]+$" }, "a".repeat(2_000)],
  [
    "a long text beside a pattern",
    { properties: { a: { pattern: ".*-.*x" } } },
    { a: "-x", b: "-".repeat(3e6) },
  ],
  ["a million numbers", { items: { type: "integer" } }, many(1e6, (at) => at)],
  [
    "rows",
    { items: { properties: { a: { type: "integer" }, b: { type: "string" } } } },
    many(1e5, (a) => ({ a, b: "b" })),
  ],
  ["five thousand names that differ", { uniqueItems: true }, many(5_000, (at) => `item ${at}`)],
  [
    "a deep tree under a schema that refers to itself",
    // A text, so that it is no object with a member `then`.
    JSON.parse(`{
      "type": "object",
      "if": { "properties": { "a": { "type": "object" } } },
      "then": { "properties": { "a": { "$ref": "#" } } },
      "else": { "properties": { "a": { "$ref": "#" } } }
    }`) as object,
    chain(100, "a"),
  ],
  [
    "any JSON at all",
    {
      anyOf: [
        { type: ["string", "number", "boolean", "null"] },
        { type: "array", items: { $ref: "#" } },
        { type: "object", additionalProperties: { $ref: "#" } },
      ],
    },
    many(2_000, (at) => ({ at, list: ["a", [at], { b: null }] })),
  ],
];

describe("a value that would take long to judge", () => {
  it.each(tooCostly)("is refused at once: %s", (_, schema, value, why) => {
    const start = performance.now();
    const issues = compileJsonSchema(schema as never)(value);
    expect(issues).toEqual([{ path: "", message: expect.stringMatching(why) }]);
    // A hang is minutes; a busy machine is not.
    expect(performance.now() - start).toBeLessThan(5_000);
  });

  it.each(cheap)("is not what judges plainly: %s", (_, schema, value) => {
    expect(compileJsonSchema(schema as never)(value)).toEqual([]);
  });

  it("is no text for the format url, which is checked as a URI", () => {
    const check = compileJsonSchema({ format: "url" });
    const start = performance.now();
    expect(check(`http://${"a".repeat(40)}!`)).toEqual([]);
    expect(check("no address")).toHaveLength(1);
    expect(performance.now() - start).toBeLessThan(5_000);
  });

  it("is told from data that looks like a schema", () => {
    expect(compileJsonSchema({ const: { format: "url" } })({ format: "url" })).toEqual([]);
  });
});
