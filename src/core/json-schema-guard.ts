/**
 * What a JSON Schema must not ask of the validator: work without end, the network, or a
 * dialect it does not know (basic/index, JSON Schema Usage, 2026-07-28). A schema that
 * fails here is refused whole; treating it as permissive would let anything through.
 */
import { isObject, type JsonObject } from "../util/json.ts";
import { findMisshapen } from "./keyword-shapes.ts";
import { findUnsafePattern } from "./pattern-guard.ts";

const maxDepth = 64;
const maxSubschemas = 10_000;

export type Dialect = "2020-12" | "2019-09" | "7" | "4";

const dialects: ReadonlyMap<string, Dialect> = new Map([
  ["https://json-schema.org/draft/2020-12/schema", "2020-12"],
  ["https://json-schema.org/draft/2019-09/schema", "2019-09"],
  ["http://json-schema.org/draft-07/schema", "7"],
  ["http://json-schema.org/draft-06/schema", "7"],
  ["http://json-schema.org/draft-04/schema", "4"],
]);

/** Keywords that hold one schema, a list of them, or a map of them. */
const single: readonly string[] = [
  "additionalProperties",
  "unevaluatedProperties",
  "additionalItems",
  "unevaluatedItems",
  "items",
  "contains",
  "propertyNames",
  "not",
  "if",
  "then",
  "else",
];
const lists: readonly string[] = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];
const maps: readonly string[] = [
  "properties",
  "patternProperties",
  "dependentSchemas",
  "dependencies",
  "$defs",
  "definitions",
];
/** Keywords that look at the same value again: a cycle of these alone never ends. */
const inPlace: readonly string[] = ["not", "if", "then", "else"];
const inPlaceLists: readonly string[] = ["allOf", "anyOf", "oneOf"];
const inPlaceMaps: readonly string[] = ["dependentSchemas", "dependencies"];

export interface SchemaProblem {
  /** A JSON Pointer into the schema. */
  readonly path: string;
  readonly message: string;
}

