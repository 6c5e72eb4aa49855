/**
 * What a JSON Schema must not ask of the validator: work without end, the network, or a
 * dialect it does not know (basic/index, JSON Schema Usage, 2026-07-28). A schema that
 * fails here is refused whole; treating it as permissive would let anything through.
 */
import { isObject, type JsonObject } from "../util/json.ts";
import { findMisshapen } from "./keyword-shapes.ts";
import { guardPattern } from "./pattern-guard.ts";
import {
  dialectOf,
  dialects,
  maxDepth,
  maxSubschemas,
  readSchema,
  resolve,
  type SchemaNode,
  type SchemaNodes,
  sameValue,
} from "./schema-nodes.ts";

export interface SchemaProblem {
  /** A JSON Pointer into the schema. */
  readonly path: string;
  readonly message: string;
}

/** The first reason not to evaluate this schema, if there is one. */
export function findSchemaProblem(schema: JsonObject): SchemaProblem | undefined {
  if (dialectOf(schema) === undefined) {
    return {
      path: "/$schema",
      message: `the dialect ${JSON.stringify(schema["$schema"])} is not supported; use one of ${[...dialects.keys()].join(", ")}`,
    };
  }
  const found = readSchema(schema);
  if (typeof found === "string") return { path: "", message: found };
  for (const node of found.nodes) {
    const problem = findNodeProblem(node, found);
    if (problem !== undefined) return problem;
  }
  return findEndless(found);
}

function findNodeProblem(node: SchemaNode, found: SchemaNodes): SchemaProblem | undefined {
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
    const message = guardPattern(pattern);
    if (typeof message === "string") return { path: `${path}/pattern`, message };
  }
  return undefined;
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
function findEndless(found: SchemaNodes): SchemaProblem | undefined {
  const done = new Map<SchemaNode, Work>();
  const open = new Set<SchemaNode>();
  const visit = (node: SchemaNode): Work | SchemaProblem => {
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

function tooDeep({ path }: SchemaNode): SchemaProblem {
  return {
    path,
    message: `it judges one value by more than ${maxDepth} schemas one within another`,
  };
}
