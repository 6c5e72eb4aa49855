/** The ways by which a client reaches a server of this program. */
import { PassThrough } from "node:stream";
import {
  type Duplex,
  type DuplexReader,
  duplexTarget,
  memoryDuplex,
  type Target,
} from "anyrev/client";
import { openMemoryChannel, type ServeOptions, type Server, serve, serveStdio } from "anyrev/node";
import { httpTarget } from "../../src/client/connect.ts";
import { LegacySseTransport } from "../../src/client/legacy-sse.ts";
import { createSender, type SenderKind } from "./http-client.ts";
import { type Revision, revisions } from "./wire.ts";

/**
 * `node` and `fetch`: Streamable HTTP over a socket, by what the client sends it with. `sse`: the
 * HTTP+SSE transport of 2024-11-05, which the later revisions of the handshake are spoken over too.
 */
const ways = ["memory", "stdio", "node", "fetch", "sse"] as const;

export type WayName = (typeof ways)[number];

export interface Way extends AsyncDisposable {
  readonly target: Target;
}

export interface WayRow {
  readonly way: WayName;
  readonly revision: Revision;
}

/** For `it.each`, with `$revision` and `$way` in the name. */
export function wayRows(of: readonly Revision[] = revisions): WayRow[] {
  const rows = of.flatMap((revision) => ways.map((way) => ({ revision, way })));
  return rows.filter(({ revision, way }) => way !== "sse" || revision !== "2026-07-28");
}

export function openWay(way: WayName, server: Server, options?: ServeOptions): Promise<Way> {
  switch (way) {
    case "memory":
      return Promise.resolve(
        toWay(() => memoryDuplex((receive) => openMemoryChannel(server, receive))),
      );
    case "stdio":
      return Promise.resolve(toWay(() => pipeDuplex(server, options)));
    case "node":
    case "fetch":
      return overSocket(server, way, options);
    case "sse":
      return overLegacySse(server, options);
  }
}

async function overSocket(server: Server, kind: SenderKind, options?: ServeOptions): Promise<Way> {
  const serving = await serve(server, { port: 0, drainMs: 100, ...options });
  return {
    target: overSender(kind, serving.url),
    [Symbol.asyncDispose]: () => serving.close(),
  };
}

async function overLegacySse(server: Server, options?: ServeOptions): Promise<Way> {
  const serving = await serve(server, { port: 0, drainMs: 100, legacySse: true, ...options });
  const open = () => {
    return new LegacySseTransport(new URL("/sse", serving.url), createSender("node"));
  };
  return { target: { key: undefined, open }, [Symbol.asyncDispose]: () => serving.close() };
}

/** A port is given to one server after another, so nothing is remembered by it. */
export function overSender(kind: SenderKind, url: string): Target {
  return { ...httpTarget(url, () => createSender(kind), {}), key: undefined };
}

function toWay(open: () => Duplex): Way {
  return { target: duplexTarget(open), [Symbol.asyncDispose]: () => Promise.resolve() };
}

/** A server over standard input and output, in this process: lines in pieces, as pipes cut them. */
export function pipeDuplex(server: Server, { telemetry }: ServeOptions = {}): Duplex {
  const input = new PassThrough();
  const output = new PassThrough();
  let reader: DuplexReader | undefined;
  let served: Promise<void> = Promise.resolve();
  return {
    network: { transport: "pipe" },
    open: async (given) => {
      reader = given;
      output.on("data", (chunk: Buffer) => {
        for (let at = 0; at < chunk.length; at += 100) reader?.bytes(chunk.subarray(at, at + 100));
      });
      served = serveStdio(server, { input, output, drainMs: 50, telemetry });
    },
    send: (message) => void input.write(`${JSON.stringify(message)}\n`),
    close: async () => {
      reader = undefined;
      input.end();
      await served;
    },
  };
}
