/** Servers over standard input and output, against a pipe that parses lines and answers them. */
import { call } from "./call.ts";
import { durationMs, interleave, Measured, type Part, percent, type Sample } from "./measured.ts";

const names = ["floor", "anyrev", "official"] as const;

const newline = 10;

/** Keeps so many calls under way until the time is over, and waits for the last of them. */
function load({ input, output }: Measured, inFlight: number): Promise<Sample> {
  return new Promise((resolve) => {
    const started = performance.now();
    let asked = 0;
    let answered = 0;
    const ask = (count: number): void => {
      let text = "";
      for (let index = 0; index < count; index++) {
        text += `${JSON.stringify({ ...call, id: ++asked })}\n`;
      }
      input.write(text);
    };
    const onData = (chunk: Buffer): void => {
      let lines = 0;
      for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, at + 1)) lines++;
      answered += lines;
      const elapsedMs = performance.now() - started;
      if (elapsedMs < durationMs) ask(lines);
      else if (answered === asked) {
        output.off("data", onData);
        resolve({ cpu: answered, rate: answered / (elapsedMs / 1000) });
      }
    };
    output.on("data", onData);
    ask(inFlight);
  });
}

async function measure(inFlight: number): Promise<Record<(typeof names)[number], Sample>> {
  const start = (name: string): Promise<Measured> =>
    Measured.start(`servers/stdio-${name}`, [], "pipe");
  const [floor, anyrev, official] = await Promise.all([
    start("floor"),
    start("anyrev"),
    start("official"),
  ]);
  const servers = { floor, anyrev, official };
  const medians = await interleave(names, async (name) => {
    const server = servers[name];
    const before = await server.cpu();
    const { cpu: calls, rate } = await load(server, inFlight);
    return { cpu: ((await server.cpu()) - before) / calls, rate };
  });
  for (const server of Object.values(servers)) server.stop();
  return medians;
}

export const stdio: Part = {
  columns: [
    "work",
    "pipe CPU µs",
    "anyrev CPU µs",
    "of the pipe's",
    "rate of the pipe's",
    "official SDK's CPU",
  ],
  rows: [64, 1].map((inFlight) => ({
    title: `tools/call over stdio, ${inFlight} in flight`,
    measure: async () => {
      const { floor, anyrev, official } = await measure(inFlight);
      return [
        floor.cpu.toFixed(1),
        anyrev.cpu.toFixed(1),
        `${(anyrev.cpu / floor.cpu).toFixed(2)} ×`,
        percent(anyrev.rate / floor.rate),
        `${(official.cpu / anyrev.cpu).toFixed(1)} ×`,
      ];
    },
  })),
};
