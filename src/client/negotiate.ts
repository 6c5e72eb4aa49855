/**
 * Finds out what a server speaks: a request that needs no handshake first, then the handshake,
 * then the transport of 2024-11-05. A recognised error of a server without handshake settles
 * it; no other code decides anything (basic/versioning, basic/transports, 2026-07-28).
 */

import { describe } from "../jsonrpc/message.ts";
import type { Adapter } from "../revisions/adapter.ts";
import type { AdapterSet } from "../revisions/adapter-set.ts";
import { isModernRefusal } from "../revisions/refusals.ts";
import { isObject, type JsonObject } from "../util/json.ts";
import { ClientError } from "./errors.ts";
import type { Link } from "./link.ts";
import type { ServerDescription } from "./model.ts";
import { describeServer, probe, toUnsupported } from "./probe.ts";
import type { Transport } from "./transport.ts";
import type { Verdict, VerdictStore } from "./verdicts.ts";

/** A server that can be reached, again and again. */
export interface Target {
  /** What a verdict is kept under; undefined where none is worth keeping. */
  readonly key: string | undefined;
  /**
   * What its results are kept under. It tells apart whatever answers differently, and stays in
   * memory. @default `key`
   */
  readonly cacheKey?: string | undefined;
  /** A fresh transport each time: a process that ended is started anew. */
  open(): Transport;
  /** The same server over the HTTP+SSE transport of 2024-11-05, where it may have that. */
  readonly openLegacySse?: (() => Transport) | undefined;
}

export interface NegotiateOptions {
  readonly accepted: AdapterSet;
  readonly verdicts: VerdictStore;
  /** How long a server may be silent to the first request of a channel before it counts as old. */
  readonly probeTimeoutMs: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Wraps a transport and lets what comes over it be heard. */
  link(transport: Transport, adapter: Adapter): Promise<Link>;
  /** The result of `server/discover`, which `ask` sends, or that of an earlier time. */
  discover(link: Link, ask: () => Promise<JsonObject>): Promise<JsonObject>;
}

export interface Negotiated {
  readonly link: Link;
  readonly description: ServerDescription;
}

/** @throws ClientError */
export async function negotiate(target: Target, options: NegotiateOptions): Promise<Negotiated> {
  const { key } = target;
  const known = key === undefined ? undefined : await options.verdicts.get(key);
  const remembered = known === undefined ? undefined : toAttempts(known, options.accepted);
  let found: Negotiated;
  if (remembered === undefined) {
    found = await attempt(target, options, allAttempts(options.accepted));
  } else {
    try {
      found = await attempt(target, options, remembered);
    } catch (cause) {
      if (!isVerdict(cause)) throw cause;
      if (key !== undefined) await options.verdicts.delete(key);
      found = await attempt(target, options, allAttempts(options.accepted));
    }
  }
  if (key !== undefined) await options.verdicts.set(key, toVerdict(found, target));
  return found;
}

/** Whether a failure says something about what the server speaks. */
function isVerdict(cause: unknown): boolean {
  if (!(cause instanceof ClientError)) return false;
  switch (cause.kind) {
    case "refused":
    case "unsupported":
    case "invalid-answer":
    case "session-lost":
    case "interrupted":
    case "timeout":
      return true;
    case "http":
      return cause.status !== undefined && cause.status < 500 && cause.status !== 429;
    case "unauthorized":
    case "aborted":
    case "unreachable":
    case "too-large":
    case "closed":
      return false;
  }
}

/** What is tried, in this order: no handshake, a handshake, the old transport. */
interface Attempts {
  readonly modern: Adapter | undefined;
  readonly handshake: Adapter | undefined;
  readonly legacySse: "instead" | "after" | "never";
}

function allAttempts(accepted: AdapterSet): Attempts {
  const modern = accepted.adapters.find(({ era }) => era === "modern");
  return { modern, handshake: accepted.newestHandshake, legacySse: "after" };
}

function toAttempts({ revision, legacySse }: Verdict, accepted: AdapterSet): Attempts | undefined {
  const adapter = accepted.find(revision);
  if (adapter === undefined) return undefined;
  return adapter.era === "modern"
    ? { modern: adapter, handshake: undefined, legacySse: "never" }
    : {
        modern: undefined,
        handshake: accepted.newestHandshake,
        legacySse: legacySse === true ? "instead" : "never",
      };
}

function toVerdict({ link, description }: Negotiated, target: Target): Verdict {
  const legacySse = target.openLegacySse !== undefined && link.transport.kind === "channel";
  return legacySse
    ? { revision: description.revision, legacySse }
    : { revision: description.revision };
}

