/** One message in, at most one message out: the middle that every transport shares. */

import type { Access } from "../core/access.ts";
import type { Call } from "../core/call.ts";
import { dispatch } from "../core/dispatch.ts";
import { Exchange } from "../core/exchange.ts";
import type { Log } from "../core/log.ts";
import { type Failure, type FailureKind, failure, type Outcome } from "../core/outcome.ts";
import type { StateSealer } from "../core/request-state.ts";
import type { Server } from "../core/server.ts";
import type { Network, Telemetry } from "../core/telemetry.ts";
import { isPassing, retryAfterSeconds, toUnavailable, unavailable } from "../core/unavailable.ts";
import type { RequestId, RpcMessage, RpcNotification, RpcRequest } from "../jsonrpc/message.ts";
import type { Adapter, Binding, Decoded, Encoder } from "../revisions/adapter.ts";
import type { SelectionReason } from "../revisions/selection.ts";
import type { SessionRecord } from "../stores/session-store.ts";
import { type Awaitable, after, isPromise } from "../util/awaitable.ts";
import type { Ending } from "../util/ending.ts";
import { CallContext } from "./call-context.ts";
import type { ChangeFeed } from "./changes.ts";
import type { InFlight } from "./in-flight.ts";
import type { Keeping } from "./keeping.ts";
import { listen } from "./listen.ts";
import type { Load } from "./load.ts";
import type { Outlet } from "./outlet.ts";
import type { PendingQuestions } from "./pending.ts";
import type { RateLimits } from "./rate-limits.ts";
import type { SessionClock } from "./session-clock.ts";
import type { Sessions } from "./sessions.ts";
import { watched } from "./watched.ts";

/** What all messages of an endpoint are answered with. */
export interface Answerer {
  readonly service: Server;
  /** Seals what callers carry between two rounds of a call. */
  readonly states: StateSealer;
  readonly encoders: ReadonlyMap<Adapter, Encoder>;
  readonly inFlight: InFlight;
  readonly load: Load;
  /** Undefined where callers may ask as often as they like. */
  readonly rates: RateLimits | undefined;
  readonly pending: PendingQuestions;
  readonly feed: ChangeFeed;
  /** Undefined on an endpoint that keeps none. */
  readonly sessions: Sessions | undefined;
  /** Where handlers keep what they keep, sessions or not. */
  readonly keeping: Keeping;
  /** Comes when the endpoint closes. */
  readonly closing: Ending;
  /** Watches each message; undefined where nobody does. */
  readonly telemetry: Telemetry | undefined;
  /** Times sessions; undefined where nobody wants to know. */
  readonly clock: SessionClock | undefined;
  /** What the messages come over, where that is known. */
  readonly network: Network | undefined;
}

/** Where one message stands. */
export interface Place {
  readonly adapter: Adapter;
  /** Why it is read as one of that revision. */
  readonly reason: SelectionReason;
  readonly binding: Binding;
  /** Whose message it is. */
  readonly access: Access;
  readonly session: SessionRecord | undefined;
  /** Whose calls a cancel notice may name: a session, or a connection. */
  readonly caller: string | undefined;
  /** Whom requests of nobody in particular are counted for, where they are counted. */
  readonly from: string | undefined;
  readonly onDisconnect: ((callback: () => void) => void) | undefined;
  /** Where the call's own messages go, made on first use; undefined where nobody hears them. */
  readonly outlet: (() => Outlet) | undefined;
}

export interface Answer {
  readonly status: number;
  /** The reply as JSON; undefined for what gets none. */
  readonly text: string | undefined;
  /** The session that the handshake opened. */
  readonly sessionId?: string | undefined;
  /** The revision that the handshake settled on. */
  readonly revision?: string | undefined;
  /** What its caller would have to be allowed. */
  readonly scopes?: readonly string[] | undefined;
  /** Tells a client how to get that. */
  readonly challenge?: string | undefined;
  /** Why it is a refusal; undefined for what is none, or was told to whoever watches. */
  readonly refused?: Refused | undefined;
  /** Whether it is the result of a tool that failed. */
  readonly isError?: boolean | undefined;
  /** When to come back with what could not be served just now, in seconds. */
  readonly retryAfterSeconds?: number | undefined;
}

