/** One message in, at most one message out: the middle that every transport shares. */
import { dispatch, type Service } from "../core/dispatch.ts";
import { Exchange } from "../core/exchange.ts";
import { type Failure, failure, type Outcome } from "../core/outcome.ts";
import type { RequestId, RpcMessage, RpcRequest } from "../jsonrpc/message.ts";
import type { Adapter, Binding, Decoded, Encoder } from "../revisions/adapter.ts";
import type { SessionRecord } from "../stores/session-store.ts";
import { type Awaitable, after, isPromise } from "../util/awaitable.ts";
import type { InFlight } from "./in-flight.ts";
import type { Sessions } from "./sessions.ts";

/** What all messages of an endpoint are answered with. */
export interface Answerer {
  readonly service: Service;
  readonly encoders: ReadonlyMap<Adapter, Encoder>;
  readonly inFlight: InFlight;
  /** Undefined on an endpoint that keeps none. */
  readonly sessions: Sessions | undefined;
}

/** Where one message stands. */
export interface Place {
  readonly adapter: Adapter;
  readonly binding: Binding;
  readonly session: SessionRecord | undefined;
  readonly onDisconnect: ((callback: () => void) => void) | undefined;
}

export interface Answer {
  readonly status: number;
  /** The reply as JSON; undefined for what gets none. */
  readonly text: string | undefined;
  /** The session that the handshake opened. */
  readonly sessionId?: string | undefined;
}

const accepted: Answer = Object.freeze({ status: 202, text: undefined });

export function answer(message: RpcMessage, place: Place, by: Answerer): Awaitable<Answer> {
  switch (message.kind) {
    case "request":
      return answerRequest(message, place, by);
    case "notification":
      if (message.method === "notifications/cancelled" && place.session !== undefined) {
        by.inFlight.cancel(place.session.id, message.params);
      }
      return accepted;
    case "reply":
      if (place.adapter.era === "handshake") return accepted;
      return refuse(
        failure("invalid-request", "a client of this revision sends no responses"),
        message.id ?? undefined,
        place.adapter,
      );
    case "malformed":
      return refuse(failure("invalid-request", message.message), message.id, place.adapter);
  }
}

/** The answer that a failure gets, in the caller's revision. */
export function refuse(refused: Failure, id: RequestId | undefined, adapter: Adapter): Answer {
  const { code, status, data } = adapter.error(refused);
  const error = { code, message: refused.message, data };
  const echoed = id ?? (adapter.unreadableId === "null" ? null : undefined);
  return { status, text: JSON.stringify({ jsonrpc: "2.0", id: echoed, error }) };
}

function answerRequest(request: RpcRequest, place: Place, by: Answerer): Awaitable<Answer> {
  const decoded = place.adapter.decode(request, place.binding);
  if (decoded.kind === "failure") return refuse(decoded, request.id, place.adapter);
  const settledOn = decoded.settled?.adapter;
  const at = settledOn === undefined ? place : { ...place, adapter: settledOn };
  const ex = new Exchange(decoded.call, {
    session: place.session,
    onDisconnect: place.adapter.era === "modern" ? place.onDisconnect : undefined,
  });
  const outcome = dispatch(decoded.call, { service: by.service, view: at.adapter.view, ex });
  const { session } = place;
  const awaited =
    isPromise(outcome) && session !== undefined
      ? by.inFlight.wait(session.id, request.id, ex, outcome)
      : outcome;
  return after(awaited, (ended) => finish(ended, decoded, request.id, at, by));
}

function finish(
  outcome: Outcome,
  decoded: Decoded,
  id: RequestId,
  place: Place,
  by: Answerer,
): Awaitable<Answer> {
  if (outcome.kind === "failure") return refuse(outcome, id, place.adapter);
  const result = encode(outcome, decoded, place.adapter, by);
  if (result === undefined) {
    const broken = failure("internal", "the server failed to write its result; its log says why");
    return refuse(broken, id, place.adapter);
  }
  const idText = typeof id === "number" ? String(id) : JSON.stringify(id);
  const reply: Answer = {
    status: 200,
    text: `{"jsonrpc":"2.0","id":${idText},"result":${result}}`,
  };
  return keepSession(reply, decoded, place, by);
}

function encode(
  outcome: Exclude<Outcome, Failure>,
  decoded: Decoded,
  adapter: Adapter,
  { encoders, service }: Answerer,
): string | undefined {
  try {
    return encoders.get(adapter)?.encode(outcome, decoded);
  } catch (cause) {
    service.log({ level: "error", message: "a result cannot be written as JSON", cause });
    return undefined;
  }
}

/** What an answered call leaves behind in its session. */
function keepSession(
  reply: Answer,
  { call, settled }: Decoded,
  { session }: Place,
  { sessions }: Answerer,
): Awaitable<Answer> {
  if (sessions === undefined) return reply;
  if (settled !== undefined) {
    return after(sessions.open(call, settled.version), (sessionId) => ({ ...reply, sessionId }));
  }
  if (call.operation.kind === "set-log-level" && session !== undefined) {
    return sessions.setLogLevel(session.id, call.operation.level).then(() => reply);
  }
  return reply;
}
