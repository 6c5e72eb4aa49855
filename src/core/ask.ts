/** The verbs a handler asks with, turned into questions. */
import { blocksOf, type Content } from "./content.ts";
import { compileForm } from "./form.ts";
import { type Inquiry, Pause } from "./inquiry.ts";
import {
  type Answer,
  accepted,
  type Question,
  type Root,
  type Sample,
  type SampleMessage,
  type SampleRequest,
} from "./question.ts";
import type { Schema, SchemaOutput } from "./schema.ts";

/** How long a pushed question waits for its answer. */
const defaultTimeoutMs = 120_000;

interface WaitOptions {
  /** How long a pushed question waits for its answer, in milliseconds. @default 120000 */
  readonly timeoutMs?: number | undefined;
}

export interface FormOptions<S extends Schema | undefined> extends WaitOptions {
  /** Why it is asked, for the user. Never ask for secrets in a form: use a `url`. */
  readonly message: string;
  /** A flat object of strings, numbers, booleans and enums. @default no fields: yes or no */
  readonly schema?: S;
  /** The answer where nobody can be asked. @default none: the call fails */
  readonly default?: AnswerContent<S> | undefined;
}

export interface UrlOptions extends WaitOptions {
  readonly message: string;
  /** The page to visit. What is entered there does not pass through the client. */
  readonly url: string;
}

export type AnswerContent<S> = S extends Schema ? SchemaOutput<S> : Record<string, unknown>;

export interface SampleOptions extends WaitOptions, Omit<SampleRequest, "messages" | "maxTokens"> {
  /** The conversation to continue; a text is one message of the user. */
  readonly messages:
    | string
    | readonly { readonly role: SampleMessage["role"]; readonly content: Content | string }[];
  /** @default 1024 */
  readonly maxTokens?: number | undefined;
  /** What is taken where there is no model to ask. @default none: the call fails */
  readonly default?: string | undefined;
}

export interface RootsOptions extends WaitOptions {
  readonly default?: readonly Root[] | undefined;
}

export async function ask<const S extends Schema | undefined>(
  inquiry: Inquiry,
  signal: AbortSignal,
  key: string,
  options: FormOptions<S> | UrlOptions,
): Promise<Answer<AnswerContent<S>>> {
  const wait = { timeoutMs: options.timeoutMs ?? defaultTimeoutMs, signal };
  const question = toQuestion(options);
  const fallback =
    "default" in options && options.default !== undefined
      ? { value: accepted(options.default, true) }
      : undefined;
  // The question judged the answer by the schema that its type was read from.
  return (await inquiry.ask(key, question, fallback, wait)) as Answer<AnswerContent<S>>;
}

function toQuestion(options: FormOptions<Schema | undefined> | UrlOptions): Question {
  const { message } = options;
  if ("url" in options) {
    if (URL.canParse(options.url)) return { kind: "url", message, url: options.url };
    throw new TypeError(`${JSON.stringify(options.url)} is no URL to send a user to`);
  }
  return { kind: "form", message, ...compileForm(options.schema) };
}

export async function sample(
  inquiry: Inquiry,
  signal: AbortSignal,
  key: string,
  options: SampleOptions,
): Promise<Sample> {
  const { messages, timeoutMs, default: assumed, maxTokens, ...rest } = options;
  const request = { ...rest, maxTokens: maxTokens ?? 1024, messages: toMessages(messages) };
  const fallback = assumed === undefined ? undefined : { value: toSample(assumed) };
  const wait = { timeoutMs: timeoutMs ?? defaultTimeoutMs, signal };
  return (await inquiry.ask(key, { kind: "sample", request }, fallback, wait)) as Sample;
}

function toMessages(messages: SampleOptions["messages"]): readonly SampleMessage[] {
  if (typeof messages === "string") {
    return [{ role: "user", content: { type: "text", text: messages } }];
  }
  return messages.flatMap(({ role, content }) =>
    blocksOf(content).map((block) => ({ role, content: block })),
  );
}

/** A default in the shape of what a model would have written. */
function toSample(text: string): Sample {
  return {
    role: "assistant",
    content: [{ type: "text", text }],
    text,
    model: "none",
    stopReason: undefined,
    assumed: true,
  };
}

export async function roots(
  inquiry: Inquiry,
  signal: AbortSignal,
  options: RootsOptions = {},
): Promise<readonly Root[]> {
  const fallback = options.default === undefined ? undefined : { value: options.default };
  const wait = { timeoutMs: options.timeoutMs ?? defaultTimeoutMs, signal };
  return (await inquiry.ask("roots", { kind: "roots" }, fallback, wait)) as readonly Root[];
}

/**
 * Waits for all, so that all that have no answer are asked in one round; but not for a call
 * that can never be finished, because one of them cannot be asked or came to nothing.
 */
export async function together<T extends Readonly<Record<string, Promise<unknown>>>>(
  asked: T,
): Promise<{ [K in keyof T]: Awaited<T[K]> }> {
  const all = Object.values(asked);
  const failed = new Promise<never>((_, reject) => {
    for (const each of all) {
      each.catch((cause: unknown) => {
        if (!(cause instanceof Pause)) reject(cause);
      });
    }
  });
  await Promise.race([Promise.allSettled(all), failed]);
  // From here on each has its answer, or the first that has none stops the handler.
  const values = await Promise.all(all);
  const entries = Object.keys(asked).map((key, at) => [key, values[at]] as const);
  return Object.fromEntries(entries) as { [K in keyof T]: Awaited<T[K]> };
}
