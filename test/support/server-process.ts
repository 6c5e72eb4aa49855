/** Programs that listen, started for tests and stopped by their own id. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  /** The user to run it as, where that is not the one who runs the tests. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  /** Rejects as long as it is not there. */
  readonly probe: () => Promise<unknown>;
  /** What goes with it when its owner ends without a word. */
  readonly folder: string;
  /** The process that it belongs to. @default this one */
  readonly owner?: number | undefined;
}

/** Starts a program that goes on when this process ends, and waits until it answers. */
export async function launch({
  command,
  args,
  user,
  probe,
  ...rest
}: Launch): Promise<ChildProcess> {
  const child = spawn(command, args, {
    ...user,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  let fault: Error | undefined;
  const hear = (data: unknown): void => {
    said = `${said}${data}`.slice(-4_000);
  };
  child.stdout?.on("data", hear);
  child.stderr?.on("data", hear);
  child.once("error", (cause) => {
    fault = cause;
  });
  for (const end = Date.now() + 30_000; ; await delay(20)) {
    const isOver = child.exitCode !== null || child.signalCode !== null;
    if (fault !== undefined || isOver || Date.now() > end) {
      child.kill("SIGKILL");
      throw new Error(`${command} did not start: ${fault?.message ?? said}`);
    }
    try {
      await probe();
      break;
    } catch {
      // Not yet.
    }
  }
  guard(child.pid ?? 0, rest);
  child.unref();
  for (const stream of [child.stdout, child.stderr]) {
    stream?.removeAllListeners("data");
    stream?.resume();
    // A pipe to this process would hold it, and break when it ends.
    (stream as unknown as { unref?(): void } | null)?.unref?.();
  }
  return child;
}

const watch = `while kill -0 "$1" && kill -0 "$2"; do sleep 2; done 2>/dev/null
kill -0 "$1" 2>/dev/null && exit
kill -QUIT "$2" 2>/dev/null && sleep 1
kill -KILL "$2" 2>/dev/null
rm -rf "$3"`;

/** Ends a server whose owner was killed: nobody else would. */
function guard(
  pid: number,
  { folder, owner = process.pid }: Pick<Launch, "folder" | "owner">,
): void {
  const args = ["-c", watch, "sh", String(owner), String(pid), folder];
  spawn("sh", args, { detached: true, stdio: "ignore" }).unref();
}

/** None that the system gives to whoever asks for a free one: a server may start there once more. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}

export async function stop(child: ChildProcess, signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill(signal);
  child.kill("SIGCONT");
  await ended;
}
