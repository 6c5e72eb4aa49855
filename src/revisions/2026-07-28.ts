/**
 * 2026-07-28: no handshake and no session. Every request says who sends it, every result
 * what it is (https://modelcontextprotocol.io/specification/2026-07-28/changelog).
 */
import {
  type Call,
  type CarriedInput,
  isLogLevel,
  type ListenFilter,
  logLevels,
} from "../core/call.ts";
import type { CacheHints } from "../core/model.ts";
import type { Notice } from "../core/notice.ts";
import {
  type EmptyValue,
  type Failure,
  failure,
  type NeedsInput,
  type Value,
} from "../core/outcome.ts";
import type { Question } from "../core/question.ts";
import type { Page } from "../core/registry.ts";
import { describe, type RequestId, type RpcRequest } from "../jsonrpc/message.ts";
import { isObject, type JsonObject } from "../util/json.ts";
import { shape2025_11_25 } from "./2025-11-25.ts";
import type { Adapter, Binding, Decoded, Described, Encoder } from "./adapter.ts";
import {
  type ClientHalf,
  type ClientRequest,
  declareAnswers,
  readTypedResult,
  serverInfoKey,
  type WrittenRequest,
  writtenMeta,
} from "./client-half.ts";
import {
  completionMembers,
  contentsMembers,
  messagesMembers,
  PageTexts,
  pageMembers,
  toCapabilities,
  toolMembers,
} from "./encode.ts";
import { modernFailures, toWireError } from "./failures.ts";
import { findHeaderMismatch, writeMirrors } from "./mirror.ts";
import { toNotification } from "./notices.ts";
import {
  type ReadParams,
  readCallTool,
  readComplete,
  readGetPrompt,
  readImplementation,
  readList,
  readListen,
  readProgressToken,
  readResourceUri,
} from "./params.ts";
import { versionHeader, versionKey } from "./preamble.ts";
import { type QuestionStyle, toWireQuestion } from "./questions.ts";
import { type Shape, toImplementation } from "./shape.ts";

const revision = "2026-07-28";
const clientInfoKey = "io.modelcontextprotocol/clientInfo";
const capabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
const logLevelKey = "io.modelcontextprotocol/logLevel";
const subscriptionKey = "io.modelcontextprotocol/subscriptionId";

const shape: Shape = {
  ...shape2025_11_25,
  structured: "anything",
  paramHeaders: "kept",
  booleanSchemas: "kept",
};

const questionStyle: QuestionStyle = { forms: "full", urls: "without-id" };

const methods: ReadonlyMap<string, ReadParams> = new Map<string, ReadParams>([
  ["server/discover", () => ({ kind: "discover" })],
  ["tools/list", readList("tools")],
  ["tools/call", readCallTool],
  ["resources/list", readList("resources")],
  ["resources/templates/list", readList("templates")],
  ["resources/read", readResourceUri],
  ["prompts/list", readList("prompts")],
  ["prompts/get", readGetPrompt],
  ["completion/complete", readComplete],
  ["subscriptions/listen", readListen],
]);

/** The rules of the binding, in the order in which the first that fails answers. */
function decode(request: RpcRequest, binding: Binding): Decoded | Failure {
  const read = methods.get(request.method);
  if (read === undefined) return unknownMethod(request.method, binding);
  const params = isObject(request.params) ? request.params : {};
  const meta = isObject(params["_meta"]) ? params["_meta"] : {};
  const version = meta[versionKey];
  if (typeof version !== "string") return malformed(versionKey, "a string", version);
  const capabilities = meta[capabilitiesKey];
  if (!isObject(capabilities)) return malformed(capabilitiesKey, "an object", capabilities);
  const mismatch = checkHeaders(request, params, version, binding);
  if (mismatch !== undefined) return mismatch;
  const operation = read(params);
  if (operation.kind === "failure") return operation;
  const carried = readCarriedInput(request.method, params);
  if (carried?.kind === "failure") return carried;
  const logLevel = meta[logLevelKey];
  if (logLevel !== undefined && !isLogLevel(logLevel)) {
    return failure(
      "invalid-params",
      `params._meta["${logLevelKey}"] must be one of ${logLevels.join(", ")}`,
    );
  }
  const call: Call = {
    operation,
    carried: carried?.input,
    progressToken: readProgressToken(meta),
    logLevel,
    client: readImplementation(meta[clientInfoKey]),
    capabilities,
    meta,
  };
  return { kind: "decoded", call, settled: undefined };
}

