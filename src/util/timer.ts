/** Timers of any runtime. */

/** Lets the process end although a timer is set, where timers can keep it alive: on Node. */
export function letGo(timer: unknown): void {
  // Node's is an object; elsewhere it is a number.
  if (typeof timer === "object" && timer !== null) (timer as { unref?(): void }).unref?.();
}
