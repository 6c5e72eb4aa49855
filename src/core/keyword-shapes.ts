/**
 * What each keyword of JSON Schema takes. A validator makes of anything else whatever it likes: it
 * throws at the first value, or reads a list of one as the pattern that nobody looked at.
 */
import { isObject, type JsonObject } from "../util/json.ts";

type Is = (value: unknown) => boolean;

const isText: Is = (value) => typeof value === "string";
const isNumber: Is = (value) => typeof value === "number";
const isCount: Is = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const isFlag: Is = (value) => typeof value === "boolean";
const isSchema: Is = (value) => isObject(value) || isFlag(value);
const listOf =
  (is: Is): Is =>
  (value) =>
    Array.isArray(value) && value.every(is);
const mapOf =
  (is: Is): Is =>
  (value) =>
    isObject(value) && Object.values(value).every(is);
const either =
  (one: Is, other: Is): Is =>
  (value) =>
    one(value) || other(value);

interface Shape {
  readonly is: Is;
  readonly told: string;
  readonly keywords: readonly string[];
}

const shapes: readonly Shape[] = [
  {
    is: isText,
    told: "a string",
    keywords: ["$id", "$schema", "$anchor", "$dynamicAnchor", "pattern", "format"],
  },
  { is: either(isText, listOf(isText)), told: "a string or a list of strings", keywords: ["type"] },
  { is: listOf(isText), told: "a list of strings", keywords: ["required"] },
  { is: Array.isArray, told: "a list", keywords: ["enum"] },
  {
    is: isNumber,
    told: "a number",
    keywords: ["minimum", "maximum"],
  },
  {
    // Draft-04 has them as flags beside the limits.
    is: either(isNumber, isFlag),
    told: "a number",
    keywords: ["exclusiveMinimum", "exclusiveMaximum"],
  },
  {
    is: (value) => isNumber(value) && Number(value) > 0,
    told: "a number above 0",
    keywords: ["multipleOf"],
  },
  {
    is: isCount,
    told: "an integer from 0",
    keywords: [
      "minLength",
      "maxLength",
      "minItems",
      "maxItems",
      "minProperties",
      "maxProperties",
      "minContains",
      "maxContains",
    ],
  },
  { is: isFlag, told: "true or false", keywords: ["uniqueItems", "$recursiveAnchor"] },
  {
    is: isSchema,
    told: "a schema",
    keywords: [
      "additionalProperties",
      "unevaluatedProperties",
      "additionalItems",
      "unevaluatedItems",
      "contains",
      "propertyNames",
      "not",
      "if",
      "then",
      "else",
    ],
  },
  {
    is: either(isSchema, listOf(isSchema)),
    told: "a schema, or a list of them",
    keywords: ["items"],
  },
  {
    is: listOf(isSchema),
    told: "a list of schemas",
    keywords: ["allOf", "anyOf", "oneOf", "prefixItems"],
  },
  {
    is: mapOf(isSchema),
    told: "an object of schemas",
    keywords: ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"],
  },
  {
    is: mapOf(either(isSchema, listOf(isText))),
    told: "an object of schemas and lists of strings",
    keywords: ["dependencies"],
  },
  {
    is: mapOf(listOf(isText)),
    told: "an object of lists of strings",
    keywords: ["dependentRequired"],
  },
];

const byKeyword: ReadonlyMap<string, Shape> = new Map(
  shapes.flatMap((shape) => shape.keywords.map((keyword) => [keyword, shape])),
);

/**
 * The first keyword of this schema, those within it left out, that is not what it must be.
 * References are left to whoever follows them.
 */
export function findMisshapen(
  schema: JsonObject,
): { readonly keyword: string; readonly told: string } | undefined {
  for (const [keyword, value] of Object.entries(schema)) {
    const shape = byKeyword.get(keyword);
    if (shape !== undefined && !shape.is(value)) return { keyword, told: shape.told };
  }
  return undefined;
}
