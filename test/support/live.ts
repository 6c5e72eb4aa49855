/** Replies read while they come, over either bridge, by callers that can also go away. */
import { request as httpRequest } from "node:http";
import {
  createEndpoint,
  type Endpoint,
  type EndpointOptions,
  type Server,
  type Serving,
  serve,
} from "anyrev/node";
import type { BridgeKind } from "./bridge.ts";

export interface Outgoing {
  /** @default "POST" */
  readonly method?: string;
  /** @default "/mcp" */
  readonly path?: string;
  /** Without its `?`. */
  readonly query?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A reply whose headers are there. */
export interface Live {
  readonly status: number;
  readonly headers: Headers;
  /** Ends when the reply does; throws when it breaks off. */
  readonly chunks: AsyncIterator<string>;
}

/** One exchange that began. */
export interface Begun {
  readonly live: Promise<Live>;
  /** Goes away, whether the reply has come or not. */
  drop(): void;
}

/** One worker: an endpoint behind a bridge. */
export interface Worker extends AsyncDisposable {
  readonly kind: BridgeKind;
  begin(outgoing: Outgoing): Begun;
}

export async function openWorker(
  kind: BridgeKind,
  server: Server,
  options: EndpointOptions = {},
): Promise<Worker> {
  if (kind === "fetch") return overFetch(createEndpoint(server, options));
  return overSocket(await serve(server, { ...options, port: 0, path: "/mcp", drainMs: 100 }));
}

/** Whatever is served as the Fetch standard says. */
export function overFetch(
  served: Pick<Endpoint, "fetch" | "close">,
  origin: string = "http://localhost",
): Worker {
  return {
    kind: "fetch",
    begin: ({ method = "POST", path = "/mcp", query, headers, body }) => {
      const gone = new AbortController();
      const url = `${origin}${path}${query ? `?${query}` : ""}`;
      const { signal } = gone;
      const init = { method, headers: { ...headers }, signal, ...(body !== undefined && { body }) };
      const live = served.fetch(new Request(url, init)).then((response) => ({
        status: response.status,
        headers: response.headers,
        chunks: decode(response.body ?? []),
      }));
      live.catch(() => undefined);
      return { live, drop: () => gone.abort() };
    },
    [Symbol.asyncDispose]: () => {
      served.close();
      return Promise.resolve();
    },
  };
}

/** Whatever listens on a port. */
export function overSocket({ port, close }: Pick<Serving, "port" | "close">): Worker {
  return {
    kind: "node",
    begin: ({ method = "POST", path = "/mcp", query, headers, body }) => {
      const length: Record<string, string> =
        body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
      const outgoing = httpRequest({
        host: "127.0.0.1",
        port,
        path: `${path}${query ? `?${query}` : ""}`,
        method,
        agent: false,
        headers: { ...length, ...headers },
      });
      const live = new Promise<Live>((resolve, reject) => {
        outgoing.on("error", reject);
        outgoing.once("response", (incoming) =>
          resolve({
            status: incoming.statusCode ?? 0,
            headers: new Headers(
              Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
            ),
            chunks: decode(incoming),
          }),
        );
      });
      live.catch(() => undefined);
      outgoing.end(body);
      return { live, drop: () => outgoing.destroy() };
    },
    [Symbol.asyncDispose]: () => close(),
  };
}

async function* decode(
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  for await (const chunk of bytes) yield decoder.decode(chunk, { stream: true });
}

/** An event of a stream, or a comment in it. */
export interface StreamEvent {
  readonly comment?: string;
  readonly event?: string;
  readonly id?: string;
  readonly retry?: string;
  readonly data?: string;
}

/** What a stream holds, in order. Only what the HTML grammar has is let pass. */
export async function* readEvents(chunks: AsyncIterator<string>): AsyncGenerator<StreamEvent> {
  let rest = "";
  for (;;) {
    const { done, value } = await chunks.next();
    if (done) break;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) yield readBlock(block);
  }
  if (rest !== "") throw new Error(`the stream ends within an event: ${JSON.stringify(rest)}`);
}

function readBlock(block: string): StreamEvent {
  const fields = new Map<string, string>();
  for (const line of block.split("\n")) {
    if (line.startsWith(":")) return { comment: line.slice(1) };
    const [, name, value] = /^(event|id|retry|data): (.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) {
      throw new Error(`no line of an event stream: ${JSON.stringify(line)}`);
    }
    const before = fields.get(name);
    fields.set(name, before === undefined ? value : `${before}\n${value}`);
  }
  return Object.fromEntries(fields);
}
