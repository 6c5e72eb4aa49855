/** A server with all its routes, and what one caller gets from it. */
import {
  createEndpoint,
  createLegacySse,
  type EndpointOptions,
  type Server,
  serve,
} from "anyrev/node";
import { fixtureTokens } from "../../fixture/auth.ts";
import type { Holder } from "./as-principal.ts";
import type { BridgeName } from "./bridges.ts";
import { type Outgoing, overFetch, overSocket, readEvents, type Worker } from "./live.ts";
import { headersFor, initializeParams, request } from "./messages.ts";
import type { JsonObject, Revision } from "./wire.ts";

/** The endpoint, and HTTP+SSE beside it. */
export async function openAllRoutes(
  name: BridgeName,
  server: Server,
  options: EndpointOptions,
): Promise<Worker> {
  if (name === "node") {
    return overSocket(await serve(server, { ...options, port: 0, legacySse: true, drainMs: 100 }));
  }
  const endpoint = createEndpoint(server, { ...options, path: "/mcp" });
  const legacy = createLegacySse(server, { ...options, path: undefined });
  return overFetch({
    fetch: (asked) => {
      const { pathname } = new URL(asked.url);
      return legacy.serves(pathname) ? legacy.fetch(asked) : endpoint.fetch(asked);
    },
    close: () => {
      endpoint.close();
      legacy.close();
    },
  });
}

export interface Seen {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** What an open stream said in its first event, what any other answer said in all. */
  readonly text: string;
}

export interface Asking extends Partial<Outgoing> {
  readonly message?: unknown;
  readonly session?: string | undefined;
}

/** One of those who hold a token, speaking one revision. */
export class Person {
  readonly worker: Worker;
  readonly holder: Holder;
  readonly revision: Revision;
  session: string | undefined;

  constructor(worker: Worker, holder: Holder, revision: Revision) {
    this.worker = worker;
    this.holder = holder;
    this.revision = revision;
  }

  get isModern(): boolean {
    return this.revision === "2026-07-28";
  }

  begin({ message, session = this.session, headers, ...outgoing }: Asking) {
    return this.worker.begin({
      ...outgoing,
      headers: {
        ...headersFor(this.revision, message),
        // A session that is not theirs does not tell which revision answers.
        "mcp-protocol-version": this.revision,
        authorization: `Bearer ${fixtureTokens[this.holder]}`,
        ...(session !== undefined && { "mcp-session-id": session }),
        ...headers,
      },
      ...(message !== undefined && { body: JSON.stringify(message) }),
    });
  }

  async see(asking: Asking): Promise<Seen> {
    const begun = this.begin(asking);
    const { status, headers, chunks } = await begun.live;
    const isOpen = status === 200 && asking.method === "GET";
    let text = "";
    if (!isOpen)
      for (let next = await chunks.next(); !next.done; next = await chunks.next())
        text += next.value;
    if (isOpen) begun.drop();
    const told = [...headers].filter(
      ([name]) => !["date", "connection", "keep-alive"].includes(name),
    );
    return { status, headers: Object.fromEntries(told.sort()), text };
  }

  async call(name: string, args: JsonObject = {}, more: JsonObject = {}): Promise<Seen> {
    const params = { name, arguments: args, ...more };
    return this.see({ message: this.request("tools/call", params) });
  }

  request(method: string, params: JsonObject = {}, id: string | number = "asked") {
    const capabilities = { sampling: {}, elicitation: {} };
    return request(this.revision, id, method, params, { capabilities });
  }

  /** Opens a session where the revision has one. */
  async open(): Promise<this> {
    if (this.isModern) return this;
    const capabilities = { sampling: {}, elicitation: {} };
    const params = initializeParams(this.revision, { capabilities });
    const opened = await this.see({
      message: request(this.revision, "open", "initialize", params),
      headers: { "mcp-protocol-version": this.revision },
    });
    this.session = opened.headers["mcp-session-id"];
    if (this.session === undefined) throw new Error(`no session: ${opened.status} ${opened.text}`);
    return this;
  }

  /** Begins a call that tells and asks, and reads what it says until `isEnough`. */
  async until(message: unknown, isEnough: (data: JsonObject) => boolean) {
    const begun = this.begin({ message });
    const { chunks } = await begun.live;
    const events = readEvents(chunks);
    for await (const { id, data = "" } of { [Symbol.asyncIterator]: () => notClosing(events) }) {
      if (data === "") continue;
      const said: JsonObject = JSON.parse(data);
      if (isEnough(said)) return { id, said, events, begun };
    }
    throw new Error("the stream ended before that");
  }
}

/** Leaving the loop leaves the rest to be read. */
function notClosing<T>(events: AsyncGenerator<T>): AsyncIterator<T> {
  return { next: () => events.next() };
}
