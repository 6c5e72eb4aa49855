/** What a contract suite needs of a test runner, and the checks it makes itself. */
import type { Awaitable } from "../util/awaitable.ts";

/** Where a suite states its promises: `{ test }` of vitest, of `node:test`, or your own. */
export interface SuiteRunner {
  /** Registers one test; it fails when `run` rejects. */
  test(name: string, run: () => Promise<void>): unknown;
}

/** What every backend under test is opened with. */
export interface Opened {
  /** How long the backend keeps what is not used, in milliseconds. */
  readonly ttlMs: number;
  /** Lets time pass, by moving the backend's clock. @default really waits */
  readonly pass?: ((ms: number) => Awaitable<void>) | undefined;
  /** Called at the end of each test. */
  readonly close?: (() => Awaitable<void>) | undefined;
}

/** Opens a fresh backend for each test, and closes it after. */
export function perTest<T extends Opened>(
  { test }: SuiteRunner,
  open: () => Awaitable<T>,
): (name: string, run: (opened: T) => Promise<void>) => void {
  return (name, run) => {
    test(name, async () => {
      const opened = await open();
      try {
        await run(opened);
      } finally {
        await opened.close?.();
      }
    });
  };
}

export async function elapse({ pass }: Opened, ms: number): Promise<void> {
  if (pass === undefined) await sleep(ms);
  else await pass(ms);
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Compares as JSON does: a member that is undefined is no member. */
export function assertEqual(actual: unknown, expected: unknown, what: string): void {
  const [is, shouldBe] = [write(actual), write(expected)];
  if (is !== shouldBe) throw new Error(`${what}: got ${is}, not ${shouldBe}`);
}

export function assert(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

/** Waits until something holds: a backend may take its time to tell. */
export async function until(holds: () => boolean, what: string): Promise<void> {
  const end = Date.now() + 5_000;
  for (let waitMs = 1; !holds(); waitMs = Math.min(waitMs * 2, 50)) {
    assert(Date.now() < end, `${what} did not happen within 5 seconds`);
    await sleep(waitMs);
  }
}

function write(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => sorted(each)) ?? "nothing";
}

/** With its members in one order, so that stores may keep them in another. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
