/**
 * What can be read of a message before the revision it is written in is known. Reading it
 * validates nothing beyond "is this JSON", and never throws.
 */
import { isObject, own } from "../util/json.ts";

export const versionKey = "io.modelcontextprotocol/protocolVersion";
export const versionHeader = "mcp-protocol-version";
export const sessionHeader = "mcp-session-id";
const pinParameter = "mcp";

/** Finds a header by its name in lower case; repeated ones joined by ", ". */
export type HeaderLookup = (name: string) => string | undefined;

/** A place that states two versions, or something that is no version. */
export interface Unclear {
  readonly kind: "conflict" | "malformed";
  readonly values: readonly unknown[];
}

/** What one place says of the revision: nothing, one version, or something unclear. */
export type Statement = string | undefined | Unclear;

export interface Preamble {
  /** The bytes as they came. */
  readonly raw: Uint8Array;
  /** The bytes as text, without a byte order mark; undefined when they are not UTF-8. */
  readonly text: string | undefined;
  readonly parseable: boolean;
  /** The result of the one `JSON.parse`; later stages use it and never parse again. */
  readonly json: unknown;
  readonly headers: HeaderLookup;
  /** `?mcp=` of the endpoint's URL. */
  readonly pin: Statement;
  /** `MCP-Protocol-Version`. */
  readonly header: Statement;
  /** `params._meta["io.modelcontextprotocol/protocolVersion"]`. */
  readonly body: Statement;
  readonly method: string | undefined;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

const noHeaders: HeaderLookup = () => undefined;

/**
 * @param headers - a lookup, `Headers`, or a plain record whose names may be in any case
 * @param query - the URL's query, with or without its `?`
 */
export function readPreamble(
  raw: Uint8Array,
  headers: HeaderLookup | Headers | Readonly<Record<string, string | undefined>> = noHeaders,
  query = "",
): Preamble {
  const lookup = toLookup(headers);
  const text = decode(raw);
  const parsed = text === undefined ? undefined : parse(text);
  const json = parsed?.value;
  return {
    raw,
    text,
    parseable: parsed !== undefined,
    json,
    headers: lookup,
    pin: query === "" ? undefined : readPin(query),
    header: readVersionHeader(lookup(versionHeader)),
    body: readBodyVersion(json),
    method: readMethod(json),
  };
}

function toLookup(
  headers: HeaderLookup | Headers | Readonly<Record<string, string | undefined>>,
): HeaderLookup {
  if (typeof headers === "function") return headers;
  if (headers instanceof Headers) return (name) => headers.get(name) ?? undefined;
  const byName = new Map(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  return (name) => byName.get(name);
}

function decode(raw: Uint8Array): string | undefined {
  try {
    return utf8.decode(raw);
  } catch {
    // Not UTF-8, so not JSON (RFC 8259 section 8.1); rule 1 answers.
    return undefined;
  }
}

function parse(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    // Not JSON; rule 1 answers, and says nothing about where: the text may be anything.
    return undefined;
  }
}

function readPin(query: string): Statement {
  // Most URLs have no pin. A percent sign may spell the name another way.
  if (!query.includes(pinParameter) && !query.includes("%")) return undefined;
  return agree(new URLSearchParams(query).getAll(pinParameter));
}

function readVersionHeader(value: string | undefined): Statement {
  if (value === undefined) return undefined;
  if (!value.includes(",")) return value.trim();
  // Some proxies join a repeated header; one that repeats itself says one thing.
  return agree(value.split(",").map((part) => part.trim()));
}

function agree(values: readonly string[]): Statement {
  const [first] = values;
  return values.every((value) => value === first) ? first : { kind: "conflict", values };
}

function readBodyVersion(json: unknown): Statement {
  if (Array.isArray(json)) return readArrayVersion(json);
  if (!isObject(json)) return undefined;
  const params = own(json, "params");
  if (!isObject(params)) return undefined;
  const meta = own(params, "_meta");
  if (!isObject(meta) || !Object.hasOwn(meta, versionKey)) return undefined;
  const version = meta[versionKey];
  return typeof version === "string" ? version : { kind: "malformed", values: [version] };
}

function readArrayVersion(items: readonly unknown[]): Statement {
  let stated: string | undefined;
  let conflict: Unclear | undefined;
  for (const item of items) {
    if (Array.isArray(item)) continue;
    const version = readBodyVersion(item);
    if (version === undefined) continue;
    if (typeof version !== "string") return version;
    if (stated !== undefined && version !== stated) {
      conflict ??= { kind: "conflict", values: [stated, version] };
    }
    stated ??= version;
  }
  return conflict ?? stated;
}

function readMethod(json: unknown): string | undefined {
  if (!isObject(json)) return undefined;
  const method = own(json, "method");
  return typeof method === "string" ? method : undefined;
}