async function attempt(
  target: Target,
  options: NegotiateOptions,
  { modern, handshake, legacySse }: Attempts,
): Promise<Negotiated> {
  const first = modern ?? handshake;
  if (first === undefined) throw new Error("a set of adapters is never empty");
  if (legacySse === "instead" && handshake !== undefined) {
    return overLegacySse(target, handshake, options, undefined);
  }
  const probed = modern === undefined ? undefined : await probe(target, modern, options, handshake);
  if (probed?.kind === "negotiated") return probed.negotiated;
  if (handshake === undefined) throw probed?.why ?? new Error("nothing was tried");
  try {
    // A server that took the first request badly gets a fresh start.
    const link = probed?.usable ?? (await options.link(target.open(), handshake));
    return await shakeHands(link, handshake, options);
  } catch (cause) {
    const why = nearest(cause, probed?.why);
    if (legacySse === "never" || !suggestsLegacySse(cause)) throw why;
    return overLegacySse(target, handshake, options, why);
  }
}

/** A server that said what it speaks, and then shakes no hands, has said why. */
function nearest(cause: unknown, said: ClientError | undefined): unknown {
  const isRefused = cause instanceof ClientError && cause.kind === "refused";
  return isRefused && said?.kind === "unsupported" ? said : cause;
}

async function shakeHands(
  link: Link,
  handshake: Adapter,
  options: NegotiateOptions,
): Promise<Negotiated> {
  const { accepted, signal, timeoutMs } = options;
  link.adapter = handshake;
  try {
    const result = await initialize(link, options);
    const version = result["protocolVersion"];
    const adapter = typeof version === "string" ? accepted.find(version) : undefined;
    if (typeof version !== "string" || adapter?.era !== "handshake") {
      throw toUnsupported([typeof version === "string" ? version : describe(version)], accepted);
    }
    link.adapter = adapter;
    const waiting = { signal, timeoutMs, maxTimeoutMs: timeoutMs };
    link.opened();
    await link.notify("notifications/initialized", undefined, waiting);
    return { link, description: describeServer(version, result, undefined) };
  } catch (cause) {
    await link.transport.close();
    throw cause;
  }
}

async function initialize(link: Link, options: NegotiateOptions): Promise<JsonObject> {
  const { accepted, timeoutMs, signal } = options;
  const asking = { signal, timeoutMs, maxTimeoutMs: timeoutMs };
  const ask = (): Promise<JsonObject> => link.exchange("initialize", {}, asking);
  try {
    return await ask();
  } catch (cause) {
    // Some servers refuse a version, with the list of theirs, where they should answer with
    // another (basic/lifecycle, Error Handling, 2025-11-25, has it as an example).
    const other = otherVersion(cause, link.adapter, accepted);
    if (other === undefined) throw cause;
    link.adapter = other;
    return ask();
  }
}

function otherVersion(cause: unknown, asked: Adapter, accepted: AdapterSet): Adapter | undefined {
  const data = cause instanceof ClientError && cause.kind === "refused" ? cause.data : undefined;
  const supported = isObject(data) ? data["supported"] : undefined;
  if (!Array.isArray(supported)) return undefined;
  const others = accepted.adapters.filter(({ era }) => era === "handshake");
  return others.find(
    (each) => each !== asked && each.claims.some((own) => supported.includes(own)),
  );
}

/** Opens a session anew over a link whose session is gone. */
export function shakeHandsAgain(link: Link, options: NegotiateOptions): Promise<Negotiated> {
  link.transport.forgetSession();
  return shakeHands(link, link.adapter, options);
}

/** Statuses with which a server of the old transport answers a POST (2026-07-28, ibid.). */
function suggestsLegacySse(cause: unknown): boolean {
  if (!(cause instanceof ClientError) || isModernRefusal(cause)) return false;
  const { status } = cause;
  return status === 400 || status === 404 || status === 405;
}

async function overLegacySse(
  target: Target,
  handshake: Adapter,
  options: NegotiateOptions,
  earlier: unknown,
): Promise<Negotiated> {
  const transport = target.openLegacySse?.();
  if (transport === undefined) {
    throw earlier ?? new ClientError("unsupported", "the server has no HTTP+SSE transport");
  }
  try {
    const link = await options.link(transport, handshake);
    return await shakeHands(link, handshake, options);
  } catch (cause) {
    await transport.close();
    // What the first way said is nearer to what the user has to do.
    throw earlier instanceof ClientError && !options.signal.aborted ? earlier : cause;
  }
}
