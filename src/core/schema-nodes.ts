/** The schemas within a JSON Schema, and where its references lead. */
import { isObject, type JsonObject } from "../util/json.ts";

/** Schemas one within another, and in all. */
export const maxDepth = 64;
export const maxSubschemas = 10_000;

export type Dialect = "2020-12" | "2019-09" | "7" | "4";

export const dialects: ReadonlyMap<string, Dialect> = new Map([
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

/** The dialect a schema is written in, 2020-12 unless it says otherwise, if it is known. */
export function dialectOf(schema: JsonObject): Dialect | undefined {
  const stated = schema["$schema"];
  if (stated === undefined) return "2020-12";
  return typeof stated === "string" ? dialects.get(stated.replace(/#$/, "")) : undefined;
}

export interface SchemaNode {
  readonly schema: JsonObject;
  /** A JSON Pointer to it. */
  readonly path: string;
  /** Those within it that judge the same value. */
  readonly again: SchemaNode[];
  /** All those within it by keyword and, there, by their names or indexes. */
  readonly held: Map<string, Map<string, SchemaNode>>;
}

/** All schemas of one, itself first. */
export interface SchemaNodes {
  readonly nodes: SchemaNode[];
  /** Made for the first reference: most schemas have none. */
  byPointer: ReadonlyMap<string, SchemaNode> | undefined;
  readonly byName: Map<string, SchemaNode>;
}

/** What is too much about it is told as a text. */
export function readSchema(schema: JsonObject): SchemaNodes | string {
  const found: SchemaNodes = { nodes: [], byPointer: undefined, byName: new Map() };
  const root = walk(schema, "", 0, found);
  return typeof root === "string" ? root : found;
}

/** Enters a schema and all that it holds; a text where that is too much. */
function walk(
  schema: JsonObject,
  path: string,
  depth: number,
  found: SchemaNodes,
): SchemaNode | string {
  const tooLarge = findExcess(depth, found.nodes.length);
  if (tooLarge !== undefined) return tooLarge;
  const node: SchemaNode = { schema, path, again: [], held: new Map() };
  enter(node, found);
  for (const [key, value] of Object.entries(schema)) {
    const holding = holdings.get(key);
    if (holding === undefined) continue;
    const held = new Map<string, SchemaNode>();
    node.held.set(key, held);
    for (const { name, step, child } of children(value, holding)) {
      const inner = walk(child, `${path}/${key}${step}`, depth + 1, found);
      if (typeof inner === "string") return inner;
      held.set(name, inner);
      if (holding.again) node.again.push(inner);
    }
  }
  return node;
}

function findExcess(depth: number, count: number): string | undefined {
  if (depth > maxDepth) return `it nests deeper than ${maxDepth} schemas`;
  return count >= maxSubschemas ? `it holds more than ${maxSubschemas} schemas` : undefined;
}

function enter(node: SchemaNode, { nodes, byName }: SchemaNodes): void {
  const { $id: id, $anchor: anchor } = node.schema;
  nodes.push(node);
  if (typeof id === "string") byName.set(id, node);
  if (typeof anchor === "string") byName.set(`#${anchor}`, node);
}

interface Child {
  readonly name: string;
  /** From the keyword to it. */
  readonly step: string;
  readonly child: JsonObject;
}

/** The schemas that a keyword holds; those that are `true` or `false` judge nothing. */
function children(value: unknown, { what }: Holding): readonly Child[] {
  if (what === "map" || (Array.isArray(value) && what !== "schema")) {
    const entries = typeof value === "object" && value !== null ? Object.entries(value) : [];
    return entries.flatMap(([name, child]: [string, unknown]) =>
      isObject(child) ? [{ name, step: `/${escapePointer(name)}`, child }] : [],
    );
  }
  return isObject(value) ? [{ name: "", step: "", child: value }] : [];
}

function escapePointer(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

export function resolve(reference: unknown, found: SchemaNodes): SchemaNode | undefined {
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

/** Those that judge the same value as this one does, by reference too. */
export function sameValue(
  { schema, again: within }: SchemaNode,
  found: SchemaNodes,
): readonly SchemaNode[] {
  if (schema["$ref"] === undefined && schema["$recursiveRef"] === undefined) return within;
  const referred = ["$ref", "$recursiveRef"].map((keyword) => resolve(schema[keyword], found));
  return [...within, ...referred.filter((next) => next !== undefined)];
}
