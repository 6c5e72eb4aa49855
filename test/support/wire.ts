/**
 * Judges what crosses the wire: each message against the published schema of its revision, and
 * against the rules the schemas cannot express. Every check returns its problems, none when valid.
 */
import {
  definition,
  isObject,
  type JsonObject,
  type Revision,
  revisions,
  type Schema,
  undefinedProperties,
  undefinedProperty,
  validate,
  validateClosed,
} from "./schemas.ts";

export { isObject, type JsonObject, type Revision, revisions };

export interface RequestOutline {
  readonly method: string;
  readonly id?: unknown;
  readonly params?: unknown;
}

/** The definition of each method's result, where the revision has that definition. */
const resultDefinitions: Readonly<Record<string, string>> = {
  initialize: "InitializeResult",
  "server/discover": "DiscoverResult",
  "tools/list": "ListToolsResult",
  "tools/call": "CallToolResult",
  "resources/list": "ListResourcesResult",
  "resources/templates/list": "ListResourceTemplatesResult",
  "resources/read": "ReadResourceResult",
  "prompts/list": "ListPromptsResult",
  "prompts/get": "GetPromptResult",
  "completion/complete": "CompleteResult",
  "subscriptions/listen": "SubscriptionsListenResult",
  "tasks/get": "GetTaskResult",
  "tasks/result": "GetTaskPayloadResult",
  "tasks/list": "ListTasksResult",
  "tasks/cancel": "CancelTaskResult",
  "sampling/createMessage": "CreateMessageResult",
  "roots/list": "ListRootsResult",
  "elicitation/create": "ElicitResult",
};

const emptyResults: ReadonlySet<string> = new Set([
  "ping",
  "logging/setLevel",
  "resources/subscribe",
  "resources/unsubscribe",
]);

const mayRequireInput: ReadonlySet<string> = new Set([
  "tools/call",
  "prompts/get",
  "resources/read",
]);

/** Error codes whose whole reply has a definition of its own, in the revisions that have it. */
const errorDefinitions: ReadonlyMap<unknown, string> = new Map([
  [-32020, "HeaderMismatchError"],
  [-32021, "MissingRequiredClientCapabilityError"],
  [-32022, "UnsupportedProtocolVersionError"],
  [-32042, "URLElicitationRequiredError"],
]);

const serverInfoKey = "io.modelcontextprotocol/serverInfo";
const versionKey = "io.modelcontextprotocol/protocolVersion";

function isHandshake(revision: Revision): boolean {
  return revision !== "2026-07-28";
}

/** What the other side reads: a property set to `undefined` never reaches it. */
function serialized(value: unknown): unknown {
  const text = JSON.stringify(value);
  return text === undefined ? undefined : JSON.parse(text);
}

/** Problems of one reply to `request`. A `request.id` left out means that no id could be read. */
export function checkReply(revision: Revision, request: RequestOutline, reply: unknown): string[] {
  const message = serialized(reply);
  if (!isObject(message)) return [`reply: is no object: ${JSON.stringify(message)}`];
  if ("error" in message) return unique(checkError(revision, request, message));
  return unique([
    ...validateClosed(revision, resultEnvelope(revision), message, ""),
    ...checkId(request, message),
    ...checkResult(revision, request, message["result"]),
  ]);
}

function resultEnvelope(revision: Revision): string {
  const name = "JSONRPCResultResponse";
  return definition(revision, name) ? name : "JSONRPCResponse";
}

function checkId(request: RequestOutline, message: JsonObject): string[] {
  if (request.id === undefined) return ["id: a message without a readable id has no result"];
  if (message["id"] === request.id) return [];
  return [`id: is ${JSON.stringify(message["id"])}, asked with ${JSON.stringify(request.id)}`];
}

