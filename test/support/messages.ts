/** The vocabulary of a raw driver: messages and headers written by hand, without the library. */
import type { Revision } from "./schemas.ts";

type Params = Readonly<Record<string, unknown>>;

export interface Caller {
  readonly clientInfo?: Params;
  readonly capabilities?: Params;
}

export interface RawRequest {
  readonly jsonrpc: "2.0";
  readonly id: string | number;
  readonly method: string;
  readonly params?: Params;
}

export interface RawNotification {
  readonly jsonrpc: "2.0";
  readonly method: string;
  readonly params?: Params;
}

const driver: Params = { name: "raw-driver", version: "1.0.0" };

/** The `_meta` with which a request of 2026-07-28 introduces itself; older ones had a handshake. */
export function envelope(revision: Revision, caller: Caller = {}): Params | undefined {
  if (revision !== "2026-07-28") return undefined;
  return {
    "io.modelcontextprotocol/protocolVersion": revision,
    "io.modelcontextprotocol/clientInfo": caller.clientInfo ?? driver,
    "io.modelcontextprotocol/clientCapabilities": caller.capabilities ?? {},
  };
}

/** A request; keys of `params._meta` win over those of the envelope, so a test can spoil one. */
export function request(
  revision: Revision,
  id: string | number,
  method: string,
  params?: Params,
  caller?: Caller,
): RawRequest {
  const meta = envelope(revision, caller);
  const given = params?.["_meta"];
  const merged = meta
    ? { ...params, _meta: { ...meta, ...(isObject(given) ? given : {}) } }
    : params;
  return { jsonrpc: "2.0", id, method, ...(merged && { params: merged }) };
}

export function notification(method: string, params?: Params): RawNotification {
  return { jsonrpc: "2.0", method, ...(params && { params }) };
}

export function initializeParams(revision: Revision, caller: Caller = {}): Params {
  return {
    protocolVersion: revision,
    capabilities: caller.capabilities ?? {},
    clientInfo: caller.clientInfo ?? driver,
  };
}

/** Where `Mcp-Name` takes its value from, in the methods that carry it. */
const nameSources: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
};

/** The headers of a POST that carries `message` (a request, notification, reply or batch). */
export function headersFor(revision: Revision, message: unknown): Record<string, string> {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const { method, params } = isObject(message) ? message : {};
  // `initialize` is what settles the revision, so the header starts with the request after it.
  if (revision >= "2025-06-18" && method !== "initialize") {
    headers["mcp-protocol-version"] = revision;
  }
  if (revision !== "2026-07-28" || typeof method !== "string") return headers;
  headers["mcp-method"] = method;
  const source = Object.hasOwn(nameSources, method) ? nameSources[method] : undefined;
  const name = source && isObject(params) ? params[source] : undefined;
  if (typeof name === "string") headers["mcp-name"] = headerValue(name);
  return headers;
}

/** `text` as a header value, in the Base64 form when a plain one could not carry it unchanged. */
export function headerValue(text: string): string {
  const isPlain =
    /^[\x20-\x7e]*$/.test(text) &&
    text === text.trim() &&
    !(text.startsWith("=?base64?") && text.endsWith("?="));
  return isPlain ? text : `=?base64?${Buffer.from(text, "utf8").toString("base64")}?=`;
}

function isObject(value: unknown): value is Params {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
