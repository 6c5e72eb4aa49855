/** Serves over standard input and output: newline-delimited messages, and nothing else. */
import type { Readable, Writable } from "node:stream";
import type { Server } from "../core/server.ts";
import { LineReader } from "../jsonrpc/lines.ts";
import { Channel, type ChannelOptions } from "../server/channel.ts";

export interface StdioOptions extends ChannelOptions {
  /** @default process.stdin */
  readonly input?: Readable | undefined;
  /** @default process.stdout */
  readonly output?: Writable | undefined;
  /** Bytes of a line at most; a longer one is refused and skipped. @default 4194304 */
  readonly maxLineBytes?: number | undefined;
  /** How long answers may take after the input has ended, in milliseconds. @default 1000 */
  readonly drainMs?: number | undefined;
  /**
   * Whether `console.log` and its like write to standard error while serving: one line of
   * anything but protocol ends the connection with strict clients. @default true for
   * standard output
   */
  readonly guardConsole?: boolean | undefined;
}

/** Resolves when the input has ended and everything was answered, or given up. */
export async function serveStdio(server: Server, options: StdioOptions = {}): Promise<void> {
  const input = options.input ?? process.stdin;
  const output = options.output ?? process.stdout;
  const release =
    (options.guardConsole ?? output === process.stdout) ? guardConsole() : () => undefined;
  const writer = new TickWriter(output);
  const channel = new Channel(server, (text) => writer.write(text), options);
  try {
    await read(input, output, channel, options.maxLineBytes ?? 4_194_304);
    await Promise.race([channel.settled(), wait(options.drainMs ?? 1_000)]);
    await Promise.race([channel.close(), wait(500)]);
    await writer.flushed();
  } finally {
    release();
  }
}

function read(
  input: Readable,
  output: Writable,
  channel: Channel,
  maxLineBytes: number,
): Promise<void> {
  const lines = new LineReader(maxLineBytes);
  const take = (found: ReturnType<LineReader["feed"]>): void => {
    for (const line of found) {
      if (line.kind === "line") channel.receive(line.bytes);
      else channel.refuseUnread(`a line is longer than ${maxLineBytes} bytes`);
    }
  };
  return new Promise((resolve) => {
    input.on("data", (chunk: Buffer | string) =>
      take(lines.feed(typeof chunk === "string" ? Buffer.from(chunk) : chunk)),
    );
    input.once("end", () => {
      take(lines.end());
      resolve();
    });
    input.once("close", resolve);
    input.once("error", () => resolve());
    // Nobody reads the answers any more.
    output.once("error", () => resolve());
    output.once("close", resolve);
  });
}

/** Joins the messages of one tick into one write: a system call costs more than a message. */
class TickWriter {
  readonly #output: Writable;
  #waiting = "";
  #scheduled = false;

  constructor(output: Writable) {
    this.#output = output;
  }

  write(text: string): void {
    this.#waiting += `${text}\n`;
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#flush());
  }

  flushed(): Promise<void> {
    this.#flush();
    if (this.#output.destroyed || this.#output.writableLength === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#output.once("drain", resolve);
      this.#output.once("close", resolve);
      this.#output.write("", () => resolve());
    });
  }

  #flush(): void {
    this.#scheduled = false;
    const text = this.#waiting;
    this.#waiting = "";
    if (text !== "" && !this.#output.destroyed) this.#output.write(text);
  }
}

const loud = ["log", "info", "debug", "dir", "table", "trace"] as const;

function guardConsole(): () => void {
  const target: Record<string, unknown> = globalThis.console as never;
  const kept = loud.map((name) => [name, target[name]] as const);
  for (const name of loud) target[name] = target["error"];
  return () => {
    for (const [name, original] of kept) target[name] = original;
  };
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
