/** What a user may set of a client, and of one call. */
import type { LogLevel } from "../core/call.ts";
import type { Implementation } from "../core/model.ts";
import type { Telemetry } from "../core/telemetry.ts";
import { AdapterSet } from "../revisions/adapter-set.ts";
import { allRevisions } from "../revisions/index.ts";
import type { JsonObject } from "../util/json.ts";
import type { AnswerHandlers } from "./answering.ts";
import type { ResponseCache } from "./cache.ts";
import type { ServerLog } from "./hearing.ts";
import type { Progress } from "./link.ts";
import type { VerdictStore } from "./verdicts.ts";

/** How a client presents itself, what it answers, and what it waits for. */
export interface ClientOptions extends AnswerHandlers {
  /** Who the client says it is. @default anyrev, with its version */
  readonly info?: Implementation | undefined;
  /**
   * The revisions that are accepted: `"auto"` for all five, one to pin it, a list, or a set with
   * adapters of your own. @default "auto"
   */
  readonly revisions?: AdapterSet | readonly string[] | string | undefined;
  /**
   * Extensions that the client declares, with their settings, by identifier, such as
   * `{ "com.example/feature": {} }`. Only 2026-07-28 has a place for them. @default those of `auth`
   */
  readonly extensions?: Readonly<Record<string, JsonObject>> | undefined;
  /** How long a call may take without a sign of progress, in milliseconds. @default 60000 */
  readonly timeoutMs?: number | undefined;
  /** How long a call may take whatever it reports, in milliseconds. @default 600000 */
  readonly maxTimeoutMs?: number | undefined;
  /**
   * How long a process may be silent to the first request before it is taken for one that
   * needs a handshake, in milliseconds. @default 5000
   */
  readonly probeTimeoutMs?: number | undefined;
  /** How often one call may come back with questions. @default 10 */
  readonly maxRounds?: number | undefined;
  /** The least severe log entry that the server should send. @default none is asked for */
  readonly logLevel?: LogLevel | undefined;
  readonly onLog?: ((entry: ServerLog) => void) | undefined;
  /** Hears what was passed over: garbage, tools left out, streams lost. @default nobody */
  readonly onWarning?: ((message: string) => void) | undefined;
  /**
   * Whether structured results are held against the tool's output schema, once its listing is
   * known: a result that differs rejects the call instead of misleading it. @default true
   */
  readonly validateOutput?: boolean | undefined;
  /**
   * Whether headers mirror the body also in revisions that do not ask for it; some servers
   * want that. @default "as-specified"
   */
  readonly mirrors?: "as-specified" | "always" | undefined;
  /**
   * Watches each request, such as `openTelemetry` of `anyrev/telemetry`, and has a trace context
   * sent along in its `_meta`. @default nobody
   */
  readonly telemetry?: Telemetry | undefined;
  /** Keeps how each server is spoken to. @default in memory, for this process */
  readonly verdicts?: VerdictStore | undefined;
  /**
   * Keeps listings, resources and, over HTTP, what the server says of itself, as long as the
   * server allows: `true` for this client alone, or a cache that clients share. Only 2026-07-28
   * has servers say how long; nothing is kept of others. @default false
   */
  readonly cache?: boolean | ResponseCache | undefined;
  /**
   * Names whoever the credentials stand for: what a server calls private is shared by the clients
   * of one name and never goes to another. Where users take turns in one client, give a function
   * that tells whose turn it is, or the one reads what is the other's.
   * @default each client is one of its own; with `auth`, what that says; where `headers` is a
   * function, nothing private is kept
   */
  readonly authContext?: string | (() => string) | undefined;
}

/** What one call may override. */
export interface CallOptions {
  /** Gives the call up; the server is told, as its revision has it. */
  readonly signal?: AbortSignal | undefined;
  /** @default that of the client */
  readonly timeoutMs?: number | undefined;
  /** @default that of the client */
  readonly maxTimeoutMs?: number | undefined;
  /** Asks for progress, and hears it; each report starts `timeoutMs` anew. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /**
   * Whether the call is sent again when the connection broke before its reply came, where the
   * revision cannot resume a stream: the server may then do it twice. @default "always", as
   * 2026-07-28 requires
   */
  readonly reissue?: "always" | "never" | undefined;
  /** Asks the server even if what it said last is kept. @default false */
  readonly fresh?: boolean | undefined;
  /** More for the request's `_meta`, such as a trace context. */
  readonly meta?: JsonObject | undefined;
}

interface Defaults {
  readonly info: Implementation;
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  readonly probeTimeoutMs: number;
  readonly maxRounds: number;
}

export const defaults: Defaults = Object.freeze({
  info: { name: "anyrev", version: "0.1.0" },
  timeoutMs: 60_000,
  maxTimeoutMs: 600_000,
  probeTimeoutMs: 5_000,
  maxRounds: 10,
});

export function toAccepted(revisions: ClientOptions["revisions"] = "auto"): AdapterSet {
  if (revisions instanceof AdapterSet) return revisions;
  if (revisions === "auto") return allRevisions;
  return allRevisions.narrow(typeof revisions === "string" ? [revisions] : revisions);
}
