/** Questions that a server asks, put to whoever can answer them, and the answers on the wire. */
import type { ContentBlock, Role } from "../core/model.ts";
import type { QuestionKind, Root } from "../core/question.ts";
import type { WireQuestion } from "../revisions/questions.ts";
import type { Awaitable } from "../util/awaitable.ts";
import { isObject, type JsonObject } from "../util/json.ts";

/** Something the server wants from the user. Show who asks, and let the user say no. */
export type AskRequest =
  | {
      readonly kind: "form";
      readonly message: string;
      /** A flat object of strings, numbers, booleans and choices, as JSON Schema. */
      readonly schema: JsonObject;
    }
  | {
      readonly kind: "url";
      readonly message: string;
      /** Show it whole and open it only when the user agrees; never fetch it (client/elicitation). */
      readonly url: string;
    };

/** The user's answer: `content` for a form; fields left out are filled with their defaults. */
export type AskAnswer =
  | { readonly action: "accept"; readonly content?: JsonObject | undefined }
  | { readonly action: "decline" | "cancel" };

/** What the server wants a model to write, with its `messages`, `maxTokens` and the like. */
export interface SampleAsked {
  readonly messages: readonly { readonly role: Role; readonly content: unknown }[];
  readonly maxTokens: number;
  readonly systemPrompt?: string | undefined;
  readonly temperature?: number | undefined;
  readonly stopSequences?: readonly string[] | undefined;
  readonly modelPreferences?: JsonObject | undefined;
  readonly metadata?: JsonObject | undefined;
}

export interface SampleAnswer {
  /** A text, or one block of content. */
  readonly content: string | ContentBlock;
  /** The name of the model that wrote it. */
  readonly model: string;
  /** @default "assistant" */
  readonly role?: Role | undefined;
  /** Why it stopped. @default "endTurn" */
  readonly stopReason?: string | undefined;
}

/** What every handler is told beside the question. */
export interface AskContext {
  /** Aborts when the question has no more sense: the call was cancelled, or the server took it back. */
  readonly signal: AbortSignal;
}

/** Who answers. A handler that is given is declared to the server as a capability; none else is. */
export interface AnswerHandlers {
  /** Asks the user to fill in a form, or to visit a page. */
  readonly onAsk?: ((asked: AskRequest, context: AskContext) => Awaitable<AskAnswer>) | undefined;
  /** Whether `onAsk` takes pages to visit too. @default true */
  readonly asksUrls?: boolean | undefined;
  /** Has a model write something; show the user what goes to it, and what comes back. */
  readonly onSample?:
    | ((asked: SampleAsked, context: AskContext) => Awaitable<SampleAnswer>)
    | undefined;
  /** The directories the user works in: told, not granted. */
  readonly onRoots?:
    | readonly Root[]
    | ((context: AskContext) => Awaitable<readonly Root[]>)
    | undefined;
}

/** An answer to a request of the server's that it will not get. */
export class Unanswered extends Error {
  override readonly name = "Unanswered";
  readonly code: number;

