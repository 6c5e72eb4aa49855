/** What is still there: everything a server could leave behind that can be counted. */
import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { MemoryHub, MemorySessions, Server } from "anyrev/node";

const intervals: Set<unknown> = new Set();
const { setInterval: start, clearInterval: stop } = globalThis;
globalThis.setInterval = ((...args: Parameters<typeof start>) => {
  const interval = start(...args);
  intervals.add(interval);
  return interval;
}) as typeof start;
globalThis.clearInterval = (interval) => {
  intervals.delete(interval);
  stop(interval);
};

export interface Counts {
  /** Who hears of the server's changes. */
  readonly listeners: number;
  readonly followers: number;
  readonly sessions: number;
  readonly timeouts: number;
  /** Timers that repeat, also those that would let the process end. */
  readonly intervals: number;
  readonly sockets: number;
}

export interface Counted {
  readonly server: Server;
  readonly hub: MemoryHub;
  readonly store: MemorySessions;
}

export function count({ server, hub, store }: Counted): Counts {
  const resources = process.getActiveResourcesInfo();
  const having = (...names: readonly string[]): number =>
    resources.filter((each) => names.includes(each)).length;
  return {
    listeners: server.changes.listeners,
    followers: hub.counts.followers,
    sessions: store.size,
    timeouts: having("Timeout"),
    intervals: intervals.size,
    // A server that listens counts too, so it is there before and after.
    sockets: having("TCPSocketWrap", "TCPServerWrap"),
  };
}

/** Waits until all counts are what they were, or throws with what is left. */
export async function settledTo(before: Counts, counted: Counted, waitMs = 5_000): Promise<void> {
  const end = performance.now() + waitMs;
  for (;;) {
    const left = Object.entries(count(counted)).filter(
      ([name, now]) => now > before[name as keyof Counts],
    );
    if (left.length === 0) return;
    if (performance.now() > end) throw new Error(`left behind: ${JSON.stringify(left)}`);
    await delay(5);
  }
}

/** Collects garbage, for what shows only then. */
export async function collect(): Promise<void> {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  for (let round = 0; round < 3; round++) {
    gc();
    await delay(5);
  }
}
