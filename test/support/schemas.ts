/**
 * The official schemas of the five revisions as validators.
 *
 * A value is judged twice. Ajv runs the schema as published, and then `undefinedProperties` walks
 * the same schema as a closed one: the published schemas let every object carry additional
 * properties, so they cannot say that a property belongs to another revision.
 */
import { readFileSync } from "node:fs";
import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";

export type Revision = "2024-11-05" | "2025-03-26" | "2025-06-18" | "2025-11-25" | "2026-07-28";

export const revisions: readonly Revision[] = [
  "2026-07-28",
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
];

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

interface Book {
  readonly ajv: Ajv | Ajv2020;
  readonly id: string;
  /** `#/definitions/` or `#/$defs/`. */
  readonly prefix: string;
  readonly definitions: Readonly<Record<string, Schema>>;
}

const books = new Map<Revision, Book>();

function bookOf(revision: Revision): Book {
  let book = books.get(revision);
  if (!book) {
    book = open(revision);
    books.set(revision, book);
  }
  return book;
}

function open(revision: Revision): Book {
  const file = new URL(`../schema/${revision}/schema.json`, import.meta.url);
  const document: unknown = JSON.parse(readFileSync(file, "utf8"));
  if (!isObject(document)) throw new Error(`${file.href} holds no schema`);
  const key = "$defs" in document ? "$defs" : "definitions";
  // `verbose` puts the failing value and its schema on each error, which `explain` needs.
  const options = { strict: false, allErrors: true, verbose: true };
  const ajv = key === "$defs" ? new Ajv2020(options) : new Ajv(options);
  formats.default(ajv);
  const id = `urn:mcp:${revision}`;
  ajv.addSchema(document, id);
  const definitions = document[key] as Record<string, Schema>;
  return { ajv, id, prefix: `#/${key}/`, definitions };
}

export function definition(revision: Revision, name: string): Schema | undefined {
  const { definitions } = bookOf(revision);
  return Object.hasOwn(definitions, name) ? definitions[name] : undefined;
}

function validatorOf(revision: Revision, name: string): ValidateFunction {
  const { ajv, id, prefix } = bookOf(revision);
  const validate = ajv.getSchema(`${id}${prefix}${name}`);
  if (!validate) throw new Error(`${revision} defines no ${name}`);
  return validate;
}

/** Problems of `value` as `name` of the published schema; `path` is where the value stands. */
export function validate(revision: Revision, name: string, value: unknown, path: string): string[] {
  const check = validatorOf(revision, name);
  if (check(value) === true) return [];
  return explain(revision, check.errors ?? [], path);
}

/** Like `validate`, and no property may appear that the revision does not define. */
export function validateClosed(
  revision: Revision,
  name: string,
  value: unknown,
  path: string,
): string[] {
  return [
    ...validate(revision, name, value, path),
    ...undefinedProperties(revision, { $ref: `${bookOf(revision).prefix}${name}` }, value, path),
  ];
}

/** A JSON pointer of ajv as a property path: `/tools/0/title` under `result` is `result.tools[0].title`. */
function pathOf(pointer: string, path: string): string {
  return pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce(
      (parent, step) => (/^\d+$/.test(step) ? `${parent}[${step}]` : join(parent, step)),
      path,
    );
}

function join(path: string, name: string): string {
  const step = /^[\w$]+$/.test(name) ? name : JSON.stringify(name);
  return path === "" ? step : `${path}.${step}`;
}

/**
 * Ajv reports a failed union as the complaints of every member. Only those of the member the value
 * means to be help a reader, so a union is replaced by what its chosen member says.
 */
function explain(revision: Revision, errors: readonly ErrorObject[], path: string): string[] {
  const unions = errors.filter(({ keyword }) => keyword === "anyOf" || keyword === "oneOf");
  const within = (pointer: string, outer: string) =>
    pointer === outer || pointer.startsWith(`${outer}/`);
  const outermost = unions.filter(
    (union, index) =>
      !unions.some(
        (other, at) =>
          other !== union &&
          within(union.instancePath, other.instancePath) &&
          // The members of a union are reported before the union itself.
          (other.instancePath !== union.instancePath || at > index),
      ),
  );
  const plain = errors
    .filter((error) => !outermost.some((union) => within(error.instancePath, union.instancePath)))
    .map((error) => `${pathOf(error.instancePath, path) || "message"}: ${sentence(error)}`);
  return [...plain, ...outermost.flatMap((union) => explainUnion(revision, union, path))];
}

function sentence({ keyword, message, params }: ErrorObject): string {
  if (keyword === "const") return `must be ${JSON.stringify(params["allowedValue"])}`;
  if (keyword === "enum") return `must be one of ${JSON.stringify(params["allowedValues"])}`;
  return message ?? keyword;
}

