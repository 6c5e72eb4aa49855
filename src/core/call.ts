/** A decoded request: what is asked, of what, by whom. No revision can be told from it. */
import type { JsonObject } from "../util/json.ts";
import type { ClientCapabilities, Implementation } from "./model.ts";
import type { ListName } from "./registry.ts";

export interface Call {
  readonly operation: Operation;
  /** Who the caller says it is; undefined where it did not say, or said it to the session. */
  readonly client: Implementation | undefined;
  readonly capabilities: ClientCapabilities | undefined;
  /** The request's `_meta` as it came. */
  readonly meta: JsonObject | undefined;
  /** What the call brings from an earlier round of its own. */
  readonly carried: CarriedInput | undefined;
  /** What progress is reported under; without it nobody asked for any. */
  readonly progressToken: string | number | undefined;
  /** The least severe log entry that this call's caller wants. */
  readonly logLevel: LogLevel | undefined;
}

/** Answers to questions, and the sealed state that came with them. */
export interface CarriedInput {
  readonly answers: JsonObject;
  readonly state: string | undefined;
  /** The argument of the tool that held the state; undefined where it stood beside the arguments. */
  readonly argument: string | undefined;
}

export type Operation =
  | { readonly kind: "initialize" }
  | { readonly kind: "discover" }
  | { readonly kind: "ping" }
  | { readonly kind: "set-log-level"; readonly level: LogLevel }
  | { readonly kind: "subscribe" | "unsubscribe"; readonly uri: string }
  | { readonly kind: "listen"; readonly filter: ListenFilter }
  | { readonly kind: "list"; readonly list: ListName; readonly cursor: string | undefined }
  | { readonly kind: "call-tool"; readonly target: string; readonly arguments: JsonObject }
  | { readonly kind: "read-resource"; readonly target: string }
  | {
      readonly kind: "get-prompt";
      readonly target: string;
      readonly arguments: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: "complete";
      readonly of: "prompt" | "template";
      /** The prompt's name, or the template as it was declared. */
      readonly target: string;
      readonly argument: string;
      readonly value: string;
      readonly others: Readonly<Record<string, string>>;
    };

/** Which changes a listener wants to hear of. */
export interface ListenFilter {
  readonly lists: readonly ChangeableList[];
  readonly uris: readonly string[];
}

/** The lists whose changes are announced; templates are announced with resources. */
export type ChangeableList = "tools" | "resources" | "prompts";

/** RFC 5424 severities, least severe first. */
export const logLevels = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
] as const;

/** How severe a log entry is: one of the severities of RFC 5424, `debug` the least. */
export type LogLevel = (typeof logLevels)[number];

export function isLogLevel(value: unknown): value is LogLevel {
  return logLevels.includes(value as LogLevel);
}
