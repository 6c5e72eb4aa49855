/** Schemas made to hold up whoever reads them: by reference, depth, width, cycle or pattern. */
import { type Random, randomJson } from "./random.ts";
import type { JsonObject } from "./schemas.ts";

export interface HostileSchema {
  readonly what: string;
  readonly schema: JsonObject;
  /** Whether it must be refused; what need not be may be taken, if it is taken soon. */
  readonly isRefused: boolean;
}

const property = (schema: unknown): JsonObject => ({ type: "object", properties: { a: schema } });

function nest(levels: number, wrap: (inner: unknown) => unknown): unknown {
  let schema: unknown = {};
  for (let level = 0; level < levels; level++) schema = wrap(schema);
  return schema;
}

function remotes(origin: string): HostileSchema[] {
  const places = [
    `${origin}/schema.json`,
    `${origin}/schema.json#/$defs/a`,
    "http://169.254.169.254/latest/meta-data",
    "http://[::1]:6379/",
    "file:///etc/passwd",
    "ftp://127.0.0.1/a",
    "//127.0.0.1/a",
    "schema.json",
    "../schema.json",
    "urn:uuid:00000000-0000-4000-8000-000000000000",
    "data:application/json,{}",
    "javascript:0",
  ];
  const hide: Readonly<Record<string, (ref: JsonObject) => unknown>> = {
    "a property": (ref) => ref,
    "an alternative": (ref) => ({ anyOf: [{ type: "string" }, ref] }),
    items: (ref) => ({ type: "array", items: ref }),
    "a condition": (ref) => ({ if: { type: "string" }, else: ref }),
    "a negation": (ref) => ({ not: ref }),
    "names of properties": (ref) => ({ propertyNames: ref }),
  };
  return places.flatMap(($ref) =>
    Object.entries(hide).map(([where, put]) => ({
      what: `a reference to ${$ref} in ${where}`,
      schema: property(put({ $ref })),
      isRefused: true,
    })),
  );
}

function cycles(): HostileSchema[] {
  const around: Readonly<Record<string, JsonObject>> = {
    itself: { $ref: "#/properties/a" },
    "two steps": { $ref: "#/$defs/b" },
    "an alternative": { anyOf: [{ $ref: "#/properties/a" }] },
    "all of a list": { allOf: [{}, { $ref: "#/properties/a" }] },
    "one of a list": { oneOf: [{ $ref: "#/properties/a" }, { type: "null" }] },
    "a negation": { not: { not: { $ref: "#/properties/a" } } },
    "a condition": { if: false, else: { $ref: "#/properties/a" } },
    "a dependent schema": { dependentSchemas: { x: { $ref: "#/properties/a" } } },
  };
  return Object.entries(around).map(([what, schema]) => ({
    what: `a cycle through ${what}`,
    schema: { ...property(schema), $defs: { b: { $ref: "#/properties/a" } } },
    isRefused: true,
  }));
}

function depths(): HostileSchema[] {
  const wraps: Readonly<Record<string, (inner: unknown) => unknown>> = {
    items: (inner) => ({ items: inner }),
    properties: (inner) => ({ properties: { a: inner } }),
    alternatives: (inner) => ({ anyOf: [inner] }),
    negations: (inner) => ({ not: inner }),
    definitions: (inner) => ({ $defs: { a: inner } }),
  };
  return Object.entries(wraps).flatMap(([what, wrap]) =>
    [70, 500, 3_000].map((levels) => ({
      what: `${levels} levels of ${what}`,
      schema: property(nest(levels, wrap)),
      isRefused: true,
    })),
  );
}

