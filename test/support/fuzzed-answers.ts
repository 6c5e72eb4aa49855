/** Answers of a server that start out valid, each with the tag of its request, and are then spoilt. */
import {
  awkwardNames,
  awkwardStrings,
  nested,
  type Random,
  randomJson,
  randomScalar,
  setOwn,
} from "./random.ts";
import { isObject, type JsonObject, type Revision } from "./wire.ts";

/** Where a request says by which tag its answer is known. */
export const tagKey = "anyrev.test/tag";

const form = { mode: "form", message: "?", requestedSchema: { type: "object", properties: {} } };
const schema = { type: "object" };

export function tagOf({ params }: JsonObject): string {
  const meta = isObject(params) && isObject(params["_meta"]) ? params["_meta"] : {};
  return String(meta[tagKey]);
}

/** What a server that does everything right answers. */
export function rightAnswer(random: Random, revision: Revision, request: JsonObject): JsonObject {
  const { id, method, params } = request;
  const tag = tagOf(request);
  if (random.chance(0.05)) {
    return { jsonrpc: "2.0", id, error: { code: -32000 - random.int(100), message: tag } };
  }
  const asked = isObject(params) ? params : {};
  const result = rightResult(random, String(method), asked, tag, revision);
  const more =
    revision === "2026-07-28"
      ? { resultType: "complete", ttlMs: 1_000, cacheScope: "private", ...result }
      : result;
  return { jsonrpc: "2.0", id, result: more };
}

function rightResult(
  random: Random,
  method: string,
  params: JsonObject,
  tag: string,
  revision: Revision,
): JsonObject {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: revision,
        capabilities: { tools: {}, logging: {} },
        serverInfo: { name: "hostile", version: "1" },
      };
    case "server/discover":
      return { supportedVersions: [revision], capabilities: {} };
    case "tools/call":
      if (revision === "2026-07-28" && params["name"] === "ask" && !("inputResponses" in params)) {
        const question = { method: "elicitation/create", params: form };
        return {
          resultType: "input_required",
          inputRequests: { q: question },
          requestState: tag,
        };
      }
      return { content: [{ type: "text", text: tag }], structuredContent: { tag } };
    case "resources/read":
      return { contents: [{ uri: "note://1", text: tag }] };
    case "prompts/get":
      return { messages: [{ role: "user", content: { type: "text", text: tag } }] };
    case "completion/complete":
      return { completion: { values: [tag], total: 1, hasMore: false } };
    case "tools/list":
    case "resources/list":
    case "resources/templates/list":
    case "prompts/list":
      return rightPage(random, method, params, tag);
    default:
      return {};
  }
}

function rightPage(
  random: Random,
  method: string,
  { cursor }: JsonObject,
  tag: string,
): JsonObject {
  const more =
    cursor === undefined && random.chance(0.3) ? { nextCursor: `${random.int(9)} of ${tag}` } : {};
  const name = cursor === undefined ? tag : `${tag} again`;
  switch (method) {
    case "tools/list": {
      const outputSchema = random.chance(0.3) ? randomJson(random, 4) : schema;
      const echo = { name: "echo", inputSchema: schema, outputSchema };
      return { ...more, tools: [{ name, inputSchema: schema }, echo] };
    }
    case "resources/list":
      return { ...more, resources: [{ uri: `note://${name}`, name }] };
    case "resources/templates/list":
      return { ...more, resourceTemplates: [{ uriTemplate: `note://${name}/{id}`, name }] };
    default:
      return { ...more, prompts: [{ name }] };
  }
}

/** A message with one thing wrong, or several. */
export function spoil(random: Random, message: JsonObject): unknown {
  const spoilt = JSON.parse(JSON.stringify(message)) as Record<string, unknown>;
  for (let times = 1 + random.int(3); times > 0; times--) {
    if (random.chance(0.3)) spoilEnvelope(random, spoilt);
    else spoilPart(random, spoilt);
  }
  return random.chance(0.02) ? randomJson(random) : spoilt;
}

function spoilEnvelope(random: Random, message: Record<string, unknown>): void {
  const member = random.pick(["jsonrpc", "id", "result", "error", "method"]);
  if (random.chance(0.2)) delete message[member];
  else if (member === "id") message["id"] = wrongId(random, message["id"]);
  else if (member === "method") message["method"] = random.pick(awkwardStrings);
  else message[member] = randomJson(random);
}

