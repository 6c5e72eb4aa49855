/**
 * Headers that mirror the body, so that intermediaries can route without parsing it, and
 * their comparison with it (basic/transports/streamable-http, Request Metadata, 2026-07-28).
 * A router that trusts a header which the body contradicts is how a check is walked around.
 */
import { type Failure, failure } from "../core/outcome.ts";
import type { ParamHeader } from "../core/param-header.ts";
import type { RpcRequest } from "../jsonrpc/message.ts";
import { decodeText, encodeText } from "../util/base64.ts";
import { isObject, type JsonObject, own } from "../util/json.ts";
import type { HeaderLookup } from "./preamble.ts";

export const methodHeader = "mcp-method";
export const nameHeader = "mcp-name";

const prefix = "=?base64?";
const suffix = "?=";
const visible = /^[\t\x20-\x7e]*$/;

/** Where each method keeps what `Mcp-Name` mirrors. */
const named: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
]);

export function findHeaderMismatch(
  request: RpcRequest,
  params: JsonObject,
  headers: HeaderLookup,
  paramHeaders: (tool: string) => readonly ParamHeader[],
): Failure | undefined {
  const method = headers(methodHeader);
  if (method === undefined) return missing("Mcp-Method", "method");
  if (method.trim() !== request.method) return differs("Mcp-Method", "method");
  const source = named.get(request.method);
  if (source === undefined) return undefined;
  const name = headers(nameHeader);
  if (name === undefined) return missing("Mcp-Name", `params.${source}`);
  if (readHeader(name) !== params[source]) return differs("Mcp-Name", `params.${source}`);
  if (request.method !== "tools/call") return undefined;
  const args = params["arguments"];
  return paramHeaders(String(params["name"]))
    .map((param) => checkParam(param, headers(param.header), isObject(args) ? args : {}))
    .find(Boolean);
}

function checkParam(
  param: ParamHeader,
  header: string | undefined,
  args: JsonObject,
): Failure | undefined {
  const value = follow(args, param.path);
  const where = `params.arguments.${param.path.join(".")}`;
  if (value === undefined || value === null) {
    return header === undefined ? undefined : differs(param.header, where);
  }
  // Not mirrored by anyone: validation will say what is wrong with it.
  if (typeof value === "object") {
    return header === undefined ? undefined : differs(param.header, where);
  }
  if (header === undefined) return missing(param.header, where);
  return equals(readHeader(header), value, param) ? undefined : differs(param.header, where);
}

function equals(header: string | undefined, value: unknown, param: ParamHeader): boolean {
  if (header === undefined) return false;
  if (header === String(value)) return true;
  if (param.type !== "integer" || typeof value !== "number") return false;
  // 42.0 and 42 are one integer (Server Validation, Note).
  return /^-?\d+(?:\.\d+)?$/.test(header) && Number(header) === value;
}

function follow(args: JsonObject, path: readonly string[]): unknown {
  let value: unknown = args;
  for (const step of path) {
    if (!isObject(value)) return undefined;
    value = own(value, step);
  }
  return value;
}

/**
 * The value a header carries: unwrapped when it is well-formed base64 of UTF-8, as it
 * stands otherwise, and nothing when it holds characters that no header may.
 */
export function readHeader(header: string): string | undefined {
  const value = header.trim();
  if (!visible.test(value)) return undefined;
  if (!isWrapped(value)) return value;
  return decodeText(value.slice(prefix.length, -suffix.length)) ?? value;
}

/** A value as a header may carry it. */
export function writeHeader(value: string): string {
  const plain = visible.test(value) && value.trim() === value && !isWrapped(value);
  return plain ? value : `${prefix}${encodeText(value)}${suffix}`;
}

function isWrapped(value: string): boolean {
  // The shortest string with both ends lets them overlap; it wraps nothing.
  return (
    value.length >= prefix.length + suffix.length &&
    value.startsWith(prefix) &&
    value.endsWith(suffix)
  );
}

/** The headers that mirror a request: the client's half of what is checked above. */
export function writeMirrors(
  method: string,
  params: JsonObject,
  paramHeaders: readonly ParamHeader[],
): Record<string, string> {
  const headers: Record<string, string> = { [methodHeader]: method };
  const source = named.get(method);
  const name = source === undefined ? undefined : params[source];
  if (typeof name === "string") headers[nameHeader] = writeHeader(name);
  const args = params["arguments"];
  if (method !== "tools/call" || !isObject(args)) return headers;
  for (const { header, path } of paramHeaders) {
    const value = follow(args, path);
    if (value === undefined || value === null || typeof value === "object") continue;
    headers[header] = writeHeader(String(value));
  }
  return headers;
}

function missing(header: string, source: string): Failure {
  return failure(
    "header-mismatch",
    `Header mismatch: ${header} is missing; it must equal ${source}`,
  );
}

function differs(header: string, source: string): Failure {
  return failure("header-mismatch", `Header mismatch: ${header} does not equal ${source}`);
}
