/** A decoded request: what is asked, of what, by whom. No revision can be told from it. */
import type { JsonObject } from "../util/json.ts";
import type { ClientCapabilities, Implementation } from "./model.ts";
import type { ListName } from "./registry.ts";

interface CallBase {
  /** Who the caller says it is; undefined where it did not say, or said it to the session. */
  readonly client: Implementation | undefined;
  readonly capabilities: ClientCapabilities | undefined;
  /** The request's `_meta` as it came. */
  readonly meta: JsonObject | undefined;
}

export type Operation =
  | { readonly operation: "initialize" }
  | { readonly operation: "discover" }
  | { readonly operation: "ping" }
  | { readonly operation: "set-log-level"; readonly level: LogLevel }
  | { readonly operation: "list"; readonly list: ListName; readonly cursor: string | undefined }
  | { readonly operation: "call-tool"; readonly target: string; readonly arguments: JsonObject }
  | { readonly operation: "read-resource"; readonly target: string }
  | {
      readonly operation: "get-prompt";
      readonly target: string;
      readonly arguments: Readonly<Record<string, string>>;
    }
  | {
      readonly operation: "complete";
      readonly of: "prompt" | "template";
      /** The prompt's name, or the template as it was declared. */
      readonly target: string;
      readonly argument: string;
      readonly value: string;
      readonly others: Readonly<Record<string, string>>;
    };

export type Call = CallBase & Operation;

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

export type LogLevel = (typeof logLevels)[number];

export function isLogLevel(value: unknown): value is LogLevel {
  return logLevels.includes(value as LogLevel);
}
