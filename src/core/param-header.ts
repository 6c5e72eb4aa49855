/**
 * The `x-mcp-header` annotations of an input schema: which arguments a caller mirrors into
 * `Mcp-Param-*` headers (server/tools, x-mcp-header, 2026-07-28).
 */
import { isObject, type JsonObject, own } from "../util/json.ts";

export const annotation = "x-mcp-header";

export interface ParamHeader {
  /** The header's full name, in lower case. */
  readonly header: string;
  /** The chain of property names that leads to the argument. */
  readonly path: readonly string[];
  readonly type: "string" | "integer" | "boolean";
}

export interface ParamHeaderProblem {
  readonly message: string;
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** The annotated arguments, or why one of the annotations is not valid. */
export function readParamHeaders(schema: JsonObject): readonly ParamHeader[] | ParamHeaderProblem {
  const found: ParamHeader[] = [];
  const reachable = new Set<unknown>();
  const problem =
    collect(schema, [], found, reachable) ?? findStray(schema, reachable) ?? findRepeated(found);
  return problem === undefined ? found : { message: problem };
}

function collect(
  schema: JsonObject,
  path: readonly string[],
  found: ParamHeader[],
  reachable: Set<unknown>,
): string | undefined {
  if (Object.hasOwn(schema, annotation)) {
    reachable.add(schema);
    const problem = readOne(schema, path, found);
    if (problem !== undefined) return problem;
  }
  const properties = own(schema, "properties");
  if (!isObject(properties)) return undefined;
  for (const [name, child] of Object.entries(properties)) {
    if (!isObject(child)) continue;
    const problem = collect(child, [...path, name], found, reachable);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function readOne(
  schema: JsonObject,
  path: readonly string[],
  found: ParamHeader[],
): string | undefined {
  const where = path.length === 0 ? "the root" : path.join(".");
  const name = schema[annotation];
  if (path.length === 0) return `${annotation} at the root names no argument`;
  if (typeof name !== "string" || !token.test(name)) {
    return `${annotation} of ${where} must be a header name token (RFC 9110 section 5.1), not ${JSON.stringify(name)}`;
  }
  const type = schema["type"];
  if (type !== "string" && type !== "integer" && type !== "boolean") {
    return `${annotation} of ${where} needs type string, integer or boolean, not ${JSON.stringify(type)}`;
  }
  found.push({ header: `mcp-param-${name.toLowerCase()}`, path, type });
  return undefined;
}

/** An annotation that no chain of `properties` reaches would never be mirrored. */
function findStray(value: unknown, reachable: ReadonlySet<unknown>): string | undefined {
  if (Array.isArray(value)) {
    return value.map((item) => findStray(item, reachable)).find(Boolean);
  }
  if (!isObject(value)) return undefined;
  if (isAnnotated(value) && !reachable.has(value)) {
    return `${annotation} ${JSON.stringify(value[annotation])} is under a keyword other than "properties", where it has no single argument to mirror`;
  }
  return Object.entries(value)
    .filter(([key]) => key !== "default" && key !== "const" && key !== "enum" && key !== "examples")
    .map(([, child]) => findStray(child, reachable))
    .find(Boolean);
}

function isAnnotated(value: JsonObject): boolean {
  // A property that is itself called "x-mcp-header" has a schema there, not a name.
  return Object.hasOwn(value, annotation) && !isObject(value[annotation]);
}

function findRepeated(found: readonly ParamHeader[]): string | undefined {
  const seen = new Set<string>();
  for (const { header } of found) {
    if (seen.has(header)) return `${annotation} names ${header} twice`;
    seen.add(header);
  }
  return undefined;
}
