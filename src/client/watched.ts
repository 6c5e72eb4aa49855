/** Messages that are watched until they are done with. Nothing here runs where nobody watches. */
import type { Ended, Operation, Telemetry } from "../core/telemetry.ts";
import type { RequestId, RpcRequest } from "../jsonrpc/message.ts";
import type { Adapter } from "../revisions/adapter.ts";
import { withCarried } from "../util/carried.ts";
import { isObject, type JsonObject } from "../util/json.ts";
import { ClientError } from "./errors.ts";
import type { Link } from "./link.ts";
import type { Transport } from "./transport.ts";

interface Message {
  /** Undefined for a notification. */
  readonly id: RequestId | undefined;
  readonly method: string;
  readonly params: JsonObject;
  readonly adapter: Adapter;
  readonly transport: Transport;
}

type Outcome = { readonly result: JsonObject } | { readonly error: JsonObject };

/** Sends a request by `send`, and tells `telemetry` of it. */
export function watchedExchange(
  request: Message,
  telemetry: Telemetry,
  send: (params: JsonObject) => Promise<JsonObject>,
): Promise<JsonObject> {
  return watch(request, telemetry, send, (result) => ({
    revision: readSettled(request.method, result),
    isError: result["isError"] === true,
  }));
}

/** The same for a notification. */
export function watchedNotice(
  notice: Message,
  telemetry: Telemetry,
  send: (params: JsonObject) => Promise<void>,
): Promise<void> {
  return watch(notice, telemetry, send, () => ({}));
}

async function watch<T>(
  message: Message,
  telemetry: Telemetry,
  send: (params: JsonObject) => Promise<T>,
  read: (sent: T) => Ended,
): Promise<T> {
  const { params, transport } = message;
  const watching = telemetry.sent(toOperation(message));
  if (watching === undefined) return send(params);
  const { carried } = watching;
  try {
    const sent = await watching.run(() => send(withCarried(params, carried)));
    watching.end({ sessionId: transport.session, ...read(sent) });
    return sent;
  } catch (cause) {
    watching.end(toEnded(cause, message));
    throw cause;
  }
}

const questions: ReadonlySet<string> = new Set([
  "elicitation/create",
  "sampling/createMessage",
  "roots/list",
]);

/** Answers a question of the server's by `find`, and tells `telemetry` of it. */
export async function watchedAnswer(
  { id, method, params }: RpcRequest,
  { adapter, transport, telemetry }: Pick<Link, "adapter" | "transport" | "telemetry">,
  find: () => Promise<Outcome>,
): Promise<Outcome> {
  const asked = isObject(params) ? params : {};
  const known = questions.has(method) ? method : "_OTHER";
  const question = { id, method: known, params: asked, adapter, transport };
  const watching = telemetry?.received(toOperation(question));
  if (watching === undefined) return find();
  const outcome = await watching.run(find);
  watching.end("error" in outcome ? toRefused(outcome.error) : {});
  return outcome;
}

function toRefused({ code, message }: JsonObject): Ended {
  return {
    reason: "refused",
    code: typeof code === "number" ? code : undefined,
    message: typeof message === "string" ? message : undefined,
  };
}

/** Names may come from a model, which makes them as long as it likes. */
const [maxName, maxUri] = [200, 1_000];

function toOperation({ id, method, params, adapter, transport }: Message): Operation {
  const { name, uri, ref, _meta: meta } = params;
  const prompt = method === "prompts/get" ? name : isObject(ref) ? ref["name"] : undefined;
  return {
    method,
    id,
    tool: method === "tools/call" && typeof name === "string" ? name.slice(0, maxName) : undefined,
    prompt: typeof prompt === "string" ? prompt.slice(0, maxName) : undefined,
    uri: typeof uri === "string" ? uri.slice(0, maxUri) : undefined,
    revision: adapter.revision,
    selected: undefined,
    network: transport.network,
    sessionId: transport.session,
    owner: "",
    meta: isObject(meta) ? meta : undefined,
  };
}

/** Held against the form of a revision: a server could make up endlessly many. */
function readSettled(method: string, { protocolVersion }: JsonObject): string | undefined {
  const isRevision =
    typeof protocolVersion === "string" && /^\d{4}-\d\d-\d\d$/.test(protocolVersion);
  return method === "initialize" && isRevision ? protocolVersion : undefined;
}

function toEnded(cause: unknown, { transport: { session: sessionId } }: Message): Ended {
  if (!(cause instanceof ClientError)) return { sessionId, reason: "cancelled" };
  const { kind, code, status, message } = cause;
  return { sessionId, reason: kind, code, status, message };
}
