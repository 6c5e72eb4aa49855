/** A result that was put in the place of what an operation came to. */
import type { Awaitable } from "../util/awaitable.ts";
import type { Operation } from "./call.ts";
import { answerForTool } from "./call-tool.ts";
import { cap, findCompleted } from "./complete.ts";
import { Content } from "./content.ts";
import type { Run } from "./dispatch.ts";
import { findPrompt } from "./get-prompt.ts";
import type { CallResult, ListResult, ToolResult } from "./middleware.ts";
import type { ContentsValue, Outcome, PageValue } from "./outcome.ts";
import { findResource } from "./read-resource.ts";
import type { Entry } from "./registry.ts";

/**
 * Who may not see or use something is not given it from elsewhere either.
 *
 * @param given - what the operation came to, if it was performed
 * @throws TypeError for what is no result of the operation
 */
export function replace(
  result: CallResult,
  operation: Operation,
  run: Run,
  given: Outcome | undefined,
): Awaitable<Outcome> {
  const outcome = toOutcome(result, operation, run, given);
  if (outcome !== undefined) return outcome;
  throw new TypeError(`a middleware cannot answer ${operation.kind} with ${result.kind}`);
}

function toOutcome(
  result: CallResult,
  asked: Operation,
  run: Run,
  given: Outcome | undefined,
): Awaitable<Outcome> | undefined {
  switch (result.kind) {
    case "failure":
      return result;
    case "tool":
      if (asked.kind !== "call-tool") return undefined;
      return answerForTool(asked.target, toContent(result), run);
    case "contents":
      return asked.kind === "read-resource" ? toContents(result, asked.target, run) : undefined;
    case "messages":
      if (asked.kind !== "get-prompt") return undefined;
      return orFailure(findPrompt(asked.target, run), result);
    case "completion":
      if (asked.kind !== "complete") return undefined;
      return orFailure(findCompleted(asked, run), cap(result.values, result));
    case "list":
      return given?.kind === "page" ? toPage(result, given) : undefined;
    case "description":
    case "empty":
    case "asking":
      // They say nothing of their own, or tell of something that only the operation does.
      return undefined;
  }
}

function orFailure(found: object | undefined, result: Outcome): Outcome {
  return isFailure(found) ? found : result;
}

function isFailure(found: object | undefined): found is Extract<Outcome, { kind: "failure" }> {
  return found !== undefined && "failure" in found;
}

function toContent({ content, structured, isError, meta }: ToolResult): Content {
  return new Content(content, { structured, isError, meta });
}

function toContents(result: ContentsValue, uri: string, run: Run): Outcome {
  const found = findResource(uri, run);
  if ("failure" in found) return found;
  const { restriction } = found.list === "templates" ? found.entry : found;
  return restriction === undefined
    ? result
    : { ...result, cache: { ...result.cache, scope: "private" } };
}

/** Only what was on the page can stay on it: everything else the caller may not see. */
function toPage({ entries, nextCursor }: ListResult, { page }: PageValue): PageValue {
  const there = new Map<unknown, Entry>(page.entries.map((entry) => [entry, entry]));
  const kept = entries.map((entry) => {
    const found = there.get(entry);
    if (found !== undefined) return found;
    throw new TypeError("a page of a listing holds no other entries than next() gave");
  });
  return { kind: "page", page: { list: page.list, entries: kept, nextCursor, isPrivate: true } };
}
