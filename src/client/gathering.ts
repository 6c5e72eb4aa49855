/** The answers to the questions that a call came back with. */
import type { WireQuestion } from "../revisions/questions.ts";
import { unlessAborted } from "../util/abort.ts";
import type { JsonObject } from "../util/json.ts";
import { type AnswerHandlers, answerQuestion, Unanswered } from "./answering.ts";
import { ClientError } from "./errors.ts";

/** Questions of one round at most: more would let a server fill the user's screen. */
const maxQuestions = 50;

/**
 * Puts all of them to their handlers at once.
 *
 * @param signal - ends the wait, also for a handler that does not heed it
 * @throws what a handler throws; ClientError `unsupported` for a question that there is none for
 */
export async function gatherAnswers(
  questions: ReadonlyMap<string, WireQuestion>,
  handlers: AnswerHandlers,
  signal: AbortSignal,
): Promise<JsonObject> {
  if (questions.size > maxQuestions) {
    throw new ClientError("invalid-answer", `the server asked ${questions.size} questions at once`);
  }
  // One that fails ends the call, so that nobody needs to go on with the others.
  const given = new AbortController();
  const entries = [...questions].map(async ([key, question]) => {
    const context = { signal: AbortSignal.any([signal, given.signal]) };
    return [key, await answerQuestion(question, handlers, context)] as const;
  });
  try {
    return Object.fromEntries(await unlessAborted(signal, Promise.all(entries)));
  } catch (cause) {
    given.abort(cause);
    if (!(cause instanceof Unanswered)) throw cause;
    // The handler's own error is the caller's to see: it is on this side.
    throw cause.cause ?? new ClientError("unsupported", `the server asked: ${cause.message}`);
  }
}
