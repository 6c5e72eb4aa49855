/** A question told to the model, where there is nobody else to tell it to. */
import type { NeedsInput } from "../core/outcome.ts";
import { isObject, type JsonObject } from "../util/json.ts";
import { answersArgument, stateArgument } from "./answer-arguments.ts";
import { toWireQuestion } from "./questions.ts";
import type { Shape } from "./shape.ts";

/** The result of a call that stopped at a question. */
export function toAnswerRequest({ questions, state }: NeedsInput, shape: Shape): JsonObject {
  const asked = [...questions].map(([key, question]) => {
    const { params } = toWireQuestion(question, { forms: "full", urls: "without-id" }, shape);
    const fields = isObject(params["requestedSchema"]) ? params["requestedSchema"] : {};
    return `- ${JSON.stringify(key)}: ${String(params["message"])}\n  The answer is an object of this schema: ${JSON.stringify(fields)}`;
  });
  const text = [
    "This call needs an answer from the user before it can go on. Ask the user:",
    ...asked,
    `Then call the tool again with the same arguments and also "${answersArgument}", an object with the answer under each of these names ("decline" where the user says no), and "${stateArgument}": ${JSON.stringify(state)}`,
  ].join("\n");
  return { content: [{ type: "text", text }] };
}
