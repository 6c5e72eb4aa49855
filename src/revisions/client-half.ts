/** What it is to speak a revision as a client. */
import type { CarriedInput, ListenFilter, LogLevel } from "../core/call.ts";
import type { CacheHints, ClientCapabilities, Implementation } from "../core/model.ts";
import type { ParamHeader } from "../core/param-header.ts";
import type { QuestionKind } from "../core/question.ts";
import { describe, type RequestId } from "../jsonrpc/message.ts";
import { isObject, type JsonObject } from "../util/json.ts";
import type { WireQuestion } from "./questions.ts";

/** Where a result says which server it comes from. */
export const serverInfoKey = "io.modelcontextprotocol/serverInfo";

/** A request as a client of this revision sends it. */
export interface ClientRequest {
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject;
  readonly client: Implementation;
  readonly capabilities: ClientCapabilities;
  /** The mirrored arguments of the tool that is called. */
  readonly paramHeaders: readonly ParamHeader[];
  /** Whether headers mirror the body also where the revision does not ask for it. */
  readonly mirrors?: "as-specified" | "always" | undefined;
  readonly progressToken?: string | number | undefined;
  /** The least severe log entry that is wanted, where each request says so. */
  readonly logLevel?: LogLevel | undefined;
}

export interface WrittenRequest {
  readonly message: JsonObject;
  /** The headers that HTTP adds for this revision, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** What a result came to, in no revision's terms. */
export type ReadResult =
  | {
      readonly kind: "complete";
      readonly result: JsonObject;
      /** How long it may be kept; undefined where the revision or the server does not say. */
      readonly cache: CacheHints | undefined;
    }
  | {
      readonly kind: "needs-input";
      readonly questions: ReadonlyMap<string, WireQuestion>;
      /** Given back exactly as it came. */
      readonly state: string | undefined;
      /** The result as it is for a caller that answers none of this; undefined where it is none. */
      readonly otherwise?: JsonObject | undefined;
    }
  | { readonly kind: "malformed"; readonly message: string };

/** What a call brings when it is made again: no answers, where only its state was asked for. */
export type AnsweredInput = Pick<CarriedInput, "answers" | "state">;

/** The client's half of an adapter. */
export interface ClientHalf {
  /** The headers of what is no request: notifications, answers, GET and DELETE. */
  readonly headers: Readonly<Record<string, string>>;
  /** Where a client says which log entries it wants. */
  readonly logging: "per-request" | "per-session";
  /** Whether a method exists in the revision. */
  speaks(method: string): boolean;
  /**
   * What a client declares that can answer these kinds of questions.
   *
   * @param extensions - settings by identifier, declared where the revision has a place for them
   */
  declare(
    answers: readonly QuestionKind[],
    extensions?: Readonly<Record<string, JsonObject>>,
  ): ClientCapabilities;
  write(request: ClientRequest): WrittenRequest;
  /** The params of a call that is made again with answers. */
  carry(params: JsonObject, input: AnsweredInput): JsonObject;
  readResult(result: JsonObject): ReadResult;
  /** The params of a request that listens for changes; undefined where no request does. */
  readonly listen: ((filter: ListenFilter) => JsonObject) | undefined;
}

/** How a revision declares what can be answered. */
export interface Declaring {
  readonly forms: "none" | "plain" | "by-mode";
  readonly roots: "plain" | "with-changes";
}

export function declareAnswers(
  answers: readonly QuestionKind[],
  { forms, roots }: Declaring,
): ClientCapabilities {
  const capabilities: Record<string, unknown> = {};
  if (answers.includes("sample")) capabilities["sampling"] = {};
  if (answers.includes("roots")) {
    capabilities["roots"] = roots === "plain" ? {} : { listChanged: true };
  }
  const modes = (["form", "url"] as const).filter((mode) => answers.includes(mode));
  if (forms === "plain" && modes.includes("form")) capabilities["elicitation"] = {};
  if (forms === "by-mode" && modes.length > 0) {
    capabilities["elicitation"] = Object.fromEntries(modes.map((mode) => [mode, {}]));
  }
  return capabilities;
}

/** The `_meta` of a request, as far as every revision has it. */
export function writtenMeta({ params, progressToken }: ClientRequest): JsonObject {
  const given = isObject(params["_meta"]) ? params["_meta"] : {};
  return progressToken === undefined ? given : { ...given, progressToken };
}

export function toComplete(result: JsonObject): ReadResult {
  return { kind: "complete", result, cache: undefined };
}

/** A result that says what it is; one that does not say so is complete (basic/index, 2026-07-28). */
export function readTypedResult(result: JsonObject): ReadResult {
  const { resultType = "complete" } = result;
  switch (resultType) {
    case "complete":
      return { kind: "complete", result, cache: readCacheHints(result) };
    case "input_required":
      return readQuestions(result);
    default:
      return {
        kind: "malformed",
        message: `resultType must be "complete" or "input_required", not ${
          typeof resultType === "string"
            ? JSON.stringify(resultType.slice(0, 100))
            : describe(resultType)
        }`,
      };
  }
}

function readCacheHints({ ttlMs, cacheScope }: JsonObject): CacheHints | undefined {
  if (typeof ttlMs !== "number" || !Number.isFinite(ttlMs) || ttlMs < 0) return undefined;
  // What may not be shared is the safe reading of a scope that is not known.
  return { ttlMs, scope: cacheScope === "public" ? "public" : "private" };
}

/** The questions of a result that asks, with the state they come with. */
export function readQuestions({ inputRequests, requestState }: JsonObject): ReadResult {
  if (requestState !== undefined && typeof requestState !== "string") {
    return {
      kind: "malformed",
      message: `requestState must be a string, not ${describe(requestState)}`,
    };
  }
  if (inputRequests === undefined && requestState === undefined) {
    return { kind: "malformed", message: "inputRequests and requestState are both missing" };
  }
  if (inputRequests !== undefined && !isObject(inputRequests)) {
    return {
      kind: "malformed",
      message: `inputRequests must be an object, not ${describe(inputRequests)}`,
    };
  }
  const questions = new Map<string, WireQuestion>();
  for (const [key, asked] of Object.entries(inputRequests ?? {})) {
    const method = isObject(asked) ? asked["method"] : undefined;
    if (!isObject(asked) || typeof method !== "string") {
      return {
        kind: "malformed",
        message: `inputRequests[${JSON.stringify(key.slice(0, 100))}] must be a request with a method`,
      };
    }
    const params = isObject(asked["params"]) ? asked["params"] : {};
    questions.set(key, { method, params });
  }
  return { kind: "needs-input", questions, state: requestState };
}
