/** The end of a child process, and of those it started: asked, then told, then made to. */
import type { ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { within } from "./within.ts";

/** How long each step of ending a process is waited for, in milliseconds. */
export interface EndPatience {
  /** For it to end by itself after its input has. */
  readonly exitMs: number;
  /** For it to end on SIGTERM. */
  readonly termMs: number;
  /** For the system to end it on SIGKILL. */
  readonly killMs: number;
}

/** A group cannot be waited for, only looked at. */
const lookEveryMs = 20;

/**
 * Ends a child that leads a process group, and all of its group: a wrapper such as `npx` leaves
 * the server itself behind when it alone is killed. It holds nothing when this resolves, and
 * resolves when the patience is at its end even if the system cannot end the process.
 *
 * basic/transports/stdio, Shutdown, 2026-07-28
 */
export async function endChild(child: ChildProcess, patience: EndPatience): Promise<void> {
  const exited = new Promise<void>((resolve) => {
    if (hasExited(child)) resolve();
    else child.once("exit", () => resolve());
  });
  const over = async (ms: number): Promise<boolean> => {
    const overAt = performance.now() + ms;
    await within(exited, ms);
    while (isAlive(child) && performance.now() < overAt) await sleep(lookEveryMs);
    return !isAlive(child);
  };
  child.stdin?.end();
  if (!(await over(patience.exitMs))) {
    signal(child, "SIGTERM");
    if (!(await over(patience.termMs))) {
      signal(child, "SIGKILL");
      await over(patience.killMs);
    }
  }
  // Whoever left the group may hold the other ends of these for ever.
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
  child.unref();
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
}

function isAlive(child: ChildProcess): boolean {
  return !hasExited(child) || signalGroup(child, 0);
}

function signal(child: ChildProcess, name: NodeJS.Signals): void {
  if (!signalGroup(child, name) && !hasExited(child)) child.kill(name);
}

/** @returns whether there was anybody to signal. Elsewhere than on POSIX there are no groups. */
function signalGroup({ pid }: ChildProcess, name: NodeJS.Signals | 0): boolean {
  if (pid === undefined || process.platform === "win32") return false;
  try {
    return process.kill(-pid, name);
  } catch {
    // Nobody is left in the group, or nobody that may be signalled: neither can be waited for.
    return false;
  }
}
