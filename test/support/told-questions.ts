/** What a tool's result tells a model to ask its user, in revisions in which a server cannot ask. */
import { isObject, type JsonObject } from "./schemas.ts";

export interface ToldQuestion {
  readonly key: string;
  readonly message: string;
  readonly schema: JsonObject;
}

export interface ToldQuestions {
  readonly questions: readonly ToldQuestion[];
  /** What is to be handed back with the answers. */
  readonly state: string;
}

const question = /- "([^"]+)": (.*)\n {2}The answer is an object of this schema: (.*)/g;
const state = /"_state": "([^"]+)"/;

/** @returns undefined for a result that asks nothing. */
export function readToldQuestions(text: string): ToldQuestions | undefined {
  const carried = state.exec(text)?.[1];
  if (carried === undefined) return undefined;
  const questions = [...text.matchAll(question)].map(([, key = "", message = "", json = ""]) => {
    const schema: unknown = JSON.parse(json);
    if (!isObject(schema)) throw new Error(`${json} is no schema`);
    return { key, message, schema };
  });
  if (questions.length === 0) throw new Error(`nothing is asked in ${text}`);
  return { questions, state: carried };
}

/** The text of a tool's result. */
export function textOf(result: unknown): string {
  const content = isObject(result) ? result["content"] : undefined;
  const first: unknown = Array.isArray(content) ? content[0] : undefined;
  if (isObject(first) && typeof first["text"] === "string") return first["text"];
  throw new Error(`there is no text in ${JSON.stringify(result)}`);
}
