/** Running one tool: arguments in, checked; a plain value or content out, checked. */
import { type Awaitable, after, isPromise } from "../util/awaitable.ts";
import type { JsonObject } from "../util/json.ts";
import { findLack } from "./access.ts";
import { Content } from "./content.ts";
import type { Run } from "./dispatch.ts";
import type { ToolEntry } from "./entries.ts";
import { McpError, Rejection } from "./errors.ts";
import { control } from "./exchange.ts";
import { Pause } from "./inquiry.ts";
import {
  errorText,
  type Failure,
  failure,
  type Outcome,
  type ToolValue,
  words,
} from "./outcome.ts";
import { listIssues, type Validation } from "./schema.ts";
import { toUnavailable } from "./unavailable.ts";

export function callTool(name: string, args: JsonObject, run: Run): Awaitable<Outcome> {
  const tool = findTool(name, run);
  if ("failure" in tool) return tool;
  try {
    const outcome = start(tool, args, run);
    return isPromise(outcome) ? outcome.catch((cause) => toolThrew(name, cause, run)) : outcome;
  } catch (cause) {
    return toolThrew(name, cause, run);
  }
}

/** The tool, for a caller that may see and use it. */
function findTool(name: string, run: Run): ToolEntry | Failure {
  const tool = run.service.registry.tool(name, run.view, run.access);
  if (tool === undefined) {
    return failure(
      "invalid-params",
      `Unknown tool: ${shorten(name)}; tools/list names those there are`,
    );
  }
  return findLack(`the tool ${tool.name}`, tool.restriction, run.access) ?? tool;
}

/** Content in place of what the tool would return, held to what the tool declares. */
export function answerForTool(name: string, content: Content, run: Run): Awaitable<Outcome> {
  const tool = findTool(name, run);
  return "failure" in tool ? tool : finishContent(tool, content, run);
}

function start(tool: ToolEntry, args: JsonObject, run: Run): Awaitable<Outcome> {
  if (tool.input === undefined) return invoke(tool, args, run);
  return after(tool.input.validate(args), (checked) => {
    if (checked.issues === undefined) return invoke(tool, checked.value, run);
    return errorText(
      `The arguments of ${tool.name} are not valid. Mend these and call again:\n${listIssues(checked.issues)}`,
    );
  });
}

function invoke(tool: ToolEntry, args: unknown, run: Run): Awaitable<Outcome> {
  // The registry holds tools of every argument type; the schema just vouched for this one.
  return after(tool.run(args as never, run.ex), (returned) => finish(tool, returned, run));
}

function finish(tool: ToolEntry, returned: unknown, run: Run): Awaitable<Outcome> {
  if (returned instanceof Content) return finishContent(tool, returned, run);
  if (tool.output === undefined) return plain(returned);
  return after(tool.output.validate(returned), (checked) =>
    checked.issues === undefined ? structured(checked.value) : badOutput(tool, checked, run),
  );
}

function finishContent(tool: ToolEntry, content: Content, run: Run): Awaitable<Outcome> {
  const { blocks, isError, meta } = content;
  const value = (text: string | undefined, isObject: boolean): ToolValue => ({
    kind: "tool",
    blocks,
    structured: text,
    isObject,
    isError,
    meta,
  });
  // An error's content tells what went wrong; the output schema is about success.
  if (tool.output === undefined || isError) {
    if (!content.hasStructured) return value(undefined, false);
    return value(toJson(content.structured), isPlainObject(content.structured));
  }
  return after(tool.output.validate(content.structured), (checked) =>
    checked.issues === undefined
      ? value(toJson(checked.value), isPlainObject(checked.value))
      : badOutput(tool, checked, run),
  );
}

/** Without an output schema a string is words for the model, anything else is data. */
function plain(returned: unknown): Outcome {
  if (returned === undefined) return words([]);
  if (typeof returned === "string") return words([{ type: "text", text: returned }]);
  return structured(returned);
}

function structured(value: unknown): ToolValue {
  return {
    kind: "tool",
    blocks: [],
    structured: toJson(value),
    isObject: isPlainObject(value),
    isError: false,
    meta: undefined,
  };
}

function toJson(value: unknown): string {
  const json: string | undefined = JSON.stringify(value);
  if (json === undefined) throw new TypeError(`a result cannot be ${typeof value}`);
  return json;
}

function isPlainObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The tool broke its own promise: the model can do nothing about it, the operator can. */
function badOutput(tool: ToolEntry, checked: Validation, { service }: Run): Outcome {
  service.log({
    level: "error",
    message: `the result of tool ${tool.name} does not match its output schema`,
    details: { issues: checked.issues },
  });
  return errorText(`${tool.name} failed: its result does not match what it declares`);
}

/** What a throw in a tool, or on the way to it, is to the caller. */
export function toolThrew(name: string, cause: unknown, { service, ex }: Run): Outcome {
  // A stop at a question, and a question nobody can be asked, are not the tool's failures.
  if (cause instanceof Pause || cause instanceof Rejection || control.isPaused(ex)) throw cause;
  if (ex.cancelled) return failure("cancelled", "the caller cancelled this request");
  const unavailable = toUnavailable(cause, service.log);
  if (unavailable !== undefined) return unavailable;
  if (cause instanceof McpError) {
    if (cause.cause !== undefined) {
      service.log({
        level: "warning",
        message: `tool ${shorten(name)} failed`,
        cause: cause.cause,
      });
    }
    if (cause.code === "failed") return errorText(cause.message);
    return failure("invalid-params", cause.message, cause.data);
  }
  service.log({ level: "error", message: `tool ${shorten(name)} threw`, cause });
  return errorText(`${shorten(name)} failed; the server's log says why`);
}

/** Names from outside are repeated back short: an error is no place to carry a megabyte. */
export function shorten(name: string): string {
  return name.length > 200 ? `${name.slice(0, 200)}…` : name;
}
