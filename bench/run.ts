/**
 * Measures HTTP tools/call and tools/list against the floor and the official SDK, all in
 * one run, interleaved, medians. CPU of the server per request is the figure to trust;
 * the ratios are what to quote.
 */
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { httpRequest, run } from "./load.ts";

type Name = "floor" | "anyrev" | "official";

interface Scenario {
  readonly title: string;
  readonly tools: number;
  readonly method: "tools/call" | "tools/list";
  readonly revision: "2025-11-25" | "2026-07-28";
  readonly session: boolean;
  readonly inFlight: number;
}

const scenarios: readonly Scenario[] = [
  ...[32, 1].flatMap((inFlight): Scenario[] => [
    row("tools/call, session", 1, "tools/call", "2025-11-25", true, inFlight),
    row("tools/call, stateless", 1, "tools/call", "2025-11-25", false, inFlight),
    row("tools/call, 2026-07-28", 1, "tools/call", "2026-07-28", false, inFlight),
  ]),
  row("tools/call among 200, 2026-07-28", 200, "tools/call", "2026-07-28", false, 32),
  row("tools/list of 200, 2025-11-25", 200, "tools/list", "2025-11-25", false, 32),
  row("tools/list of 200, 2026-07-28", 200, "tools/list", "2026-07-28", false, 32),
];

function row(
  title: string,
  tools: number,
  method: Scenario["method"],
  revision: Scenario["revision"],
  session: boolean,
  inFlight: number,
): Scenario {
  return { title: `${title}, ${inFlight} in flight`, tools, method, revision, session, inFlight };
}

const names: readonly Name[] = ["floor", "anyrev", "official"];
const rounds = Number(process.env["BENCH_ROUNDS"] ?? "5");
const durationMs = Number(process.env["BENCH_MS"] ?? "1000");

class Measured {
  readonly #child: ChildProcess;
  readonly port: number;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  static async start(name: Name, tools: number): Promise<Measured> {
    const path = fileURLToPath(new URL(`./servers/${name}.js`, import.meta.url));
    const child = fork(path, [String(tools)], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
    const { port } = await next<{ port: number }>(child);
    return new Measured(child, port);
  }

  async cpu(): Promise<number> {
    this.#child.send({ kind: "cpu" });
    return (await next<{ micros: number }>(this.#child)).micros;
  }

  async answerWith(body: string): Promise<void> {
    this.#child.send({ kind: "reply", body });
    await next(this.#child);
  }

  stop(): void {
    this.#child.send({ kind: "stop" });
  }
}

function next<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`a server ended with ${code}`));
    child.once("exit", onExit);
    child.once("message", (message) => {
      child.off("exit", onExit);
      resolve(message as T);
    });
  });
}

function bodyOf({ method, revision }: Scenario): string {
  const meta =
    revision === "2026-07-28"
      ? {
          _meta: {
            "io.modelcontextprotocol/protocolVersion": revision,
            "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1.0.0" },
            "io.modelcontextprotocol/clientCapabilities": {},
          },
        }
      : {};
  const params = method === "tools/call" ? { name: "add", arguments: { a: 2, b: 3 } } : {};
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, ...meta } });
}

async function headersOf(scenario: Scenario, port: number): Promise<Record<string, string>> {
  const headers: Record<string, string> = { "mcp-protocol-version": scenario.revision };
  if (scenario.revision === "2026-07-28") {
    headers["mcp-method"] = scenario.method;
    if (scenario.method === "tools/call") headers["mcp-name"] = "add";
  }
  if (scenario.session) headers["mcp-session-id"] = await openSession(port, scenario.revision);
  return headers;
}

async function openSession(port: number, revision: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "x-bench": "initialize",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 0,
      method: "initialize",
      params: {
        protocolVersion: revision,
        capabilities: {},
        clientInfo: { name: "bench", version: "1.0.0" },
      },
    }),
  });
  await response.text();
  const id = response.headers.get("mcp-session-id");
  return id ?? "none";
}

interface Sample {
  readonly cpu: number;
  readonly rate: number;
}

async function measure(scenario: Scenario): Promise<Record<Name, Sample>> {
  const servers = await Promise.all(names.map((name) => Measured.start(name, scenario.tools)));
  const [floor, anyrev] = servers;
  const body = bodyOf(scenario);
  if (floor === undefined || anyrev === undefined) throw new Error("no servers");
  const reply = await fetch(`http://127.0.0.1:${anyrev.port}/mcp`, {
    method: "POST",
    headers: { ...(await headersOf(scenario, anyrev.port)), "content-type": "application/json" },
    body,
  });
  await floor.answerWith(await reply.text());
  const samples: Record<Name, Sample[]> = { floor: [], anyrev: [], official: [] };
  for (let round = -1; round < rounds; round++) {
    for (const [index, name] of names.entries()) {
      const server = servers[index];
      if (server === undefined) continue;
      const request = httpRequest(server.port, await headersOf(scenario, server.port), body);
      const before = await server.cpu();
      const { requests, seconds } = await run({
        port: server.port,
        request,
        inFlight: scenario.inFlight,
        durationMs,
      });
      const cpu = ((await server.cpu()) - before) / requests;
      // The first round warms up.
      if (round >= 0) samples[name].push({ cpu, rate: requests / seconds });
    }
  }
  for (const server of servers) server.stop();
  return {
    floor: median(samples.floor),
    anyrev: median(samples.anyrev),
    official: median(samples.official),
  };
}

function median(samples: readonly Sample[]): Sample {
  const middle = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1] ?? 0;
  return {
    cpu: middle(samples.map((sample) => sample.cpu)),
    rate: middle(samples.map((sample) => sample.rate)),
  };
}

const only = process.argv[2];
console.log(
  "| work | floor CPU µs | anyrev CPU µs | of the floor | rate of the floor's | official SDK's CPU |",
);
console.log("| --- | --- | --- | --- | --- | --- |");
for (const scenario of scenarios) {
  if (only !== undefined && !scenario.title.includes(only)) continue;
  const { floor, anyrev, official } = await measure(scenario);
  const cells = [
    scenario.title,
    floor.cpu.toFixed(1),
    anyrev.cpu.toFixed(1),
    `${Math.round((floor.cpu / anyrev.cpu) * 100)} %`,
    `${Math.round((anyrev.rate / floor.rate) * 100)} %`,
    `${(official.cpu / anyrev.cpu).toFixed(1)} ×`,
  ];
  console.log(`| ${cells.join(" | ")} |`);
}
