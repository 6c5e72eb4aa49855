/** HTTP requests that start out valid in some revision and are then spoilt at random. */
import { headersFor, initializeParams, notification, request } from "./messages.ts";
import {
  awkwardNames,
  awkwardStrings,
  nested,
  type Random,
  randomJson,
  randomScalar,
  setOwn,
} from "./random.ts";
import { isObject, type Revision, revisions } from "./wire.ts";

export interface Hostile {
  readonly method: string;
  readonly query: string;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array;
}

type Members = Record<string, unknown>;

const encoder = new TextEncoder();

const tools: readonly string[] = [
  "everything",
  "list",
  "scalar",
  "newcomer",
  "echo",
  "slow",
  "text",
  "image",
  "audio",
  "link",
  "mixed",
  "embedded_blob",
  "value_null",
  "with_meta",
  "failed_and_structured",
  "nothing",
];

const valid: readonly ((random: Random) => readonly [string, Members])[] = [
  () => ["ping", {}],
  () => ["tools/list", {}],
  () => ["resources/list", {}],
  () => ["resources/templates/list", {}],
  () => ["prompts/list", {}],
  () => ["server/discover", {}],
  () => ["logging/setLevel", { level: "info" }],
  (random) => ["tools/list", { cursor: cursor(random, "tools") }],
  (random) => ["tools/call", { name: random.pick(tools), arguments: {} }],
  (random) => ["tools/call", { name: "echo", arguments: { said: randomJson(random) } }],
  (random) => ["tools/call", { name: "everything", arguments: { region: randomScalar(random) } }],
  (random) => ["resources/read", { uri: random.pick(["note://1", "note://by-name/a", "x:y", ""]) }],
  () => ["prompts/get", { name: "greet", arguments: { name: "Ann" } }],
  () => ["prompts/get", { name: "linked" }],
  () => [
    "completion/complete",
    { ref: { type: "ref/prompt", name: "greet" }, argument: { name: "name", value: "a" } },
  ],
  () => [
    "completion/complete",
    {
      ref: { type: "ref/resource", uri: "note://by-name/{name}" },
      argument: { name: "name", value: "" },
    },
  ],
];

function cursor(random: Random, list: string): string {
  const after = random.pick([1, 5, 10, 1000, -1, 0.5]);
  return Buffer.from(JSON.stringify({ list, after })).toString("base64url");
}

const odd = {
  methods: ["GET", "DELETE", "PUT", "OPTIONS", "HEAD", "PATCH", "post", "BREW"],
  versions: [...revisions, "", "2025-06-18 ", "2026-07-28,2026-07-28", "1.0", "2099-01-01", "x, y"],
  rpcMethods: [
    "initialize",
    "notifications/initialized",
    "notifications/cancelled",
    "subscriptions/listen",
    "constructor",
    "",
    "tools/call ",
    "TOOLS/LIST",
    "x".repeat(3000),
  ],
  ids: [0, -1, 1.5, 2 ** 53, 2 ** 60, "", "1", null, true, [], {}, "\ud800", "x".repeat(500)],
  sessions: ["", "nope", "a b", "é", "x".repeat(200), "00000000-0000-4000-8000-000000000000"],
  accepts: ["", "*/*", "text/event-stream", "text/html", "application/json;q=0", ",,;q", "a/b"],
  types: ["", "text/plain", "application/json; charset=latin1", "APPLICATION/JSON", "json"],
} as const;

/** A header value keeps to what the Fetch standard and sockets let through. */
function headerSafe(value: string): string {
  return value.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, "?");
}

/** @param sessions - ids of live sessions, to be named by some of the requests */
export function createHostile(random: Random, sessions: readonly string[]): Hostile {
  const revision = random.pick(revisions);
  // What is spoilt is this request's own: the names that requests share stay as they are.
  const message = structuredClone(createMessage(random, revision));
  const headers = headersFor(revision, message);
  if (random.chance(0.3) && sessions.length > 0) headers["mcp-session-id"] = random.pick(sessions);
  let query = random.chance(0.1) ? `?mcp=${random.pick(revisions)}` : "";
  let method = "POST";
  const spoilt = random.int(4);
  for (let count = 0; count < spoilt; count++) spoilMessage(random, message);
  if (random.chance(0.25)) spoilHeaders(random, headers);
  if (random.chance(0.03)) query = `?${random.pick(["mcp=", "mcp=x&mcp=y", "mcp", "%", "a=b"])}`;
  if (random.chance(0.04)) method = random.pick(odd.methods);
  const whole = random.chance(0.08) ? createBatch(random, revision, message) : message;
  return { method, query, headers, body: encode(random, whole) };
}

