/** Getting a prompt: its arguments are strings, checked against what it declares. */
import { type Awaitable, after, isPromise } from "../util/awaitable.ts";
import { findLack } from "./access.ts";
import { shorten } from "./call-tool.ts";
import { Content, user } from "./content.ts";
import type { PromptReturn } from "./declaration.ts";
import type { Run } from "./dispatch.ts";
import type { PromptEntry } from "./entries.ts";
import { McpError } from "./errors.ts";
import { type Failure, failure, type MessagesValue, type Outcome } from "./outcome.ts";

export function getPrompt(
  name: string,
  args: Readonly<Record<string, string>>,
  run: Run,
): Awaitable<Outcome> {
  const prompt = findPrompt(name, run);
  if ("failure" in prompt) return prompt;
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
    return isPromise(outcome) ? outcome.catch(promptThrew) : outcome;
  } catch (cause) {
    return promptThrew(cause);
  }
}

/** The prompt, for a caller that may see and use it. */
export function findPrompt(name: string, run: Run): PromptEntry | Failure {
  const prompt = run.service.registry.prompt(name, run.view, run.access);
  if (prompt === undefined) {
    return failure(
      "invalid-params",
      `Unknown prompt: ${shorten(name)}; prompts/list names those there are`,
    );
  }
  return findLack(`the prompt ${prompt.name}`, prompt.restriction, run.access) ?? prompt;
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

/** What a throw in a prompt, or on the way to it, is to the caller. */
export function promptThrew(cause: unknown): Outcome {
  if (!(cause instanceof McpError)) throw cause;
  const kind = cause.code === "failed" ? "internal" : "invalid-params";
  return failure(kind, cause.message, cause.data);
}
