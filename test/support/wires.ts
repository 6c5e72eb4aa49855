/** Every way to a server, behind one face: what is sent goes out as it stands, whatever comes is heard. */
import { PassThrough } from "node:stream";
import {
  createEndpoint,
  type EndpointOptions,
  openMemoryChannel,
  type Server,
  serve,
  serveStdio,
} from "anyrev/node";
import { type ReadEvent, readEvents } from "./event-reader.ts";
import { isObject, type JsonObject } from "./schemas.ts";

export const wireKinds = ["socket", "fetch", "stdio", "memory", "sse"] as const;
export type WireKind = (typeof wireKinds)[number];

/** Where a message came from. */
export interface Origin {
  /** `body`: the whole reply to a POST; `post`: its stream; `get`: the stream of a GET. */
  readonly via: "body" | "post" | "get" | "channel";
  /** Over HTTP only. */
  readonly status: number | undefined;
  readonly headers: Headers | undefined;
  readonly event: ReadEvent | undefined;
}

export type Hear = (message: JsonObject, origin: Origin) => void;

export interface Sending {
  /** The response, as soon as its headers are there; undefined off HTTP. */
  readonly response: Promise<Response | undefined>;
  /** Resolves when all of the response was heard, or it was given up. */
  readonly over: Promise<void>;
  /** Gives the response up, as a caller does who goes away. */
  disconnect(): void;
}

export interface Wire {
  readonly kind: WireKind;
  /** Every event of every stream, those without a message too. */
  readonly events: readonly ReadEvent[];
  send(message: unknown, headers: Readonly<Record<string, string>>, query?: string): Sending;
  /** A GET, over HTTP. */
  listen(headers: Readonly<Record<string, string>>): Sending;
  /** A DELETE, over HTTP. */
  drop(headers: Readonly<Record<string, string>>): Sending;
  /** Ends the server's side, as its operator does. */
  shut(): void;
  close(): Promise<void>;
}

export function openWire(
  kind: WireKind,
  server: Server,
  hear: Hear,
  options: EndpointOptions = {},
): Promise<Wire> {
  switch (kind) {
    case "socket":
      return openSocket(server, hear, options);
    case "fetch":
      return Promise.resolve(openFetch(server, hear, options));
    case "stdio":
      return Promise.resolve(openStdio(server, hear, options));
    case "memory":
      return Promise.resolve(openMemory(server, hear, options));
    case "sse":
      return openSse(server, hear, options);
  }
}

type Exchange = (init: RequestInit, query: string) => Promise<Response>;

async function openSocket(server: Server, hear: Hear, options: EndpointOptions): Promise<Wire> {
  const serving = await serve(server, { ...options, port: 0, drainMs: 50 });
  const exchange: Exchange = (init, query) => fetch(`${serving.url}${query}`, init);
  const close = () => serving.close();
  return overHttp("socket", exchange, hear, { shut: () => void close(), close });
}

function openFetch(server: Server, hear: Hear, options: EndpointOptions): Wire {
  const endpoint = createEndpoint(server, options);
  const exchange: Exchange = (init, query) =>
    endpoint.fetch(new Request(`http://localhost/mcp${query}`, init));
  const shut = () => endpoint.close();
  return overHttp("fetch", exchange, hear, { shut, close: async () => shut() });
}

function overHttp(
  kind: WireKind,
  exchange: Exchange,
  hear: Hear,
  ending: Pick<Wire, "shut" | "close">,
): Wire {
  const events: ReadEvent[] = [];
  const open = new Set<Sending>();
  const start = (init: RequestInit, query: string, stream: "post" | "get"): Sending => {
    const gone = new AbortController();
    const response = exchange({ ...init, signal: gone.signal }, query);
    const reading = response
      .then((found) => readResponse(found, stream, hear, events))
      .catch((cause: unknown) => {
        if (!gone.signal.aborted) throw cause;
      });
    // A body that is given up at the wrong moment never settles.
    const over = Promise.race([reading, aborted(gone.signal)]);
    const sending = { response, over, disconnect: () => gone.abort() };
    open.add(sending);
    return sending;
  };
  return {
    kind,
    events,
    send: (message, headers, query = "") =>
      start({ method: "POST", headers, body: JSON.stringify(message) }, query, "post"),
    listen: (headers) => start({ method: "GET", headers }, "", "get"),
    drop: (headers) => start({ method: "DELETE", headers }, "", "get"),
    shut: ending.shut,
    close: async () => {
      for (const each of open) each.disconnect();
      await Promise.allSettled([...open].map(({ over }) => over));
      await ending.close();
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) =>
    signal.addEventListener("abort", () => resolve(), { once: true }),
  );
}