function createMessage(random: Random, revision: Revision): Members {
  if (random.chance(0.05)) {
    return { ...request(revision, 1, "initialize", initializeParams(random.pick(revisions))) };
  }
  if (random.chance(0.05)) {
    const method = random.pick(["notifications/initialized", "notifications/cancelled", "x"]);
    return { ...notification(method, { requestId: random.pick(odd.ids) }) };
  }
  if (random.chance(0.02)) return { jsonrpc: "2.0", id: random.pick(odd.ids), result: {} };
  const [method, params] = random.pick(valid)(random);
  const id = random.chance(0.5) ? random.int(1000) : `id ${random.int(1000)}`;
  return { ...request(revision, id, method, params) };
}

function createBatch(random: Random, revision: Revision, message: Members): unknown[] {
  const more = Array.from({ length: random.int(4) }, () => createMessage(random, revision));
  const items: unknown[] = [message, ...more];
  if (random.chance(0.2)) items.push(randomJson(random));
  if (random.chance(0.1)) items.push(items);
  return random.chance(0.05) ? [] : items.filter((item) => item !== items);
}

function spoilMessage(random: Random, message: Members): void {
  switch (random.int(8)) {
    case 0:
      message["id"] = random.pick(odd.ids);
      return;
    case 1:
      message["method"] = random.chance(0.5) ? random.pick(odd.rpcMethods) : randomScalar(random);
      return;
    case 2:
      delete message[random.pick(["jsonrpc", "id", "method", "params"])];
      return;
    case 3:
      message[random.pick(["jsonrpc", "params"])] = randomJson(random);
      return;
    case 4:
      setOwn(message, random.pick(awkwardNames), randomJson(random));
      return;
    default:
      spoilSomewhere(random, message);
  }
}

/** Retypes, drops or adds a member at some place below the message. */
function spoilSomewhere(random: Random, message: Members): void {
  let place: Members = message;
  for (let depth = 0; depth < 3; depth++) {
    const inner = Object.values(place).filter(isObject);
    if (inner.length === 0 || (depth > 0 && random.chance(0.4))) break;
    // Each message was made afresh, so its parts may be changed.
    place = random.pick(inner) as Members;
  }
  if (place === message) return;
  const names = [...Object.keys(place), random.pick(awkwardNames)];
  const name = random.pick(names);
  const roll = random.next();
  if (roll < 0.3) delete place[name];
  else if (roll < 0.97) setOwn(place, name, randomJson(random));
  else
    setOwn(
      place,
      name,
      random.chance(0.5) ? nested(20 + random.int(100), random) : "é".repeat(9000),
    );
}

function spoilHeaders(random: Random, headers: Record<string, string>): void {
  const roll = random.int(7);
  if (roll === 0) headers["mcp-protocol-version"] = random.pick(odd.versions);
  else if (roll === 1) headers["mcp-session-id"] = headerSafe(random.pick(odd.sessions));
  else if (roll === 2) headers["accept"] = random.pick(odd.accepts);
  else if (roll === 3) headers["content-type"] = random.pick(odd.types);
  else if (roll === 4)
    headers["origin"] = random.pick(["null", "https://evil.example", "http://localhost"]);
  else if (roll === 5) delete headers[random.pick(Object.keys(headers))];
  else {
    const name = random.pick([
      "mcp-name",
      "mcp-method",
      "mcp-param-region",
      "last-event-id",
      "x-a",
    ]);
    headers[name] = headerSafe(random.pick(awkwardStrings));
  }
}

function encode(random: Random, message: unknown): Uint8Array {
  let text = JSON.stringify(message) ?? "";
  if (random.chance(0.02)) text = text.slice(0, random.int(text.length));
  if (random.chance(0.02)) {
    const name = random.pick(["id", "method", "jsonrpc", "params", "\\u0069d", "x"]);
    text = text.replace("{", `{"${name}":${JSON.stringify(randomScalar(random))},`);
  }
  if (random.chance(0.01)) text = `\ufeff${text}`;
  if (random.chance(0.01)) text = `${text}${random.pick([" ", "\n", "{}", "\0"])}`;
  const bytes = encoder.encode(text);
  if (random.chance(0.01) && bytes.length > 0) bytes[random.int(bytes.length)] = random.int(256);
  return bytes;
}
