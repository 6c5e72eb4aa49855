/**
 * Readers that stall: calls that go on telling take no more memory than is kept for each, on every
 * revision and transport that streams, and everybody else is served as if they were not there.
 */
import { connect, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { createServer, type Server, type Serving, serve } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { p99, waits } from "../support/honest-caller.ts";
import { headersFor, initializeParams, notification, request } from "../support/messages.ts";
import { rawRequest } from "../support/raw-socket.ts";
import { until } from "../support/signals.ts";
import { type Revision, revisions } from "../support/wire.ts";

const stalled = 200;
const mebibyte = 1_048_576;
/**
 * Where a stream can be resumed, what is told is written to the hub, read or not: that takes its
 * time, and 64 MiB, of which the collector of garbage lets several times as much pile up.
 */
const resumable: readonly Revision[] = ["2025-11-25", "2025-06-18", "2025-03-26"];
const stalledMiB = Number(process.env["STALLED_MIB"] ?? 50);

interface Flood {
  readonly eachMiB: number;
  produced: number;
  finished: number;
}

function declareFlood(flood: Flood): Server {
  const server = createServer({ name: "flood", version: "1", log: () => undefined });
  const chunk = "x".repeat(mebibyte / 4);
  server.tool("act", {}, () => "done");
  server.tool("flood", {}, async (_, ex) => {
    for (let told = 0; told < flood.eachMiB * 4; told++) {
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

type Headers = Readonly<Record<string, string>>;

/** A connection of which no more is read than a test waits for. */
class StallingReader implements Disposable {
  readonly #socket: Socket;
  #seen = "";

  constructor(port: number) {
    this.#socket = connect({ port, host: "127.0.0.1" });
    // What is dropped may be reset.
    this.#socket.on("error", () => undefined);
    this.#socket.on("data", (chunk: Buffer) => {
      this.#seen += chunk.toString();
    });
  }

  send(method: "GET" | "POST", target: string, headers: Headers, message?: object): void {
    const lines = Object.entries({ host: "localhost", ...headers });
    const body = message === undefined ? "" : JSON.stringify(message);
    this.#socket.write(rawRequest(method, target, lines, body));
  }

  async read(what: RegExp): Promise<string> {
    await until(`${what} is read`, () => what.test(this.#seen), 20_000);
    return what.exec(this.#seen)?.[1] ?? "";
  }

  stall(): void {
    this.#socket.pause();
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

const flooding = { name: "flood", arguments: {} };

async function post(serving: Serving, target: string, headers: Headers, message: object) {
  const url = `http://127.0.0.1:${serving.port}${target}`;
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(message) });
  await response.text();
  return response;
}

/** Calls the tool that floods, and reads nothing of what it tells. */
async function stall(serving: Serving, revision: Revision): Promise<StallingReader> {
  const reader = new StallingReader(serving.port);
  const opening = request(revision, 0, "initialize", initializeParams(revision));
  const initialized = notification("notifications/initialized");
  if (revision === "2024-11-05") {
    reader.send("GET", "/sse", { accept: "text/event-stream" });
    const target = `/${await reader.read(/data: (messages\S+)/)}`;
    const headers = { "content-type": "application/json" };
    await post(serving, target, headers, opening);
    await reader.read(/"protocolVersion":/);
    await post(serving, target, headers, initialized);
    reader.stall();
    await post(serving, target, headers, request(revision, 1, "tools/call", flooding));
    return reader;
  }
  const level = { _meta: { "io.modelcontextprotocol/logLevel": "debug" } };
  const call = request(revision, 1, "tools/call", {
    ...flooding,
    ...(revision === "2026-07-28" && level),
  });
  const headers: Record<string, string> = { ...headersFor(revision, call) };
  if (revision !== "2026-07-28") {
    const opened = await post(serving, "/mcp", headersFor(revision, opening), opening);
    headers["mcp-session-id"] = opened.headers.get("mcp-session-id") ?? "";
    await post(serving, "/mcp", { ...headersFor(revision, initialized), ...headers }, initialized);
  }
  reader.stall();
  reader.send("POST", "/mcp", headers, call);
  return reader;
}

describe.each(revisions)("in %s", (revision) => {
  const resumes = resumable.includes(revision);
  const eachMiB = resumes ? Math.min(stalledMiB, 10) : stalledMiB;

  it(`${stalled} readers stall while ${eachMiB} MiB are told to each`, async () => {
    const flood: Flood = { eachMiB, produced: 0, finished: 0 };
    await using serving = await serve(declareFlood(flood), {
      port: 0,
      drainMs: 50,
      legacySse: true,
    });
    await waits(serving.port, 50);
    const before = process.memoryUsage().rss;
    let peak = before;
    const watching = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss);
    }, 20);
    const readers: StallingReader[] = [];
    try {
      for (let count = 0; count < stalled; count++) readers.push(await stall(serving, revision));
      await until("all is told", () => flood.finished === stalled, 100_000);
      expect(flood.produced).toBe(stalled * eachMiB * mebibyte);
      expect((peak - before) / mebibyte).toBeLessThan(resumes ? 600 : 200);
      expect(p99(await waits(serving.port, 50))).toBeLessThan(1_000);
    } finally {
      clearInterval(watching);
      for (const reader of readers) reader[Symbol.dispose]();
    }
  }, 120_000);
});
