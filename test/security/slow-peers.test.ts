/** Peers that send a byte now and then, or never read: everybody else is served as if they were not there. */
import { setImmediate as turn } from "node:timers/promises";
import { createServer, type Server, serve } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { headersFor, request } from "../support/messages.ts";
import { RawSocket, rawRequest } from "../support/raw-socket.ts";
import { until } from "../support/signals.ts";
import { assertReply, type Revision, revisions } from "../support/wire.ts";

const dripping = 500;
const stalled = 200;
/** Far more than is kept for a reader; `STALLED_MIB=50` takes a minute more, and shows no other. */
const producedMiB = Number(process.env["STALLED_MIB"] ?? 10);
const mebibyte = 1_048_576;

function bytesOf(revision: Revision, method: string, params: object, id = 1): string {
  const message = request(revision, id, method, { ...params });
  const headers = { ...headersFor(revision, message), "mcp-protocol-version": revision };
  const lines = Object.entries({ host: "localhost", ...headers });
  return rawRequest("POST", "/mcp", lines, JSON.stringify(message));
}

/** How long an honest caller waits for each of so many calls, in milliseconds, sorted. */
async function waits(port: number, count: number): Promise<number[]> {
  using socket = await RawSocket.open(port);
  const all: number[] = [];
  for (let call = 0; call < count; call++) {
    const revision = revisions[call % revisions.length] ?? "2026-07-28";
    const params = { name: "act", arguments: {} };
    const start = performance.now();
    socket.write(bytesOf(revision, "tools/call", params, call));
    const answer = await socket.answer();
    all.push(performance.now() - start);
    expect(answer?.status).toBe(200);
    assertReply(
      revision,
      { method: "tools/call", id: call, params },
      JSON.parse(answer?.text ?? ""),
    );
  }
  return all.sort((a, b) => a - b);
}

const p99 = (sorted: readonly number[]): number => sorted[Math.floor(sorted.length * 0.99)] ?? 0;

it(`${dripping} connections that drip do not hold up an honest caller`, async () => {
  const server = createServer({ name: "slow", version: "1", log: () => undefined });
  let acts = 0;
  server.tool("act", {}, () => `${++acts}`);
  await using serving = await serve(server, { port: 0, drainMs: 50 });
  const whole = bytesOf("2026-07-28", "tools/call", { name: "act", arguments: {} });
  const headEnd = whole.indexOf("\r\n\r\n");
  const sockets = await Promise.all(
    Array.from({ length: dripping }, () => RawSocket.open(serving.port)),
  );
  // Half of them in the middle of their headers, half in the middle of their body.
  const at = sockets.map((socket, index) => {
    const start = index % 2 === 0 ? 20 : headEnd + 6;
    socket.write(whole.slice(0, start));
    return start;
  });
  const drip = setInterval(() => {
    for (const [index, socket] of sockets.entries()) {
      const next = at[index] ?? 0;
      // The last byte is kept back for ever.
      if (next < whole.length - 1 && !socket.isClosed) socket.write(whole[next] ?? "");
      at[index] = next + 1;
    }
  }, 50);
  try {
    // What else the machine does can hold up one try, and not each of three.
    let least = Number.POSITIVE_INFINITY;
    for (let tries = 0; tries < 3 && least > 200; tries++) {
      least = Math.min(least, p99(await waits(serving.port, 300)));
    }
    expect(least).toBeLessThan(200);
    expect(acts % 300).toBe(0);
  } finally {
    clearInterval(drip);
    for (const socket of sockets) socket[Symbol.dispose]();
  }
});

interface Flood {
  produced: number;
  finished: number;
}

function declareFlood(flood: Flood): Server {
  const server = createServer({ name: "flood", version: "1", log: () => undefined });
  const chunk = "x".repeat(mebibyte / 4);
  server.tool("act", {}, () => "done");
  server.tool("flood", {}, async (_, ex) => {
    for (let told = 0; told < producedMiB * 4; told++) {
      // Its reader may be gone: a tool that does not look goes on telling.
      ex.log("warning", chunk);
      flood.produced += chunk.length;
      await turn();
    }
    flood.finished++;
    return "told it all";
  });
  return server;
}

describe.each(["2026-07-28", "2025-11-25"] as const)("in %s", (revision) => {
  const level = { _meta: { "io.modelcontextprotocol/logLevel": "debug" } };
  const flooding = { name: "flood", arguments: {}, ...(revision === "2026-07-28" && level) };

  it(`${stalled} readers that stall take no more memory than is kept for each`, async () => {
    const flood: Flood = { produced: 0, finished: 0 };
    await using serving = await serve(declareFlood(flood), { port: 0, drainMs: 50 });
    await waits(serving.port, 50);
    const before = process.memoryUsage().rss;
    let peak = before;
    const watching = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss);
    }, 20);
    const sockets = await Promise.all(
      Array.from({ length: stalled }, () => RawSocket.open(serving.port)),
    );
    try {
      for (const socket of sockets) {
        socket.pause();
        socket.write(bytesOf(revision, "tools/call", flooding));
      }
      await until("all is told", () => flood.finished === stalled, 60_000);
      expect(flood.produced).toBe(stalled * producedMiB * mebibyte);
      expect((peak - before) / mebibyte).toBeLessThan(200);
      expect(p99(await waits(serving.port, 50))).toBeLessThan(1_000);
    } finally {
      clearInterval(watching);
      for (const socket of sockets) socket[Symbol.dispose]();
    }
  }, 90_000);
});
