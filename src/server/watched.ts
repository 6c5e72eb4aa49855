/** Messages that are watched while they are answered. Nothing here runs where nobody watches. */
import type { Ended, Operation, Telemetry, Watching } from "../core/telemetry.ts";
import type { RpcNotification, RpcRequest } from "../jsonrpc/message.ts";
import { type Awaitable, isPromise } from "../util/awaitable.ts";
import { withCarried } from "../util/carried.ts";
import { isObject, type JsonObject } from "../util/json.ts";
import type { Answer, Answerer, Place } from "./answer.ts";

type Taking<M> = (message: M, place: Place, by: Answerer) => Awaitable<Answer>;

/** Answers by `take`, and tells `telemetry` of it. */
export function watched<M extends RpcRequest | RpcNotification>(
  message: M,
  place: Place,
  by: Answerer,
  telemetry: Telemetry,
  take: Taking<M>,
): Awaitable<Answer> {
  const watching = telemetry.received(toOperation(message, place, by));
  if (watching === undefined) return take(message, place, by);
  const end = (answer: Answer): Answer => {
    watching.end(toEnded(answer, place));
    // It is told now; whoever passes the answer on need not tell it again.
    return answer.refused === undefined ? answer : { ...answer, refused: undefined };
  };
  const broken = (cause: unknown): never => {
    watching.end({ reason: "internal" });
    throw cause;
  };
  try {
    const answered = watching.run(() => take(message, place, by));
    return isPromise(answered) ? answered.then(end, broken) : end(answered);
  } catch (cause) {
    return broken(cause);
  }
}

/** Asks a caller by `send`, and tells `telemetry` of it. */
export async function watchedAsk(
  question: { readonly method: string; readonly params: JsonObject },
  place: Place,
  by: Answerer,
  telemetry: Telemetry,
  send: (question: { readonly method: string; readonly params: JsonObject }) => Promise<unknown>,
): Promise<unknown> {
  const { method, params } = question;
  const asked = { kind: "notification", method, params: undefined } as const;
  const watching = telemetry.sent({ ...toOperation(asked, place, by), selected: undefined });
  if (watching === undefined) return send(question);
  const carrying = { method, params: withCarried(params, watching.carried) };
  return ending(watching, () => send(carrying));
}

async function ending(watching: Watching, work: () => Promise<unknown>): Promise<unknown> {
  try {
    const result = await watching.run(work);
    watching.end({});
    return result;
  } catch (cause) {
    const code = isObject(cause) && typeof cause["code"] === "number" ? cause["code"] : undefined;
    watching.end({ reason: "refused", code });
    throw cause;
  }
}

function toEnded(answer: Answer, { binding }: Place): Ended {
  const { status, text, sessionId, revision, refused, isError } = answer;
  // Who cancelled over a connection is sent no code either.
  const told = text === undefined ? refused && { reason: refused.reason } : refused;
  const overHttp = binding.http === undefined ? undefined : status;
  return { ...told, status: overHttp, sessionId, revision, isError };
}

/** URIs are as long as whoever asks wants them to be. */
const maxUri = 1_000;

function toOperation(message: RpcRequest | RpcNotification, place: Place, by: Answerer): Operation {
  const { method } = message;
  const params = isObject(message.params) ? message.params : {};
  const { uri, _meta: meta } = params;
  return {
    method: methods.has(method) ? method : "_OTHER",
    id: message.kind === "request" ? message.id : undefined,
    ...findTarget(method, params, place, by),
    uri:
      typeof uri === "string" && method.startsWith("resources/") ? uri.slice(0, maxUri) : undefined,
    revision: place.adapter.revision,
    selected: place.reason,
    network: by.network,
    sessionId: place.session?.id,
    owner: place.access.owner,
    meta: isObject(meta) ? meta : undefined,
  };
}

/** A name that nothing is declared under is left out: strangers can make up any number of them. */
function findTarget(
  method: string,
  params: JsonObject,
  { adapter: { view }, access }: Place,
  { service: { registry } }: Answerer,
): Pick<Operation, "tool" | "prompt"> {
  const { name, ref } = params;
  if (method === "tools/call" && typeof name === "string") {
    return { tool: registry.tool(name, view, access)?.name, prompt: undefined };
  }
  const asked = method === "prompts/get" ? name : isObject(ref) ? ref["name"] : undefined;
  if (typeof asked !== "string") return { tool: undefined, prompt: undefined };
  return { tool: undefined, prompt: registry.prompt(asked, view, access)?.name };
}

/** All that the five revisions have. */
const methods: ReadonlySet<string> = new Set([
  "initialize",
  "server/discover",
  "ping",
  "tools/list",
  "tools/call",
  "prompts/list",
  "prompts/get",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "resources/subscribe",
  "resources/unsubscribe",
  "subscriptions/listen",
  "completion/complete",
  "logging/setLevel",
  "elicitation/create",
  "sampling/createMessage",
  "roots/list",
  "notifications/initialized",
  "notifications/cancelled",
  "notifications/progress",
  "notifications/message",
  "notifications/roots/list_changed",
  "notifications/elicitation/complete",
]);
