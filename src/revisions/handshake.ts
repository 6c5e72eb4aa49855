/** What the revisions that `initialize` opens have in common; each says what differs. */
import type { Call, Operation } from "../core/call.ts";
import { type Failure, failure, type Value } from "../core/outcome.ts";
import { describe, type RpcRequest } from "../jsonrpc/message.ts";
import { isObject, type JsonObject, pick } from "../util/json.ts";
import type { Adapter, Binding, Decoded, Described, Encoder } from "./adapter.ts";
import { splitArguments, withAnswers } from "./answer-arguments.ts";
import { readAnswerRequest, toAnswerRequest } from "./answer-request.ts";
import {
  type ClientHalf,
  type ClientRequest,
  type Declaring,
  declareAnswers,
  toComplete,
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
import { handshakeFailures, toWireError } from "./failures.ts";
import { writeMirrors } from "./mirror.ts";
import { toNotification } from "./notices.ts";
import {
  type ReadParams,
  readCallTool,
  readComplete,
  readGetPrompt,
  readImplementation,
  readList,
  readProgressToken,
  readResourceUri,
  readSetLogLevel,
  readSubscription,
} from "./params.ts";
import { versionHeader } from "./preamble.ts";
import { fromPlainForm, type QuestionStyle, toWireQuestion } from "./questions.ts";
import { type Shape, toImplementation } from "./shape.ts";

export interface HandshakeRevision {
  readonly revision: string;
  readonly claims?: readonly string[];
  readonly arrays?: "batch";
  /** Whether its clients send `MCP-Protocol-Version`. */
  readonly versionHeader: "sent" | "undefined";
  /** Whether its schema lets an error leave out an id that could not be read. */
  readonly unreadableId: "null" | "absent";
  readonly asks: Adapter["asks"];
  readonly questions: QuestionStyle;
  /** How a client declares that its user can be asked. */
  readonly declares: Declaring["forms"];
  readonly resumption: Adapter["resumption"];
  readonly shape: Shape;
}

const methods: ReadonlyMap<string, ReadParams> = new Map<string, ReadParams>([
  ["ping", () => ({ kind: "ping" })],
  ["server/discover", () => ({ kind: "discover" })],
  ["tools/list", readList("tools")],
  ["tools/call", readCallTool],
  ["resources/list", readList("resources")],
  ["resources/templates/list", readList("templates")],
  ["resources/read", readResourceUri],
  ["prompts/list", readList("prompts")],
  ["prompts/get", readGetPrompt],
  ["completion/complete", readComplete],
  ["logging/setLevel", readSetLogLevel],
  ["resources/subscribe", readSubscription("subscribe")],
  ["resources/unsubscribe", readSubscription("unsubscribe")],
]);

export function handshakeAdapter(own: HandshakeRevision): Adapter {
  return Object.freeze<Adapter>({
    revision: own.revision,
    claims: own.claims ?? [own.revision],
    era: "handshake",
    arrays: own.arrays ?? "refused",
    unreadableId: own.unreadableId,
    view: { offers: (since) => since === undefined || since <= own.revision },
    decode: (request, binding) => decode(request, binding, own),
    asks: own.asks,
    listening: "subscribe",
    resumption: own.resumption,
    question: (question) => toWireQuestion(question, own.questions, own.shape),
    answer: (question, raw) =>
      own.questions.forms === "plain" ? fromPlainForm(question, raw) : raw,
    notify: (notice) => toNotification(notice, own.shape.progress, undefined),
    acknowledge: undefined,
    encoder: (described) => encoder(described, own),
    error: (refused) => toWireError(refused, handshakeFailures),
    client: clientHalf(own),
  });
}

function decode(request: RpcRequest, binding: Binding, own: HandshakeRevision): Decoded | Failure {
  const params = request.params ?? {};
  const read = methods.get(request.method);
  const isInitialize = request.method === "initialize";
  if (read === undefined && !isInitialize) return unknownMethod(request.method);
  if (!isObject(params)) {
    return failure("invalid-params", `params must be an object, not ${describe(params)}`);
  }
  if (read === undefined) return initialize(params, binding, own);
  // A discovery result is taken for proof of a revision that needs no handshake.
  if (request.method === "server/discover" && !binding.served.hasModern) {
    return unknownMethod(request.method);
  }
  const operation = read(params);
  if (operation.kind === "failure") return operation;
  const asks = own.asks.form === "arguments" && isAskingTool(operation, binding);
  return { kind: "decoded", call: toCall(operation, params, asks), settled: undefined };
}

function isAskingTool(operation: Operation, binding: Binding): boolean {
  return operation.kind === "call-tool" && binding.asks(operation.target);
}

function toCall(operation: Operation, params: JsonObject, asks: boolean): Call {
  const meta = isObject(params["_meta"]) ? params["_meta"] : undefined;
  const split =
    asks && operation.kind === "call-tool" ? splitArguments(operation.arguments) : undefined;
  // One literal: spreading objects here would cost more than the rest of decoding.
  return {
    operation: split === undefined ? operation : withArguments(operation, split.rest),
    client: undefined,
    capabilities: undefined,
    meta,
    carried: split?.carried,
    progressToken: readProgressToken(meta),
    logLevel: undefined,
  };
}

function withArguments(operation: Operation, args: JsonObject): Operation {
  return operation.kind === "call-tool" ? { ...operation, arguments: args } : operation;
}

/**
 * A version that is served is answered with itself, any other string with the newest that
 * has a handshake: never refused over a string, and never answered with a revision in
 * which `initialize` does not exist (basic/lifecycle, Version Negotiation).
 */
function initialize(
  params: JsonObject,
  binding: Binding,
  own: HandshakeRevision,
): Decoded | Failure {
  const requested = params["protocolVersion"];
  if (typeof requested !== "string") {
    return failure(
      "invalid-params",
      `params.protocolVersion must be a string, not ${describe(requested)}`,
    );
  }
  const version = settle(requested, binding, own);
  const capabilities = params["capabilities"];
  return {
    kind: "decoded",
    call: {
      operation: { kind: "initialize" },
      client: readImplementation(params["clientInfo"]),
      capabilities: isObject(capabilities) ? capabilities : {},
      meta: undefined,
      carried: undefined,
      progressToken: undefined,
      logLevel: undefined,
    },
    settled: { version, adapter: binding.served.find(version) },
  };
}

function settle(requested: string, { served, pinned }: Binding, own: HandshakeRevision): string {
  if (pinned !== undefined) return pinned;
  if (served.handshakes.includes(requested)) return requested;
  return served.handshakes[0] ?? own.revision;
}

function unknownMethod(method: string): Failure {
  return failure("method-not-found", `Method not found: ${method.slice(0, 200)}`);
}

function encoder(described: Described, own: HandshakeRevision): Encoder {
  const pages = new PageTexts((page) => `{${pageMembers(page, own.shape)}}`);
  return {
    encode: (value, decoded) =>
      value.kind === "page" ? pages.of(value.page) : encodeValue(value, decoded, described, own),
  };
}

function encodeValue(
  value: Exclude<Value, { kind: "page" }>,
  { settled }: Decoded,
  described: Described,
  { shape }: HandshakeRevision,
): string {
  switch (value.kind) {
    case "tool": {
      const meta = value.meta === undefined ? "" : `,"_meta":${JSON.stringify(value.meta)}`;
      return `{${toolMembers(value, shape)}${meta}}`;
    }
    case "contents":
      return `{${contentsMembers(value, shape)}}`;
    case "messages":
      return `{${messagesMembers(value, shape)}}`;
    case "completion":
      return `{${completionMembers(value)}}`;
    case "description":
      return JSON.stringify(
        settled === undefined
          ? toDiscovery(described, shape)
          : toInitializeResult(described, settled.version, shape),
      );
    case "empty":
      return "{}";
    case "needs-input":
      return JSON.stringify(toAnswerRequest(value, shape));
  }
}

function toInitializeResult(described: Described, version: string, shape: Shape): JsonObject {
  return {
    protocolVersion: version,
    capabilities: toCapabilities(described.registry, shape, described.tellsSessions),
    serverInfo: toImplementation(described.info, shape),
    instructions: described.instructions,
  };
}

/** What gets a client unstuck that forgot to say which revision it speaks. */
function toDiscovery(described: Described, shape: Shape): JsonObject {
  return {
    supportedVersions: described.supported,
    capabilities: toCapabilities(described.registry, shape, described.tellsSessions),
    serverInfo: toImplementation(described.info, shape),
    instructions: described.instructions,
  };
}

function clientHalf(own: HandshakeRevision): ClientHalf {
  const headers = own.versionHeader === "sent" ? { [versionHeader]: own.revision } : {};
  return {
    headers,
    logging: "per-session",
    speaks: (method) => method !== "server/discover" && methods.has(method),
    declare: (answers) => declareAnswers(answers, { forms: own.declares, roots: "with-changes" }),
    write: (request) => write(request, headers, own),
    carry: (params, input) => (own.asks.form === "arguments" ? withAnswers(params, input) : params),
    readResult: own.asks.form === "arguments" ? readAnswerRequest : toComplete,
    listen: undefined,
  };
}

function write(
  request: ClientRequest,
  headers: Readonly<Record<string, string>>,
  own: HandshakeRevision,
): WrittenRequest {
  const { id, method, client, capabilities, mirrors, paramHeaders } = request;
  if (method === "initialize") {
    const params = {
      protocolVersion: own.revision,
      capabilities,
      clientInfo: toImplementation(client, own.shape),
      ...request.params,
    };
    // Which revision it will be is not known yet, so no header says so.
    return { message: { jsonrpc: "2.0", id, method, params }, headers: {} };
  }
  const meta = writtenMeta(request);
  const known =
    method === "completion/complete" ? pick(request.params, own.shape.completion) : request.params;
  const params = Object.keys(meta).length === 0 ? known : { ...known, _meta: meta };
  return {
    message: { jsonrpc: "2.0", id, method, params },
    headers:
      mirrors === "always"
        ? { ...headers, ...writeMirrors(method, params, paramHeaders) }
        : headers,
  };
}
