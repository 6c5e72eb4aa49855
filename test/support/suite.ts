/** Stores in memory as the contract suites take them, and a runner that tells what failed. */
import { MemoryHub, MemorySessions } from "anyrev";
import type { OpenedHub, OpenedSessionStore, SuiteRunner } from "anyrev/testing";

const ttlMs = 1_000;

/** A clock that stands until it is told. */
export function stand(): { readonly now: () => number; readonly pass: (ms: number) => void } {
  let time = 1_000_000;
  return {
    now: () => time,
    pass: (ms) => {
      time += ms;
    },
  };
}

export function openHub(): OpenedHub & { readonly hub: MemoryHub } {
  const { now, pass } = stand();
  return { hub: new MemoryHub({ now, ttlMs }), ttlMs, pass };
}

export function openSessions(): OpenedSessionStore & { readonly store: MemorySessions } {
  const { now, pass } = stand();
  return { store: new MemorySessions({ now, ttlMs }), ttlMs, pass };
}

/** The same, as a store that lives elsewhere would do it: later, and not all at the same pace. */
export function later<T extends object>(store: T): T {
  let turn = 0;
  return new Proxy(store, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== "function") return method;
      return async (...args: unknown[]) => {
        for (let at = turn++ % 5; at > 0; at--) await Promise.resolve();
        return method.apply(target, args);
      };
    },
  });
}

/** @returns the messages of the tests that failed, by name, and how many there were in all. */
export async function runSuite(
  suite: (runner: SuiteRunner) => void,
): Promise<{ readonly count: number; readonly failures: ReadonlyMap<string, string> }> {
  const registered: [string, () => Promise<void>][] = [];
  suite({ test: (name, run) => registered.push([name, run]) });
  const failures = new Map<string, string>();
  await Promise.all(
    registered.map(([name, run]) =>
      run().catch((cause: unknown) => failures.set(name, String(cause))),
    ),
  );
  return { count: registered.length, failures };
}
