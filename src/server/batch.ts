/** An array of messages, which 2025-03-26 alone decodes (basic/index, Batching, 2025-03-26). */
import { type Failure, failure } from "../core/outcome.ts";
import { type RpcMessage, readMessage } from "../jsonrpc/message.ts";
import { type Awaitable, isPromise } from "../util/awaitable.ts";
import { type Answer, type Answerer, answer, type Place, refuse } from "./answer.ts";

/** Messages in one array at most: each is a request of its own to whoever counts requests. */
const maxBatch = 50;

export function answerBatch(
  items: readonly unknown[],
  place: Place,
  by: Answerer,
): Awaitable<Answer> {
  const refused = (why: string) =>
    refuse(failure("invalid-request", why), undefined, place.adapter);
  if (items.length === 0) return refused("an array of messages holds one at least");
  if (items.length > maxBatch) return refused(`an array holds at most ${maxBatch} messages`);
  const messages = items.map(readMessage);
  if (hasRepeatedId(messages)) {
    return refused(
      "two messages of this array have one id, so their answers could not be told apart",
    );
  }
  const answers = messages.map((message) => answerItem(message, place, by));
  return answers.some((each) => isPromise(each))
    ? Promise.all(answers).then(join)
    : join(answers as readonly Answer[]);
}

function answerItem(message: RpcMessage, place: Place, by: Answerer): Awaitable<Answer> {
  if (message.kind === "request" && message.method === "initialize") {
    // Nothing else can be answered before it (basic/lifecycle, Initialization, 2025-03-26).
    return refuse(inArray, message.id, place.adapter);
  }
  return answer(message, place, by);
}

const inArray: Failure = failure("invalid-request", "initialize must not be part of an array");

/** Answers in the order of their requests; one that failed spares its siblings. */
function join(answers: readonly Answer[]): Answer {
  const texts = answers.map((each) => each.text).filter((text) => text !== undefined);
  if (texts.length === 0) return { status: 202, text: undefined };
  return { status: 200, text: `[${texts.join(",")}]` };
}

function hasRepeatedId(messages: readonly RpcMessage[]): boolean {
  const seen = new Set<unknown>();
  for (const message of messages) {
    // A malformed message is answered under its id too, where it has one.
    if (message.kind !== "request" && message.kind !== "malformed") continue;
    if (message.id === undefined) continue;
    if (seen.has(message.id)) return true;
    seen.add(message.id);
  }
  return false;
}
