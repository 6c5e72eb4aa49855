/**
 * A client of one revision over a socket, written by hand. It shakes hands where the revision
 * does, and holds whatever it sends and gets against the schemas.
 */
import { request as openRequest } from "node:http";
import {
  type Caller,
  headersFor,
  initializeParams,
  notification,
  type RawNotification,
  type RawRequest,
  request,
} from "./messages.ts";
import { assertClientMessage, assertReply, type Revision } from "./wire.ts";

type JsonObject = Readonly<Record<string, unknown>>;

export interface Answer {
  readonly status: number;
  readonly result: JsonObject | undefined;
  readonly error: { readonly code: number; readonly message: string } | undefined;
}

/** Sends one POST and gives what came back. */
export type Send = (
  headers: Readonly<Record<string, string>>,
  body: string,
) => Promise<{ readonly status: number; readonly headers: Headers; readonly text: string }>;

/** Sends a POST, or without a body a GET, and gives the reply as soon as it begins. */
export type Open = (headers: Readonly<Record<string, string>>, body?: string) => Promise<Opened>;

export interface Opened {
  readonly status: number;
  readonly headers: Headers;
  readonly body: AsyncIterable<Uint8Array>;
  /** Breaks off what has not come yet. */
  readonly close: () => void;
}

export class Client {
  readonly revision: Revision;
  /** What the server can do, as `initialize` or `server/discover` told it. */
  readonly capabilities: JsonObject;
  /** The session, where the handshake opened one. */
  readonly session: string | undefined;
  readonly #send: Send;
  readonly #caller: Caller;
  #lastId = 0;

  private constructor(
    revision: Revision,
    send: Send,
    caller: Caller,
    capabilities: unknown,
    session: string | undefined,
  ) {
    this.revision = revision;
    this.capabilities = isObject(capabilities) ? capabilities : {};
    this.session = session;
    this.#send = send;
    this.#caller = caller;
  }

  static async open(send: Send, revision: Revision, caller: Caller = {}): Promise<Client> {
    const opening =
      revision === "2026-07-28"
        ? request(revision, "opening", "server/discover", undefined, caller)
        : request(revision, "opening", "initialize", initializeParams(revision, caller));
    const { headers, answer } = await exchange(send, revision, opening, undefined);
    const { result, error } = answer;
    if (result === undefined) throw new Error(`${revision} was not opened: ${error?.message}`);
    const session = headers.get("mcp-session-id") ?? undefined;
    const client = new Client(revision, send, caller, result["capabilities"], session);
    if (revision !== "2026-07-28") await client.#confirm(result["protocolVersion"]);
    return client;
  }

  async ask(method: string, params?: JsonObject): Promise<Answer> {
    const message = this.request(method, params);
    return (await exchange(this.#send, this.revision, message, this.session)).answer;
  }

  /** The next request of this client, not sent. */
  request(method: string, params?: JsonObject): RawRequest {
    return request(this.revision, ++this.#lastId, method, params, this.#caller);
  }

  call(name: string, args: JsonObject = {}): Promise<Answer> {
    return this.ask("tools/call", { name, arguments: args });
  }

  /** Every entry of a listing, page by page. */
  async list(method: string, member: string): Promise<JsonObject[]> {
    const entries: JsonObject[] = [];
    let cursor: unknown;
    do {
      const { result } = await this.ask(method, cursor === undefined ? undefined : { cursor });
      const page = result?.[member];
      if (!Array.isArray(page)) throw new Error(`${method} gave no ${member}`);
      entries.push(...page);
      cursor = result?.["nextCursor"];
    } while (cursor !== undefined);
    return entries;
  }

  async #confirm(settled: unknown): Promise<void> {
    if (settled !== this.revision) throw new Error(`${settled} is not ${this.revision}`);
    const message = notification("notifications/initialized");
    const { status } = await post(this.#send, this.revision, message, this.session);
    if (status !== 202) throw new Error(`the confirmation got ${status}`);
  }
}

/** Over a socket to this machine, under whatever name the server is to be called. */
export function overSocket(port: number, target?: string, host?: string): Send {
  return whole(openSocket(port, target, host));
}

type Handle = (request: Request) => Response | Promise<Response>;

export function openSocket(port: number, target = "/mcp", host = `127.0.0.1:${port}`): Open {
  return (headers, body) =>
    new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
      const outgoing = openRequest({
        host: "127.0.0.1",
        port,
        path: target,
        method: body === undefined ? "GET" : "POST",
        agent: false,
        headers: { ...headers, host, ...length },
      });
      outgoing.once("error", reject);
      outgoing.once("response", (incoming) => {
        const received = new Headers();
        for (let at = 0; at < incoming.rawHeaders.length; at += 2) {
          received.append(incoming.rawHeaders[at]!, incoming.rawHeaders[at + 1]!);
        }
        const close = (): void => void outgoing.destroy();
        resolve({ status: incoming.statusCode ?? 0, headers: received, body: incoming, close });
      });
      outgoing.end(body);
    });
}

/** Through a function of the Fetch standard. */
export function openFetch(handle: Handle, target = "/mcp", host = "localhost"): Open {
  return async (headers, body) => {
    const gone = new AbortController();
    const method = body === undefined ? "GET" : "POST";
    const sent = new Request(`http://${host}${target}`, {
      method,
      headers,
      signal: gone.signal,
      ...(body !== undefined && { body }),
    });
    const { status, headers: received, body: stream } = await handle(sent);
    return { status, headers: received, body: stream ?? nothing(), close: () => gone.abort() };
  };
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

function whole(open: Open): Send {
  return async (headers, body) => {
    const { status, headers: received, body: stream } = await open(headers, body);
    return { status, headers: received, text: await textOf(stream) };
  };
}

export async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}

async function exchange(
  send: Send,
  revision: Revision,
  message: RawRequest,
  session: string | undefined,
): Promise<{ readonly headers: Headers; readonly answer: Answer }> {
  const { status, headers, text } = await post(send, revision, message, session);
  let reply: unknown;
  try {
    reply = JSON.parse(text);
  } catch {
    throw new Error(`${message.method} got ${status} and no JSON: ${text.slice(0, 500)}`);
  }
  assertReply(revision, message, reply);
  // The schema has just vouched for these shapes.
  const { result, error } = reply as Pick<Answer, "result" | "error">;
  return { headers, answer: { status, result, error } };
}

function post(
  send: Send,
  revision: Revision,
  message: RawRequest | RawNotification,
  session: string | undefined,
): ReturnType<Send> {
  assertClientMessage(revision, message);
  const headers = headersFor(revision, message);
  if (session !== undefined) headers["mcp-session-id"] = session;
  return send(headers, JSON.stringify(message));
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
