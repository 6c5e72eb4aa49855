/** A client of the HTTP+SSE transport, written by hand: it reads one stream and posts beside it. */
import { PassThrough, Writable } from "node:stream";
import {
  createLegacySse,
  type LegacySseOptions,
  type ServeOptions,
  type Server,
  serve,
} from "anyrev/node";
import type { BridgeKind } from "./bridge.ts";
import { overFetch, overSocket, readEvents, type Worker } from "./live.ts";
import { PipeEnd } from "./pipe.ts";

/** The transport behind a bridge: by itself over fetch, beside the endpoint over a socket. */
export async function openSseWorker(
  kind: BridgeKind,
  server: Server,
  options: LegacySseOptions & ServeOptions = {},
): Promise<Worker> {
  if (kind === "fetch") return overFetch(createLegacySse(server, options));
  return overSocket(
    await serve(server, { drainMs: 200, ...options, path: "/mcp", port: 0, legacySse: true }),
  );
}

export interface SsePeer {
  readonly end: PipeEnd;
  readonly headers: Headers;
  /** What the `endpoint` event said, as it came. */
  readonly endpoint: string;
  /** Where a client posts: what was said, seen from where the stream is. */
  readonly posts: URL;
  /** What each POST got: a status, and a body. */
  readonly posted: readonly string[];
  /** Resolves when the stream has ended, or has broken off. */
  readonly ended: Promise<void>;
  /** Goes away. */
  drop(): void;
}

export async function openSse(worker: Worker, path = "/sse"): Promise<SsePeer> {
  const begun = worker.begin({ method: "GET", path, headers: { accept: "text/event-stream" } });
  const { status, headers, chunks } = await begun.live;
  if (status !== 200) throw new Error(`the stream got ${status}`);
  const events = readEvents(chunks);
  const { value: first } = await events.next();
  if (first?.event !== "endpoint" || first.data === undefined) {
    throw new Error(`the stream begins with ${JSON.stringify(first)}`);
  }
  const posts = new URL(first.data, `http://localhost${path}`);
  const posted: string[] = [];
  const output = new PassThrough();
  const ended = (async () => {
    try {
      for await (const { event, data } of events) {
        if (event === "message") output.write(`${data}\n`);
      }
    } catch {
      // Broken off; a test that minds waits for messages in vain.
    }
  })();
  const input = new Writable({
    decodeStrings: false,
    write: (line: string, _encoding, done) => {
      void post(worker, posts, line).then((got) => {
        posted.push(got);
        done();
      }, done);
    },
  });
  return {
    end: new PipeEnd(input, output),
    headers,
    endpoint: first.data,
    posts,
    posted,
    ended,
    drop: () => begun.drop(),
  };
}

/** @returns the status, and the body where there is one. */
export async function post(
  worker: Worker,
  { pathname, search }: URL,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { live } = worker.begin({
    path: pathname,
    query: search.slice(1),
    headers: { "content-type": "application/json", ...headers },
    body,
  });
  const { status, chunks } = await live;
  let text = "";
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) text += next.value;
  return text === "" ? String(status) : `${status} ${text}`;
}
