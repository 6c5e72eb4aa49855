/** An HTTP server that says whatever a test wants, also what no server should. */
import {
  createServer,
  type Server as HttpServer,
  type IncomingHttpHeaders,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";

export interface FakeRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Of the JSON-RPC message that was posted. */
  readonly id: unknown;
  readonly rpcMethod: string | undefined;
  /** When it came. */
  readonly at: number;
  /** Whether the caller has gone away before the answer was complete. */
  isGone(): boolean;
}

export type Respond = (request: FakeRequest, response: ServerResponse) => unknown;

export class FakeHttp implements AsyncDisposable {
  readonly requests: FakeRequest[] = [];
  readonly #http: HttpServer;
  readonly #sockets: Set<Socket> = new Set();
  /** How many connections there were. */
  connections = 0;
  readonly url: string;

  private constructor(http: HttpServer) {
    this.#http = http;
    const { port } = http.address() as AddressInfo;
    this.url = `http://127.0.0.1:${port}/mcp`;
  }

  static async open(respond: Respond): Promise<FakeHttp> {
    const http = createServer({ keepAliveTimeout: 60_000 });
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    const fake = new FakeHttp(http);
    http.on("connection", (socket) => {
      fake.connections++;
      fake.#sockets.add(socket);
      socket.on("error", () => undefined);
      socket.once("close", () => fake.#sockets.delete(socket));
    });
    http.on("request", (incoming, response) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("error", () => undefined);
      response.on("error", () => undefined);
      incoming.once("end", () => {
        const body = Buffer.concat(chunks).toString();
        const message: Record<string, unknown> = body.startsWith("{") ? JSON.parse(body) : {};
        const request: FakeRequest = {
          method: incoming.method ?? "",
          path: incoming.url ?? "",
          headers: incoming.headers,
          body,
          id: message["id"],
          rpcMethod: message["method"] as string | undefined,
          at: performance.now(),
          isGone: () => response.destroyed && !response.writableFinished,
        };
        fake.requests.push(request);
        void Promise.resolve(respond(request, response)).catch(() => response.destroy());
      });
    });
    return fake;
  }

  /** Connections that are open now. */
  get openSockets(): number {
    return this.#sockets.size;
  }

  /** Those of one kind, such as `GET`, in order. */
  having(method: string): FakeRequest[] {
    return this.requests.filter((request) => request.method === method);
  }

  /** Breaks every connection, as a server that dies. */
  breakOff(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#http.close(() => resolve()));
    this.breakOff();
    await closed;
  }
}

export function result(id: unknown, value: unknown = { done: true }): string {
  return JSON.stringify({ jsonrpc: "2.0", id, result: value });
}

export function refusal(id: unknown, code: number, message = "refused"): string {
  return JSON.stringify({
    jsonrpc: "2.0",
    ...(id !== undefined && { id }),
    error: { code, message },
  });
}

export function note(method: string, params: unknown = {}): string {
  return JSON.stringify({ jsonrpc: "2.0", method, params });
}

export function sendJson(
  response: ServerResponse,
  body: string,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(body);
}

export function openStream(
  response: ServerResponse,
  headers: Record<string, string> = {},
): ServerResponse {
  response.writeHead(200, { "content-type": "text/event-stream", ...headers });
  response.flushHeaders();
  return response;
}

/** An event with one data line. */
export function event(data: string, id?: string): string {
  return `${id === undefined ? "" : `id: ${id}\n`}data: ${data}\n\n`;
}

/** A stream that is written at once and ended. */
export function sendStream(
  response: ServerResponse,
  text: string | Uint8Array,
  headers: Record<string, string> = {},
): void {
  openStream(response, headers).end(text);
}