function checkError(revision: Revision, request: RequestOutline, message: JsonObject): string[] {
  const problems: string[] = [];
  let judged = message;
  if (request.id !== undefined) {
    problems.push(...checkId(request, message));
  } else if (definition(revision, "JSONRPCErrorResponse")) {
    if ("id" in message) problems.push("id: must be absent, since none could be read");
  } else {
    // JSON-RPC asks for null here and these schemas cannot say it; any id stands in for it.
    if (message["id"] !== null) problems.push("id: must be null, since none could be read");
    judged = { ...message, id: 0 };
  }
  const envelope = definition(revision, "JSONRPCErrorResponse")
    ? "JSONRPCErrorResponse"
    : "JSONRPCError";
  problems.push(...validateClosed(revision, envelope, judged, ""));
  const error = message["error"];
  const special = isObject(error) ? errorDefinitions.get(error["code"]) : undefined;
  if (special && definition(revision, special)) {
    problems.push(...validate(revision, special, judged, ""));
  }
  return problems;
}

function checkResult(revision: Revision, request: RequestOutline, result: unknown): string[] {
  if (!isObject(result)) return ["result: must be object"];
  return isHandshake(revision)
    ? checkHandshakeResult(revision, request, result)
    : checkStatelessResult(revision, request.method, result);
}

function checkHandshakeResult(
  revision: Revision,
  request: RequestOutline,
  result: JsonObject,
): string[] {
  const { method } = request;
  const problems = ["resultType", "ttlMs", "cacheScope"]
    .filter((name) => name in result)
    .map((name) => undefinedProperty(revision, `result.${name}`));
  const meta = result["_meta"];
  if (isObject(meta) && serverInfoKey in meta) {
    problems.push(undefinedProperty(revision, `result._meta.${JSON.stringify(serverInfoKey)}`));
  }
  if (emptyResults.has(method)) {
    const isEmpty = Object.keys(result).length === 0;
    return isEmpty ? problems : [...problems, `result: must be {} for ${method}`];
  }
  if (method === "server/discover") return [...problems, ...checkOldDiscovery(revision, result)];
  const isTask = method === "tools/call" && isObject(request.params) && "task" in request.params;
  const name = isTask && "task" in result ? "CreateTaskResult" : resultDefinitions[method];
  return [...problems, ...checkNamedResult(revision, method, name, result)];
}

function checkStatelessResult(revision: Revision, method: string, result: JsonObject): string[] {
  if (result["resultType"] === "input_required" && mayRequireInput.has(method)) {
    const problems = checkNamedResult(revision, method, "InputRequiredResult", result);
    const isBare = !("inputRequests" in result) && !("requestState" in result);
    return isBare ? [...problems, "result: has neither inputRequests nor requestState"] : problems;
  }
  const problems = checkNamedResult(revision, method, resultDefinitions[method], result);
  // The schema lets extensions name further types; none of the methods known here has one.
  const isComplete = result["resultType"] === "complete";
  return isComplete ? problems : [...problems, 'result.resultType: must be "complete"'];
}

function checkNamedResult(
  revision: Revision,
  method: string,
  name: string | undefined,
  result: JsonObject,
): string[] {
  const isDefined =
    name !== undefined &&
    definition(revision, name) !== undefined &&
    [...requestMethods(revision)].includes(method);
  if (!isDefined) return [`result: ${revision} has no method ${method} to answer`];
  return validateClosed(revision, name, result, "result");
}

/** The methods either side may ask for in a request of its own. */
function requestMethods(revision: Revision): Set<string> {
  return new Set([
    ...membersOf(revision, "ClientRequest").keys(),
    ...membersOf(revision, "ServerRequest").keys(),
  ]);
}

/** Discovery answered to a client of a revision without it: just enough to choose another one. */
function checkOldDiscovery(revision: Revision, result: JsonObject): string[] {
  const problems: string[] = [];
  const allowed = ["supportedVersions", "capabilities", "instructions", "serverInfo"];
  for (const name of Object.keys(result)) {
    if (!allowed.includes(name)) problems.push(undefinedProperty(revision, `result.${name}`));
  }
  const { supportedVersions, capabilities, instructions, serverInfo } = result;
  const isList =
    Array.isArray(supportedVersions) &&
    supportedVersions.every((version) => typeof version === "string");
  if (!isList) problems.push("result.supportedVersions: must be an array of strings");
  problems.push(
    ...validateClosed(revision, "ServerCapabilities", capabilities, "result.capabilities"),
  );
  if (instructions !== undefined && typeof instructions !== "string") {
    problems.push("result.instructions: must be string");
  }
  if (serverInfo !== undefined) {
    problems.push(...validateClosed(revision, "Implementation", serverInfo, "result.serverInfo"));
  }
  return problems;
}

