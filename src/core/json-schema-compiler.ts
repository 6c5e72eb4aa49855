/** The built-in check of values by raw JSON Schemas. */
import { Validator } from "@cfworker/json-schema";
import { DeclarationError } from "./errors.ts";
import { quickCheck } from "./quick-check.ts";
import type { Issue, JsonSchema, SchemaCompiler } from "./schema.ts";
import { type FindExcess, findExcessOf } from "./schema-cost.ts";
import { dialectOf, readSchema } from "./schema-nodes.ts";

type Check = ReturnType<SchemaCompiler>;

/**
 * Formats are checked where the validator knows them, and `url`, which no standard has, as `uri`. A
 * value that would take more than about a second has an issue that says so.
 */
export function compileJsonSchema(schema: JsonSchema): Check {
  const isRight = quickCheck(schema);
  let judge = isRight === undefined ? createJudge(schema) : undefined;
  return (value) => {
    if (isRight?.(value) === true) return [];
    // A plain schema needs the rest for values that are wrong only.
    judge ??= createJudge(schema);
    return judge(value);
  };
}

function createJudge(schema: JsonSchema): Check {
  // The validator marks the schemas it has seen, so it works on a copy of its own.
  const copy = structuredClone(schema);
  const found = readSchema(copy);
  if (typeof found === "string") throw new DeclarationError(`the schema is not usable: ${found}`);
  const findExcess = findExcessOf(found);
  for (const node of found.nodes) replaceSlowFormat(node.schema);
  const validator = new Validator(copy, dialectOf(schema) ?? "2020-12");
  return (value) => {
    const { valid, errors } = judge(validator, findExcess, value);
    if (valid) return [];
    // The outermost errors only say that a part is wrong; the innermost says what.
    const leaves = errors.filter((error) => !wrappers.includes(error.keyword));
    return (leaves.length > 0 ? leaves : errors).map(fromUnit);
  };
}

/** The validator's pattern for `url` takes exponential time on some texts. */
function replaceSlowFormat(schema: JsonSchema): void {
  if (schema["format"] === "url") Object.assign(schema, { format: "uri" });
}

function judge(
  validator: Validator,
  findExcess: FindExcess,
  value: unknown,
): ReturnType<Validator["validate"]> {
  try {
    const excess = findExcess(value);
    return excess === undefined ? validator.validate(value) : refuse(excess);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    // A deep value under a schema that refers to itself: what cannot be judged is not taken.
    return refuse("It is nested too deep, or wrong in too many places, to be checked.");
  }
}

function refuse(error: string): ReturnType<Validator["validate"]> {
  const where = { keyword: "", keywordLocation: "#", instanceLocation: "#" };
  return { valid: false, errors: [{ ...where, error }] };
}

const wrappers: readonly string[] = [
  "properties",
  "items",
  "$ref",
  "allOf",
  "additionalProperties",
];

function fromUnit(unit: { readonly instanceLocation: string; readonly error: string }): Issue {
  return { path: unit.instanceLocation.replace(/^#\/?/, ""), message: unit.error };
}