function widths(): HostileSchema[] {
  const many = <T>(count: number, make: (at: number) => T): T[] =>
    Array.from({ length: count }, (_, at) => make(at));
  const named = (count: number, make: (at: number) => unknown) =>
    Object.fromEntries(many(count, (at) => [`p${at}`, make(at)]));
  const doubled = Object.fromEntries(
    many(30, (at) => [`d${at}`, { allOf: many(2, () => ({ $ref: `#/$defs/d${at + 1}` })) }]),
  );
  return [
    ["12000 properties", { type: "object", properties: named(12_000, () => ({})) }, true],
    ["12000 alternatives", property({ anyOf: many(12_000, (at) => ({ const: at })) }), true],
    ["12000 definitions", { ...property({}), $defs: named(12_000, () => ({})) }, true],
    ["5000 properties", { type: "object", properties: named(5_000, () => ({})) }, false],
    ["50000 values", property({ enum: many(50_000, (at) => at) }), false],
    ["5000 required names", { ...property({}), required: many(5_000, (at) => `p${at}`) }, false],
    [
      "2000 references to one definition",
      {
        type: "object",
        properties: named(2_000, () => ({ $ref: "#/$defs/x" })),
        $defs: { x: {} },
      },
      false,
    ],
    [
      "a chain of 2000 references",
      {
        ...property({ $ref: "#/$defs/p0" }),
        $defs: { ...named(2_000, (at) => ({ $ref: `#/$defs/p${at + 1}` })), p2000: {} },
      },
      true,
    ],
    [
      "a name of a million characters",
      { type: "object", properties: { ["x".repeat(1e6)]: {} } },
      false,
    ],
    [
      "a description of a million characters",
      { ...property({}), description: "x".repeat(1e6) },
      false,
    ],
    [
      "a chain that doubles thirty times",
      { ...property({ $ref: "#/$defs/d0" }), $defs: { ...doubled, d30: {} } },
      true,
    ],
  ].map(([what, schema, isRefused]) => ({ what, schema, isRefused }) as HostileSchema);
}

/** Patterns on which a backtracking engine takes exponential time, in every place for one. */
function patterns(random: Random, count: number): HostileSchema[] {
  const atoms = ["a", "[ab]", "\\w", ".", "(?:a|b)", "\\d", "[^x]", "a?"];
  const put: Readonly<Record<string, (pattern: string) => JsonObject>> = {
    pattern: (pattern) => property({ type: "string", pattern }),
    patternProperties: (pattern) => ({ type: "object", patternProperties: { [pattern]: {} } }),
    propertyNames: (pattern) => ({ type: "object", propertyNames: { pattern } }),
  };
  return Array.from({ length: count }, (_, at) => {
    const atom = random.pick(atoms);
    const inner = random.pick([
      `(${atom}+)+`,
      `(${atom}*)*`,
      `(${atom}|${atom})*`,
      `(?:${atom}+${atom}*)+`,
    ]);
    const pattern = random.pick([`^${inner}$`, `${inner}!`, `x${inner}y`, `^(${inner}-)*$`]);
    const places = Object.keys(put);
    const where = places[at % places.length] ?? "pattern";
    return {
      what: `the pattern ${pattern} as ${where}`,
      schema: put[where]?.(pattern) ?? {},
      isRefused: true,
    };
  });
}

/** Keywords whose values are whatever they are. */
function nonsense(random: Random, count: number): HostileSchema[] {
  const keywords = ["type", "items", "allOf", "$ref", "$id", "enum", "pattern", "required", "if"];
  return Array.from({ length: count }, (_, at) => {
    const keyword = random.pick(keywords);
    return {
      what: `nonsense ${at}, as ${keyword}`,
      schema: property({
        [keyword]: randomJson(random),
        [random.pick(keywords)]: randomJson(random),
      }),
      isRefused: false,
    };
  });
}

/** @param origin - where somebody listens who must not be asked */
export function hostileSchemas(random: Random, origin: string): readonly HostileSchema[] {
  return [
    ...remotes(origin),
    ...cycles(),
    ...depths(),
    ...widths(),
    ...patterns(random, 75),
    ...nonsense(random, 40),
  ];
}
