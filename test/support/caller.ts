/** A client written by hand: what it sends and what it gets is held against the schemas. */
import type { Bridge, Got, Sent } from "./bridge.ts";
import {
  headersFor,
  initializeParams,
  notification,
  type RawNotification,
  type RawRequest,
  request,
} from "./messages.ts";
import { isObject, type JsonObject, type Revision } from "./schemas.ts";
import { assertClientMessage, assertReply } from "./wire.ts";

export interface How {
  readonly query?: string;
  /** Added to what the revision sends; undefined takes one of those away. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** The revision that the answer is in, where it is another than the caller's. */
  readonly answeredIn?: Revision;
}

export interface Answered extends Got {
  readonly result: JsonObject | undefined;
  readonly error: JsonObject | undefined;
}

/** Sends one message as `revision` sends it. */
export async function send(
  bridge: Bridge,
  revision: Revision,
  message: RawRequest | RawNotification | JsonObject,
  how: How = {},
): Promise<Answered> {
  const got = await bridge.send({
    query: how.query,
    headers: present({ ...headersFor(revision, message), ...how.headers }),
    body: message,
  });
  const { id, method, params } = message as Partial<RawRequest>;
  if (got.json !== undefined) {
    const outline = { method: String(method), params, ...(id !== undefined && { id }) };
    assertReply(how.answeredIn ?? revision, outline, got.json);
  }
  return { ...got, ...outcomeOf(got.json) };
}

/** A request that the revision's own schema knows, with its answer. */
export function ask(
  bridge: Bridge,
  revision: Revision,
  method: string,
  params?: JsonObject,
  how?: How,
): Promise<Answered> {
  const message = request(revision, `${method} 1`, method, params);
  // Discovery is answered in every revision, but only one has it in its schema.
  if (method !== "server/discover") assertClientMessage(revision, message);
  return send(bridge, revision, message, how);
}

/** `initialize` asking for `revision`. */
export function initialize(bridge: Bridge, revision: Revision, how?: How): Promise<Answered> {
  return ask(bridge, revision, "initialize", initializeParams(revision), how);
}

/** The whole handshake. @returns the id of the session, where one was opened. */
export async function open(
  bridge: Bridge,
  revision: Revision,
  how: How = {},
): Promise<string | undefined> {
  const { headers, result } = await initialize(bridge, revision, how);
  if (result?.["protocolVersion"] !== revision) throw new Error(`${revision} was not agreed on`);
  const id = headers.get("mcp-session-id") ?? undefined;
  const initialized = notification("notifications/initialized");
  assertClientMessage(revision, initialized);
  const inSession = { ...how.headers, ...naming(id) };
  const { status } = await send(bridge, revision, initialized, { ...how, headers: inSession });
  if (status !== 202) throw new Error(`notifications/initialized got ${status}`);
  return id;
}

/** The header that names a session. */
export function naming(id: string | undefined): Record<string, string> {
  return id === undefined ? {} : { "mcp-session-id": id };
}

/** A request without a message, such as a DELETE. */
export function sendBare(
  bridge: Bridge,
  method: string,
  headers: Record<string, string> = {},
  query?: string,
): Promise<Got> {
  return bridge.send({ method, headers, query });
}

function present(headers: Readonly<Record<string, string | undefined>>): Sent["headers"] {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  );
}

function outcomeOf(json: unknown): Pick<Answered, "result" | "error"> {
  const { result, error } = isObject(json) ? json : {};
  return {
    result: isObject(result) ? result : undefined,
    error: isObject(error) ? error : undefined,
  };
}
