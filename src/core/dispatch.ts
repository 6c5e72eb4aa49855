/** From an operation to its outcome, in no revision's terms. */
import { type Awaitable, after, isPromise } from "../util/awaitable.ts";
import type { Access } from "./access.ts";
import type { Around } from "./around.ts";
import type { Call, Operation } from "./call.ts";
import { callTool } from "./call-tool.ts";
import { complete } from "./complete.ts";
import { Rejection } from "./errors.ts";
import { control, type Exchange } from "./exchange.ts";
import { getPrompt } from "./get-prompt.ts";
import { Pause } from "./inquiry.ts";
import type { Log } from "./log.ts";
import type { CacheHints } from "./model.ts";
import { description, empty, failure, type Outcome } from "./outcome.ts";
import { readResource } from "./read-resource.ts";
import type { Registry, View } from "./registry.ts";
import type { StateSealer } from "./request-state.ts";
import { resume, suspend } from "./rounds.ts";
import { toUnavailable } from "./unavailable.ts";

/** What a call is run against. */
export interface Service {
  readonly registry: Registry;
  readonly log: Log;
  readonly cache: { readonly lists: CacheHints; readonly reads: CacheHints };
  /** What stands around every operation; undefined where nothing does. */
  readonly around: Around | undefined;
}

export interface Run {
  readonly service: Service;
  /** Seals what a caller carries between two rounds of a call. */
  readonly states: StateSealer;
  /** Whom everything addressable that the call makes belongs to; empty for anyone. */
  readonly principal: string;
  /** What its caller may see and do. */
  readonly access: Access;
  readonly view: View;
  readonly ex: Exchange;
}

/** Never throws and never rejects: what a handler throws becomes an outcome and a log entry. */
export function dispatch(call: Call, run: Run): Awaitable<Outcome> {
  const { around } = run.service;
  const outcome =
    around === undefined ? begin(call, run) : around(call, run, () => begin(call, run));
  // Only who listens can be gone without an outcome.
  return after(outcome, (found) => settle(call, found ?? empty, run));
}

function begin(call: Call, run: Run): Awaitable<Outcome> {
  return after(resume(call, run), (found) => {
    if (found?.kind === "resumed") control.resume(run.ex, found);
    else if (found !== undefined) return found;
    return attempt(call, run);
  });
}

function attempt(call: Call, run: Run): Awaitable<Outcome> {
  try {
    const outcome = perform(call.operation, run);
    return isPromise(outcome) ? outcome.catch((cause) => broken(call, cause, run)) : outcome;
  } catch (cause) {
    return broken(call, cause, run);
  }
}

/** A handler that stopped at a question has no outcome of its own, whatever it made of the stop. */
function settle(call: Call, outcome: Outcome, run: Run): Awaitable<Outcome> {
  const inquiry = control.inquiry(run.ex);
  if (inquiry === undefined || !control.isPaused(run.ex)) return end(outcome, run);
  // Except that nobody is to answer for a call that can never be finished.
  if (outcome.kind === "failure" && outcome.failure === "missing-capability") {
    return end(outcome, run);
  }
  // What was pushed beside it is answered first: the next round takes that answer along.
  return after(inquiry.answered(), () =>
    suspend(call, inquiry, run).then((stopped) => end(stopped, run)),
  );
}

function end(outcome: Outcome, { ex }: Run): Outcome {
  control.end(ex);
  return outcome;
}

function perform(asked: Operation, run: Run): Awaitable<Outcome> {
  if (!isOffered(asked, run.service.registry)) {
    return failure("method-not-found", `this server has nothing that ${asked.kind} could ask for`);
  }
  switch (asked.kind) {
    case "call-tool":
      return callTool(asked.target, asked.arguments, run);
    case "list": {
      const page = run.service.registry.page(asked.list, asked.cursor, run.view, run.access);
      return page === undefined
        ? failure(
            "invalid-params",
            "cursor is not one that this server gave out; leave it out to start over",
          )
        : { kind: "page", page };
    }
    case "read-resource":
      return readResource(asked.target, run);
    case "get-prompt":
      return getPrompt(asked.target, asked.arguments, run);
    case "complete":
      return complete(asked, run);
    case "initialize":
    case "discover":
      return description;
    case "subscribe":
      return run.service.registry.watchable(asked.uri, run.view, run.access) ?? empty;
    case "ping":
    case "set-log-level":
    case "unsubscribe":
    case "listen":
      return empty;
  }
}

const paused: Outcome = failure("internal", "the call stopped at a question");

/** A capability that is not announced is not served either. */
function isOffered(asked: Operation, registry: Registry): boolean {
  switch (asked.kind) {
    case "call-tool":
      return registry.has("tools");
    case "get-prompt":
      return registry.has("prompts");
    case "read-resource":
      return registry.has("resources") || registry.has("templates");
    case "complete":
      return registry.completes;
    case "list":
      if (asked.list === "tools" || asked.list === "prompts") return registry.has(asked.list);
      return registry.has("resources") || registry.has("templates");
    case "initialize":
    case "discover":
    case "ping":
    case "set-log-level":
      return true;
    case "subscribe":
    case "unsubscribe":
      return registry.has("resources") || registry.has("templates");
    case "listen":
      return true;
  }
}

export function broken({ operation }: Call, cause: unknown, { service, ex }: Run): Outcome {
  if (cause instanceof Rejection) return cause.failure;
  const unavailable = toUnavailable(cause, service.log);
  if (unavailable !== undefined) return unavailable;
  // An error that a handler made of its stop tells nothing that went wrong.
  if (cause instanceof Pause || control.isPaused(ex)) return paused;
  service.log({
    level: "error",
    message: `${operation.kind} failed`,
    cause,
    details: "target" in operation ? { target: operation.target } : undefined,
  });
  return failure("internal", "the server failed to carry this out; its log says why");
}
