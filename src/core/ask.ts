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
  /**
   * How long a question that is pushed waits for its answer, in milliseconds; then the call
   * fails and its client is told to take the question away. Where the call is made again
   * instead, `requestState.ttlMs` says how long there is time. @default 120000
   */
  readonly timeoutMs?: number | undefined;
}

/** A form to fill in (client/elicitation, 2025-06-18 and later). */
export interface FormOptions<S extends Schema | undefined> extends WaitOptions {
  /**
   * Why it is asked, for the user. Never ask for secrets in a form, it passes through the
   * client and perhaps its model: use a `url` (client/elicitation, User Interaction Model,
   * 2025-11-25).
   */
  readonly message: string;
  /**
   * A flat object of strings, numbers, booleans, enums and lists of enums, because no client
   * can show more; anything else throws a TypeError that names the field. What a user fills
   * in has passed it. @default no fields: yes or no
   */
  readonly schema?: S;
  /**
   * The content of the answer where nobody can be asked; it then says `assumed`, and is no
   * consent of anybody. @default none: the call fails
   */
  readonly default?: AnswerContent<S> | undefined;
}

/**
 * A page to visit, for what must not pass through the client: passwords, keys, payments
 * (client/elicitation, URL Mode Elicitation Requests, 2025-11-25). Older revisions have no such question, and
 * there is no default: the call fails there.
 */
export interface UrlOptions extends WaitOptions {
  /** Why the user is sent there. */
  readonly message: string;
  /**
   * The page, absolute. An accepted answer means that the user agreed to go there, not that
   * they have finished: look that up where the page keeps it. Put nothing into it that lets
   * somebody else in, and let the page find out who its visitor is.
   */
  readonly url: string;
}

/** What an accepted answer holds: the output type of its schema. */
export type AnswerContent<S> = S extends Schema ? SchemaOutput<S> : Record<string, unknown>;

/** Something for the caller's model to write (client/sampling, every revision). */
export interface SampleOptions extends WaitOptions, Omit<SampleRequest, "messages" | "maxTokens"> {
  /**
   * The conversation to continue; a text is one message of the user. Models take text, images
   * and sound; other content is told in words.
   */
  readonly messages:
    | string
    | readonly { readonly role: SampleMessage["role"]; readonly content: Content | string }[];
  /** Tokens that the model may write at most. @default 1024 */
  readonly maxTokens?: number | undefined;
  /**
   * The text that is taken where there is no model to ask; the sample then says `assumed`.
   * @default none: the call fails
   */
  readonly default?: string | undefined;
}

/** How to ask for the caller's roots (client/roots, every revision). */
export interface RootsOptions extends WaitOptions {
  /** What is taken where the caller has none to tell. @default none: the call fails */
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