/** Answers ride on the requests that may end with questions, and on no others (patterns/mrtr). */
const resumable: readonly string[] = ["tools/call", "prompts/get", "resources/read"];

function readCarriedInput(
  method: string,
  params: JsonObject,
): Failure | { readonly kind: "carried"; readonly input: CarriedInput } | undefined {
  const { inputResponses, requestState } = params;
  if (inputResponses === undefined && requestState === undefined) return undefined;
  if (!resumable.includes(method)) return undefined;
  if (requestState !== undefined && typeof requestState !== "string") {
    return failure(
      "invalid-params",
      `params.requestState must be a string, not ${describe(requestState)}`,
    );
  }
  if (inputResponses !== undefined && !isObject(inputResponses)) {
    return failure(
      "invalid-params",
      `params.inputResponses must be an object, not ${describe(inputResponses)}`,
    );
  }
  const input = { answers: inputResponses ?? {}, state: requestState, argument: undefined };
  return { kind: "carried", input };
}

function notify(notice: Notice, subscription?: RequestId): JsonObject {
  const meta = subscription === undefined ? undefined : { [subscriptionKey]: subscription };
  return toNotification(notice, shape.progress, meta);
}

function unknownMethod(method: string, { served }: Binding): Failure {
  const name = method.slice(0, 200);
  if (method !== "initialize") return failure("method-not-found", `Method not found: ${name}`);
  const elsewhere =
    served.handshakes.length === 0
      ? "This endpoint serves no revision with a handshake"
      : `Without a declared version, initialize works for ${served.handshakes.join(", ")}`;
  // An older client has no other diagnostic to show to its user.
  return failure(
    "method-not-found",
    `Method not found: initialize does not exist in ${revision}; use server/discover. This endpoint serves ${served.supported.join(", ")}. ${elsewhere}`,
  );
}

function malformed(key: string, right: string, value: unknown): Failure {
  return failure(
    "malformed-envelope",
    `params._meta["${key}"] must be ${right} on every request, not ${describe(value)}`,
  );
}

function checkHeaders(
  request: RpcRequest,
  params: JsonObject,
  version: string,
  { http, paramHeaders }: Binding,
): Failure | undefined {
  if (http === undefined) return undefined;
  if (http.version === undefined) {
    return failure(
      "header-mismatch",
      `Header mismatch: MCP-Protocol-Version is missing; it must be ${version}, as in the body`,
    );
  }
  if (http.version !== version) {
    return failure(
      "header-mismatch",
      "Header mismatch: MCP-Protocol-Version does not equal the version in the body",
    );
  }
  return findHeaderMismatch(request, params, http.headers, paramHeaders);
}

function encoder(described: Described): Encoder {
  const identity = JSON.stringify({
    [serverInfoKey]: toImplementation(described.info, shape),
  });
  const tail = `,"_meta":${identity}}`;
  const pages = new PageTexts((page) =>
    complete(`${pageMembers(page, shape)},${cacheMembers(hintsOf(page, described.lists))}`, tail),
  );
  return {
    encode: (value) =>
      value.kind === "page" ? pages.of(value.page) : encodeValue(value, described, tail),
  };
}

function encodeValue(
  value: Exclude<Value, { kind: "page" }>,
  described: Described,
  tail: string,
): string {
  switch (value.kind) {
    case "tool":
      return complete(toolMembers(value, shape), withMeta(value.meta, tail));
    case "contents":
      return complete(`${contentsMembers(value, shape)},${cacheMembers(value.cache)}`, tail);
    case "messages":
      return complete(messagesMembers(value, shape), tail);
    case "completion":
      return complete(completionMembers(value), tail);
    case "description":
      return complete(`${discoveryMembers(described)},${cacheMembers(described.lists)}`, tail);
    case "empty":
      return `{"resultType":"complete"${withMeta(toMeta(value), tail)}`;
    case "needs-input":
      return `{"resultType":"input_required",${inputMembers(value)}${tail}`;
  }
}

