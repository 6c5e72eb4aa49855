/** A question told to the model, where there is nobody else to tell it to. */
import type { NeedsInput } from "../core/outcome.ts";
import { isObject, type JsonObject } from "../util/json.ts";
import { answersArgument, stateArgument } from "./answer-arguments.ts";
import { type ReadResult, readQuestions, toComplete } from "./client-half.ts";
import { type QuestionStyle, toWireQuestion } from "./questions.ts";
import type { Shape } from "./shape.ts";

/**
 * Where the same is told to a program: a client that knows this key asks its user itself, and
 * the model never sees the question.
 */
const inputKey = "anyrev/input";

const told: QuestionStyle = { forms: "full", urls: "without-id" };

/** The result of a call that stopped at a question. */
export function toAnswerRequest({ questions, state }: NeedsInput, shape: Shape): JsonObject {
  const asked = [...questions].map(([key, question]) => {
    const { params } = toWireQuestion(question, told, shape);
    const fields = isObject(params["requestedSchema"]) ? params["requestedSchema"] : {};
    return `- ${JSON.stringify(key)}: ${String(params["message"])}\n  The answer is an object of this schema: ${JSON.stringify(fields)}`;
  });
  const text = [
    "This call needs an answer from the user before it can go on. Ask the user:",
    ...asked,
    `Then call the tool again with the same arguments and also "${answersArgument}", an object with the answer under each of these names ("decline" where the user says no), and "${stateArgument}": ${JSON.stringify(state)}`,
  ].join("\n");
  const inputRequests = Object.fromEntries(
    [...questions].map(([key, question]) => [key, toWireQuestion(question, told, shape)]),
  );
  return {
    content: [{ type: "text", text }],
    _meta: { [inputKey]: { inputRequests, requestState: state } },
  };
}

/** The client's half: a result that asks for answers, or is one. */
export function readAnswerRequest(result: JsonObject): ReadResult {
  const meta = isObject(result["_meta"]) ? result["_meta"] : {};
  const input = meta[inputKey];
  if (!isObject(input)) return toComplete(result);
  const read = readQuestions(input);
  // For a client that does not ask its user, the words to its model are the result.
  return read.kind === "needs-input" ? { ...read, otherwise: result } : read;
}
