/**
 * One way to send HTTP to an endpoint over either bridge, with headers as awkward as a test
 * needs. No answer may be a 5xx: each is refused here, for every test at once.
 */
import { Agent, type IncomingMessage, request as openRequest } from "node:http";
import { connect } from "node:net";
import { createEndpoint, type EndpointOptions, type Server, serve } from "anyrev/node";

export type BridgeName = "fetch" | "node";

export const bridges: readonly BridgeName[] = ["fetch", "node"];

export interface HttpMessage {
  /** @default "POST" */
  readonly method?: string | undefined;
  /** @default "/mcp" */
  readonly target?: string | undefined;
  /** A list is that header repeated, one line for each value. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>> | undefined;
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array> | undefined;
  /** Aborting it is what a caller does that hangs up. */
  readonly signal?: AbortSignal | undefined;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface Bridge extends AsyncDisposable {
  readonly name: BridgeName;
  /** The port of the node bridge; 0 where there is no socket. */
  readonly port: number;
  send(message: HttpMessage): Promise<HttpAnswer>;
}

/** Serves `server` at `/mcp`, over a real socket or without one. */
export function openBridge(
  name: BridgeName,
  server: Server,
  options: EndpointOptions = {},
): Promise<Bridge> {
  return name === "fetch" ? Promise.resolve(overFetch(server, options)) : overNode(server, options);
}

function overFetch(server: Server, options: EndpointOptions): Bridge {
  const { fetch } = createEndpoint(server, { path: "/mcp", ...options });
  return {
    name: "fetch",
    port: 0,
    send: async (message) => read(await fetch(toRequest(message))),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** A web request for `message`, as a runtime would hand it over. */
export function toRequest(message: HttpMessage): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(message.headers ?? {})) {
    for (const line of linesOf(value)) headers.append(name, line);
  }
  const { body } = message;
  const isStream = typeof body === "object" && Symbol.asyncIterator in body;
  return new Request(`http://localhost${message.target ?? "/mcp"}`, {
    method: message.method ?? "POST",
    headers,
    ...(body !== undefined && { body: isStream ? ReadableStream.from(body) : body }),
    ...(isStream && { duplex: "half" }),
    ...(message.signal && { signal: message.signal }),
  });
}

async function read(response: Response): Promise<HttpAnswer> {
  const { status, headers } = response;
  return judged({ status, headers, text: await response.text() });
}

async function overNode(server: Server, options: EndpointOptions): Promise<Bridge> {
  const serving = await serve(server, { drainMs: 100, ...options, port: 0 });
  const agent = new Agent({ keepAlive: true });
  return {
    name: "node",
    port: serving.port,
    send: (message) => sendTo(serving.port, message, agent),
    [Symbol.asyncDispose]: async () => {
      agent.destroy();
      await serving.close();
    },
  };
}

/** Sends one request to a port of this machine. */
export function sendTo(port: number, message: HttpMessage, agent?: Agent): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const { body } = message;
    const isStream = typeof body === "object" && Symbol.asyncIterator in body;
    const headers: Record<string, string | string[]> = {};
    for (const [name, value] of Object.entries(message.headers ?? {})) {
      if (value !== undefined) headers[name] = typeof value === "string" ? value : [...value];
    }
    if (body !== undefined && !isStream && !("content-length" in headers)) {
      headers["content-length"] = String(Buffer.byteLength(body));
    }
    const outgoing = openRequest({
      host: "127.0.0.1",
      port,
      method: message.method ?? "POST",
      path: message.target ?? "/mcp",
      headers,
      ...(agent && { agent }),
      ...(message.signal && { signal: message.signal }),
    });
    // Once an answer has begun, a socket that breaks while the rest is sent is no failure.
    outgoing.once("response", (incoming) => {
      outgoing.on("error", () => undefined);
      collect(incoming).then(resolve, reject);
    });
    outgoing.once("error", reject);
    if (isStream) void pour(body, outgoing);
    else outgoing.end(body);
  });
}

/** Writes until the stream ends or the other side has had enough. */
async function pour(
  body: AsyncIterable<Uint8Array>,
  outgoing: ReturnType<typeof openRequest>,
): Promise<void> {
  let over = false;
  outgoing.once("response", () => {
    over = true;
  });
  outgoing.once("close", () => {
    over = true;
  });
  for await (const chunk of body) {
    if (over) return;
    outgoing.write(chunk);
    // Lets the answer in; waiting for a drain would wait for ever once nobody reads.
    await new Promise((resolve) => setImmediate(resolve));
  }
  outgoing.end();
}

async function collect(incoming: IncomingMessage): Promise<HttpAnswer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const headers = new Headers();
  for (let at = 0; at < incoming.rawHeaders.length; at += 2) {
    headers.append(incoming.rawHeaders[at] ?? "", incoming.rawHeaders[at + 1] ?? "");
  }
  return judged({
    status: incoming.statusCode ?? 0,
    headers,
    text: Buffer.concat(chunks).toString("utf8"),
  });
}

/**
 * Writes `bytes` to a port and reads until the other side closes. For requests that no HTTP
 * client would send; ask for `Connection: close` in them.
 */
export function sendBytes(port: number, bytes: string | Uint8Array): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.once("error", reject);
    socket.once("close", () => {
      const text = Buffer.concat(chunks).toString("latin1");
      const end = text.indexOf("\r\n\r\n");
      const [first = "", ...lines] = text.slice(0, end).split("\r\n");
      const headers = new Headers();
      for (const line of lines) {
        const colon = line.indexOf(":");
        headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
      }
      const body = Buffer.from(text.slice(end + 4), "latin1").toString("utf8");
      try {
        resolve(judged({ status: Number(first.split(" ")[1]), headers, text: body }));
      } catch (cause) {
        reject(cause);
      }
    });
  });
}

function linesOf(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return typeof value === "string" ? [value] : value;
}

function judged(answer: HttpAnswer): HttpAnswer {
  if (answer.status < 500) return answer;
  throw new Error(`no request may draw a ${answer.status}: ${answer.text}`);
}
