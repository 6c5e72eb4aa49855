/** Requests that are watched until their replies come. Nothing here runs where nobody watches. */
import type { Ended, Operation, Telemetry } from "../core/telemetry.ts";
import type { RequestId } from "../jsonrpc/message.ts";
import type { Adapter } from "../revisions/adapter.ts";
import { withCarried } from "../util/carried.ts";
import { isObject, type JsonObject } from "../util/json.ts";
import { ClientError } from "./errors.ts";
import type { Transport } from "./transport.ts";

interface Request {
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject;
  readonly adapter: Adapter;
  readonly transport: Transport;
}

/** Sends a request by `send`, and tells `telemetry` of it. */
export async function watchedExchange(
  request: Request,
  telemetry: Telemetry,
  send: (params: JsonObject) => Promise<JsonObject>,
): Promise<JsonObject> {
  const { params, transport } = request;
  const watching = telemetry.sent(toOperation(request));
  if (watching === undefined) return send(params);
  const { carried } = watching;
  try {
    const result = await watching.run(() => send(withCarried(params, carried)));
    const revision = readSettled(request.method, result);
    watching.end({ sessionId: transport.session, revision, isError: result["isError"] === true });
    return result;
  } catch (cause) {
    watching.end(toEnded(cause, request));
    throw cause;
  }
}

function toOperation({ id, method, params, adapter, transport }: Request): Operation {
  const { name, uri, ref, _meta: meta } = params;
  const prompt = method === "prompts/get" ? name : isObject(ref) ? ref["name"] : undefined;
  return {
    method,
    id,
    tool: method === "tools/call" && typeof name === "string" ? name : undefined,
    prompt: typeof prompt === "string" ? prompt : undefined,
    uri: typeof uri === "string" ? uri.slice(0, 1_000) : undefined,
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

function toEnded(cause: unknown, { transport: { session: sessionId } }: Request): Ended {
  if (!(cause instanceof ClientError)) return { sessionId, reason: "cancelled" };
  const { kind, code, status, message } = cause;
  return { sessionId, reason: kind, code, status, message };
}
