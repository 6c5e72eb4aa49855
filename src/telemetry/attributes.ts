/**
 * Names by the semantic conventions for MCP, which OpenTelemetry keeps with those for generative
 * AI; they are still in development there. What they have no name for is under `anyrev.`.
 */
import type { Attributes } from "@opentelemetry/api";
import type { Ended, Network, Operation } from "../core/telemetry.ts";
import type { Pseudonyms } from "../util/pseudonyms.ts";

/** The method, and what it is about, where that is one of few. */
export function spanName({ method, tool, prompt }: Operation): string {
  const target = tool ?? prompt;
  return target === undefined ? method : `${method} ${target}`;
}

/** What tells apart in a metric: one of few values each. */
export function metricAttributes(operation: Operation): Attributes {
  const { method, tool, prompt, revision, network } = operation;
  const found: Attributes = { "mcp.method.name": method, "mcp.protocol.version": revision };
  put(found, "gen_ai.tool.name", tool);
  if (method === "tools/call") found["gen_ai.operation.name"] = "execute_tool";
  put(found, "gen_ai.prompt.name", prompt);
  putNetwork(found, network);
  return found;
}

export function sessionAttributes(
  revision: string,
  network: Network | undefined,
  reason: string | undefined,
): Attributes {
  const found: Attributes = { "mcp.protocol.version": revision };
  put(found, "error.type", reason);
  putNetwork(found, network);
  return found;
}

function putNetwork(found: Attributes, network: Network | undefined): void {
  if (network === undefined) return;
  found["network.transport"] = network.transport;
  put(found, "network.protocol.name", network.protocol);
  put(found, "server.address", network.address);
  put(found, "server.port", network.port);
}

/** Characters of an id at most. */
const maxId = 100;

/** The same, and what a span says besides. */
export function spanAttributes(
  measured: Attributes,
  { id, uri, selected, sessionId }: Operation,
  names: Pseudonyms,
): Attributes {
  const found = { ...measured };
  if (id !== undefined) found["jsonrpc.request.id"] = String(id).slice(0, maxId);
  put(found, "mcp.resource.uri", uri);
  if (sessionId !== undefined) found["mcp.session.id"] = names.of(sessionId);
  put(found, "anyrev.selection.reason", selected);
  return found;
}

/** Codes that tell a caller of a fault of its own, which is none of the server's. */
const callerFaults: ReadonlySet<number> = new Set([-32_700, -32_600, -32_601, -32_602, -32_002]);

/** What a span and a metric say of the end, by who saw it. */
export function endAttributes(ended: Ended, side: "server" | "client"): Attributes {
  const { code, revision } = ended;
  const found: Attributes = {};
  put(found, "mcp.protocol.version", revision);
  if (code !== undefined) found["rpc.response.status_code"] = String(code);
  put(found, "error.type", errorType(ended, side));
  return found;
}

function errorType(
  { reason, code, isError }: Ended,
  side: "server" | "client",
): string | undefined {
  if (isError) return "tool_error";
  if (reason === undefined) return undefined;
  if (side === "client") return code === undefined ? reason : String(code);
  if (reason === "cancelled") return undefined;
  if (code === undefined) return reason;
  return callerFaults.has(code) ? undefined : String(code);
}

/** One at a time: objects that are put together of several cost as much as a span does. */
function put(found: Attributes, key: string, value: string | number | undefined): void {
  if (value !== undefined) found[key] = value;
}
