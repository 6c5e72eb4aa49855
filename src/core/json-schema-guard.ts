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

/** What a keyword holds. */
interface Holding {
  readonly what: "schema" | "list" | "either" | "map";
  /** Whether it looks at the same value again: a cycle of these alone never ends. */
  readonly again: boolean;
}

const deeper = (what: Holding["what"]): Holding => ({ what, again: false });
const again = (what: Holding["what"]): Holding => ({ what, again: true });

/** The keywords that hold schemas. */
const holdings: ReadonlyMap<string, Holding> = new Map([
  ["additionalProperties", deeper("schema")],
  ["unevaluatedProperties", deeper("schema")],
  ["additionalItems", deeper("schema")],
  ["unevaluatedItems", deeper("schema")],
  ["items", deeper("either")],
  ["contains", deeper("schema")],
  ["propertyNames", deeper("schema")],
  ["not", again("schema")],
  ["if", again("schema")],
  ["then", again("schema")],
  ["else", again("schema")],
  ["allOf", again("list")],
  ["anyOf", again("list")],
  ["oneOf", again("list")],
  ["prefixItems", deeper("list")],
  ["properties", deeper("map")],
  ["patternProperties", deeper("map")],
  ["dependentSchemas", again("map")],
  ["dependencies", again("map")],
  ["$defs", deeper("map")],
  ["definitions", deeper("map")],
]);

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
  const found: Found = { nodes: [], byPointer: undefined, byName: new Map(), problem: undefined };
  walk(schema, "", 0, found);
  if (found.problem !== undefined) return found.problem;
  for (const node of found.nodes) {
    const problem = findNodeProblem(node, found);
    if (problem !== undefined) return problem;
  }
  return findEndless(found);
}

interface Node {
  readonly schema: JsonObject;
  readonly path: string;
  /** Those within it that judge the same value. */
  readonly again: Node[];
}

interface Found {
  readonly nodes: Node[];
  /** Made for the first reference: most schemas have none. */
  byPointer: ReadonlyMap<string, Node> | undefined;
  readonly byName: Map<string, Node>;
  problem: SchemaProblem | undefined;
}

/** Enters a schema and all that it holds; undefined where that is too much. */
function walk(schema: JsonObject, path: string, depth: number, found: Found): Node | undefined {
  const tooLarge = findExcess(depth, found.nodes.length);
  if (tooLarge !== undefined) {
    found.problem = { path: "", message: tooLarge };
    return undefined;
  }
  const node: Node = { schema, path, again: [] };
  enter(node, found);
  for (const key of Object.keys(schema)) {
    const holding = holdings.get(key);
    if (holding === undefined) continue;
    for (const [step, child] of children(schema[key], holding)) {
      if (!isObject(child)) continue;
      const inner = walk(child, `${path}/${key}${step}`, depth + 1, found);
      if (inner === undefined) return undefined;
      if (holding.again) node.again.push(inner);
    }
  }
  return node;
}

function findExcess(depth: number, count: number): string | undefined {
  if (depth > maxDepth) return `it nests deeper than ${maxDepth} schemas`;
  return count >= maxSubschemas ? `it holds more than ${maxSubschemas} schemas` : undefined;
}

function enter(node: Node, { nodes, byName }: Found): void {
  const { $id: id, $anchor: anchor } = node.schema;
  nodes.push(node);
  if (typeof id === "string") byName.set(id, node);
  if (typeof anchor === "string") byName.set(`#${anchor}`, node);
}

function children(
  value: unknown,
  { what }: Holding,
): readonly (readonly [step: string, child: unknown])[] {
  if (Array.isArray(value)) {
    const isList = what === "list" || what === "either";
    return isList ? value.map((child, index) => [`/${index}`, child]) : [];
  }
  if (what !== "map") return [["", value]];
  if (!isObject(value)) return [];
  return Object.keys(value).map((name) => [`/${escapePointer(name)}`, value[name]]);
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
  found.byPointer ??= new Map(found.nodes.map((node) => [`#${node.path}`, node]));
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

/** What judging one value by a schema comes to, with all that judges the same value again. */
interface Work {
  /** Schemas in all. */
  readonly ways: number;
  /** Schemas one within the other. */
  readonly levels: number;
}

/**
 * A value that is judged by a schema that is judged by itself is judged for ever; a few
 * references that double at every step are as good as for ever, and a long chain of them
 * takes more stack than there is.
 */
function findEndless(found: Found): SchemaProblem | undefined {
  const done = new Map<Node, Work>();
  const open = new Set<Node>();
  const visit = (node: Node): Work | SchemaProblem => {
    const known = done.get(node);
    if (known !== undefined) return known;
    if (open.has(node)) {
      return { path: node.path, message: "it refers to itself without going into the value" };
    }
    if (open.size >= maxDepth) return tooDeep(node);
    open.add(node);
    let [ways, levels] = [1, 0];
    for (const next of sameValue(node, found)) {
      const work = visit(next);
      if ("message" in work) return work;
      ways += work.ways;
      levels = Math.max(levels, work.levels);
    }
    open.delete(node);
    if (ways > maxSubschemas) {
      const message = `it judges one value by more than ${maxSubschemas} schemas`;
      return { path: node.path, message };
    }
    if (levels >= maxDepth) return tooDeep(node);
    const work: Work = { ways, levels: levels + 1 };
    done.set(node, work);
    return work;
  };
  for (const node of found.nodes) {
    const work = visit(node);
    if ("message" in work) return work;
  }
  return undefined;
}

function tooDeep({ path }: Node): SchemaProblem {
  return {
    path,
    message: `it judges one value by more than ${maxDepth} schemas one within another`,
  };
}

function sameValue({ schema, again: within }: Node, found: Found): readonly Node[] {
  if (schema["$ref"] === undefined && schema["$recursiveRef"] === undefined) return within;
  const referred = ["$ref", "$recursiveRef"].map((keyword) => resolve(schema[keyword], found));
  return [...within, ...referred.filter((next) => next !== undefined)];
}
