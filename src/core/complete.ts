/** Suggestions for an argument of a prompt or of a resource template. */
import { type Awaitable, after } from "../util/awaitable.ts";
import type { Call, Operation } from "./call.ts";
import { shorten } from "./call-tool.ts";
import type { Run } from "./dispatch.ts";
import { type CompletionValue, failure, type Outcome } from "./outcome.ts";

/** The protocol's own cap on one answer (server/utilities/completion, every revision). */
const maxValues = 100;

type CompleteCall = Call & Extract<Operation, { operation: "complete" }>;

const nothing: CompletionValue = { kind: "completion", values: [], total: 0, hasMore: false };

export function complete(call: CompleteCall, run: Run): Awaitable<Outcome> {
  const { registry } = run.service;
  const entry =
    call.of === "prompt"
      ? registry.prompt(call.target, run.view)
      : registry.template(call.target, run.view);
  if (entry === undefined) {
    // A reference may be the URI of a plain resource too, which has nothing to complete.
    if (call.of === "template" && registry.resource(call.target, run.view)) return nothing;
    return failure("invalid-params", `Unknown ${call.of}: ${shorten(call.target)}`);
  }
  const completer = entry.completers.get(call.argument);
  if (completer === undefined) return nothing;
  if (typeof completer !== "function") {
    const typed = call.value.toLowerCase();
    return cap(completer.filter((value) => value.toLowerCase().startsWith(typed)));
  }
  return after(completer(call.value, { arguments: call.others }, run.ex), (found) =>
    isList(found) ? cap(found) : cap(found.values, found),
  );
}

// Array.isArray alone does not narrow a readonly array.
function isList(found: readonly string[] | object): found is readonly string[] {
  return Array.isArray(found);
}

function cap(
  values: readonly string[],
  more: { readonly total?: number | undefined; readonly hasMore?: boolean | undefined } = {},
): CompletionValue {
  return {
    kind: "completion",
    values: values.slice(0, maxValues),
    total: more.total ?? (more.hasMore === true ? undefined : values.length),
    hasMore: more.hasMore ?? (values.length > maxValues || (more.total ?? 0) > values.length),
  };
}
