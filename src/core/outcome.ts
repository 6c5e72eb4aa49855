/** What a call came to. Refusals are data until the edge; no revision's code appears here. */
import type { JsonObject } from "../util/json.ts";
import type { CacheHints, ContentBlock, PromptMessage, ResourceContents } from "./model.ts";
import type { Question } from "./question.ts";
import type { Page } from "./registry.ts";

/** Why something was refused. Each adapter maps a kind to its code and HTTP status. */
export type FailureKind =
  | "parse-error"
  | "invalid-request"
  | "malformed-envelope"
  | "method-not-found"
  | "invalid-params"
  | "invalid-version"
  | "unsupported-revision"
  | "header-mismatch"
  | "missing-capability"
  | "resource-not-found"
  | "unknown-session"
  | "missing-session"
  | "cancelled"
  | "unavailable"
  | "rate-limited"
  | "internal"
  | "unauthorized"
  | "insufficient-scope"
  | "forbidden"
  | "not-found"
  | "method-not-allowed"
  | "not-acceptable"
  | "unsupported-media-type"
  | "too-large";

export interface Failure {
  readonly kind: "failure";
  readonly failure: FailureKind;
  /** For the person who reads it: what was wrong, where, what would be right. */
  readonly message: string;
  readonly data?: JsonObject | undefined;
  /** What the caller would have to be allowed, where that is why. */
  readonly scopes?: readonly string[] | undefined;
}

export function failure(kind: FailureKind, message: string, data?: JsonObject): Failure {
  return data === undefined
    ? { kind: "failure", failure: kind, message }
    : { kind: "failure", failure: kind, message, data };
}

export interface ToolValue {
  readonly kind: "tool";
  readonly blocks: readonly ContentBlock[];
  /** The structured result as JSON, written once; `undefined` when there is none. */
  readonly structured: string | undefined;
  /** Whether the structured result is an object, which is all that most revisions carry. */
  readonly isObject: boolean;
  readonly isError: boolean;
  readonly meta: JsonObject | undefined;
}

/** What a tool says in blocks alone. */
export function words(blocks: ToolValue["blocks"]): ToolValue {
  return {
    kind: "tool",
    blocks,
    structured: undefined,
    isObject: false,
    isError: false,
    meta: undefined,
  };
}

/** What went wrong, for the model to read and do better. */
export function errorText(text: string): ToolValue {
  return { ...words([{ type: "text", text }]), isError: true };
}

export interface ContentsValue {
  readonly kind: "contents";
  readonly contents: readonly ResourceContents[];
  readonly cache: CacheHints;
}

export interface MessagesValue {
  readonly kind: "messages";
  readonly description: string | undefined;
  readonly messages: readonly PromptMessage[];
}

export interface CompletionValue {
  readonly kind: "completion";
  readonly values: readonly string[];
  readonly total: number | undefined;
  readonly hasMore: boolean;
}

export interface PageValue {
  readonly kind: "page";
  readonly page: Page;
}

/** Who the server is and what it offers. */
export interface DescriptionValue {
  readonly kind: "description";
}

export interface EmptyValue {
  readonly kind: "empty";
  /** The request whose listening ended. */
  readonly subscription?: string | number | undefined;
}

/** The call ended with questions; it is made again with their answers and this state. */
export interface NeedsInput {
  readonly kind: "needs-input";
  readonly questions: ReadonlyMap<string, Question>;
  /** Sealed: what the next round needs to know. */
  readonly state: string;
}

export type Value =
  | ToolValue
  | ContentsValue
  | MessagesValue
  | CompletionValue
  | PageValue
  | DescriptionValue
  | EmptyValue
  | NeedsInput;

export type Outcome = Value | Failure;

export const empty: EmptyValue = Object.freeze({ kind: "empty" });
export const description: DescriptionValue = Object.freeze({ kind: "description" });
