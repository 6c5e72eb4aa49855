/** Timers of any runtime. */

/** Lets the process end although a timer is set, where timers can keep it alive: on Node. */
export function letGo(timer: unknown): void {
  // Node's is an object; elsewhere it is a number.
  if (typeof timer === "object" && timer !== null) (timer as { unref?(): void }).unref?.();
}

/** Waits; the process may end meanwhile. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => letGo(setTimeout(resolve, ms)));
}
