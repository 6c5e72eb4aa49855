/**
 * What a server has to find about the headers of a request of 2026-07-28 that mirror its body,
 * written from the pages alone (basic/transports/streamable-http, Request Metadata and Server
 * Validation) and from the table of SELECTION.md. Nothing here may come from `src/`.
 */

/** A POST with its headers as they arrive: lines of one name joined, blanks around them gone. */
export interface Mirrored {
  readonly headers: Readonly<Record<string, string>>;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** An annotated argument: the rest of its header's name, where it is, and what it is. */
export interface Annotated {
  readonly name: string;
  readonly path: readonly string[];
  readonly isInteger: boolean;
}

export type Finding = "agrees" | "mismatch" | "malformed" | "unsupported" | "unchecked";

const modern = "2026-07-28";
const handshakes = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const versionKey = "io.modelcontextprotocol/protocolVersion";
const capabilitiesKey = "io.modelcontextprotocol/clientCapabilities";

export function find(
  { headers, method, params }: Mirrored,
  annotated: (tool: unknown) => readonly Annotated[],
): Finding {
  const header = headers["mcp-protocol-version"];
  const meta = asRecord(params["_meta"]);
  const stated = meta[versionKey];
  if (stated !== undefined && typeof stated !== "string") return "malformed";
  const versions = new Set(header?.split(",").map((each) => each.trim()));
  if (stated !== undefined) versions.add(stated);
  if (versions.size > 1) return "mismatch";
  const [version] = versions;
  // Nothing that states no modern version is held to any of this.
  if (version === undefined || handshakes.includes(version)) return "unchecked";
  if (version !== modern) return "unsupported";
  const capabilities = meta[capabilitiesKey];
  const hasEnvelope = stated !== undefined && isRecord(capabilities);
  if (!hasEnvelope) return "malformed";
  if (header === undefined || headers["mcp-method"] !== method) return "mismatch";
  const source = { "tools/call": "name", "prompts/get": "name", "resources/read": "uri" }[method];
  if (source === undefined) return "agrees";
  if (!carries(headers["mcp-name"], params[source], false)) return "mismatch";
  if (method !== "tools/call") return "agrees";
  const agrees = annotated(params["name"]).every(({ name, path, isInteger }) => {
    const value = at(params["arguments"], path);
    const mirror = headers[`mcp-param-${name}`];
    const isThere = value !== undefined && value !== null;
    return isThere ? carries(mirror, value, isInteger) : mirror === undefined;
  });
  return agrees ? "agrees" : "mismatch";
}

/** Whether a header is there, well-formed, and stands for the value. */
function carries(header: string | undefined, value: unknown, isInteger: boolean): boolean {
  if (header === undefined || /[^\t\x20-\x7e]/.test(header)) return false;
  const said = unwrap(header);
  if (isInteger && typeof value === "number" && /^-?[0-9]+(\.[0-9]+)?$/.test(said)) {
    return Number.parseFloat(said) === value;
  }
  return typeof value === "object" ? false : said === `${value}`;
}

/** The text in the sentinel form, where it is one that decodes; else the header as it stands. */
function unwrap(header: string): string {
  const [, inner] = /^=\?base64\?(.*)\?=$/s.exec(header) ?? [];
  if (inner === undefined) return header;
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(inner))
    return header;
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return decoder.decode(Buffer.from(inner, "base64"));
  } catch {
    // Not UTF-8, so it wraps no text.
    return header;
  }
}

function at(value: unknown, path: readonly string[]): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  return isRecord(value) && Object.hasOwn(value, step) ? at(value[step], rest) : undefined;
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
