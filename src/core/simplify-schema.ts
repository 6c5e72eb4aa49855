/**
 * A JSON Schema in plainer words, for callers that turn schemas into another format and
 * know neither lists of types nor references. What it admits stays the same.
 */
import { isObject, type JsonObject } from "../util/json.ts";
import type { JsonSchema } from "./schema.ts";

/** References to one schema inside another, at most: each use is a copy of its own. */
const maxInlined = 200;

export function simplifySchema(schema: JsonSchema): JsonSchema {
  const simplifier = new Simplifier(schema);
  const simple = simplifier.rewrite(schema, []);
  if (!isObject(simple)) return schema;
  // What still refers to a definition needs it: a schema that holds itself has no end to inline.
  if (simplifier.keepsReferences) return { ...simple, ...definitionsOf(schema) };
  const { $defs: _, definitions: __, ...rest } = simple;
  return rest;
}

function definitionsOf(schema: JsonSchema): JsonObject {
  const { $defs, definitions } = schema;
  return {
    ...($defs === undefined ? {} : { $defs }),
    ...(definitions === undefined ? {} : { definitions }),
  };
}

class Simplifier {
  readonly #root: JsonSchema;
  #inlined = 0;
  keepsReferences = false;

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  /** @param open - the references that led here, which must not be followed again */
  rewrite(value: unknown, open: readonly string[]): unknown {
    if (Array.isArray(value)) return value.map((item) => this.rewrite(item, open));
    if (!isObject(value)) return value;
    const reference = value["$ref"];
    if (typeof reference === "string") return this.#inline(value, reference, open);
    const rewritten = Object.fromEntries(
      Object.entries(value).map(([key, child]) => [
        key,
        literal.includes(key) ? child : this.rewrite(child, open),
      ]),
    );
    return splitTypes(rewritten);
  }

  #inline(schema: JsonObject, reference: string, open: readonly string[]): unknown {
    const target = this.#resolve(reference);
    if (target === undefined || open.includes(reference) || ++this.#inlined > maxInlined) {
      this.keepsReferences = true;
      return schema;
    }
    const { $ref: _, ...beside } = schema;
    const inlined = this.rewrite(target, [...open, reference]);
    if (!isObject(inlined)) return inlined;
    if (Object.keys(beside).every((key) => !(key in inlined))) return { ...inlined, ...beside };
    // Both sides say something of their own under one keyword: both must hold.
    return { allOf: [inlined, this.rewrite(beside, open)] };
  }

  #resolve(reference: string): JsonObject | undefined {
    if (!reference.startsWith("#/")) return undefined;
    let target: unknown = this.#root;
    for (const step of reference.slice(2).split("/")) {
      const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
      if (!isObject(target) || !Object.hasOwn(target, key)) return undefined;
      target = target[key];
    }
    return isObject(target) ? target : undefined;
  }
}

/** Keywords whose values are data, not schemas. */
const literal: readonly string[] = ["enum", "const", "default", "examples", "required"];

/** `type: ["string", "null"]` as `anyOf` of the two. */
function splitTypes(schema: JsonObject): JsonObject {
  const { type, anyOf, title, description, default: initial, ...rest } = schema;
  if (!Array.isArray(type) || anyOf !== undefined) return schema;
  const about = Object.fromEntries(
    Object.entries({ title, description, default: initial }).filter(
      ([, text]) => text !== undefined,
    ),
  );
  const branches = type.map((each) => (each === "null" ? { type: each } : { ...rest, type: each }));
  return { ...about, anyOf: branches };
}
