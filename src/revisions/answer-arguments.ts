/**
 * Asking by two arguments of the tool: for revisions in which a server cannot ask. The
 * question is told to the model, which asks its user and calls again.
 */
import type { CarriedInput } from "../core/call.ts";
import type { JsonSchema } from "../core/schema.ts";
import { isObject, type JsonObject } from "../util/json.ts";

export const answersArgument = "_answers";
export const stateArgument = "_state";

/** An input schema that also takes answers. */
export function withAnswerArguments(schema: JsonSchema): JsonSchema {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  return {
    ...schema,
    properties: {
      ...properties,
      [answersArgument]: {
        type: "object",
        description:
          "Leave out at first. If the result asks the user something, ask them, then call again with the same arguments and their answers here.",
      },
      [stateArgument]: {
        type: "string",
        description:
          "Leave out at first. When calling again with answers, copy it from the result.",
      },
    },
  };
}

/** The arguments without what belongs to the conversation, and that apart. */
export function splitArguments(args: JsonObject): {
  readonly rest: JsonObject;
  readonly carried: CarriedInput | undefined;
} {
  const { [answersArgument]: answers, [stateArgument]: state, ...rest } = args;
  if (answers === undefined && state === undefined) return { rest, carried: undefined };
  const given = isObject(answers) ? Object.entries(answers) : [];
  return {
    rest,
    carried: {
      answers: Object.fromEntries(given.map(([key, answer]) => [key, toResult(answer)])),
      state: typeof state === "string" ? state : undefined,
      argument: stateArgument,
    },
  };
}

/** A model writes the answer itself, or says that the user declined. */
function toResult(answer: unknown): unknown {
  if (answer === "decline" || answer === "cancel") return { action: answer };
  if (isObject(answer) && typeof answer["action"] === "string") return answer;
  if (answer === true || answer === "accept") return { action: "accept", content: {} };
  return { action: "accept", content: answer };
}

/** The params of a call that is made again with answers. */
export function withAnswers(
  params: JsonObject,
  { answers, state }: Pick<CarriedInput, "answers" | "state">,
): JsonObject {
  const args = isObject(params["arguments"]) ? params["arguments"] : {};
  const carried = state === undefined ? {} : { [stateArgument]: state };
  return { ...params, arguments: { ...args, [answersArgument]: answers, ...carried } };
}
