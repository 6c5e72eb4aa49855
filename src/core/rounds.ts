/** From one round of a call to the next: opening what the caller carried, sealing what it will carry. */
import type { Awaitable } from "../util/awaitable.ts";
import { isObject, type JsonObject } from "../util/json.ts";
import type { Call, CarriedInput } from "./call.ts";
import type { Run } from "./dispatch.ts";
import { type Carried, type Inquiry, readCarried } from "./inquiry.ts";
import { errorText, type Failure, failure, type NeedsInput, type ToolValue } from "./outcome.ts";
import type { StateScope } from "./request-state.ts";
import { toUnavailable } from "./unavailable.ts";

/** What an earlier round left, with the answers that are new. */
export interface Resumed {
  readonly kind: "resumed";
  readonly carried: Carried | undefined;
  readonly fresh: JsonObject;
}

/** Opens what the call carries, if it carries anything. */
export function resume(call: Call, run: Run): Awaitable<Resumed | Failure | ToolValue | undefined> {
  const { carried } = call;
  if (carried === undefined) return undefined;
  // A caller may lose the state of a first round and still have its answers.
  if (carried.state === undefined) {
    return { kind: "resumed", carried: undefined, fresh: carried.answers };
  }
  return openState(call, carried.state, carried, run);
}

async function openState(
  call: Call,
  text: string,
  { answers, argument }: CarriedInput,
  { states, principal, service: { log } }: Run,
): Promise<Resumed | Failure | ToolValue> {
  let state: JsonObject | undefined;
  try {
    state = await states.open(text, scopeOf(call, principal));
  } catch (cause) {
    const unavailable = toUnavailable(cause, log);
    if (unavailable !== undefined) return unavailable;
    log({ level: "error", message: "it cannot be told whether a state was used", cause });
    return failure("internal", "the call could not be taken up again; the server's log says why");
  }
  const carried = state === undefined ? undefined : readCarried(state);
  if (carried === undefined) return refuseState(argument);
  // Only what was asked is answered; whatever else came along is ignored.
  const fresh = carried.asked.filter((key) => Object.hasOwn(answers, key));
  return {
    kind: "resumed",
    carried,
    fresh: Object.fromEntries(fresh.map((key) => [key, answers[key]])),
  };
}

/** A model that copied an argument wrong must read it to do better; a client's fault is a client's. */
function refuseState(argument: string | undefined): Failure | ToolValue {
  const why = `${argument ?? "requestState"} was not given out for this call, was changed, was used or has expired; call again without it`;
  return argument === undefined ? failure("invalid-params", why) : errorText(why);
}

/** The outcome of a call that stopped at a question. */
export async function suspend(
  call: Call,
  inquiry: Inquiry,
  { states, principal, service: { log } }: Run,
): Promise<NeedsInput | Failure> {
  try {
    const state = await states.seal({ ...inquiry.carry() }, scopeOf(call, principal));
    return { kind: "needs-input", questions: inquiry.open, state };
  } catch (cause) {
    const unavailable = toUnavailable(cause, log);
    if (unavailable !== undefined) return unavailable;
    log({ level: "error", message: "the state of a call cannot be carried", cause });
    return failure(
      "internal",
      "the state of this call cannot be carried; the server's log says why",
    );
  }
}

function scopeOf({ operation }: Call, principal: string): StateScope {
  return {
    principal,
    operation: operation.kind,
    target: "target" in operation ? operation.target : "",
    arguments: "arguments" in operation && isObject(operation.arguments) ? operation.arguments : {},
  };
}
