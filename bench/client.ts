/** Clients over HTTP, against what calls the same server with the same bytes and knows nothing. */
import { durationMs, interleave, Measured, type Part, type Sample } from "./measured.ts";

const names = ["bare", "anyrev", "official"] as const;

interface Run {
  readonly seconds: number;
  readonly micros: number;
}

async function measure(
  over: "node" | "fetch",
  inFlight: number,
): Promise<Record<(typeof names)[number], Sample>> {
  const server = await Measured.start("servers/replier");
  const start = (name: string): Promise<Measured> =>
    Measured.start(`clients/${name}`, [`http://127.0.0.1:${server.port}/mcp`, over]);
  const [bare, anyrev, official] = await Promise.all([
    start("bare"),
    start("anyrev"),
    start("official"),
  ]);
  const clients = { bare, anyrev, official };
  const calls = Math.ceil(callsPerMs[over] * durationMs);
  const medians = await interleave(names, async (name) => {
    const order = { kind: "count", inFlight, calls };
    const { seconds, micros } = await clients[name].ask<Run>(order);
    return { cpu: micros / calls, rate: calls / seconds };
  });
  for (const measured of [server, ...Object.values(clients)]) measured.stop();
  return medians;
}

/** How much is called in a turn: the same for each, so that all are as warm. */
const callsPerMs = { node: 5, fetch: 1 };

const scenarios = (["node", "fetch"] as const).flatMap((over) =>
  [32, 1].map((inFlight) => ({ over, inFlight })),
);

export const client: Part = {
  columns: ["work", "bare CPU µs", "anyrev CPU µs", "of the bare client's", "official SDK's CPU"],
  rows: scenarios.map(({ over, inFlight }) => ({
    title: `client over ${over === "node" ? "node:http" : "fetch"}, ${inFlight} in flight`,
    measure: async () => {
      const { bare, anyrev, official } = await measure(over, inFlight);
      return [
        bare.cpu.toFixed(1),
        anyrev.cpu.toFixed(1),
        `${(anyrev.cpu / bare.cpu).toFixed(2)} ×`,
        `${(official.cpu / anyrev.cpu).toFixed(1)} ×`,
      ];
    },
  })),
};
