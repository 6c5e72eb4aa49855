/** Getting a prompt: its arguments are strings, checked against what it declares. */
import { type Awaitable, after, isPromise } from "../util/awaitable.ts";
import { findLack } from "./access.ts";
import { shorten } from "./call-tool.ts";
import { Content, user } from "./content.ts";
import type { PromptReturn } from "./declaration.ts";
import type { Run } from "./dispatch.ts";
import type { PromptEntry } from "./entries.ts";
import { McpError } from "./errors.ts";
import { failure, type MessagesValue, type Outcome } from "./outcome.ts";

export function getPrompt(
  name: string,
  args: Readonly<Record<string, string>>,
  run: Run,
): Awaitable<Outcome> {
  const prompt = run.service.registry.prompt(name, run.view, run.access);
  if (prompt === undefined) {
    return failure(
      "invalid-params",
      `Unknown prompt: ${shorten(name)}; prompts/list names those there are`,
    );
  }
  const lack = findLack(`the prompt ${prompt.name}`, prompt.restriction, run.access);
  if (lack !== undefined) return lack;
  const missing = prompt.arguments.find(
    (argument) => argument.required === true && !Object.hasOwn(args, argument.name),
  );
  if (missing !== undefined) {
    return failure(
      "invalid-params",
      `the prompt ${prompt.name} needs the argument ${missing.name}`,
    );
  }
  try {
    const outcome = after(prompt.get(args as never, run.ex), (returned) =>
      finish(prompt, returned),
    );
    return isPromise(outcome) ? outcome.catch(thrown) : outcome;
  } catch (cause) {
    return thrown(cause);
  }
}

function finish(prompt: PromptEntry, returned: PromptReturn): MessagesValue {
  if (typeof returned === "string" || returned instanceof Content) {
    return messages(prompt.description, user(returned));
  }
  if ("messages" in returned) {
    return messages(returned.description ?? prompt.description, returned.messages);
  }
  return messages(prompt.description, returned);
}

function messages(description: string | undefined, list: MessagesValue["messages"]): MessagesValue {
  return { kind: "messages", description, messages: list };
}

function thrown(cause: unknown): Outcome {
  if (!(cause instanceof McpError)) throw cause;
  const kind = cause.code === "failed" ? "internal" : "invalid-params";
  return failure(kind, cause.message, cause.data);
}
