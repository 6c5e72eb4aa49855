/** One face for every way to write a schema: what reaches the wire, and what checks a value. */
import { Validator } from "@cfworker/json-schema";
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import type { Awaitable } from "../util/awaitable.ts";
import { isPromise } from "../util/awaitable.ts";
import { isObject, type JsonObject } from "../util/json.ts";
import { DeclarationError } from "./errors.ts";
import { findSchemaProblem } from "./json-schema-guard.ts";
import type { FromJsonSchema } from "./json-schema-types.ts";
import { quickCheck } from "./quick-check.ts";
import { type FindExcess, findExcessOf } from "./schema-cost.ts";
import { dialectOf, readSchema } from "./schema-nodes.ts";

/** A schema of zod 4, arktype, valibot (through its wrapper) or any other library with both faces. */
export type StandardSchema<Input = unknown, Output = Input> = StandardSchemaV1<Input, Output> &
  StandardJSONSchemaV1<Input, Output>;

/** A raw JSON Schema; 2020-12 unless `$schema` names 2019-09, draft-07, draft-06 or draft-04. */
export type JsonSchema = JsonObject;

export type Schema = StandardSchema | JsonSchema;

/** The type a handler receives for arguments that passed `S`. */
export type SchemaOutput<S> =
  S extends StandardSchemaV1<unknown, infer Out> ? Out : FromJsonSchema<S>;

/** The type a handler returns for a result that `S` will check. */
export type SchemaInput<S> = S extends StandardSchemaV1<infer In, unknown> ? In : FromJsonSchema<S>;

export interface Issue {
  /** Where in the value, such as `items/0/name`; empty for the value itself. */
  readonly path: string;
  readonly message: string;
}

export type Validation =
  | { readonly issues: undefined; readonly value: unknown }
  | { readonly issues: readonly Issue[] };

/** Checks a value and never throws for one that is wrong. */
export type Validate = (value: unknown) => Awaitable<Validation>;

/** Turns a raw JSON Schema into a check; pass one to use ajv or another validator instead. */
export type SchemaCompiler = (schema: JsonSchema) => (value: unknown) => readonly Issue[];

export interface CompiledSchema {
  /** As it goes on the wire. */
  readonly json: JsonSchema;
  readonly validate: Validate;
}

/** Compiles once, at registration: converting a schema costs more than a whole request. */
export function compileSchema(
  schema: Schema,
  face: "input" | "output",
  where: string,
  compile: SchemaCompiler = compileJsonSchema,
): CompiledSchema {
  if (isStandard(schema)) {
    return { json: toJsonSchema(schema, face, where), validate: standardValidate(schema) };
  }
  const json = cloneSchema(schema, where);
  const problem = findSchemaProblem(json);
  if (problem !== undefined) {
    const at = problem.path === "" ? "" : ` at ${problem.path}`;
    throw new DeclarationError(`${where} is not usable${at}: ${problem.message}`);
  }
  const check = compileRaw(json, compile, where);
  return {
    json,
    validate: (value) => {
      const issues = check(value);
      return issues.length === 0 ? { issues: undefined, value } : { issues };
    },
  };
}

function isStandard(schema: Schema): schema is StandardSchema {
  // Some libraries' schemas are callable, so this looks for the face and not for an object.
  return "~standard" in schema;
}

function toJsonSchema(schema: StandardSchema, face: "input" | "output", where: string): JsonSchema {
  const standard: Partial<StandardSchema["~standard"]> = schema["~standard"];
  if (standard.jsonSchema === undefined) {
    throw new DeclarationError(
      `${where} comes from ${standard.vendor} without a JSON Schema face; use a version that has "~standard".jsonSchema, wrap it (for valibot: toStandardJsonSchema), or pass raw JSON Schema`,
    );
  }
  try {
    return standard.jsonSchema[face]({ target: "draft-2020-12" });
  } catch (cause) {
    throw refusal(`${where} cannot be written as JSON Schema`, cause);
  }
}

/** A compiler that was passed in may know less than ours, or be stricter. */
function compileRaw(
  schema: JsonSchema,
  compile: SchemaCompiler,
  where: string,
): ReturnType<SchemaCompiler> {
  try {
    return compile(schema);
  } catch (cause) {
    throw refusal(`${where} cannot be compiled`, cause);
  }
}

function refusal(what: string, cause: unknown): DeclarationError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new DeclarationError(`${what}: ${why}`, { cause });
}

function cloneSchema(schema: JsonSchema, where: string): JsonSchema {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(schema));
    if (isObject(copy)) return copy;
  } catch (cause) {
    throw new DeclarationError(`${where} is not JSON`, { cause });
  }
  throw new DeclarationError(`${where} must be a JSON Schema object`);
}

function standardValidate(schema: StandardSchema): Validate {
  const standard = schema["~standard"];
  return (value) => {
    const result = standard.validate(value);
    return isPromise(result) ? result.then(toValidation) : toValidation(result);
  };
}

function toValidation(result: StandardSchemaV1.Result<unknown>): Validation {
  if (result.issues === undefined) return { issues: undefined, value: result.value };
  return { issues: result.issues.map(toIssue) };
}

function toIssue(issue: StandardSchemaV1.Issue): Issue {
  const path = (issue.path ?? []).map((step) => String(typeof step === "object" ? step.key : step));
  return { path: path.join("/"), message: issue.message };
}

/**
 * The built-in compiler. Formats are checked where it knows them, and `url`, which no standard has,
 * as `uri`. A value that would take it more than about a second has an issue that says so.
 */
export function compileJsonSchema(schema: JsonSchema): (value: unknown) => readonly Issue[] {
  // The validator marks the schemas it has seen, so it works on a copy of its own.
  const copy = structuredClone(schema);
  const found = readSchema(copy);
  if (typeof found === "string") throw new DeclarationError(`the schema is not usable: ${found}`);
  const findExcess = findExcessOf(found);
  for (const node of found.nodes) replaceSlowFormat(node.schema);
  const isRight = quickCheck(schema);
  const validator = new Validator(copy, dialectOf(schema) ?? "2020-12");
  return (value) => {
    if (isRight?.(value) === true) return [];
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

/** One line for each issue, for a model or a person to act on. */
export function listIssues(issues: readonly Issue[]): string {
  const shown = issues.slice(0, 20).map(({ path, message }) => {
    return path === "" ? `- ${message}` : `- ${path}: ${message}`;
  });
  if (issues.length > shown.length) shown.push(`- and ${issues.length - shown.length} more`);
  return shown.join("\n");
}