function explainUnion(revision: Revision, error: ErrorObject, path: string): string[] {
  const at = pathOf(error.instancePath, path);
  const members = error.schema as readonly Schema[];
  const meant = members.filter((member) => discriminates(revision, member, error.data));
  const chosen = meant.length === 1 ? nameOf(revision, meant[0]) : undefined;
  if (chosen) {
    const problems = validate(revision, chosen, error.data, at);
    if (problems.length > 0) return problems;
  }
  const names = members.map((member) => nameOf(revision, member) ?? JSON.stringify(member));
  return [`${at || "message"}: is none of ${names.join(", ")}: ${excerpt(error.data)}`];
}

function excerpt(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}

function nameOf(revision: Revision, schema: Schema | undefined): string | undefined {
  return schema?.$ref?.slice(bookOf(revision).prefix.length);
}

function resolve(revision: Revision, schema: Schema): Schema {
  const name = nameOf(revision, schema);
  if (name === undefined) return schema;
  const target = definition(revision, name);
  if (!target) throw new Error(`${revision} defines no ${name}`);
  return resolve(revision, target);
}

/** Whether the value has the kind and the constant properties (`type`, `method`, `mode`) of a schema. */
function discriminates(revision: Revision, member: Schema, value: unknown): boolean {
  const schema = resolve(revision, member);
  const branches = schema.anyOf ?? schema.oneOf;
  if (branches) return branches.some((branch) => discriminates(revision, branch, value));
  if (Array.isArray(value)) return schema.type === "array";
  if (!isObject(value)) return schema.type !== "object" && schema.type !== "array";
  if (schema.type !== "object" && !schema.allOf) return false;
  return Object.entries(schema.properties ?? {}).every(
    ([name, property]) =>
      property.const === undefined || !(name in value) || value[name] === property.const,
  );
}

/** Free-form by specification, whatever the schema lists in them. */
const freeForm = new Set([
  "inputSchema",
  "outputSchema",
  "structuredContent",
  "experimental",
  "extensions",
]);

/** Every property in `value` that the schema, read as closed, does not define. */
export function undefinedProperties(
  revision: Revision,
  schema: Schema,
  value: unknown,
  path: string,
): string[] {
  const target = resolve(revision, schema);
  const members = target.anyOf ?? target.oneOf;
  if (members) {
    // Ajv has said whether a member fits; of those the value may mean, the kindest one speaks.
    const verdicts = members
      .filter((member) => discriminates(revision, member, value))
      .map((member) => undefinedProperties(revision, member, value, path));
    return verdicts.sort((left, right) => left.length - right.length)[0] ?? [];
  }
  if (Array.isArray(value)) {
    const { items } = target;
    if (!items) return [];
    return value.flatMap((item, index) =>
      undefinedProperties(revision, items, item, `${path}[${index}]`),
    );
  }
  return isObject(value) ? undefinedMembers(revision, target, value, path) : [];
}

function undefinedMembers(
  revision: Revision,
  schema: Schema,
  value: JsonObject,
  path: string,
): string[] {
  const { properties, rest } = shapeOf(revision, schema);
  return Object.entries(value).flatMap(([name, member]) => {
    const at = join(path, name);
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (property && freeForm.has(name)) return [];
    if (property && name === "_meta") return undefinedInMeta(revision, property, member, at);
    if (property) return undefinedProperties(revision, property, member, at);
    if (rest === false) return [undefinedProperty(revision, at)];
    return rest === true ? [] : undefinedProperties(revision, rest, member, at);
  });
}

/** `_meta` may hold any key, but the keys a revision defines in it have its shapes. */
function undefinedInMeta(
  revision: Revision,
  schema: Schema,
  value: unknown,
  path: string,
): string[] {
  const open: Schema = { ...resolve(revision, schema), additionalProperties: true };
  return undefinedProperties(revision, open, value, path);
}

export function undefinedProperty(revision: Revision, path: string): string {
  return `${path}: not defined by ${revision}`;
}

interface Shape {
  readonly properties: Readonly<Record<string, Schema>>;
  /** What a property not listed must be: nothing (`false`), anything (`true`), or of a schema. */
  readonly rest: boolean | Schema;
}

function shapeOf(revision: Revision, schema: Schema): Shape {
  if (schema.allOf) {
    const parts = schema.allOf.map((part) => shapeOf(revision, resolve(revision, part)));
    return {
      properties: Object.assign({}, ...parts.map((part) => part.properties)),
      rest: parts.every((part) => part.rest !== false),
    };
  }
  const { properties, additionalProperties } = schema;
  // An object without a word on its properties is a free one; `properties: {}` alone is empty.
  return { properties: properties ?? {}, rest: additionalProperties ?? properties === undefined };
}
