/** Waiting before another try. */

const firstMs = 250;
const maxMs = 30_000;

/** Milliseconds before the next try: doubling, with a random part so that many do not come at once. */
export function backOff(attempt: number): number {
  const fullMs = Math.min(maxMs, firstMs * 2 ** (attempt - 1));
  return fullMs / 2 + (Math.random() * fullMs) / 2;
}

/** Resolves after so long, or as soon as the signal aborts. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const wake = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    signal.addEventListener("abort", wake, { once: true });
  });
}