async function readResponse(
  response: Response,
  stream: "post" | "get",
  hear: Hear,
  events: ReadEvent[],
): Promise<void> {
  const { status, headers, body } = response;
  const isStream = headers.get("content-type") === "text/event-stream";
  if (!isStream || body === null) {
    const text = await response.text();
    // What refuses a GET or a DELETE answers no message; its status tells.
    if (text !== "" && stream === "post")
      hear(parse(text), { via: "body", status, headers, event: undefined });
    return;
  }
  for await (const event of readEvents(body)) {
    events.push(event);
    if (event.data !== "") hear(parse(event.data), { via: stream, status, headers, event });
  }
}

const overChannel: Origin = {
  via: "channel",
  status: undefined,
  headers: undefined,
  event: undefined,
};

const sent: Sending = {
  response: Promise.resolve(undefined),
  over: Promise.resolve(),
  disconnect: () => {
    throw new Error("a channel has no connection for each message");
  },
};

function channel(
  kind: WireKind,
  write: (message: unknown) => void,
  end: () => Promise<void>,
): Wire {
  return {
    kind,
    events: [],
    send: (message) => {
      write(message);
      return sent;
    },
    listen: () => sent,
    drop: () => sent,
    shut: () => void end(),
    close: end,
  };
}

function openStdio(server: Server, hear: Hear, options: EndpointOptions): Wire {
  const input = new PassThrough();
  const output = new PassThrough();
  const served = serveStdio(server, { ...options, input, output, drainMs: 100 });
  let rest = "";
  output.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) hear(parse(line), overChannel);
  });
  const end = () => {
    input.end();
    return served;
  };
  return channel("stdio", (message) => input.write(`${JSON.stringify(message)}\n`), end);
}

function openMemory(server: Server, hear: Hear, options: EndpointOptions): Wire {
  const opened = openMemoryChannel(
    server,
    (message) => hear(parse(JSON.stringify(message)), overChannel),
    options,
  );
  return channel(
    "memory",
    (message) => opened.send(message),
    () => opened.close(),
  );
}

async function openSse(server: Server, hear: Hear, options: EndpointOptions): Promise<Wire> {
  const serving = await serve(server, { ...options, port: 0, drainMs: 50, legacySse: true });
  const gone = new AbortController();
  const url = new URL("/sse", serving.url);
  const accept = { accept: "text/event-stream" };
  const stream = await fetch(url, { headers: accept, signal: gone.signal });
  if (stream.body === null) throw new Error("there is no stream");
  const events = readEvents(stream.body);
  const first = await events.next();
  if (first.done || first.value.event !== "endpoint") throw new Error("there is no endpoint event");
  const target = new URL(first.value.data, url);
  const seen: ReadEvent[] = [first.value];
  const read = async (): Promise<void> => {
    for await (const event of events) {
      seen.push(event);
      hear(parse(event.data), overChannel);
    }
  };
  const reading = read().catch(() => undefined);
  const posts: Promise<unknown>[] = [];
  const write = (message: unknown): void => {
    const headers = { "content-type": "application/json" };
    posts.push(fetch(target, { method: "POST", headers, body: JSON.stringify(message) }));
  };
  const end = async (): Promise<void> => {
    await Promise.all(posts);
    gone.abort();
    await reading;
    await serving.close();
  };
  return { ...channel("sse", write, end), events: seen };
}

function parse(text: string): JsonObject {
  const value: unknown = JSON.parse(text);
  if (isObject(value)) return value;
  throw new Error(`is no message: ${text}`);
}
