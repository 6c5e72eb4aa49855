/** Bodies that are too large, or not what they say: refused before any handler, whatever their form. */
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { createServer, type Server, serve } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { openBridge } from "../support/bridges.ts";
import { rows } from "../support/matrix.ts";
import { headersFor, request } from "../support/messages.ts";
import { RawSocket } from "../support/raw-socket.ts";
import type { Revision } from "../support/wire.ts";

const cap = 4_194_304;

function declare(): { readonly server: Server; readonly calls: () => number } {
  let count = 0;
  const server = createServer({ name: "limits", version: "1", log: () => undefined });
  server.tool("act", {}, () => `${++count}`);
  return { server, calls: () => count };
}

function call(revision: Revision, bytes: number): string {
  const params = (text: string) => ({ name: "act", arguments: { text } });
  const bare = JSON.stringify(request(revision, 1, "tools/call", params("")));
  return JSON.stringify(
    request(revision, 1, "tools/call", params("x".repeat(Math.max(0, bytes - bare.length)))),
  );
}

function headersOf(revision: Revision, body: string): Record<string, string> {
  const headers = headersFor(revision, JSON.parse(body));
  return { ...headers, "mcp-protocol-version": revision };
}

const compressed = (bytes: Buffer): (readonly [encoding: string, bytes: Uint8Array])[] => [
  ["gzip", gzipSync(bytes)],
  ["deflate", deflateSync(bytes)],
  ["br", brotliCompressSync(bytes.subarray(0, 1_000_000))],
  ["GZIP", gzipSync(bytes)],
  ["gzip, identity", gzipSync(bytes)],
];

/** Some kilobytes that stand for megabytes. */
const bombs = compressed(Buffer.alloc(2 * cap, 0x20));

async function* pieces(body: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < body.length; at += size) yield body.subarray(at, at + size);
}

describe.each(rows())("in $revision over $bridge", ({ revision, bridge: name }) => {
  it("a body over the limit is 413, with a length, in chunks and in drips", async () => {
    const { server, calls } = declare();
    await using bridge = await openBridge(name, server);
    const body = call(revision, cap + 1);
    const headers = headersOf(revision, body);
    const bytes = Buffer.from(body);
    for (const sent of [body, pieces(bytes, 65_536), pieces(bytes, 1_048_576)]) {
      expect((await bridge.send({ headers, body: sent })).status).toBe(413);
    }
    expect(calls()).toBe(0);
    const fits = call(revision, cap);
    expect((await bridge.send({ headers, body: fits })).status).toBe(200);
    expect(calls()).toBe(1);
  });

  it("a compressed body is 415, however small it is and whatever it holds", async () => {
    const { server, calls } = declare();
    await using bridge = await openBridge(name, server);
    const body = call(revision, 0);
    for (const [encoding, bytes] of [
      ...compressed(Buffer.from(body)),
      ...bombs,
      ["", body],
    ] as const) {
      const headers = { ...headersOf(revision, body), "content-encoding": encoding };
      const answer = await bridge.send({ headers, body: bytes });
      expect(answer.status, encoding).toBe(415);
    }
    expect(calls()).toBe(0);
    const headers = { ...headersOf(revision, body), "content-encoding": "identity" };
    expect((await bridge.send({ headers, body })).status).toBe(200);
  });

  it.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", undefined])(
    "a body of the type %s, as a page may send it unasked, is 415",
    async (type) => {
      const { server, calls } = declare();
      await using bridge = await openBridge(name, server);
      const body = Buffer.from(call(revision, 0));
      const { "content-type": _, ...headers } = headersOf(revision, body.toString());
      const typed = type === undefined ? headers : { ...headers, "content-type": type };
      expect((await bridge.send({ headers: typed, body })).status).toBe(415);
      expect(calls()).toBe(0);
    },
  );
});

/** Each of these lies about its length, or says it twice. */
const lies: readonly (readonly [what: string, lines: readonly string[], body: string])[] = [
  ["a length and chunks", ["Content-Length: 4", "Transfer-Encoding: chunked"], "0\r\n\r\n"],
  ["two lengths", ["Content-Length: 4", "Content-Length: 400"], "{}  "],
  ["a list of lengths", ["Content-Length: 4, 400"], "{}  "],
  ["a negative length", ["Content-Length: -4"], "{}  "],
  ["a length in hexadecimal", ["Content-Length: 0x4"], "{}  "],
  ["a length with a sign", ["Content-Length: +4"], "{}  "],
  ["chunks of a negative size", ["Transfer-Encoding: chunked"], "-1\r\n{}\r\n0\r\n\r\n"],
  ["chunks of no size", ["Transfer-Encoding: chunked"], "zz\r\n{}\r\n0\r\n\r\n"],
  ["chunks within chunks", ["Transfer-Encoding: chunked, chunked"], "0\r\n\r\n"],
  ["another transfer encoding", ["Transfer-Encoding: gzip"], "0\r\n\r\n"],
];

it.each(lies)(
  "%s is refused, and nothing behind it is taken for a request",
  async (_, lines, body) => {
    const { server, calls } = declare();
    await using serving = await serve(server, { port: 0, drainMs: 50 });
    using socket = await RawSocket.open(serving.port);
    const message = call("2026-07-28", 0);
    const head = (more: readonly string[]) => {
      const all = Object.entries({ host: "localhost", ...headersOf("2026-07-28", message) });
      const own = all.map(([name, value]) => `${name}: ${value}`);
      return `POST /mcp HTTP/1.1\r\n${[...own, ...more].join("\r\n")}\r\n\r\n`;
    };
    socket.write(head(lines) + body + head([`Content-Length: ${message.length}`]) + message);
    const statuses: number[] = [];
    for (let answer = await socket.answer(); answer; answer = await socket.answer()) {
      statuses.push(answer.status);
    }
    expect(
      statuses.every((status) => status >= 400 && status < 500),
      `${statuses}`,
    ).toBe(true);
    expect(calls()).toBe(0);
  },
);

it("a length that promises more than comes holds nobody else up, and calls nothing", async () => {
  const { server, calls } = declare();
  await using serving = await serve(server, { port: 0, drainMs: 50 });
  const message = call("2026-07-28", 0);
  const all = Object.entries({ host: "localhost", ...headersOf("2026-07-28", message) });
  const lines = all.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  using liar = await RawSocket.open(serving.port);
  liar.write(
    `POST /mcp HTTP/1.1\r\n${lines}Content-Length: ${message.length + 1}\r\n\r\n${message}`,
  );
  using honest = await RawSocket.open(serving.port);
  honest.write(`POST /mcp HTTP/1.1\r\n${lines}Content-Length: ${message.length}\r\n\r\n${message}`);
  expect((await honest.answer())?.status).toBe(200);
  expect(calls()).toBe(1);
});