function toMeta({ subscription }: EmptyValue): JsonObject | undefined {
  return subscription === undefined ? undefined : { [subscriptionKey]: subscription };
}

/** The first message to a listener: which of the changes it asked for it will hear of. */
function acknowledge(filter: ListenFilter, subscription: RequestId): JsonObject {
  return {
    jsonrpc: "2.0",
    method: "notifications/subscriptions/acknowledged",
    params: { _meta: { [subscriptionKey]: subscription }, notifications: toWireFilter(filter) },
  };
}

function toWireFilter({ lists, uris }: ListenFilter): JsonObject {
  const notifications: Record<string, unknown> = {};
  for (const list of lists) notifications[`${list}ListChanged`] = true;
  if (uris.length > 0) notifications["resourceSubscriptions"] = uris;
  return notifications;
}

function inputMembers({ questions, state }: NeedsInput): string {
  const inputRequests = Object.fromEntries(
    [...questions].map(([key, question]) => [key, toWireQuestion(question, questionStyle, shape)]),
  );
  return JSON.stringify({ inputRequests, requestState: state }).slice(1, -1);
}

function complete(members: string, tail: string): string {
  return `{"resultType":"complete",${members}${tail}`;
}

function withMeta(meta: JsonObject | undefined, tail: string): string {
  if (meta === undefined) return tail;
  // Who the server is, is said once.
  const { [serverInfoKey]: _, ...authors } = meta;
  // A member may have nothing that JSON has, so emptiness shows in the text alone.
  const members = JSON.stringify(authors).slice(1, -1);
  if (members === "") return tail;
  // `,"_meta":{` of the tail, then the author's keys, then the rest of the tail.
  const start = ',"_meta":{'.length;
  return `${tail.slice(0, start)}${members},${tail.slice(start)}`;
}

function hintsOf({ isPrivate }: Page, lists: CacheHints): CacheHints {
  return isPrivate ? { ...lists, scope: "private" } : lists;
}

function cacheMembers({ ttlMs, scope }: CacheHints): string {
  return `"ttlMs":${ttlMs},"cacheScope":"${scope}"`;
}

function discoveryMembers({ supported, registry, instructions }: Described): string {
  return JSON.stringify({
    supportedVersions: supported,
    capabilities: toCapabilities(registry, shape, true),
    instructions,
  }).slice(1, -1);
}

const client: ClientHalf = {
  headers: { [versionHeader]: revision },
  logging: "per-request",
  speaks: (method) => methods.has(method),
  declare: (answers, extensions) => {
    const declared = declareAnswers(answers, { forms: "by-mode", roots: "plain" });
    return extensions === undefined ? declared : { ...declared, extensions };
  },
  write,
  carry: (params, { answers, state }) => ({
    ...params,
    ...(Object.keys(answers).length === 0 ? {} : { inputResponses: answers }),
    ...(state === undefined ? {} : { requestState: state }),
  }),
  readResult: readTypedResult,
  listen: (filter) => ({ notifications: toWireFilter(filter) }),
};

function write(request: ClientRequest): WrittenRequest {
  const { id, method, client: sender, capabilities, logLevel } = request;
  const params = {
    ...request.params,
    _meta: {
      ...writtenMeta(request),
      ...(logLevel === undefined ? {} : { [logLevelKey]: logLevel }),
      [versionKey]: revision,
      [clientInfoKey]: toImplementation(sender, shape),
      [capabilitiesKey]: capabilities,
    },
  };
  return {
    message: { jsonrpc: "2.0", id, method, params },
    headers: { [versionHeader]: revision, ...writeMirrors(method, params, request.paramHeaders) },
  };
}

export const adapter2026_07_28: Adapter = Object.freeze<Adapter>({
  revision,
  claims: [revision],
  era: "modern",
  arrays: "refused",
  unreadableId: "absent",
  view: { offers: (since: string | undefined) => since === undefined || since <= revision },
  decode,
  asks: { form: "restart", url: "restart", sample: "restart", roots: "restart" },
  listening: "listen",
  resumption: "none",
  question: (question: Question) => toWireQuestion(question, questionStyle, shape),
  answer: (_question: Question, raw: unknown) => raw,
  notify,
  acknowledge,
  encoder,
  error: (refused: Failure) => toWireError(refused, modernFailures),
  client,
});
