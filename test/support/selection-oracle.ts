/**
 * The rules of SELECTION.md a second time, written from its text alone and as plainly as it reads,
 * so that the library can be compared with it. Nothing here may come from `src/`.
 */

const allDates = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const modernDates = ["2026-07-28"];

/** A POST as selection sees it. */
export interface Posted {
  readonly query: string;
  /** The value of `MCP-Protocol-Version` as it arrived. */
  readonly header: string | undefined;
  readonly body: ParsedBody;
}

export interface ParsedBody {
  /** Undefined when the text is not JSON; JSON itself has no such value. */
  readonly json: unknown;
}

interface Selected {
  readonly revision: string;
  readonly reason: string;
}

export interface Refused {
  readonly code: number;
  /** Where one version was asked for, and which. */
  readonly requested?: string;
  readonly supported?: readonly string[];
}

export type Verdict = Selected | Refused;

export function isRefused(verdict: Verdict): verdict is Refused {
  return "code" in verdict;
}

export function parseBody(text: string): ParsedBody {
  try {
    return { json: JSON.parse(text) as unknown };
  } catch {
    // What is not JSON is a case of its own in rule 1.
    return { json: undefined };
  }
}

/** `served` is the endpoint's set; `session` the revision of the live session that is named. */
export function judge(posted: Posted, served: readonly string[], session?: string): Verdict {
  const newestFirst = allDates.filter((date) => served.includes(date));
  const newest = newestFirst[0]!;
  const claim = (version: string, reason: string): Verdict =>
    served.includes(version)
      ? { revision: version, reason }
      : { code: -32022, requested: version, supported: newestFirst };

  // 1. Unparseable body.
  const { json } = posted.body;
  if (json === undefined) return { revision: newest, reason: "unparseable" };

  // 2. The pin; one that contradicts itself asks for no version in particular.
  const pins = [...new Set(new URLSearchParams(posted.query).getAll("mcp"))];
  if (pins.length > 1) return { code: -32022, supported: newestFirst };
  if (pins.length === 1) return claim(pins[0]!, "pin");

  // A version that is no string states nothing that could be compared.
  const bodies = statementsOf(json);
  if (bodies.some((version) => typeof version !== "string")) return { code: -32602 };

  // 3. Header and body disagree, or one of them disagrees with itself.
  const headers = (posted.header?.split(",") ?? []).map((part) => part.trim());
  if (new Set([...headers, ...bodies]).size > 1) return { code: -32020 };

  // 4 and 5. Body, then header.
  if (bodies.length > 0) return claim(String(bodies[0]), "body");
  if (headers.length > 0) return claim(headers[0]!, "header");

  // 6. `initialize`, which an endpoint without a handshake answers with what it has.
  if (methodOf(json) === "initialize") {
    const handshake = newestFirst.find((date) => !modernDates.includes(date));
    return { revision: handshake ?? newest, reason: "initialize" };
  }

  // 7. The session; one in a revision that is no longer served is not live here.
  if (session !== undefined && served.includes(session)) {
    return { revision: session, reason: "session" };
  }

  // 8. Nothing states anything.
  const isAssumedServed = served.includes("2025-03-26");
  return { revision: isAssumedServed ? "2025-03-26" : newest, reason: "assumed" };
}

/** What the messages of a body state, strings or not; silent ones state nothing. */
function statementsOf(json: unknown): unknown[] {
  const messages: readonly unknown[] = Array.isArray(json) ? json : [json];
  const key = "io.modelcontextprotocol/protocolVersion";
  return messages.flatMap((message) => {
    const meta = member(member(message, "params"), "_meta");
    return isRecord(meta) && Object.hasOwn(meta, key) ? [meta[key]] : [];
  });
}

function methodOf(json: unknown): unknown {
  return Array.isArray(json) ? undefined : member(json, "method");
}

function member(value: unknown, name: string): unknown {
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What the endpoint answers, as far as SELECTION.md says it. */
export interface Answered {
  readonly status: number;
  /** The error's code; undefined for a result, "any" where the text names none. */
  readonly code: number | "any" | undefined;
}

export interface Asked extends Posted {
  readonly served: readonly string[];
  /** `"unknown"` for an id that no live session has. */
  readonly session: "unknown" | string | undefined;
  /** The value of `Mcp-Method`. */
  readonly mcpMethod: string | undefined;
}

/** The answer to `tools/list`, `initialize` with good parameters, `server/discover`, or an array. */
export function foresee(asked: Asked): Answered {
  const live = asked.session === "unknown" ? undefined : asked.session;
  const verdict = judge(asked, asked.served, live);
  if (isRefused(verdict)) return { status: 400, code: verdict.code };
  if (verdict.reason === "unparseable") return { status: 400, code: -32700 };
  if (modernDates.includes(verdict.revision)) return foreseeModern(asked);
  if (asked.session === "unknown") return { status: 404, code: "any" };
  return foreseeHandshake(asked, verdict.revision);
}

/** The rows of the table "What a modern request must satisfy", top down. */
function foreseeModern(asked: Asked): Answered {
  const { json } = asked.body;
  if (Array.isArray(json)) return { status: 400, code: -32600 };
  const method = methodOf(json);
  if (method === "initialize") return { status: 404, code: -32601 };
  const meta = member(member(json, "params"), "_meta");
  const version = member(meta, "io.modelcontextprotocol/protocolVersion");
  const capabilities = member(meta, "io.modelcontextprotocol/clientCapabilities");
  if (typeof version !== "string" || !isRecord(capabilities)) return { status: 400, code: -32602 };
  const headers = new Set(asked.header?.split(",").map((part) => part.trim()));
  if (headers.size !== 1 || !headers.has(version)) return { status: 400, code: -32020 };
  if (asked.mcpMethod !== method) return { status: 400, code: -32020 };
  return { status: 200, code: undefined };
}

function foreseeHandshake(asked: Asked, revision: string): Answered {
  const { json } = asked.body;
  if (Array.isArray(json)) {
    const isServed = revision === "2025-03-26" && json.length > 0;
    return isServed ? { status: 200, code: undefined } : { status: 400, code: -32600 };
  }
  const hasModern = asked.served.some((date) => modernDates.includes(date));
  if (methodOf(json) === "server/discover" && !hasModern) return { status: 200, code: -32601 };
  return { status: 200, code: undefined };
}
