/** What goes on for longer than the credentials it was opened with are good. */
import type { Access } from "../core/access.ts";
import { letGo } from "../util/timer.ts";

/** A timer that is set for longer fires at once. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * Calls back when a caller's credentials run out; its client opens a new stream with new ones,
 * if it was given any.
 *
 * @returns a function that ends the wait.
 */
export function onExpiry({ principal }: Access, callback: () => void): () => void {
  const expiresAt = principal?.expiresAt;
  if (expiresAt === undefined) return () => undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wait = (): void => {
    const leftMs = expiresAt - Date.now();
    if (leftMs <= 0) {
      callback();
      return;
    }
    timer = setTimeout(wait, Math.min(leftMs, longestTimerMs));
    letGo(timer);
  };
  wait();
  return () => clearTimeout(timer);
}