/** Problems of a request or a notification that a server sends. */
export function checkServerMessage(revision: Revision, message: unknown): string[] {
  return checkMessage(revision, "Server", message);
}

/** Problems of a request or a notification that a client sends. */
export function checkClientMessage(revision: Revision, message: unknown): string[] {
  const problems = checkMessage(revision, "Client", message);
  if (isHandshake(revision) || !isObject(message) || !("id" in message)) return problems;
  const { params } = message;
  const meta = isObject(params) ? params["_meta"] : undefined;
  const version = isObject(meta) ? meta[versionKey] : undefined;
  if (version === undefined || version === revision) return problems;
  return [...problems, `params._meta: names the revision ${JSON.stringify(version)}`];
}

function checkMessage(revision: Revision, side: "Server" | "Client", raw: unknown): string[] {
  const message = serialized(raw);
  if (!isObject(message)) return [`message: is no object: ${JSON.stringify(message)}`];
  const kind = "id" in message ? "Request" : "Notification";
  const envelope = `JSONRPC${kind}`;
  const problems = validate(revision, envelope, message, "");
  const method = message["method"];
  if (typeof method !== "string") return unique(problems);
  const name = membersOf(revision, `${side}${kind}`).get(method);
  if (name === undefined) {
    const sender = side.toLowerCase();
    return unique([
      ...problems,
      `method: ${revision} has no ${sender} ${kind.toLowerCase()} ${method}`,
    ]);
  }
  problems.push(...validate(revision, name, message, ""));
  // Older revisions define a message without its envelope, so both lists of properties count.
  const closed: Schema = {
    properties: {
      ...definition(revision, envelope)?.properties,
      ...definition(revision, name)?.properties,
    },
  };
  // Every request and notification may carry `_meta`; some definitions narrow `params` without it.
  const everywhere = undefinedProperty(revision, "params._meta");
  const extra = undefinedProperties(revision, closed, message, "");
  return unique([...problems, ...extra.filter((problem) => problem !== everywhere)]);
}

/** The definitions of a union by their method; some revisions have no such union, or one member. */
function membersOf(revision: Revision, union: string): Map<string, string> {
  const schema = definition(revision, union);
  const names = schema?.anyOf
    ? schema.anyOf.flatMap(({ $ref }) => $ref?.split("/").at(-1) ?? [])
    : schema
      ? [union]
      : [];
  const members = new Map<string, string>();
  for (const name of names) {
    const method = definition(revision, name)?.properties?.["method"]?.const;
    if (typeof method === "string") members.set(method, name);
  }
  return members;
}

function unique(problems: readonly string[]): string[] {
  return [...new Set(problems)];
}

function refuse(what: string, message: unknown, problems: readonly string[]): void {
  if (problems.length === 0) return;
  const list = problems.map((problem) => `  - ${problem}`).join("\n");
  throw new Error(`${what}:\n${list}\n${JSON.stringify(message, undefined, 2)}`);
}

export function assertReply(revision: Revision, request: RequestOutline, reply: unknown): void {
  const problems = checkReply(revision, request, reply);
  refuse(`the reply to ${request.method} is not valid in ${revision}`, reply, problems);
}

export function assertServerMessage(revision: Revision, message: unknown): void {
  const problems = checkServerMessage(revision, message);
  refuse(`the server's message is not valid in ${revision}`, message, problems);
}

export function assertClientMessage(revision: Revision, message: unknown): void {
  const problems = checkClientMessage(revision, message);
  refuse(`the client's message is not valid in ${revision}`, message, problems);
}