export interface Refused {
  readonly reason: FailureKind;
  readonly code: number;
  readonly message: string;
}

const accepted: Answer = Object.freeze({ status: 202, text: undefined });

export function answer(message: RpcMessage, place: Place, by: Answerer): Awaitable<Answer> {
  switch (message.kind) {
    case "request":
      if (by.telemetry === undefined) return answerRequest(message, place, by);
      return watched(message, place, by, by.telemetry, answerRequest);
    case "notification":
      if (by.telemetry === undefined) return takeNotification(message, place, by);
      return watched(message, place, by, by.telemetry, takeNotification);
    case "reply":
      if (place.adapter.era === "handshake")
        return after(by.pending.settle(message, place.access.owner), () => accepted);
      return refuse(
        failure("invalid-request", "a client of this revision sends no responses"),
        message.id ?? undefined,
        place.adapter,
      );
    case "malformed":
      return refuse(failure("invalid-request", message.message), message.id, place.adapter);
  }
}

function takeNotification(
  { method, params }: RpcNotification,
  { caller }: Place,
  { inFlight }: Answerer,
): Awaitable<Answer> {
  if (method !== "notifications/cancelled" || caller === undefined) return accepted;
  return after(inFlight.cancel(caller, params), () => accepted);
}

/** The answer that a failure gets, in the caller's revision. */
export function refuse(refused: Failure, id: RequestId | undefined, adapter: Adapter): Answer {
  const { code, status, data } = adapter.error(refused);
  const error = { code, message: refused.message, data };
  const echoed = id ?? (adapter.unreadableId === "null" ? null : undefined);
  const text = JSON.stringify({ jsonrpc: "2.0", id: echoed, error });
  const { scopes, failure: reason, message } = refused;
  const answer: Answer = { status, text, refused: { reason, code, message } };
  if (scopes !== undefined) return { ...answer, scopes };
  if (!isPassing(refused)) return answer;
  return { ...answer, retryAfterSeconds: retryAfterSeconds(refused) };
}

/** Whatever fails, each request is answered: over a connection nobody else would say so. */
function answerRequest(request: RpcRequest, place: Place, by: Answerer): Awaitable<Answer> {
  const broken = (cause: unknown): Answer =>
    refuseBroken(cause, request.id, place.adapter, by.service.log);
  try {
    const answered = serveRequest(request, place, by);
    return isPromise(answered) ? answered.catch(broken) : answered;
  } catch (cause) {
    return broken(cause);
  }
}

/** The answer to what failed through no fault of its caller's: come back, where that may help. */
export function refuseBroken(
  cause: unknown,
  id: RequestId | undefined,
  adapter: Adapter,
  log: Log,
): Answer {
  const away = toUnavailable(cause, log);
  if (away !== undefined) return refuse(away, id, adapter);
  log({ level: "error", message: "a request could not be served", cause });
  const why = "the server failed to serve this; its log says why";
  return { ...refuse(failure("internal", why), id, adapter), status: 500 };
}

/** Nothing of it was done: any other worker can take it, or this one once it is started again. */
const closed: Failure = unavailable("this worker is about to end; send the request again", 1_000);

function serveRequest(request: RpcRequest, place: Place, by: Answerer): Awaitable<Answer> {
  if (by.closing.over) return refuse(closed, request.id, place.adapter);
  const decoded = place.adapter.decode(request, place.binding);
  if (decoded.kind === "failure") return refuse(decoded, request.id, place.adapter);
  const { call } = decoded;
  if (by.sessions === undefined && isKept(call)) {
    const why = `${request.method} needs a session, and this endpoint keeps none`;
    return refuse(failure("method-not-found", why), request.id, place.adapter);
  }
  const settledOn = decoded.settled?.adapter;
  const at = settledOn === undefined ? place : { ...place, adapter: settledOn };
  const ex = new Exchange(call, new CallContext(call, place, by));
  return after(admit(request.id, call, at, ex, by), (ended) =>
    ended === undefined ? accepted : finish(ended, decoded, request.id, at, by),
  );
}

