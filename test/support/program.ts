/** Programs of this project as children: their output, their end, and their input. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** A clean checkout is built first, on however slow a machine. */
export const patience = 120_000;

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export class Program implements AsyncDisposable {
  readonly child: ChildProcessWithoutNullStreams;
  /** Resolves when it has ended and all its output was read. */
  readonly ended: Promise<Ended>;
  #stdout = "";
  #stderr = "";

  /** Starts `node` with these arguments in the root of the project. */
  constructor(...args: readonly string[]) {
    this.child = spawn(process.execPath, args, { cwd: root });
    this.child.stdout.on("data", (chunk: Buffer) => {
      this.#stdout += chunk.toString();
    });
    this.child.stderr.on("data", (chunk: Buffer) => {
      this.#stderr += chunk.toString();
    });
    // What a test breaks on purpose is no error of its own.
    this.child.stdin.on("error", () => undefined);
    this.ended = new Promise((resolve) => {
      this.child.once("close", (code, signal) => resolve({ code, signal }));
    });
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** Waits until it has printed that, or has ended without. */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.#stdout);
      if (found !== null) return found;
      const more = new Promise<undefined>((resolve) =>
        this.child.stdout.once("data", () => resolve(undefined)),
      );
      const ended = await Promise.race([more, this.ended]);
      const last = pattern.exec(this.#stdout);
      if (ended !== undefined && last === null) {
        throw new Error(`ended with ${ended.code}: ${this.#stderr || this.#stdout}`);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.ended;
  }
}

/** The fixture with these arguments, built first if it must. */
export function startFixture(...args: readonly string[]): Program {
  return new Program("scripts/fixture.mjs", ...args);
}

/** Builds both fixtures where they are missing or older than their sources. */
export async function buildFixtures(): Promise<void> {
  await using building = startFixture("--stdio");
  building.child.stdin.end();
  const { code } = await building.ended;
  if (code !== 0) throw new Error(`the fixtures cannot be built: ${building.stderr}`);
}
