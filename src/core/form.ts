/** The schema of a form: a flat object of fields that every client can show. */
import { isObject, type JsonObject, pick } from "../util/json.ts";
import { compileSchema, type JsonSchema, type Schema, type Validate } from "./schema.ts";

export interface Option {
  readonly value: string;
  readonly title: string | undefined;
}

interface FieldBase {
  readonly title: string | undefined;
  readonly description: string | undefined;
  /** What the field holds before anyone touches it. */
  readonly initial: unknown;
}

/** One field, with what a revision may or may not be able to say about it. */
export type FormField = FieldBase &
  (
    | { readonly type: "string"; readonly limits: JsonObject }
    | { readonly type: "number" | "integer"; readonly limits: JsonObject }
    | { readonly type: "boolean" }
    | {
        readonly type: "choice";
        readonly options: readonly Option[];
        /** The titles were written in `enumNames`, which every revision with forms reads. */
        readonly named: boolean;
      }
    | { readonly type: "choices"; readonly options: readonly Option[]; readonly limits: JsonObject }
  );

export interface Form {
  readonly fields: Readonly<Record<string, FormField>>;
  readonly required: readonly string[];
  readonly validate: Validate;
}

const noFields: JsonSchema = Object.freeze({ type: "object", properties: {} });

/** Schemas are often module constants, and converting one costs more than a request. */
const compiled: WeakMap<object, Form> = new WeakMap();

/** @throws TypeError for what no form can show, naming the field. */
export function compileForm(schema: Schema = noFields): Form {
  const kept = compiled.get(schema);
  if (kept !== undefined) return kept;
  const { json, validate } = compileSchema(schema, "input", "the schema of a question");
  const properties = json["properties"];
  if (json["type"] !== "object" || !isObject(properties)) {
    throw new TypeError("the schema of a question must be an object with properties");
  }
  const fields = Object.entries(properties).map(([name, field]) => [name, readField(name, field)]);
  const required = Array.isArray(json["required"]) ? json["required"].map(String) : [];
  const form: Form = { fields: Object.fromEntries(fields), required, validate };
  compiled.set(schema, form);
  return form;
}

function readField(name: string, schema: unknown): FormField {
  if (!isObject(schema)) throw unsupported(name);
  const base = {
    title: asString(schema["title"]),
    description: asString(schema["description"]),
    initial: schema["default"],
  };
  switch (schema["type"]) {
    case "string": {
      const options = readOptions(schema);
      const named = Array.isArray(schema["enumNames"]);
      if (options !== undefined) return { ...base, type: "choice", options, named };
      return { ...base, type: "string", limits: readStringLimits(schema) };
    }
    case "number":
    case "integer":
      return { ...base, type: schema["type"], limits: pick(schema, ["minimum", "maximum"]) };
    case "boolean":
      return { ...base, type: "boolean" };
    case "array": {
      const options = isObject(schema["items"]) ? readOptions(schema["items"]) : undefined;
      if (options === undefined) throw unsupported(name);
      return { ...base, type: "choices", options, limits: pick(schema, ["minItems", "maxItems"]) };
    }
    default:
      throw unsupported(name);
  }
}

/** The formats that a client may know; another would make it refuse the form. */
const formats: readonly unknown[] = ["email", "uri", "date", "date-time"];

function readStringLimits(schema: JsonObject): JsonObject {
  const known = formats.includes(schema["format"]);
  return pick(schema, ["minLength", "maxLength", ...(known ? ["format"] : [])]);
}

function readOptions(schema: JsonObject): readonly Option[] | undefined {
  const { enum: values, enumNames } = schema;
  if (Array.isArray(values)) {
    // A choice is answered with a string, which would be no value of another type.
    if (!values.every((value) => typeof value === "string")) return undefined;
    const names: readonly unknown[] = Array.isArray(enumNames) ? enumNames : [];
    return values.map((value, index) => ({ value, title: asString(names[index]) }));
  }
  const titled = schema["oneOf"] ?? schema["anyOf"];
  if (!Array.isArray(titled)) return undefined;
  const options = titled.map((option) =>
    isObject(option) && typeof option["const"] === "string"
      ? { value: option["const"], title: asString(option["title"]) }
      : undefined,
  );
  return options.every((option) => option !== undefined) ? options : undefined;
}

function asString(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function unsupported(name: string): TypeError {
  return new TypeError(
    `the field ${JSON.stringify(name)} of a question must be a string, a number, a boolean, an enum, or a list of enum values`,
  );
}
