/** What a handler asks its caller, in no revision's terms, and how an answer is judged. */
import type { Awaitable } from "../util/awaitable.ts";
import { isObject, type JsonObject } from "../util/json.ts";
import type { FormField } from "./form.ts";
import type { ContentBlock, Role } from "./model.ts";
import type { Validate } from "./schema.ts";

/** Something to fill in; the fields are flat, because that is what every client can show. */
export interface FormQuestion {
  readonly kind: "form";
  readonly message: string;
  readonly fields: Readonly<Record<string, FormField>>;
  readonly required: readonly string[];
  readonly validate: Validate;
}

/** A page to visit, for what must not pass through the client. */
export interface UrlQuestion {
  readonly kind: "url";
  readonly message: string;
  readonly url: string;
}

/** Something for the caller's model to write. */
export interface SampleQuestion {
  readonly kind: "sample";
  readonly request: SampleRequest;
}

/** The directories the caller works in. */
export interface RootsQuestion {
  readonly kind: "roots";
}

export type Question = FormQuestion | UrlQuestion | SampleQuestion | RootsQuestion;

export type QuestionKind = Question["kind"];

/**
 * How a question reaches the caller: the call ends with it and is made again with the
 * answer; it is pushed while the call waits; the call is made again with the answer among
 * its arguments; or not at all.
 */
export type Mechanic = "restart" | "push" | "arguments" | "never";

export interface SampleMessage {
  readonly role: Role;
  readonly content: ContentBlock;
}

/** What a model is asked to write; its client may change or ignore any of it. */
export interface SampleRequest {
  readonly messages: readonly SampleMessage[];
  /** Tokens the model may write at most. */
  readonly maxTokens: number;
  /** How the model should behave. */
  readonly systemPrompt?: string | undefined;
  /** How freely it should write; the scale is its provider's. */
  readonly temperature?: number | undefined;
  /** Texts at which it should stop. */
  readonly stopSequences?: readonly string[] | undefined;
  /** `hints`, `costPriority`, `speedPriority` and `intelligencePriority`, from 0 to 1. */
  readonly modelPreferences?: JsonObject | undefined;
  /** Passed on to the model's provider as it is. */
  readonly metadata?: JsonObject | undefined;
}

/** What the caller's model wrote. A stranger's text: check it before acting on it. */
export interface Sample {
  readonly role: Role;
  readonly content: readonly ContentBlock[];
  /** The text of all text blocks. */
  readonly text: string;
  /** The model's name as its client tells it; `"none"` where this is the default. */
  readonly model: string;
  /** Why it stopped, such as `"endTurn"` or `"maxTokens"`, where its client tells. */
  readonly stopReason: string | undefined;
  /** There was no model to ask, so this is the default. */
  readonly assumed: boolean;
}

/** A directory or file that the caller works in. It tells where, and permits nothing. */
export interface Root {
  /** A `file://` URI. */
  readonly uri: string;
  readonly name?: string | undefined;
}

/**
 * What became of a form or a page: the user agreed, said no, or closed it without a word
 * (client/elicitation, Response Actions, 2025-06-18). They mean three things, so check
 * `accepted` before anything is done. For a page, accepting is agreeing to go there.
 */
export type Answer<T> =
  | {
      readonly action: "accept";
      readonly accepted: true;
      /** What was filled in, as the schema gave it; nothing for a page. */
      readonly content: T;
      /** Nobody could be asked, so this is the default, and no consent. */
      readonly assumed: boolean;
    }
  | {
      readonly action: "decline" | "cancel";
      readonly accepted: false;
      readonly content: undefined;
      readonly assumed: false;
    };

/** A judged answer; undefined when it is none, so that the question is asked again. */
export function judge(question: Question, raw: unknown): Awaitable<unknown> {
  if (!isObject(raw)) return undefined;
  switch (question.kind) {
    case "form":
      return judgeForm(question, raw);
    case "url":
      return raw["action"] === "accept" ? accepted(undefined) : refused(raw["action"]);
    case "sample":
      return judgeSample(raw);
    case "roots":
      return judgeRoots(raw);
  }
}

function judgeForm(question: FormQuestion, raw: JsonObject): Awaitable<unknown> {
  if (raw["action"] !== "accept") return refused(raw["action"]);
  const checked = question.validate(raw["content"] ?? {});
  return Promise.resolve(checked).then((found) =>
    found.issues === undefined ? accepted(found.value) : undefined,
  );
}

export function accepted<T>(content: T, assumed = false): Answer<T> {
  return { action: "accept", accepted: true, content, assumed };
}

function refused(action: unknown): Answer<never> | undefined {
  if (action !== "decline" && action !== "cancel") return undefined;
  return { action, accepted: false, content: undefined, assumed: false };
}

function judgeSample(raw: JsonObject): Sample | undefined {
  const { role, model, stopReason } = raw;
  const content = Array.isArray(raw["content"]) ? raw["content"] : [raw["content"]];
  if (role !== "user" && role !== "assistant") return undefined;
  if (typeof model !== "string" || !content.every(isBlock)) return undefined;
  const text = content.map((block) => (block.type === "text" ? block.text : "")).join("");
  return {
    role,
    content,
    text,
    model,
    stopReason: typeof stopReason === "string" ? stopReason : undefined,
    assumed: false,
  };
}

function isBlock(value: unknown): value is ContentBlock {
  if (!isObject(value) || typeof value["type"] !== "string") return false;
  return value["type"] !== "text" || typeof value["text"] === "string";
}

function judgeRoots(raw: JsonObject): readonly Root[] | undefined {
  const { roots } = raw;
  if (!Array.isArray(roots) || !roots.every(isRoot)) return undefined;
  return roots.map(({ uri, name }) => (name === undefined ? { uri } : { uri, name }));
}

function isRoot(value: unknown): value is Root {
  if (!isObject(value) || typeof value["uri"] !== "string") return false;
  return value["name"] === undefined || typeof value["name"] === "string";
}
