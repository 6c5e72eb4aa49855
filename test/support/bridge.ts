/** An endpoint behind one of its two bridges, and a driver that sends what it is told, unchanged. */
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import {
  createEndpoint,
  type EndpointOptions,
  type Selection,
  type Server,
  serve,
} from "anyrev/node";

export const bridgeKinds = ["fetch", "node"] as const;
export type BridgeKind = (typeof bridgeKinds)[number];

export interface Sent {
  /** @default "POST" */
  readonly method?: string | undefined;
  readonly query?: string | undefined;
  /** Names and values go out as they stand; a list becomes one header line each. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>> | undefined;
  /** Bytes or text as they stand; anything else as JSON. */
  readonly body?: unknown;
}

export interface Got {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; undefined when there is none. */
  readonly json: unknown;
  /** What the endpoint reported while it answered. */
  readonly selections: readonly Selection[];
}

export interface Bridge extends AsyncDisposable {
  readonly kind: BridgeKind;
  /** One exchange; the selections of concurrent ones are not told apart. */
  send(sent: Sent): Promise<Got>;
}

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export async function openBridge(
  kind: BridgeKind,
  server: Server,
  options: EndpointOptions = {},
): Promise<Bridge> {
  let selections: Selection[] = [];
  const all: EndpointOptions = {
    ...options,
    onSelection: (selection) => selections.push(selection),
  };
  const { exchange, close } =
    kind === "fetch" ? openFetch(server, all) : await openNode(server, all);
  return {
    kind,
    send: async (sent) => {
      selections = [];
      const reply = await exchange(sent);
      const json: unknown = reply.text === "" ? undefined : JSON.parse(reply.text);
      return { ...reply, json, selections };
    },
    [Symbol.asyncDispose]: close,
  };
}

interface Opened {
  readonly exchange: (sent: Sent) => Promise<Reply>;
  readonly close: () => Promise<void>;
}

function openFetch(server: Server, options: EndpointOptions): Opened {
  const endpoint = createEndpoint(server, options);
  return {
    exchange: async (sent) => {
      const headers = new Headers();
      for (const [name, value] of Object.entries(headersOf(sent))) {
        for (const line of [value].flat()) headers.append(name, line);
      }
      const url = `http://localhost/mcp${sent.query ? `?${sent.query}` : ""}`;
      const body = bytesOf(sent.body);
      const response = await endpoint.fetch(
        new Request(url, { method: sent.method ?? "POST", headers, ...(body && { body }) }),
      );
      return {
        status: response.status,
        headers: response.headers,
        text: await response.text(),
      };
    },
    close: () => Promise.resolve(),
  };
}

async function openNode(server: Server, options: EndpointOptions): Promise<Opened> {
  const serving = await serve(server, { ...options, port: 0 });
  return {
    exchange: (sent) => exchangeOverSocket(serving.port, sent),
    close: () => serving.close(),
  };
}

function exchangeOverSocket(port: number, sent: Sent): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      {
        host: "127.0.0.1",
        port,
        path: `/mcp${sent.query ? `?${sent.query}` : ""}`,
        method: sent.method ?? "POST",
        agent: false,
      },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
        incoming.once("error", reject);
        incoming.once("end", () =>
          resolve({
            status: incoming.statusCode ?? 0,
            headers: toHeaders(incoming.headers),
            text: Buffer.concat(chunks).toString("utf8"),
          }),
        );
      },
    );
    outgoing.once("error", reject);
    for (const [name, value] of Object.entries(headersOf(sent))) outgoing.setHeader(name, value);
    outgoing.end(bytesOf(sent.body));
  });
}

/** What every client sends, unless the exchange says otherwise. */
function headersOf(sent: Sent): Record<string, string | readonly string[]> {
  const usual =
    sent.body === undefined
      ? {}
      : { "content-type": "application/json", accept: "application/json, text/event-stream" };
  return { ...usual, ...sent.headers };
}

function bytesOf(body: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (body === undefined) return undefined;
  if (body instanceof Uint8Array) return new Uint8Array(body);
  return new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body));
}

function toHeaders(incoming: IncomingHttpHeaders): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming)) {
    for (const line of [value ?? []].flat()) headers.append(name, line);
  }
  return headers;
}
