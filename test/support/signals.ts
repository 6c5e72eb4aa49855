/** Waiting for one another, and for what has no event of its own. */
import { setTimeout as delay } from "node:timers/promises";

export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

export function createGate(): Gate {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

/** Looks again and again; fails, saying what, when it never becomes true. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  timeoutMs = 3_000,
): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`never happened: ${what}`);
    await delay(2);
  }
}
