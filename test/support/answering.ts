/**
 * The side that is asked: takes the stream that a reply turns into, answers what is pushed on
 * it, makes a call again where that is how answers travel, and listens for changes.
 */
import { type Answer, type Client, type Open, type Opened, type Send, textOf } from "./client.ts";
import { readEvents } from "./live.ts";
import { headersFor } from "./messages.ts";
import {
  assertClientMessage,
  assertReply,
  assertServerMessage,
  isObject,
  type JsonObject,
  type Revision,
} from "./wire.ts";

export interface Asked {
  readonly method: string;
  readonly params: JsonObject;
}

/** What the user or the model makes of a question: the result of its request. */
export type Reaction = (asked: Asked) => JsonObject | Promise<JsonObject>;

/** The messages of a stream, as they come; comments and events without a message are left out. */
async function* messagesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  for await (const { data } of readEvents(decode(body))) {
    if (data !== undefined && data !== "") yield data;
  }
}

async function* decode(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  for await (const chunk of body) yield decoder.decode(chunk, { stream: true });
}

/** Answers what is pushed while a call runs, each by a POST of its own, and keeps what is told. */
export function answering(
  open: Open,
  revision: Revision,
  react: Reaction,
  notices: JsonObject[] = [],
): Send {
  return async (headers, body) => {
    const { status, headers: received, body: stream } = await open(headers, body);
    const type = received.get("content-type") ?? "";
    if (!type.startsWith("text/event-stream")) {
      return { status, headers: received, text: await textOf(stream) };
    }
    const replies: string[] = [];
    for await (const data of messagesOf(stream)) {
      const message: unknown = JSON.parse(data);
      if (!isObject(message) || !("method" in message)) {
        replies.push(data);
        continue;
      }
      assertServerMessage(revision, message);
      if ("id" in message) await reply(open, revision, headers, message, react);
      else notices.push(message);
    }
    if (replies.length !== 1) throw new Error(`a call got ${replies.length} replies`);
    return { status, headers: received, text: replies[0] ?? "" };
  };
}

async function reply(
  open: Open,
  revision: Revision,
  called: Readonly<Record<string, string>>,
  { id, method, params }: JsonObject,
  react: Reaction,
): Promise<void> {
  const asked = { method: String(method), params: isObject(params) ? params : {} };
  const message = { jsonrpc: "2.0", id, result: await react(asked) };
  assertReply(revision, { id: id as string, ...asked }, message);
  const session = called["mcp-session-id"];
  const headers = headersFor(revision, message);
  if (session !== undefined) headers["mcp-session-id"] = session;
  const { status, body } = await open(headers, JSON.stringify(message));
  if (status !== 202) throw new Error(`an answer got ${status}: ${await textOf(body)}`);
}

/** Calls a tool, and again for as long as its result asks something. */
export async function converse(
  client: Client,
  name: string,
  args: JsonObject,
  react: Reaction,
): Promise<Answer> {
  let params: JsonObject = { name, arguments: args };
  for (let round = 0; round < 12; round++) {
    const answer = await client.ask("tools/call", params);
    const next = await nextRound(answer.result ?? {}, args, react);
    if (next === undefined) return answer;
    params = { name, ...next };
  }
  throw new Error(`${name} asks for ever`);
}

async function nextRound(
  result: JsonObject,
  args: JsonObject,
  react: Reaction,
): Promise<JsonObject | undefined> {
  if (result["resultType"] === "input_required") {
    const { inputRequests, requestState } = result;
    const inputResponses: Record<string, unknown> = {};
    for (const [key, asked] of Object.entries(isObject(inputRequests) ? inputRequests : {})) {
      inputResponses[key] = await react(asked as unknown as Asked);
    }
    return { arguments: args, inputResponses, requestState };
  }
  const told = readTold(result);
  if (told === undefined) return undefined;
  const answers: Record<string, unknown> = {};
  for (const { key, message } of told.asked) {
    answers[key] = inWords(await react({ method: "elicitation/create", params: { message } }));
  }
  return { arguments: { ...args, _answers: answers, _state: told.state } };
}

/** A question that is told to the model, as a model understands it. */
function readTold(result: JsonObject) {
  const [first] = Array.isArray(result["content"]) ? result["content"] : [];
  const text = isObject(first) ? String(first["text"]) : "";
  const state = /"_state": ("[^"]+")$/.exec(text)?.[1];
  if (!text.startsWith("This call needs an answer") || state === undefined) return undefined;
  const asked = [...text.matchAll(/^- ("(?:[^"\\]|\\.)*"): (.*)$/gm)].map(
    ([, key = '""', message = ""]) => ({ key: String(JSON.parse(key)), message }),
  );
  return { asked, state: String(JSON.parse(state)) };
}

/** A model passes on what was filled in, or that nothing was. */
function inWords({ action, content }: JsonObject): unknown {
  return action === "accept" ? (content ?? {}) : action;
}

export interface Listening extends AsyncDisposable {
  /** What was told so far, the acknowledgement left out. */
  readonly told: readonly JsonObject[];
  /** Waits until this many notifications were told. */
  until(count: number): Promise<void>;
}

/** Listens for changes of these resources, and of every list, as the client's revision does. */
export async function listenTo(
  open: Open,
  client: Client,
  uris: readonly string[],
): Promise<Listening> {
  const opened = await (client.revision === "2026-07-28"
    ? openSubscription(open, client, uris)
    : openSessionStream(open, client, uris));
  if (opened.status !== 200) {
    throw new Error(`listening got ${opened.status}: ${await textOf(opened.body)}`);
  }
  return follow(opened, client.revision);
}

function openSubscription(open: Open, client: Client, uris: readonly string[]): Promise<Opened> {
  const lists = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
  const notifications = { ...lists, resourceSubscriptions: uris };
  const message = client.request("subscriptions/listen", { notifications });
  assertClientMessage(client.revision, message);
  return open(headersFor(client.revision, message), JSON.stringify(message));
}

async function openSessionStream(
  open: Open,
  client: Client,
  uris: readonly string[],
): Promise<Opened> {
  for (const uri of uris) {
    const { error } = await client.ask("resources/subscribe", { uri });
    if (error !== undefined) throw new Error(`${uri} cannot be watched: ${error.message}`);
  }
  const headers = headersFor(client.revision, undefined);
  return open({ ...headers, "mcp-session-id": client.session ?? "" });
}

async function follow(opened: Opened, revision: Revision): Promise<Listening> {
  const told: JsonObject[] = [];
  const waiting = new Set<() => void>();
  const acknowledgement = "notifications/subscriptions/acknowledged";
  const reading = (async () => {
    for await (const data of messagesOf(opened.body)) {
      const message: unknown = JSON.parse(data);
      if (!isObject(message)) throw new Error(`no message: ${data}`);
      assertServerMessage(revision, message);
      if (message["method"] !== acknowledgement) told.push(message);
      for (const look of waiting) look();
    }
  })();
  // What breaks off the reading is either the end that was asked for, or shown by `until`.
  reading.catch(() => undefined);
  const until = (count: number): Promise<void> =>
    Promise.race([
      new Promise<void>((resolve) => {
        const look = (): void => {
          if (told.length >= count) resolve();
        };
        waiting.add(look);
        look();
      }),
      reading.then(() => {
        throw new Error(`the stream ended after ${told.length} of ${count} notifications`);
      }),
    ]);
  const close = async (): Promise<void> => {
    opened.close();
    await reading.catch(() => undefined);
  };
  return { told, until, [Symbol.asyncDispose]: close };
}
