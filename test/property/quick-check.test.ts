/** The quick check takes only what the validator takes, over random plain schemas and values. */
import { Validator } from "@cfworker/json-schema";
import { expect, it } from "vitest";
import { quickCheck } from "../../src/core/quick-check.ts";
import { Random, seedOf } from "../support/random.ts";

const seed = seedOf(process.env);
console.log(`quick check: FUZZ_SEED=${seed}`);

const names = ["a", "b", "constructor", "__proto__", "toString", ""];
const texts = ["", "a", "ab", "😀", "😀😀", "a😀b", "abcdef"];
const numbers = [0, -0, 1, -1, 1.5, 2, 3, 1e308];

function plainValue(random: Random): unknown {
  return random.pick<unknown>([random.pick(texts), random.pick(numbers), true, false, null]);
}

function randomValue(random: Random, depth: number): unknown {
  const kind = depth === 0 ? 0 : random.int(4);
  if (kind < 2) return plainValue(random);
  if (kind === 2) {
    return Array.from({ length: random.int(4) }, () => randomValue(random, depth - 1));
  }
  const entries = Array.from({ length: random.int(4) }, () => {
    return [random.pick(names), randomValue(random, depth - 1)] as const;
  });
  // As JSON has it: each name a property of its own, whatever it is called.
  const members = entries.map(
    ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`,
  );
  return JSON.parse(`{${members.join(",")}}`);
}

function randomSchema(random: Random, depth: number): unknown {
  if (random.chance(0.05)) return random.chance(0.5);
  const inner = () => randomSchema(random, depth - 1);
  const type = () =>
    random.pick(["string", "number", "integer", "boolean", "null", "array", "object", "object"]);
  const keywords: Readonly<Record<string, () => unknown>> = {
    type: () => (random.chance(0.3) ? [type(), type()] : type()),
    enum: () => Array.from({ length: 3 }, () => plainValue(random)),
    const: () => plainValue(random),
    minimum: () => random.pick(numbers),
    maximum: () => random.pick(numbers),
    exclusiveMinimum: () => random.pick(numbers),
    exclusiveMaximum: () => random.pick(numbers),
    minLength: () => random.int(4),
    maxLength: () => random.int(4),
    minItems: () => random.int(3),
    maxItems: () => random.int(4),
    required: () => (random.chance(0.5) ? [] : [random.pick(names)]),
    title: () => "a title",
    "x-mine": () => 1,
    ...(depth === 0
      ? {}
      : {
          items: inner,
          additionalProperties: inner,
          properties: () =>
            JSON.parse(`{${JSON.stringify(random.pick(names))}:${JSON.stringify(inner())}}`),
        }),
  };
  const all = Object.keys(keywords);
  const chosen = Array.from({ length: random.int(4) }, () => random.pick(all));
  return Object.fromEntries(chosen.map((keyword) => [keyword, keywords[keyword]?.()]));
}

it("never takes what the validator does not, and takes most of what it does", () => {
  const random = new Random(seed);
  let [right, taken] = [0, 0];
  for (let round = 0; round < 4_000; round++) {
    const schema = randomSchema(random, 3);
    const check = quickCheck(schema);
    // Two false schemas aside, all that is drawn is plain.
    if (typeof schema === "boolean" || check === undefined) continue;
    const validator = new Validator(structuredClone(schema) as object, "2020-12");
    for (let tries = 0; tries < 8; tries++) {
      const value = randomValue(random, 3);
      const { valid } = validator.validate(value);
      if (valid) right++;
      if (!check(value)) continue;
      taken++;
      expect(valid, `${JSON.stringify({ schema, value })} FUZZ_SEED=${seed}`).toBe(true);
    }
  }
  expect(right).toBeGreaterThan(1_000);
  expect(taken).toBeGreaterThan(0.9 * right);
});

it.each([undefined, () => 1, Symbol("a"), 1n, Number.NaN, Number.POSITIVE_INFINITY])(
  "does not take %s for an integer, nor for anything where it is no JSON",
  (value) => {
    expect(quickCheck({ type: "integer" })?.(value)).toBe(false);
    expect(quickCheck({})?.(value)).toBe(typeof value === "number");
  },
);

it.each([
  { $ref: "#/$defs/a", $defs: { a: {} } },
  { pattern: "a" },
  { format: "uri" },
  { anyOf: [{}] },
  { uniqueItems: true },
  { properties: { a: { not: {} } } },
  { items: [{ type: "string" }] },
  { minimum: 1, exclusiveMinimum: true },
  { enum: [{}] },
  { type: "any" },
])("leaves %j to the validator", (schema) => {
  expect(quickCheck(schema)).toBeUndefined();
});