  constructor(code: number, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

const methodNotFound = -32601;
const invalidParams = -32602;
const internalError = -32603;

export function kindsOf({ onAsk, asksUrls, onSample, onRoots }: AnswerHandlers): QuestionKind[] {
  const kinds: QuestionKind[] = [];
  if (onAsk !== undefined) kinds.push("form");
  if (onAsk !== undefined && asksUrls !== false) kinds.push("url");
  if (onSample !== undefined) kinds.push("sample");
  if (onRoots !== undefined) kinds.push("roots");
  return kinds;
}

/** Whether a handler was given for a question. */
export function isAnswered({ method, params }: WireQuestion, handlers: AnswerHandlers): boolean {
  const kinds = kindsOf(handlers);
  switch (method) {
    case "elicitation/create":
      return kinds.includes(params["mode"] === "url" ? "url" : "form");
    case "sampling/createMessage":
      return kinds.includes("sample");
    case "roots/list":
      return kinds.includes("roots");
    default:
      return false;
  }
}

/**
 * The result that answers a question, by whichever mechanic it came.
 *
 * @throws Unanswered for a question that no handler was given for, or that its handler failed at
 */
export async function answerQuestion(
  { method, params }: WireQuestion,
  handlers: AnswerHandlers,
  context: AskContext,
): Promise<JsonObject> {
  try {
    switch (method) {
      case "elicitation/create":
        return await ask(params, handlers, context);
      case "sampling/createMessage":
        return await sample(params, handlers, context);
      case "roots/list":
        return await listRoots(handlers, context);
      default:
        throw undeclared(method);
    }
  } catch (cause) {
    if (cause instanceof Unanswered) throw cause;
    // What a handler throws may hold what is nobody else's business.
    throw new Unanswered(internalError, `the client failed to answer ${method}`, cause);
  }
}

function undeclared(method: string): Unanswered {
  return new Unanswered(methodNotFound, `this client does not answer ${method.slice(0, 200)}`);
}

async function ask(
  params: JsonObject,
  { onAsk, asksUrls }: AnswerHandlers,
  context: AskContext,
): Promise<JsonObject> {
  const { mode = "form" } = params;
  if (onAsk === undefined || (mode === "url" && asksUrls === false)) {
    throw undeclared(`elicitation/create of mode ${String(mode)}`);
  }
  const asked = readAsked(params, mode);
  const answer = await onAsk(asked, context);
  if (answer.action !== "accept") return { action: answer.action };
  if (asked.kind === "url") return { action: "accept" };
  return { action: "accept", content: withDefaults(answer.content ?? {}, asked.schema) };
}

function readAsked(params: JsonObject, mode: unknown): AskRequest {
  const { url, requestedSchema } = params;
  const message = typeof params["message"] === "string" ? params["message"] : "";
  if (mode === "url") {
    if (typeof url === "string" && isWebUrl(url)) return { kind: "url", message, url };
    throw new Unanswered(invalidParams, "url must be an http or https URL");
  }
  if (mode !== "form") throw undeclared("elicitation/create of an unknown mode");
  if (isObject(requestedSchema)) return { kind: "form", message, schema: requestedSchema };
  throw new Unanswered(invalidParams, "requestedSchema must be an object");
}

/** A page to visit is no script and no file, whatever a server would have its user open. */
function isWebUrl(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}

/** The answer, with every field that was left out as the form would have shown it. */
function withDefaults(content: JsonObject, schema: JsonObject): JsonObject {
  const fields = isObject(schema["properties"]) ? Object.entries(schema["properties"]) : [];
  const filled = fields.flatMap(([name, field]) =>
    !Object.hasOwn(content, name) && isObject(field) && field["default"] !== undefined
      ? [[name, field["default"]] as const]
      : [],
  );
  return { ...Object.fromEntries(filled), ...content };
}

async function sample(
  params: JsonObject,
  { onSample }: AnswerHandlers,
  context: AskContext,
): Promise<JsonObject> {
  if (onSample === undefined) throw undeclared("sampling/createMessage");
  const { messages, maxTokens } = params;
  if (!Array.isArray(messages) || !messages.every(isObject) || typeof maxTokens !== "number") {
    throw new Unanswered(invalidParams, "messages must be a list and maxTokens a number");
  }
  // Checked above as far as a handler needs it to run; what a model is given is for it to judge.
  const answer = await onSample(params as unknown as SampleAsked, context);
  const { content, model, role = "assistant", stopReason = "endTurn" } = answer;
  const block = typeof content === "string" ? { type: "text", text: content } : content;
  return { role, content: block, model, stopReason };
}

async function listRoots({ onRoots }: AnswerHandlers, context: AskContext): Promise<JsonObject> {
  if (onRoots === undefined) throw undeclared("roots/list");
  return { roots: typeof onRoots === "function" ? await onRoots(context) : onRoots };
}
