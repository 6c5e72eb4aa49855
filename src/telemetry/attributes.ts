/**
 * Names by the semantic conventions for MCP, which OpenTelemetry keeps with those for generative
 * AI; they are still in development there. What they have no name for is under `anyrev.`.
 */
import type { Attributes } from "@opentelemetry/api";
import type { Ended, Network, Operation } from "../core/telemetry.ts";

/** The method, and what it is about, where that is one of few. */
export function spanName({ method, tool, prompt }: Operation): string {
  const target = tool ?? prompt;
  return target === undefined ? method : `${method} ${target}`;
}

/** What tells apart in a metric: one of few values each. */
export function metricAttributes(operation: Operation): Attributes {
  const { method, tool, prompt, revision, network } = operation;
  return defined({
    ...networkAttributes(network),
    "mcp.method.name": method,
    "mcp.protocol.version": revision,
    "gen_ai.tool.name": tool,
    "gen_ai.operation.name": method === "tools/call" ? "execute_tool" : undefined,
    "gen_ai.prompt.name": prompt,
  });
}

export function sessionAttributes(
  revision: string,
  network: Network | undefined,
  reason: string | undefined,
): Attributes {
  return defined({
    ...networkAttributes(network),
    "mcp.protocol.version": revision,
    "error.type": reason,
  });
}

function networkAttributes(network: Network | undefined) {
  return {
    "network.transport": network?.transport,
    "network.protocol.name": network?.protocol,
    "server.address": network?.address,
    "server.port": network?.port,
  };
}

/** Characters of an id at most. */
const maxId = 100;

/** What a span says besides. */
export function spanAttributes(
  { id, uri, selected, sessionId }: Operation,
  nameOf: (session: string) => string,
): Attributes {
  return defined({
    "jsonrpc.request.id": id === undefined ? undefined : String(id).slice(0, maxId),
    "mcp.resource.uri": uri,
    "mcp.session.id": sessionId === undefined ? undefined : nameOf(sessionId),
    "anyrev.selection.reason": selected,
  });
}

/** Codes that tell a caller of a fault of its own, which is none of the server's. */
const callerFaults: ReadonlySet<number> = new Set([-32_700, -32_600, -32_601, -32_602, -32_002]);

/** What a span and a metric say of the end, by who saw it. */
export function endAttributes(ended: Ended, side: "server" | "client"): Attributes {
  const { code, revision } = ended;
  return defined({
    "mcp.protocol.version": revision,
    "rpc.response.status_code": code === undefined ? undefined : String(code),
    "error.type": errorType(ended, side),
  });
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

function defined(attributes: Readonly<Record<string, string | number | undefined>>): Attributes {
  const found: Attributes = {};
  for (const [key, value] of Object.entries(attributes))
    if (value !== undefined) found[key] = value;
  return found;
}