/** The dialect a schema is written in, 2020-12 unless it says otherwise, if it is known. */
export function dialectOf(schema: JsonObject): Dialect | undefined {
  const stated = schema["$schema"];
  if (stated === undefined) return "2020-12";
  return typeof stated === "string" ? dialects.get(stated.replace(/#$/, "")) : undefined;
}

/** The first reason not to evaluate this schema, if there is one. */
export function findSchemaProblem(schema: JsonObject): SchemaProblem | undefined {
  if (dialectOf(schema) === undefined) {
    return {
      path: "/$schema",
      message: `the dialect ${JSON.stringify(schema["$schema"])} is not supported; use one of ${[...dialects.keys()].join(", ")}`,
    };
  }
  const found: Found = { nodes: [], byPointer: new Map(), byName: new Map(), problem: undefined };
  walk(schema, "", 0, found);
  if (found.problem !== undefined) return found.problem;
  return found.nodes.map((node) => findNodeProblem(node, found)).find(Boolean) ?? findCycle(found);
}

interface Node {
  readonly schema: JsonObject;
  readonly path: string;
}

interface Found {
  readonly nodes: Node[];
  readonly byPointer: Map<string, Node>;
  readonly byName: Map<string, Node>;
  problem: SchemaProblem | undefined;
}

function walk(value: unknown, path: string, depth: number, found: Found): void {
  if (found.problem !== undefined || !isObject(value)) return;
  if (depth > maxDepth) {
    found.problem = { path: "", message: `it nests deeper than ${maxDepth} schemas` };
    return;
  }
  if (found.nodes.length >= maxSubschemas) {
    found.problem = { path: "", message: `it holds more than ${maxSubschemas} schemas` };
    return;
  }
  const node: Node = { schema: value, path };
  found.nodes.push(node);
  found.byPointer.set(`#${path}`, node);
  if (typeof value["$id"] === "string") found.byName.set(value["$id"], node);
  if (typeof value["$anchor"] === "string") found.byName.set(`#${value["$anchor"]}`, node);
  for (const [key, child] of children(value)) walk(child, `${path}/${key}`, depth + 1, found);
}

function* children(schema: JsonObject): Generator<readonly [string, unknown]> {
  for (const key of single) {
    if (isObject(schema[key])) yield [key, schema[key]];
  }
  for (const key of lists) {
    const list = schema[key];
    if (!Array.isArray(list)) continue;
    for (const [index, child] of list.entries()) yield [`${key}/${index}`, child];
  }
  for (const key of maps) {
    const map = schema[key];
    if (!isObject(map)) continue;
    for (const [name, child] of Object.entries(map)) yield [`${key}/${escapePointer(name)}`, child];
  }
}

function escapePointer(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

function findNodeProblem(node: Node, found: Found): SchemaProblem | undefined {
  const { schema, path } = node;
  const misshapen = findMisshapen(schema);
  if (misshapen !== undefined) {
    const { keyword, told } = misshapen;
    return { path: `${path}/${keyword}`, message: `it must be ${told}` };
  }
  if (schema["$dynamicRef"] !== undefined) {
    return { path: `${path}/$dynamicRef`, message: 'it is not supported; use "$ref"' };
  }
  for (const keyword of ["$ref", "$recursiveRef"]) {
    const reference = schema[keyword];
    if (reference !== undefined && resolve(reference, found) === undefined) {
      return {
        path: `${path}/${keyword}`,
        message: `${JSON.stringify(reference)} points at nothing inside the schema; references are never fetched, so put the schema under $defs and refer to "#/$defs/…"`,
      };
    }
  }
  const patterns = isObject(schema["patternProperties"])
    ? Object.keys(schema["patternProperties"])
    : [];
  if (typeof schema["pattern"] === "string") patterns.push(schema["pattern"]);
  for (const pattern of patterns) {
    const message = findUnsafePattern(pattern);
    if (message !== undefined) return { path: `${path}/pattern`, message };
  }
  return undefined;
}

function resolve(reference: unknown, found: Found): Node | undefined {
  if (typeof reference !== "string") return undefined;
  const pointer = reference === "#" || reference === "" ? "#" : decodePointer(reference);
  return found.byPointer.get(pointer) ?? found.byName.get(reference);
}

function decodePointer(reference: string): string {
  try {
    return decodeURIComponent(reference);
  } catch {
    // A bad escape names nothing; the reference is then reported as it stands.
    return reference;
  }
}

/** A value that is judged by a schema that is judged by itself is judged for ever. */
function findCycle(found: Found): SchemaProblem | undefined {
  const done = new Set<Node>();
  const open = new Set<Node>();
  const visit = (node: Node): SchemaProblem | undefined => {
    if (done.has(node)) return undefined;
    if (open.has(node)) {
      return { path: node.path, message: "it refers to itself without going into the value" };
    }
    open.add(node);
    for (const next of sameValue(node, found)) {
      const problem = visit(next);
      if (problem !== undefined) return problem;
    }
    open.delete(node);
    done.add(node);
    return undefined;
  };
  for (const node of found.nodes) {
    const problem = visit(node);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function sameValue(node: Node, found: Found): Node[] {
  const paths = [
    ...inPlace.map((key) => `#${node.path}/${key}`),
    ...inPlaceLists.flatMap((key) => {
      const list = node.schema[key];
      return Array.isArray(list) ? list.map((_, index) => `#${node.path}/${key}/${index}`) : [];
    }),
    ...inPlaceMaps.flatMap((key) => {
      const map = node.schema[key];
      return isObject(map)
        ? Object.keys(map).map((name) => `#${node.path}/${key}/${escapePointer(name)}`)
        : [];
    }),
  ];
  const nodes = paths.map((path) => found.byPointer.get(path));
  for (const keyword of ["$ref", "$recursiveRef"]) {
    nodes.push(resolve(node.schema[keyword], found));
  }
  return nodes.filter((next) => next !== undefined);
}
