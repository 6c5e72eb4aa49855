/** Raw callers of a server: over either bridge, in any revision, with every reply judged. */
import { Agent, request as httpRequest } from "node:http";
import { createEndpoint, type EndpointOptions, type Server, serve } from "anyrev/node";
import { type Caller, headersFor, initializeParams, notification, request } from "./messages.ts";
import { assertReply, isObject, type JsonObject, type Revision, revisions } from "./wire.ts";

export const bridges = ["fetch", "socket"] as const;
export type Bridge = (typeof bridges)[number];

/** Every revision over every bridge, for `describe.each`. */
export const matrix: readonly (readonly [Revision, Bridge])[] = revisions.flatMap((revision) =>
  bridges.map((bridge) => [revision, bridge] as const),
);

export interface RawSend {
  readonly method?: string;
  /** With its `?`. */
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Aborts when the caller goes away; over fetch only. */
  readonly signal?: AbortSignal;
}

export interface RawReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** One endpoint behind one bridge. */
export interface Line {
  send(what: RawSend): Promise<RawReply>;
  close(): Promise<void>;
}

export function openLine(
  bridge: Bridge,
  server: Server,
  options: EndpointOptions = {},
): Promise<Line> {
  return bridge === "fetch"
    ? Promise.resolve(overFetch(server, options))
    : overSocket(server, options);
}

function overFetch(server: Server, options: EndpointOptions): Line {
  const endpoint = createEndpoint(server, options);
  return {
    send: async ({ method = "POST", query = "", headers = {}, body, signal }) => {
      const url = `http://localhost/mcp${query}`;
      const response = await endpoint.fetch(
        new Request(url, {
          method,
          headers: { ...headers },
          ...(body !== undefined && { body }),
          ...(signal && { signal }),
        }),
      );
      return {
        status: response.status,
        headers: Object.fromEntries(response.headers),
        text: await response.text(),
      };
    },
    close: async () => {},
  };
}

async function overSocket(server: Server, options: EndpointOptions): Promise<Line> {
  const serving = await serve(server, { ...options, port: 0, path: "/mcp", drainMs: 100 });
  const agent = new Agent({ keepAlive: true });
  return {
    send: (what) => sendOverSocket(`${serving.url}${what.query ?? ""}`, agent, what),
    close: async () => {
      agent.destroy();
      await serving.close();
    },
  };
}

function sendOverSocket(url: string, agent: Agent, what: RawSend): Promise<RawReply> {
  const { method = "POST", headers = {}, body } = what;
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const outgoing = httpRequest(url, { method, agent, headers: { ...length, ...headers } });
    outgoing.once("error", reject);
    outgoing.once("response", (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.once("error", reject);
      incoming.once("end", () =>
        resolve({
          status: incoming.statusCode ?? 0,
          headers: Object.fromEntries(
            Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
          ),
          text: Buffer.concat(chunks).toString("utf8"),
        }),
      );
    });
    outgoing.end(body);
  });
}

export interface Asked {
  readonly status: number;
  readonly message: JsonObject;
}

/** A caller of one revision, which opened a session where its revision has them. */
export class Peer {
  readonly revision: Revision;
  /** What the handshake answered; undefined where there is none. */
  readonly opened: JsonObject | undefined;
  readonly #line: Line;
  readonly #session: string | undefined;
  #id = 0;

  private constructor(
    line: Line,
    revision: Revision,
    session: string | undefined,
    opened: JsonObject | undefined,
  ) {
    this.#line = line;
    this.revision = revision;
    this.#session = session;
    this.opened = opened;
  }

  static async open(line: Line, revision: Revision, caller?: Caller): Promise<Peer> {
    if (revision === "2026-07-28") return new Peer(line, revision, undefined, undefined);
    const hello = request(revision, "hello", "initialize", initializeParams(revision, caller));
    const raw = await line.send({
      headers: headersFor(revision, hello),
      body: JSON.stringify(hello),
    });
    const message = parse(raw);
    assertReply(revision, hello, message);
    const { result } = message;
    if (!isObject(result)) throw new Error(`the handshake failed: ${raw.text}`);
    const peer = new Peer(line, revision, raw.headers["mcp-session-id"], result);
    await peer.notify("notifications/initialized");
    return peer;
  }

  async notify(method: string, params?: JsonObject): Promise<RawReply> {
    return this.#post(notification(method, params), {});
  }

  /** Sends a request and gives its reply, after judging it. */
  async ask(
    method: string,
    params?: JsonObject,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Asked> {
    const message = request(this.revision, ++this.#id, method, params);
    const raw = await this.#post(message, headers);
    const reply = parse(raw);
    assertReply(this.revision, message, reply);
    return { status: raw.status, message: reply };
  }

  /** The id of the last request. */
  get lastId(): number {
    return this.#id;
  }

  /** The result of a request that must succeed. */
  async result(
    method: string,
    params?: JsonObject,
    headers?: Readonly<Record<string, string>>,
  ): Promise<JsonObject> {
    const { message } = await this.ask(method, params, headers);
    const { result } = message;
    if (isObject(result)) return result;
    throw new Error(`${method} failed: ${JSON.stringify(message)}`);
  }

  /** The code, the HTTP status, the message and the data of a request that must fail. */
  async error(method: string, params?: JsonObject): Promise<Refused> {
    const { status, message } = await this.ask(method, params);
    const { error } = message;
    if (!isObject(error)) throw new Error(`${method} succeeded: ${JSON.stringify(message)}`);
    return { status, code: error["code"], message: String(error["message"]), data: error["data"] };
  }

  #post(message: object, headers: Readonly<Record<string, string>>): Promise<RawReply> {
    const session: Record<string, string> =
      this.#session === undefined ? {} : { "mcp-session-id": this.#session };
    // Without a session nothing that these revisions send tells them from one another.
    const isPinned = this.revision < "2025-06-18" && this.#session === undefined;
    return this.#line.send({
      query: isPinned ? `?mcp=${this.revision}` : "",
      headers: { ...headersFor(this.revision, message), ...session, ...headers },
      body: JSON.stringify(message),
    });
  }
}

export interface Refused {
  readonly status: number;
  readonly code: unknown;
  readonly message: string;
  readonly data: unknown;
}

function parse(raw: RawReply): JsonObject {
  const value: unknown = raw.text === "" ? undefined : JSON.parse(raw.text);
  if (isObject(value)) return value;
  throw new Error(`HTTP ${raw.status} without a JSON object: ${raw.text}`);
}
