/** A server as a child process: messages over its standard input and output. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Duplex, DuplexReader } from "../client/duplex.ts";
import { ClientError, clientClosed } from "../client/errors.ts";
import type { Network } from "../core/telemetry.ts";
import type { JsonObject } from "../util/json.ts";
import { type EndPatience, endChild } from "./child-end.ts";
import { childEnvironment } from "./child-environment.ts";
import { ErrorLines } from "./error-lines.ts";
import { TickWriter } from "./tick-writer.ts";
import { within } from "./within.ts";

/** Which program is the server, and how it is held. */
export interface SpawnOptions {
  /**
   * The program, by its path or as `PATH` finds it. It is started as it is, never by a shell, so
   * nothing in it or in `args` is expanded, and nothing in them can start anything else. Windows
   * starts no `.cmd` that way: there, name `node` and the script instead of `npx`.
   */
  readonly command: string;
  /** @default [] */
  readonly args?: readonly string[] | undefined;
  /** The folder that it works in. @default this process's */
  readonly cwd?: string | undefined;
  /**
   * Variables for the server's environment. Beside them it has only what programs need to run
   * (`PATH`, `HOME`, the language and their like): the secrets of this process are not its own.
   */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /**
   * Where its standard error goes. `ignore`: nowhere, but the last lines are kept and told when
   * the server ends without being asked to. `inherit`: to this process's. A function hears each
   * line; what it throws is uncaught. @default "ignore"
   */
  readonly stderr?: "ignore" | "inherit" | ((line: string) => void) | undefined;
  /**
   * Bytes at most that wait for the server to read them. A request that would be more is not
   * sent: a server that has stopped reading would fill the memory. @default 67108864
   */
  readonly maxQueuedBytes?: number | undefined;
  /**
   * How long the server may take to end by itself once its input is closed, in milliseconds;
   * then it gets SIGTERM. @default 2000
   */
  readonly exitMs?: number | undefined;
  /** How long it may take to end on SIGTERM; then it gets SIGKILL. @default 2000 */
  readonly termMs?: number | undefined;
  /** How long SIGKILL may take: a process in the hands of a device cannot be ended. @default 1000 */
  readonly killMs?: number | undefined;
}

/** How long the rest of its output, and its exit code, are waited for when a server goes. */
const partingMs = 500;

/**
 * A server that is started when the duplex is opened, and ended when it is closed: its input ends,
 * then, if it does not exit, it and all that it started get SIGTERM, then SIGKILL. On POSIX it
 * leads a process group of its own, so that an interrupt from the keyboard ends the program that
 * uses it, and not the server under a call.
 */
export function spawnServer(options: SpawnOptions): Duplex {
  return new SpawnedServer(options);
}

class SpawnedServer implements Duplex {
  readonly network: Network = { transport: "pipe" };
  readonly #options: SpawnOptions;
  readonly #errorLines: ErrorLines;
  #child: ChildProcess | undefined;
  #writer: TickWriter | undefined;
  #reader: DuplexReader | undefined;
  #isClosed = false;
  #ended: Promise<void> | undefined;

  constructor(options: SpawnOptions) {
    this.#options = options;
    const { stderr } = options;
    this.#errorLines = new ErrorLines(typeof stderr === "function" ? stderr : undefined);
  }

  async open(reader: DuplexReader): Promise<void> {
    if (this.#isClosed) throw clientClosed();
    this.#reader = reader;
    const child = await this.#start();
    void this.#watch(child);
  }

  send(message: JsonObject): void {
    const text = JSON.stringify(message);
    const max = this.#options.maxQueuedBytes ?? 67_108_864;
    if (this.#writer === undefined) throw new ClientError("closed", "the server is not started");
    if (this.#writer.queued + text.length > max) {
      throw new ClientError("unreachable", `the server has left more than ${max} bytes unread`);
    }
    this.#writer.write(text);
  }

  close(): Promise<void> {
    this.#isClosed = true;
    // What it still says is read, or it could not end, but nobody hears it.
    this.#reader = undefined;
    return this.#end();
  }

  #end(): Promise<void> {
    const { exitMs = 2_000, termMs = 2_000, killMs = 1_000 } = this.#options;
    const patience: EndPatience = { exitMs, termMs, killMs };
    if (this.#child === undefined) return Promise.resolve();
    // What was sent in this turn, such as that a call is cancelled, goes out before the end.
    void this.#writer?.flushed();
    this.#ended ??= endChild(this.#child, patience);
    return this.#ended;
  }

  #start(): Promise<ChildProcess> {
    const { command, args = [], cwd, env = {}, stderr } = this.#options;
    return new Promise((resolve, reject) => {
      const fail = (cause: unknown): void => reject(notStarted(this.#options, cause));
      try {
        const child = spawn(command, [...args], {
          cwd,
          env: childEnvironment(env),
          stdio: ["pipe", "pipe", stderr === "inherit" ? "inherit" : "pipe"],
          shell: false,
          windowsHide: true,
          detached: process.platform !== "win32",
        });
        this.#child = child;
        // Stays, as do those of the streams: what fails later is seen by its consequences.
        child.on("error", fail);
        child.once("spawn", () => resolve(child));
        this.#connect(child);
      } catch (cause) {
        fail(cause);
      }
    });
  }

  #connect(child: ChildProcess): void {
    const { stdin, stdout, stderr } = child;
    if (stdin) this.#writer = new TickWriter(stdin, Number.POSITIVE_INFINITY);
    stdout?.on("data", (chunk: Buffer) => this.#reader?.bytes(chunk));
    stdout?.on("error", () => undefined);
    stderr?.on("data", (chunk: Buffer) => this.#errorLines.feed(chunk));
    stderr?.on("end", () => this.#errorLines.end());
    stderr?.on("error", () => undefined);
  }

  /** Tells when the server is gone, or cannot be spoken with any more, and cleans up after it. */
  async #watch(child: ChildProcess): Promise<void> {
    const exited = happens(child, "exit");
    const parted = Promise.all([exited, ended(child.stdout), ended(child.stderr)]);
    await Promise.race([exited, ended(child.stdout), this.#writer?.broken]);
    await within(parted, partingMs);
    this.#reader?.closed(new ClientError("interrupted", `${howItWent(child)}${this.#lastWords()}`));
    this.#reader = undefined;
    await this.#end();
  }

  #lastWords(): string {
    const { last } = this.#errorLines;
    if (last.length === 0) return "";
    return `; the last that it wrote to standard error:\n${last.map((line) => `  ${line}`).join("\n")}`;
  }
}

function howItWent({ exitCode, signalCode }: ChildProcess): string {
  if (exitCode !== null) return `the server exited with code ${exitCode}`;
  if (signalCode !== null) return `the server was ended by ${signalCode}`;
  return "the server closed its standard input or output";
}

function notStarted({ command, cwd }: SpawnOptions, cause: unknown): ClientError {
  const { code } = cause as NodeJS.ErrnoException;
  const inFolder = cwd === undefined ? "" : `, or no folder ${cwd}`;
  const why = code === "ENOENT" ? `there is no such program${inFolder}` : String(code ?? cause);
  // Its arguments are not told: they may hold secrets.
  return new ClientError("unreachable", `cannot start ${command}: ${why}`, { cause });
}

function happens(emitter: ChildProcess, event: string): Promise<void> {
  return new Promise((resolve) => emitter.once(event, () => resolve()));
}

function ended(stream: ChildProcess["stdout"]): Promise<void> {
  if (stream === null) return Promise.resolve();
  return new Promise((resolve) => stream.once("close", () => resolve()));
}
