/**
 * Measures calls per second and the slowest of a hundred, with 1, 2 and 4 workers on each store
 * that is to be had, and what it costs a call that its session is read: the CPU of the workers per
 * call is the figure to trust. `npm run bench:workers`; `REDIS_URL` and `POSTGRES_URL` name the
 * servers to use, which keep what they have.
 */
import { type ChildProcess, fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { httpRequest, run } from "./load.ts";

const durationMs = Number(process.env["BENCH_MS"] ?? "2000");
const warmUpMs = durationMs / 2;
const inFlight = 16;
const workerCounts = [1, 2, 4] as const;
const revision = "2025-11-25";

/** What a call does with its session. */
const kinds = [
  ["no session", "add", false],
  ["session read with the request", "add", true],
  ["a value read besides", "look", true],
  ["a value written besides", "count", true],
] as const;

interface Started {
  readonly child: ChildProcess;
  readonly port: number;
}

const folder = mkdtempSync(join(tmpdir(), "anyrev-bench-"));
const prefix = `bench${process.pid}`;
const { REDIS_URL: redis, POSTGRES_URL: postgres } = process.env;
const stores: readonly (readonly [string, string | undefined])[] = [
  ["memory", "memory"],
  ["SQLite", `sqlite:${join(folder, "stores.db")}`],
  ["Redis", redis],
  ["PostgreSQL", postgres],
];

console.log(
  "| store | workers | call | calls/s | p50 ms | p99 ms | CPU µs of the workers | over no session |",
);
console.log("| --- | --- | --- | --- | --- | --- | --- | --- |");
try {
  for (const [name, address] of stores) {
    if (address === undefined) continue;
    // What one process keeps in its memory is of no use to another.
    for (const count of name === "memory" ? [1] : workerCounts) await measure(name, address, count);
  }
} finally {
  rmSync(folder, { recursive: true });
}

async function measure(name: string, address: string, count: number): Promise<void> {
  const workers = await Promise.all(Array.from({ length: count }, () => start(address)));
  const port = workers[0]?.port ?? 0;
  let plain = 0;
  for (const [title, tool, hasSession] of kinds) {
    // Callers do not wait for each other's sessions: each has its own.
    const requests = await Promise.all(
      Array.from({ length: inFlight }, async (_, at) => {
        const to = workers[at % count]?.port ?? port;
        const session = hasSession ? { "mcp-session-id": await openSession(port) } : {};
        return { port: to, request: callOf(to, tool, session) };
      }),
    );
    const load = (ms: number) =>
      Promise.all(requests.map((each) => run({ ...each, inFlight: 1, durationMs: ms })));
    await load(warmUpMs);
    const before = await cpuOf(workers);
    const results = await load(durationMs);
    const used = (await cpuOf(workers)) - before;
    const rate = results.reduce((sum, { requests: made, seconds }) => sum + made / seconds, 0);
    const times = results.flatMap(({ times: each }) => each).sort((a, b) => a - b);
    const cpu = used / times.length;
    if (!hasSession) plain = cpu;
    const more = hasSession ? (cpu - plain).toFixed(0) : "";
    const delays = [at(times, 0.5), at(times, 0.99)];
    const cells = [name, count, title, Math.round(rate), ...delays, cpu.toFixed(0), more];
    console.log(`| ${cells.join(" | ")} |`);
  }
  for (const { child } of workers) child.kill("SIGTERM");
}

async function cpuOf(workers: readonly Started[]): Promise<number> {
  const each = workers.map(
    ({ child }) =>
      new Promise<number>((resolve) => {
        child.once("message", (told) => resolve((told as { micros: number }).micros));
        child.send("cpu");
      }),
  );
  return (await Promise.all(each)).reduce((sum, micros) => sum + micros, 0);
}

function at(times: readonly number[], part: number): string {
  return (times[Math.floor(times.length * part)] ?? 0).toFixed(1);
}

async function start(address: string): Promise<Started> {
  const path = fileURLToPath(new URL("./servers/worker.js", import.meta.url));
  const child = fork(path, [address, prefix], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const port = await new Promise<number>((resolve, reject) => {
    child.once("message", (told) => resolve((told as { port: number }).port));
    child.once("exit", (code) => reject(new Error(`a worker ended with ${code}`)));
  });
  return { child, port };
}

function callOf(port: number, tool: string, headers: Record<string, string>): Buffer {
  const params = { name: tool, arguments: tool === "add" ? { a: 2, b: 3 } : {} };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  return httpRequest(port, { "mcp-protocol-version": revision, ...headers }, body);
}

async function openSession(port: number): Promise<string> {
  const params = {
    protocolVersion: revision,
    capabilities: {},
    clientInfo: { name: "bench", version: "1.0.0" },
  };
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params }),
  });
  await response.text();
  return response.headers.get("mcp-session-id") ?? "none";
}
