/**
 * A check for plain schemas that only ever says yes: what it takes, the validator takes too, and
 * what it does not is for the validator to judge and to tell about. Most values of most tools are
 * right, and the validator is the dearest part of a small call.
 */
import { isObject, type JsonObject } from "../util/json.ts";

/** Whether the value is right for certain. */
export type QuickCheck = (value: unknown) => boolean;

/** Undefined for a schema that says more than is known here. */
export function quickCheck(schema: unknown): QuickCheck | undefined {
  if (schema === true) return isJson;
  if (!isObject(schema)) return undefined;
  const checks: QuickCheck[] = [];
  for (const [keyword, operand] of Object.entries(schema)) {
    if (annotations.has(keyword) || keyword.startsWith("x-")) continue;
    const check = makers.get(keyword)?.(operand, schema);
    if (check === undefined) return undefined;
    checks.push(check);
  }
  // What has one of the types of JSON is JSON.
  return "type" in schema ? all(checks) : all([isJson, ...checks]);
}

/** In a loop: it is run for every call. */
function all(checks: readonly QuickCheck[]): QuickCheck {
  const [only] = checks;
  if (only !== undefined && checks.length === 1) return only;
  return (value) => {
    for (const check of checks) {
      if (!check(value)) return false;
    }
    return true;
  };
}

/** Keywords that ask nothing of a value. */
const annotations: ReadonlySet<string> = new Set([
  "$schema",
  "$comment",
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
]);

/** What the validator knows; it throws at everything else. */
const isJson: QuickCheck = (value) => {
  const type = typeof value;
  return type === "string" || type === "number" || type === "boolean" || type === "object";
};

/** Makes the check of one keyword, if its operand is a plain one. */
type Maker = (operand: unknown, schema: JsonObject) => QuickCheck | undefined;

const forNumbers =
  (isWithin: (value: number, bound: number) => boolean): Maker =>
  (bound) =>
    typeof bound === "number"
      ? (value) => typeof value !== "number" || isWithin(value, bound)
      : undefined;

const forTexts =
  (isWithin: (text: string, bound: number) => boolean): Maker =>
  (bound) =>
    typeof bound === "number"
      ? (value) => typeof value !== "string" || isWithin(value, bound)
      : undefined;

const forLists =
  (isWithin: (length: number, bound: number) => boolean): Maker =>
  (bound) =>
    typeof bound === "number"
      ? (value) => !Array.isArray(value) || isWithin(value.length, bound)
      : undefined;

const makers: ReadonlyMap<string, Maker> = new Map<string, Maker>([
  ["type", makeType],
  ["enum", (values) => (isPlainList(values) ? (value) => values.includes(value) : undefined)],
  ["const", (wanted) => (isPlain(wanted) ? (value) => value === wanted : undefined)],
  ["minimum", forNumbers((value, bound) => value >= bound)],
  ["maximum", forNumbers((value, bound) => value <= bound)],
  ["exclusiveMinimum", forNumbers((value, bound) => value > bound)],
  ["exclusiveMaximum", forNumbers((value, bound) => value < bound)],
  // A character takes one unit of a string or two.
  ["minLength", forTexts((text, least) => text.length >= 2 * least || lengthOf(text) >= least)],
  ["maxLength", forTexts((text, most) => text.length <= most)],
  ["minItems", forLists((length, least) => length >= least)],
  ["maxItems", forLists((length, most) => length <= most)],
  ["items", makeItems],
  ["required", makeRequired],
  ["properties", makeProperties],
  ["additionalProperties", makeAdditional],
]);

function isPlain(value: unknown): boolean {
  return value === null || (typeof value !== "object" && isJson(value));
}

function isPlainList(values: unknown): values is readonly unknown[] {
  return Array.isArray(values) && values.every(isPlain);
}

function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length++;
  return length;
}

const types: ReadonlyMap<unknown, QuickCheck> = new Map<unknown, QuickCheck>([
  ["string", (value) => typeof value === "string"],
  ["number", (value) => typeof value === "number"],
  ["integer", Number.isInteger],
  ["boolean", (value) => typeof value === "boolean"],
  ["null", (value) => value === null],
  ["array", Array.isArray],
  ["object", isObject],
]);

function makeType(stated: unknown): QuickCheck | undefined {
  if (!Array.isArray(stated)) return types.get(stated);
  const checks = stated.map((type) => types.get(type));
  return checks.includes(undefined)
    ? undefined
    : (value) => checks.some((check) => check?.(value) === true);
}

function makeItems(schema: unknown): QuickCheck | undefined {
  const check = quickCheck(schema);
  if (check === undefined) return undefined;
  return (value) => !Array.isArray(value) || value.every(check);
}

function makeRequired(names: unknown): QuickCheck | undefined {
  if (!isPlainList(names)) return undefined;
  const needed = names.map(String);
  return forObjects((value) => {
    for (const name of needed) {
      if (!Object.hasOwn(value, name)) return false;
    }
    return true;
  });
}

function makeProperties(properties: unknown): QuickCheck | undefined {
  if (!isObject(properties)) return undefined;
  const named: (readonly [name: string, check: QuickCheck])[] = [];
  for (const [name, schema] of Object.entries(properties)) {
    const check = quickCheck(schema);
    if (check === undefined) return undefined;
    named.push([name, check]);
  }
  return forObjects((value) => {
    for (const [name, check] of named) {
      if (Object.hasOwn(value, name) && !check(value[name])) return false;
    }
    return true;
  });
}

function makeAdditional(schema: unknown, { properties }: JsonObject): QuickCheck | undefined {
  const check = schema === false ? () => false : quickCheck(schema);
  if (check === undefined) return undefined;
  const named = new Set(isObject(properties) ? Object.keys(properties) : []);
  return forObjects((value) => {
    for (const name of Object.keys(value)) {
      if (!named.has(name) && !check(value[name])) return false;
    }
    return true;
  });
}

function forObjects(check: (value: JsonObject) => boolean): QuickCheck {
  return (value) => !isObject(value) || check(value);
}
