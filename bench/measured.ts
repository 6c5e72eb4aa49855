/** What is measured runs in a process of its own, and says what it has used. */
import { type ChildProcess, fork } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";

const rounds = Number(process.env["BENCH_ROUNDS"] ?? "5");
export const durationMs = Number(process.env["BENCH_MS"] ?? "1000");

/** One table. */
export interface Part {
  readonly columns: readonly string[];
  readonly rows: readonly {
    readonly title: string;
    /** The cells after the title. */
    measure(): Promise<readonly string[]>;
  }[];
}

export interface Sample {
  /** Microseconds for each call. */
  readonly cpu: number;
  /** Calls in a second. */
  readonly rate: number;
}

export class Measured {
  readonly #child: ChildProcess;
  readonly port: number;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  static async start(
    name: string,
    args: readonly string[] = [],
    stdio: "ignore" | "pipe" = "ignore",
  ): Promise<Measured> {
    const path = fileURLToPath(new URL(`./${name}.js`, import.meta.url));
    const child = fork(path, args, { stdio: [stdio, stdio, "inherit", "ipc"] });
    const { port } = await next<{ port: number }>(child);
    return new Measured(child, port);
  }

  get input(): Writable {
    if (this.#child.stdin === null) throw new Error("it has no standard input");
    return this.#child.stdin;
  }

  get output(): Readable {
    if (this.#child.stdout === null) throw new Error("it has no standard output");
    return this.#child.stdout;
  }

  /** What the process does with an order, it says when it is done. */
  async ask<T>(order: object): Promise<T> {
    const said = next<T>(this.#child);
    this.#child.send(order);
    return said;
  }

  /** Microseconds used so far. */
  async cpu(): Promise<number> {
    return (await this.ask<{ micros: number }>({ kind: "cpu" })).micros;
  }

  stop(): void {
    this.#child.send({ kind: "stop" });
  }
}

function next<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`a process ended with ${code}`));
    child.once("exit", onExit);
    child.once("message", (message) => {
      child.off("exit", onExit);
      resolve(message as T);
    });
  });
}

/** The medians of all names, which take turns: what a neighbour takes, it takes from each. */
export async function interleave<Name extends string>(
  names: readonly Name[],
  sample: (name: Name) => Promise<Sample>,
): Promise<Record<Name, Sample>> {
  const samples = new Map<Name, Sample[]>(names.map((name) => [name, []]));
  for (let round = -1; round < rounds; round++) {
    for (const name of names) {
      const taken = await sample(name);
      // The first round warms up.
      if (round >= 0) samples.get(name)?.push(taken);
    }
  }
  const medians = [...samples].map(([name, taken]) => [name, median(taken)]);
  return Object.fromEntries(medians) as Record<Name, Sample>;
}

function median(samples: readonly Sample[]): Sample {
  const middle = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1] ?? 0;
  return {
    cpu: middle(samples.map((sample) => sample.cpu)),
    rate: middle(samples.map((sample) => sample.rate)),
  };
}

export function percent(ratio: number): string {
  return `${Math.round(ratio * 100)} %`;
}
