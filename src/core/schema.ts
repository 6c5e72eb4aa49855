/** One face for every way to write a schema: what reaches the wire, and what checks a value. */
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import type { Awaitable } from "../util/awaitable.ts";
import { isPromise } from "../util/awaitable.ts";
import { isObject, type JsonObject } from "../util/json.ts";
import { DeclarationError } from "./errors.ts";
import { compileJsonSchema } from "./json-schema-compiler.ts";
import { findSchemaProblem } from "./json-schema-guard.ts";
import type { FromJsonSchema } from "./json-schema-types.ts";

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

/** One line for each issue, for a model or a person to act on. */
export function listIssues(issues: readonly Issue[]): string {
  const shown = issues.slice(0, 20).map(({ path, message }) => {
    return path === "" ? `- ${message}` : `- ${path}: ${message}`;
  });
  if (issues.length > shown.length) shown.push(`- and ${issues.length - shown.length} more`);
  return shown.join("\n");
}
