/** Servers over HTTP: tools/call and tools/list against the floor and the official SDK. */
import { httpRequest, run } from "./load.ts";
import { durationMs, interleave, Measured, type Part, percent, type Sample } from "./measured.ts";

const names = ["floor", "anyrev", "official"] as const;

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

async function measure(scenario: Scenario): Promise<Record<(typeof names)[number], Sample>> {
  const start = (name: string): Promise<Measured> =>
    Measured.start(`servers/${name}`, [String(scenario.tools)]);
  const [floor, anyrev, official] = await Promise.all([
    start("floor"),
    start("anyrev"),
    start("official"),
  ]);
  const servers = { floor, anyrev, official };
  const body = bodyOf(scenario);
  const reply = await fetch(`http://127.0.0.1:${anyrev.port}/mcp`, {
    method: "POST",
    headers: { ...(await headersOf(scenario, anyrev.port)), "content-type": "application/json" },
    body,
  });
  await floor.ask({ kind: "reply", body: await reply.text() });
  const medians = await interleave(names, async (name) => {
    const server = servers[name];
    const request = httpRequest(server.port, await headersOf(scenario, server.port), body);
    const before = await server.cpu();
    const { requests, seconds } = await run({
      port: server.port,
      request,
      inFlight: scenario.inFlight,
      durationMs,
    });
    const cpu = ((await server.cpu()) - before) / requests;
    return { cpu, rate: requests / seconds };
  });
  for (const server of Object.values(servers)) server.stop();
  return medians;
}

export const http: Part = {
  columns: [
    "work",
    "floor CPU µs",
    "anyrev CPU µs",
    "of the floor",
    "rate of the floor's",
    "official SDK's CPU",
  ],
  rows: scenarios.map((scenario) => ({
    title: scenario.title,
    measure: async () => {
      const { floor, anyrev, official } = await measure(scenario);
      return [
        floor.cpu.toFixed(1),
        anyrev.cpu.toFixed(1),
        percent(floor.cpu / anyrev.cpu),
        percent(anyrev.rate / floor.rate),
        `${(official.cpu / anyrev.cpu).toFixed(1)} ×`,
      ];
    },
  })),
};
