/** What an author puts around every operation: for audit, quotas and caching. */
import type { Awaitable } from "../util/awaitable.ts";
import type { JsonObject } from "../util/json.ts";
import type { Principal } from "./access.ts";
import type { Operation } from "./call.ts";
import type { ContentBlock, Implementation } from "./model.ts";
import type {
  CompletionValue,
  ContentsValue,
  DescriptionValue,
  EmptyValue,
  Failure,
  MessagesValue,
} from "./outcome.ts";
import type { ListName } from "./registry.ts";

/**
 * Stands around every operation, in no revision's terms. It returns what `next` gives, or
 * something of the same kind in its place; it refuses by a {@link Failure}, or by a throw,
 * which is to the caller what the same throw of a handler would be.
 *
 * @param next - goes on to the operation; once at most. It never rejects for what a handler
 * did: failures are results too.
 */
export type Middleware = (
  call: MiddlewareCall,
  next: () => Promise<CallResult>,
) => Awaitable<CallResult>;

/** What every operation has, whatever it is. */
export interface AroundCall {
  /** Who calls, by credentials that were checked; undefined where nobody was asked. */
  readonly principal: Principal | undefined;
  /** Whose call it is, as one text that outlives a token; "" where nobody was asked. */
  readonly owner: string;
  /** Who the caller says it is. Not verified: for logs, never for access. */
  readonly client: Implementation | undefined;
  /** The request's `_meta` as it came. */
  readonly meta: JsonObject;
  /**
   * Whether it brings answers to an earlier round of the same call: where asking takes
   * rounds, everything around the call runs in each. Count what is counted once without these.
   */
  readonly continued: boolean;
  /** Aborts when the caller cancels, as that of the handler does. */
  readonly signal: AbortSignal;
}

type Named<O> = O extends { readonly kind: infer K }
  ? { readonly operation: K } & Omit<O, "kind">
  : never;

/**
 * One operation. `operation` tells which: `call-tool`, `read-resource` and `get-prompt` have a
 * `target` (the name, or the URI), the first and the last `arguments` as they came; `complete`,
 * `list`, `subscribe`, `unsubscribe`, `listen` and `set-log-level` what they are about;
 * `initialize`, `discover` and `ping` nothing.
 */
export type MiddlewareCall = AroundCall & Named<Operation>;

/** What a tool came to. */
export interface ToolResult {
  readonly kind: "tool";
  readonly content: readonly ContentBlock[];
  /** The machine-readable result, checked by the tool's output schema. */
  readonly structured?: unknown;
  /** The call failed, and the content tells the model why. @default false */
  readonly isError?: boolean | undefined;
  readonly meta?: JsonObject | undefined;
}

/** A declaration as it stands in a listing. */
export interface Listed {
  /** The name of a tool or prompt, the URI of a resource, a template as it was declared. */
  readonly key: string;
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
}

/** One page of a listing. Entries can be left out of it and put in another order. */
export interface ListResult {
  readonly kind: "list";
  readonly list: ListName;
  readonly entries: readonly Listed[];
  readonly nextCursor: string | undefined;
}

/** The call stopped at a question and will be made again: nothing can stand in its place. */
export interface AskingResult {
  readonly kind: "asking";
}

/** What an operation came to: plain data, which can be kept and given again. */
export type CallResult =
  | ToolResult
  | ContentsValue
  | MessagesValue
  | CompletionValue
  | ListResult
  | DescriptionValue
  | EmptyValue
  | AskingResult
  | Failure;