/** An id that no request under way has. */
function wrongId(random: Random, id: unknown): unknown {
  return random.pick([
    null,
    `${id}`,
    -Number(id),
    Number(id) + 0.5,
    Number(id) + 1_000_000,
    [id],
    { id },
    true,
    "",
    "__proto__",
  ]);
}

/** Walks to a random place, and puts there what does not belong. */
function spoilPart(random: Random, message: Record<string, unknown>): void {
  let place: object = message;
  for (;;) {
    const members: Record<string, unknown> = place as never;
    // The id stays: a message that answers for another is none that a client could tell.
    const keys = Object.keys(members).filter((key) => key !== "id" || place !== message);
    if (keys.length === 0) {
      setOwn(place, awkwardName(random, place), randomJson(random));
      return;
    }
    const key = random.pick(keys);
    const next = members[key];
    if (typeof next === "object" && next !== null && random.chance(0.75)) {
      place = next;
      continue;
    }
    spoilMember(random, place, key);
    return;
  }
}

/** What cannot be made a text of, and is no promise though it looks like one. */
function unprintable(): object {
  const names = ["toString", "valueOf", "toJSON", "then"];
  return Object.fromEntries(names.map((name) => [name, 1]));
}

function awkwardName(random: Random, place: object): string {
  // The id of a message is spoilt elsewhere, and a list has a length of its own.
  const taken = Array.isArray(place) ? ["length"] : ["id"];
  return random.pick(awkwardNames.filter((name) => !taken.includes(name)));
}

function spoilMember(random: Random, place: object, key: string): void {
  switch (random.int(6)) {
    case 0:
      delete (place as Record<string, unknown>)[key];
      break;
    case 1:
      setOwn(place, key, randomScalar(random));
      break;
    case 2:
      setOwn(place, awkwardName(random, place), { polluted: true });
      break;
    case 3:
      setOwn(place, key, nested(1 + random.int(700), random));
      break;
    case 4:
      setOwn(place, key, unprintable());
      break;
    default:
      setOwn(place, key, randomJson(random));
  }
}

/** Something that nobody asked for. */
export function noise(random: Random): unknown {
  const methods = [
    "notifications/progress",
    "notifications/message",
    "notifications/tools/list_changed",
    "notifications/resources/updated",
    "notifications/cancelled",
    "notifications/subscriptions/acknowledged",
    "elicitation/create",
    "sampling/createMessage",
    "roots/list",
    "ping",
    ...awkwardStrings,
  ];
  const params = random.chance(0.5)
    ? randomJson(random)
    : {
        ...form,
        progressToken: random.int(50),
        progress: random.int(9),
        requestId: random.int(9),
        uri: random.pick(awkwardStrings),
        level: random.pick(["info", "loud", 5]),
        data: randomJson(random),
        _meta: { "io.modelcontextprotocol/subscriptionId": random.int(50) },
      };
  const id = random.chance(0.4) ? { id: random.pick([random.int(99), "a", null, 1.5]) } : {};
  return { jsonrpc: "2.0", ...id, method: random.pick(methods), params };
}

const encoder = new TextEncoder();

/** One line, more or less: cut, repeated, in other bytes than UTF-8, or longer than the cap. */
export function toLine(random: Random, message: unknown, capBytes: number): Uint8Array {
  let text = JSON.stringify(message) ?? "";
  if (random.chance(0.03)) text = text.slice(0, random.int(text.length));
  if (random.chance(0.02)) text = `\ufeff${text}`;
  if (random.chance(0.02)) text = `${text}\r`;
  if (random.chance(0.01)) text = `${text}${text}`;
  if (random.chance(0.01)) text = `[INFO] ${text}`;
  if (random.chance(0.003)) text = text.replace(/\}$/, `,"x":"${"x".repeat(capBytes)}"}`);
  const bytes = encoder.encode(random.chance(0.005) ? text : `${text}\n`);
  if (random.chance(0.02) && bytes.length > 0) spoilByte(random, bytes);
  return bytes;
}

/** Not a digit: with another one the message would answer for another, and no client could tell. */
function spoilByte(random: Random, bytes: Uint8Array): void {
  const at = random.int(bytes.length);
  if (!/\d/.test(String.fromCharCode(bytes[at] ?? 0))) bytes[at] = random.int(256);
}
