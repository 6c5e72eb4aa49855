/** Rounds of a call made by hand: what is carried from one to the next can be spoiled. */
import type { Conversant, Reply } from "./conversant.ts";
import { mechanic } from "./conversing.ts";
import { isObject, type JsonObject, type Revision } from "./schemas.ts";
import { readToldQuestions, textOf } from "./told-questions.ts";

export interface Paused {
  readonly keys: readonly string[];
  readonly state: string;
}

/** What a call stopped at; undefined where it came to its end. */
export function pausedAt({ message }: Reply): Paused | undefined {
  const { result } = message;
  if (!isObject(result)) throw new Error(`failed: ${JSON.stringify(message)}`);
  const { inputRequests, requestState } = result;
  if (isObject(inputRequests)) {
    return { keys: Object.keys(inputRequests), state: String(requestState) };
  }
  const told = "content" in result ? readToldQuestions(textOf(result)) : undefined;
  return told && { keys: told.questions.map(({ key }) => key), state: told.state };
}

export interface Carried {
  /** What was filled in, by question. */
  readonly answers?: JsonObject | undefined;
  readonly state?: string | undefined;
  /** Whether it is what no client would send. */
  readonly isSpoiled?: boolean | undefined;
}

/** One round of a call of a tool. */
export function round(
  peer: Conversant,
  name: string,
  args: JsonObject = {},
  { answers, state, isSpoiled }: Carried = {},
): Promise<Reply> {
  if (mechanic(peer.revision, "form") === "arguments") {
    const more = {
      ...(answers !== undefined && { _answers: answers }),
      ...(state !== undefined && { _state: state }),
    };
    return peer.ask("tools/call", { name, arguments: { ...args, ...more } });
  }
  const inputResponses = Object.fromEntries(
    Object.entries(answers ?? {}).map(([key, content]) => [key, { action: "accept", content }]),
  );
  const params = {
    name,
    arguments: args,
    ...(answers !== undefined && { inputResponses }),
    ...(state !== undefined && { requestState: state }),
  };
  return isSpoiled ? peer.askRaw("tools/call", params) : peer.ask("tools/call", params);
}

/** A round that must stop. */
export async function pausing(...args: Parameters<typeof round>): Promise<Paused> {
  const reply = await round(...args);
  const paused = pausedAt(reply);
  if (paused === undefined) throw new Error(`did not stop: ${JSON.stringify(reply.message)}`);
  return paused;
}

/** What a call said at its end. */
export function saidAtEnd({ message }: Reply): unknown {
  if (!isObject(message["result"])) throw new Error(`failed: ${JSON.stringify(message)}`);
  return JSON.parse(textOf(message["result"]));
}

export interface Refusal {
  readonly status: number | undefined;
  readonly code: unknown;
  readonly data: unknown;
  readonly message: string;
}

export function refusalOf({ message, origin }: Reply): Refusal {
  const { error } = message;
  if (!isObject(error)) throw new Error(`was not refused: ${JSON.stringify(message)}`);
  const { code, data } = error;
  return { status: origin.status, code, data, message: String(error["message"]) };
}

/**
 * How a state is refused: to the client with an error; to the model, with a result it reads,
 * where the model copied it into an argument.
 *
 * @returns what was said
 */
export function stateRefusalOf({ revision }: Conversant, reply: Reply): string {
  const { message, origin } = reply;
  if (origin.status !== undefined && origin.status !== 200) throw new Error(`got ${origin.status}`);
  const [said, isRefused] = refusalIn(revision, message);
  if (isRefused && said.endsWith("call again without it")) return said;
  throw new Error(`was not refused as a state is: ${JSON.stringify(message)}`);
}

function refusalIn(revision: Revision, { result, error }: JsonObject): readonly [string, boolean] {
  if (mechanic(revision, "form") === "arguments") {
    const told = isObject(result) ? textOf(result) : "";
    return [told, isObject(result) && result["isError"] === true && told.startsWith("_state ")];
  }
  const told = isObject(error) ? String(error["message"]) : "";
  return [told, isObject(error) && error["code"] === -32602 && told.startsWith("requestState ")];
}
