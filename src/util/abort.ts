/** Signals that any number of others wait for. */

interface Waiting {
  readonly callbacks: Set<() => void>;
  readonly onAbort: () => void;
}

/** One listener a signal, however many calls share it: Node takes the eleventh for a leak. */
const waiting: WeakMap<AbortSignal, Waiting> = new WeakMap();

/** Calls back once, when the signal aborts or at once. @returns what takes the callback back. */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  if (signal.aborted) {
    callback();
    return () => undefined;
  }
  const all = waiting.get(signal) ?? waitFor(signal);
  // Its own, so that one callback may be given twice.
  const once = (): void => callback();
  all.callbacks.add(once);
  return () => {
    all.callbacks.delete(once);
    if (all.callbacks.size > 0 || waiting.get(signal) !== all) return;
    waiting.delete(signal);
    signal.removeEventListener("abort", all.onAbort);
  };
}

function waitFor(signal: AbortSignal): Waiting {
  const callbacks = new Set<() => void>();
  const onAbort = (): void => {
    waiting.delete(signal);
    for (const callback of [...callbacks]) callback();
    callbacks.clear();
  };
  signal.addEventListener("abort", onAbort, { once: true });
  const all = { callbacks, onAbort };
  waiting.set(signal, all);
  return all;
}

/** What a promise comes to, unless the signal aborts before. @throws the signal's reason */
export function unlessAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const forget = onAbort(signal, () => reject(signal.reason));
    promise.then(resolve, reject).finally(forget);
  });
}
