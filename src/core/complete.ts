/** Suggestions for an argument of a prompt or of a resource template. */
import { type Awaitable, after } from "../util/awaitable.ts";
import { findLack } from "./access.ts";
import type { Operation } from "./call.ts";
import { shorten } from "./call-tool.ts";
import type { Run } from "./dispatch.ts";
import type { PromptEntry, TemplateEntry } from "./entries.ts";
import { type CompletionValue, type Failure, failure, type Outcome } from "./outcome.ts";

/** The protocol's own cap on one answer (server/utilities/completion, every revision). */
const maxValues = 100;

type Complete = Extract<Operation, { kind: "complete" }>;

const nothing: CompletionValue = { kind: "completion", values: [], total: 0, hasMore: false };

export function complete(asked: Complete, run: Run): Awaitable<Outcome> {
  const entry = findCompleted(asked, run);
  if (entry === undefined) return nothing;
  if ("failure" in entry) return entry;
  const completer = entry.completers.get(asked.argument);
  if (completer === undefined) return nothing;
  if (typeof completer !== "function") {
    const typed = asked.value.toLowerCase();
    return cap(completer.filter((value) => value.toLowerCase().startsWith(typed)));
  }
  return after(completer(asked.value, { arguments: asked.others }, run.ex), (found) =>
    isList(found) ? cap(found) : cap(found.values, found),
  );
}

/** What its arguments are completed for; undefined for what has none to complete. */
export function findCompleted(
  asked: Complete,
  run: Run,
): PromptEntry | TemplateEntry | Failure | undefined {
  const { registry } = run.service;
  const entry =
    asked.of === "prompt"
      ? registry.prompt(asked.target, run.view, run.access)
      : registry.template(asked.target, run.view, run.access);
  if (entry === undefined) {
    // A reference may be the URI of a plain resource too, which has nothing to complete.
    if (asked.of === "template" && registry.resource(asked.target, run.view, run.access)) {
      return undefined;
    }
    return failure("invalid-params", `Unknown ${asked.of}: ${shorten(asked.target)}`);
  }
  return findLack(`the ${asked.of} ${entry.name}`, entry.restriction, run.access) ?? entry;
}

// Array.isArray alone does not narrow a readonly array.
function isList(found: readonly string[] | object): found is readonly string[] {
  return Array.isArray(found);
}

export function cap(
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