/** Whether the call only leaves something in its session. */
function isKept({ operation: { kind } }: Call): boolean {
  return kind === "set-log-level" || kind === "subscribe" || kind === "unsubscribe";
}

/** Counts a request before anything of it is done, where requests are counted. */
function admit(...asked: Parameters<typeof perform>): ReturnType<typeof perform> {
  const [, call, { access, from }, , { rates, inFlight }] = asked;
  if (rates === undefined) return perform(...asked);
  const checked = rates.check(call, access, from);
  return inFlight.count(checked).then((refused) => refused ?? perform(...asked));
}

function perform(
  id: RequestId,
  call: Call,
  place: Place,
  ex: Exchange,
  by: Answerer,
): Awaitable<Outcome | undefined> {
  const { access, caller } = place;
  const { service, states } = by;
  const run = {
    service,
    states,
    view: place.adapter.view,
    ex,
    principal: access.owner,
    access,
  };
  const slots = call.operation.kind === "listen" ? by.load.streams : by.load.calls;
  const whose = access.owner === "" ? (caller ?? "") : access.owner;
  const full = slots.take(whose);
  if (full !== undefined) return full;
  if (call.operation.kind === "listen") {
    const { filter } = call.operation;
    const listen = (): Promise<Outcome | undefined> => startListening(id, filter, place, ex, by);
    const listening = service.around?.(call, run, listen) ?? listen();
    const free = (): void => slots.free(whose);
    void listening.then(free, free);
    return caller === undefined ? listening : by.inFlight.track(caller, id, ex, listening);
  }
  const outcome = dispatch(call, run);
  if (!isPromise(outcome)) {
    slots.free(whose);
    return outcome;
  }
  // Whatever its caller was told, a handler that goes on still takes its place.
  const over = by.inFlight.begin();
  const limited = by.load.limit(outcome, ex, () => {
    slots.free(whose);
    over();
  });
  return caller === undefined ? limited : by.inFlight.wait(caller, id, ex, limited);
}

function startListening(
  id: RequestId,
  filter: Parameters<typeof listen>[1]["filter"],
  { adapter, access, outlet }: Place,
  ex: Exchange,
  { feed, closing }: Answerer,
): Promise<Outcome | undefined> {
  const gone = ex.signal;
  return listen(feed, { id, filter, adapter, access, outlet: outlet?.(), gone, closing });
}

function finish(
  outcome: Outcome,
  decoded: Decoded,
  id: RequestId,
  place: Place,
  by: Answerer,
): Awaitable<Answer> {
  if (outcome.kind === "failure") {
    // Who cancelled waits for nothing, but over HTTP its request must end somehow.
    const cancels = outcome.failure === "cancelled" && !by.closing.over;
    const silent = cancels && place.binding.http === undefined;
    const refused = refuse(outcome, id, place.adapter);
    return silent ? { ...refused, ...accepted } : refused;
  }
  const result = encode(outcome, decoded, place.adapter, by);
  if (result === undefined) {
    const broken = failure("internal", "the server failed to write its result; its log says why");
    return refuse(broken, id, place.adapter);
  }
  const idText = typeof id === "number" ? String(id) : JSON.stringify(id);
  const reply: Answer = {
    status: 200,
    text: `{"jsonrpc":"2.0","id":${idText},"result":${result}}`,
    isError: outcome.kind === "tool" && outcome.isError,
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
  { access, session }: Place,
  { sessions, clock }: Answerer,
): Awaitable<Answer> {
  if (settled !== undefined) {
    const { version: revision } = settled;
    const opened = sessions?.open(call, revision, access.owner);
    return after(opened, (sessionId) => {
      if (sessionId !== undefined) clock?.begin(sessionId, revision);
      return { ...reply, revision, sessionId };
    });
  }
  if (sessions === undefined || session === undefined) return reply;
  const { operation } = call;
  switch (operation.kind) {
    case "set-log-level":
      return sessions.setLogLevel(session.id, operation.level).then(() => reply);
    case "subscribe":
      return sessions.subscribe(session.id, operation.uri).then(() => reply);
    case "unsubscribe":
      return sessions.unsubscribe(session.id, operation.uri).then(() => reply);
    default:
      return reply;
  }
}
