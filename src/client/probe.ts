/** The first request to a server: does it need a handshake? */
import type { Adapter } from "../revisions/adapter.ts";
import type { AdapterSet } from "../revisions/adapter-set.ts";
import { serverInfoKey } from "../revisions/client-half.ts";
import { readImplementation } from "../revisions/params.ts";
import { isModernRefusal, readSupported } from "../revisions/refusals.ts";
import { isObject, type JsonObject } from "../util/json.ts";
import { ClientError } from "./errors.ts";
import { excerpt } from "./excerpt.ts";
import type { Link } from "./link.ts";
import type { ServerDescription } from "./model.ts";
import type { Negotiated, NegotiateOptions, Target } from "./negotiate.ts";

export type Probed =
  | { readonly kind: "negotiated"; readonly negotiated: Negotiated }
  | {
      readonly kind: "handshake";
      /** The link that was probed over, where it can still be used. */
      readonly usable: Link | undefined;
      /** Why there is nothing in common, unless a handshake finds something. */
      readonly why: ClientError;
    };

export async function probe(
  target: Target,
  modern: Adapter,
  options: NegotiateOptions,
  handshake: Adapter | undefined,
): Promise<Probed> {
  const link = await options.link(target.open(), modern);
  try {
    const found = await discover(link, options);
    if (found.kind === "negotiated" || handshake !== undefined) return found;
    throw needsHandshake(found.why, options.accepted);
  } catch (cause) {
    await link.transport.close();
    if (!(cause instanceof ClientError) || handshake === undefined) throw cause;
    // A process that ended or said nothing is an old one; an HTTP server in trouble is none.
    const isSilent = cause.kind === "timeout" || cause.kind === "interrupted";
    if (isSilent && link.transport.kind === "channel" && !options.signal.aborted) {
      return { kind: "handshake", usable: undefined, why: cause };
    }
    throw cause;
  }
}

/** @throws ClientError for what says nothing about the server's revisions, and to stay modern. */
async function discover(link: Link, options: NegotiateOptions): Promise<Probed> {
  const timeoutMs = link.transport.kind === "channel" ? options.probeTimeoutMs : options.timeoutMs;
  const asking = { signal: options.signal, timeoutMs, maxTimeoutMs: timeoutMs };
  const ask = (): Promise<JsonObject> =>
    options.discover(link, () => link.exchange("server/discover", {}, asking));
  try {
    return readDiscovery(link, await ask(), options);
  } catch (cause) {
    const judged = judge(cause, link, options);
    if (judged !== "again") return judged;
  }
  try {
    return readDiscovery(link, await ask(), options);
  } catch (cause) {
    const judged = judge(cause, link, options);
    if (judged !== "again") return judged;
    // A server that names the version which it refuses is believed once.
    throw cause;
  }
}

/** What a failed probe says. @throws what says nothing, or that there is nothing in common */
function judge(cause: unknown, link: Link, { accepted }: NegotiateOptions): Probed | "again" {
  if (!(cause instanceof ClientError)) throw cause;
  const handshake: Probed = { kind: "handshake", usable: link, why: cause };
  const supported = readSupported(cause);
  if (supported === undefined) {
    if (isModernRefusal(cause) || !isAboutThisRequest(cause)) throw cause;
    return handshake;
  }
  const next = choose(supported, accepted);
  if (next === undefined) throw toUnsupported(supported, accepted, cause);
  if (next.era === "handshake") return handshake;
  link.adapter = next;
  return "again";
}

/** Whether a failure is the answer of a server that does not know the request. */
function isAboutThisRequest({ kind, status }: ClientError): boolean {
  if (kind === "refused" || kind === "invalid-answer" || kind === "session-lost") {
    return status === undefined || status < 500;
  }
  return kind === "http" && status !== undefined && status < 500 && status !== 429;
}

/** Whether a failure over HTTP is what a server with a handshake says to those who shook no hands. */
export function isOfOtherEra(cause: ClientError): boolean {
  const { status = 200 } = cause;
  return status >= 400 && !isModernRefusal(cause) && isAboutThisRequest(cause);
}

function readDiscovery(link: Link, result: JsonObject, options: NegotiateOptions): Probed {
  const supported = result["supportedVersions"];
  const unlike = new ClientError("invalid-answer", "the discovery result names no versions");
  if (!Array.isArray(supported)) return { kind: "handshake", usable: link, why: unlike };
  const versions = supported.filter((each) => typeof each === "string");
  const chosen = choose(versions, options.accepted);
  // Some servers list only what needs no handshake, and shake hands all the same.
  if (chosen?.era !== "modern") {
    return { kind: "handshake", usable: link, why: toUnsupported(versions, options.accepted) };
  }
  link.adapter = chosen;
  return {
    kind: "negotiated",
    negotiated: { link, description: describeServer(chosen.revision, result, versions) },
  };
}

/** What a client that shakes no hands is told. */
function needsHandshake(why: ClientError, accepted: AdapterSet): ClientError {
  // Another status, or another kind of answer, may be no answer of a server of this protocol.
  if (why.kind !== "refused") return why;
  const { code, status, message } = why;
  return new ClientError(
    "unsupported",
    `the server answers nothing before a handshake (${excerpt(message)}); this client accepts ${accepted.supported.join(", ")} alone`,
    { cause: why, code, status },
  );
}

/** The newest version that both sides speak. */
function choose(versions: readonly string[], accepted: AdapterSet): Adapter | undefined {
  const shared = accepted.supported.find((version) => versions.includes(version));
  return shared === undefined ? undefined : accepted.find(shared);
}

export function toUnsupported(
  supported: readonly string[],
  accepted: AdapterSet,
  cause?: unknown,
): ClientError {
  const theirs = excerpt(supported.slice(0, 20).join(", "), 400) || "none that it names";
  return new ClientError(
    "unsupported",
    `no revision in common: the server serves ${theirs}; this client accepts ${accepted.supported.join(", ")}`,
    { cause },
  );
}

export function describeServer(
  revision: string,
  result: JsonObject,
  supported: readonly string[] | undefined,
): ServerDescription {
  const { instructions, capabilities } = result;
  const meta = isObject(result["_meta"]) ? result["_meta"] : {};
  return {
    info: readImplementation(result["serverInfo"] ?? meta[serverInfoKey]),
    instructions: typeof instructions === "string" ? instructions : undefined,
    capabilities: isObject(capabilities) ? capabilities : {},
    revision,
    supported,
  };
}
