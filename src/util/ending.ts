/** An end that any number of others want to know of. */

/**
 * Ends once. An AbortSignal could say so too, but Node takes the eleventh listener of one
 * for a leak and warns of it, and everything that is open listens to the end of its server.
 */
export class Ending {
  readonly #callbacks: Set<() => void> = new Set();
  #over = false;

  get over(): boolean {
    return this.#over;
  }

  /** How many wait for it: for tests of leaks. */
  get size(): number {
    return this.#callbacks.size;
  }

  end(): void {
    if (this.#over) return;
    this.#over = true;
    const callbacks = [...this.#callbacks];
    this.#callbacks.clear();
    for (const callback of callbacks) callback();
  }

  /** Calls back once, at the end or at once. @returns what takes the callback back. */
  onEnd(callback: () => void): () => void {
    if (this.#over) {
      callback();
      return () => undefined;
    }
    // Its own, so that one callback may be given twice.
    const once = (): void => callback();
    this.#callbacks.add(once);
    return () => void this.#callbacks.delete(once);
  }
}
