/** The params of each method, read into an operation: unknown until looked at here. */
import { isLogLevel, logLevels, type Operation } from "../core/call.ts";
import type { Implementation } from "../core/model.ts";
import { type Failure, failure } from "../core/outcome.ts";
import type { ListName } from "../core/registry.ts";
import { describe } from "../jsonrpc/message.ts";
import { isObject, type JsonObject, own } from "../util/json.ts";

export type ReadParams = (params: JsonObject) => Operation | Failure;

export function readList(list: ListName): ReadParams {
  return (params) => {
    const cursor = params["cursor"];
    if (cursor !== undefined && typeof cursor !== "string")
      return wrong("cursor", "a string", cursor);
    return { kind: "list", list, cursor };
  };
}

export function readCallTool(params: JsonObject): Operation | Failure {
  const target = params["name"];
  if (typeof target !== "string") return wrong("name", "a string", target);
  // Null is how some clients write "none"; anything else that is no object is a mistake.
  const args = params["arguments"] ?? {};
  if (!isObject(args)) return wrong("arguments", "an object", args);
  return { kind: "call-tool", target, arguments: args };
}

export function readResourceUri(params: JsonObject): Operation | Failure {
  const target = params["uri"];
  if (typeof target !== "string") return wrong("uri", "a string", target);
  return { kind: "read-resource", target };
}

export function readGetPrompt(params: JsonObject): Operation | Failure {
  const target = params["name"];
  if (typeof target !== "string") return wrong("name", "a string", target);
  const args = readStrings(params["arguments"], "arguments");
  return "failed" in args ? args.failed : { kind: "get-prompt", target, arguments: args.strings };
}

export function readComplete(params: JsonObject): Operation | Failure {
  const { ref, argument, context } = params;
  if (!isObject(ref)) return wrong("ref", "an object", ref);
  if (!isObject(argument)) return wrong("argument", "an object", argument);
  const { name, value } = argument;
  if (typeof name !== "string") return wrong("argument.name", "a string", name);
  if (typeof value !== "string") return wrong("argument.value", "a string", value);
  const others = readStrings(
    isObject(context) ? context["arguments"] : undefined,
    "context.arguments",
  );
  if ("failed" in others) return others.failed;
  const asked = { kind: "complete", argument: name, value, others: others.strings } as const;
  if (ref["type"] === "ref/prompt") {
    const target = ref["name"];
    return typeof target === "string"
      ? { ...asked, of: "prompt", target }
      : wrong("ref.name", "a string", target);
  }
  if (ref["type"] === "ref/resource") {
    const target = ref["uri"];
    return typeof target === "string"
      ? { ...asked, of: "template", target }
      : wrong("ref.uri", "a string", target);
  }
  return failure("invalid-params", 'ref.type must be "ref/prompt" or "ref/resource"');
}

export function readSetLogLevel(params: JsonObject): Operation | Failure {
  const level = params["level"];
  if (isLogLevel(level)) return { kind: "set-log-level", level };
  return failure("invalid-params", `level must be one of ${logLevels.join(", ")}`);
}

function readStrings(
  value: unknown,
  where: string,
): { readonly strings: Readonly<Record<string, string>> } | { readonly failed: Failure } {
  const strings: Record<string, string> = Object.create(null);
  if (value === undefined || value === null) return { strings };
  if (!isObject(value)) return { failed: wrong(where, "an object of strings", value) };
  for (const key of Object.keys(value)) {
    const item = own(value, key);
    if (typeof item !== "string") return { failed: wrong(`${where}.${key}`, "a string", item) };
    strings[key] = item;
  }
  return { strings };
}

function wrong(where: string, right: string, value: unknown): Failure {
  return failure("invalid-params", `params.${where} must be ${right}, not ${describe(value)}`);
}

/** Who the caller says it is; what is not shaped like an answer counts as none. */
export function readImplementation(value: unknown): Implementation | undefined {
  return isImplementation(value) ? value : undefined;
}

function isImplementation(value: unknown): value is Implementation {
  return (
    isObject(value) && typeof value["name"] === "string" && typeof value["version"] === "string"
  );
}
