/** Serves over standard input and output: newline-delimited messages, and nothing else. */
import type { Readable, Writable } from "node:stream";
import type { Server } from "../core/server.ts";
import { LineReader } from "../jsonrpc/lines.ts";
import { Channel, type ChannelOptions } from "../server/channel.ts";
import { TickWriter } from "./tick-writer.ts";
import { within } from "./within.ts";

/** Where the messages come from and go to, and what is guarded. */
export interface StdioOptions extends ChannelOptions {
  /** @default process.stdin */
  readonly input?: Readable | undefined;
  /** @default process.stdout */
  readonly output?: Writable | undefined;
  /**
   * Bytes of a line at most; a longer one is refused and skipped, and the next one is served.
   * @default 4194304
   */
  readonly maxLineBytes?: number | undefined;
  /**
   * Bytes that may wait to be read; a client that is further behind is taken to be gone,
   * for it would fill the memory. @default 67108864
   */
  readonly maxQueuedBytes?: number | undefined;
  /** How long answers may take after the input has ended, in milliseconds. @default 1000 */
  readonly drainMs?: number | undefined;
  /** Ends serving when it aborts, as the end of the input does. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether `console.log` and its like write to standard error while serving: one line of
   * anything but protocol ends the connection with strict clients (basic/transports, stdio,
   * 2025-11-25). What writes to `process.stdout` itself is not caught. @default true for
   * standard output
   */
  readonly guardConsole?: boolean | undefined;
}

/** How long cancelled calls are waited for, and unread output at least. */
const partingMs = 300;

/**
 * Serves one client. Resolves when its input has ended and everything was answered, or
 * given up. Timers and sockets of the server's own still keep the process alive then, so
 * a program ends itself: a client waits only a moment for it.
 */
export async function serveStdio(server: Server, options: StdioOptions = {}): Promise<void> {
  const output = options.output ?? process.stdout;
  const release =
    (options.guardConsole ?? output === process.stdout) ? guardConsole() : () => undefined;
  const writer = new TickWriter(output, options.maxQueuedBytes ?? 67_108_864);
  const channel = new Channel(server, (text) => writer.write(text), {
    network: { transport: "pipe" },
    ...options,
  });
  try {
    await read(options, channel, writer.broken);
    const drainMs = options.drainMs ?? 1_000;
    const overAt = performance.now() + drainMs + 2 * partingMs;
    channel.hangUp();
    await within(Promise.race([channel.settled(), writer.broken]), drainMs);
    await within(channel.close(), partingMs);
    await within(writer.flushed(), overAt - performance.now());
  } finally {
    release();
  }
}

/** Resolves when there is nothing more to read, or nobody to read the answers. */
async function read(options: StdioOptions, channel: Channel, broken: Promise<void>): Promise<void> {
  const { input = process.stdin, maxLineBytes = 4_194_304, signal } = options;
  const lines = new LineReader(maxLineBytes);
  const take = (found: ReturnType<LineReader["feed"]>): void => {
    for (const line of found) {
      if (line.kind === "line") channel.receive(line.bytes);
      else if (line.kind === "too-long")
        channel.refuseUnread(`a line is longer than ${maxLineBytes} bytes`);
    }
  };
  const onData = (chunk: Buffer | string): void =>
    take(lines.feed(typeof chunk === "string" ? Buffer.from(chunk) : chunk));
  const onEnd = (): void => take(lines.end());
  input.on("data", onData);
  input.once("end", onEnd);
  const over = new Promise<void>((resolve) => {
    const onOver = (): void => resolve();
    for (const event of ["end", "close", "error"]) input.once(event, onOver);
    if (input.readableEnded || input.destroyed || signal?.aborted) resolve();
    signal?.addEventListener("abort", onOver, { once: true });
  });
  await Promise.race([over, broken]);
  input.off("data", onData);
  input.off("end", onEnd);
  // An input that is still read keeps the process alive.
  input.pause();
}

const loud = ["log", "info", "debug", "dir", "dirxml"] as const;

/** The other methods that would write to standard output do it through `log`. */
function guardConsole(): () => void {
  const target: Record<string, unknown> = globalThis.console as never;
  const kept = loud.map((name) => [name, target[name]] as const);
  for (const name of loud) target[name] = target["error"];
  return () => {
    for (const [name, original] of kept) target[name] = original;
  };
}
