/**
 * The revision of a request: a pure, total step from what can be read of it to the adapter
 * that speaks it, and why. The first rule that applies decides.
 */
import { Rejection } from "../core/errors.ts";
import { type Failure, failure } from "../core/outcome.ts";
import type { Adapter } from "./adapter.ts";
import type { AdapterSet } from "./adapter-set.ts";
import { type Preamble, type Statement, versionKey } from "./preamble.ts";

export type SelectionReason =
  | "unparseable"
  | "pin"
  | "body"
  | "header"
  | "initialize"
  | "session"
  | "assumed";

export interface Selection {
  readonly kind: "selection";
  readonly adapter: Adapter;
  /** The version selected: the one stated, where one was stated. */
  readonly revision: string;
  readonly reason: SelectionReason;
}

/** The revision that predates the version header: its absence is what implies it. */
const assumed = "2025-03-26";

/**
 * @param session - the revision that the live session named by the request negotiated
 * @throws Rejection with its `kind`, and `requested` and `supported` where it is about a version.
 */
export function select(preamble: Preamble, adapters: AdapterSet, session?: string): Selection {
  const decided = decide(preamble, adapters, session);
  if (decided.kind === "failure") throw new Rejection(decided);
  return decided;
}

/** {@link select} without the throw. */
function decide(preamble: Preamble, adapters: AdapterSet, session?: string): Selection | Failure {
  return decideStated(preamble, adapters) ?? decideUnstated(preamble, adapters, session);
}

/** Rules 1 to 5: what a message states of itself, which needs no look at any session. */
export function decideStated(
  preamble: Preamble,
  adapters: AdapterSet,
): Selection | Failure | undefined {
  if (!preamble.parseable) return selection(adapters.newest, "unparseable");
  return decideVersion(preamble, adapters);
}

/** Rules 2 to 5, also for a request that has no body to parse. */
export function decideVersion(
  { pin, body, header }: Preamble,
  adapters: AdapterSet,
): Selection | Failure | undefined {
  if (pin !== undefined) return claim(pin, "pin", adapters);
  if (typeof body === "object" && body.kind === "malformed") {
    return failure("invalid-version", `params._meta["${versionKey}"] must be a string`);
  }
  const mismatch = findMismatch(header, body);
  if (mismatch !== undefined) return failure("header-mismatch", mismatch);
  if (body !== undefined) return claim(body, "body", adapters);
  if (header !== undefined) return claim(header, "header", adapters);
  return undefined;
}

/** Rules 6 to 8: what follows when nothing is stated. Never a refusal. */
export function decideUnstated(
  { method }: Preamble,
  adapters: AdapterSet,
  session: string | undefined,
): Selection {
  if (method === "initialize") {
    return selection(adapters.newestHandshake ?? adapters.newest, "initialize");
  }
  const negotiated = session === undefined ? undefined : adapters.find(session);
  if (session !== undefined && negotiated !== undefined) {
    return selection(negotiated, "session", session);
  }
  const fallback = adapters.find(assumed);
  return fallback === undefined
    ? selection(adapters.newest, "assumed")
    : selection(fallback, "assumed", assumed);
}

function selection(
  adapter: Adapter,
  reason: SelectionReason,
  revision: string = adapter.revision,
): Selection {
  return { kind: "selection", adapter, revision, reason };
}

function findMismatch(header: Statement, body: Statement): string | undefined {
  if (typeof header === "object") {
    return `MCP-Protocol-Version states ${list(header.values)}; send it once`;
  }
  if (typeof body === "object") {
    return `the messages of this array state ${list(body.values)}; send them apart`;
  }
  if (header === undefined || body === undefined || header === body) return undefined;
  return `MCP-Protocol-Version states ${quote(header)}, the body ${quote(body)}; they must be equal`;
}

function claim(
  stated: Exclude<Statement, undefined>,
  reason: SelectionReason,
  adapters: AdapterSet,
): Selection | Failure {
  const { supported } = adapters;
  if (typeof stated !== "string") {
    const requested = stated.values.map(String).join(", ");
    return failure("unsupported-revision", `?mcp= states ${list(stated.values)}; state one`, {
      supported,
      requested: shorten(requested),
    });
  }
  const adapter = adapters.find(stated);
  if (adapter !== undefined) return selection(adapter, reason, stated);
  return failure(
    "unsupported-revision",
    `Unsupported protocol version ${quote(stated)}; this endpoint serves ${supported.join(", ")}`,
    { supported, requested: shorten(stated) },
  );
}

function list(values: readonly unknown[]): string {
  return values
    .slice(0, 5)
    .map((value) => quote(String(value)))
    .join(" and ");
}

function quote(value: string): string {
  return JSON.stringify(shorten(value));
}

/** What a stranger sent is repeated back, but not at any length. */
function shorten(value: string): string {
  return value.length > 100 ? `${value.slice(0, 100)}…` : value;
}
