/** What has changed in a server, told to whoever serves it: once for many changes at once. */
import type { Change } from "./notice.ts";

/** How long changes are gathered before they are told, in milliseconds. */
export const gatherMs = 10;

type Listener = (change: Change) => void;

export class Changes {
  /** By what they listen for. */
  readonly #listeners: Map<object, Set<Listener>> = new Map();
  readonly #gathered: Map<string, Change> = new Map();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** How many listen: for tests of leaks. */
  get listeners(): number {
    let listeners = 0;
    for (const each of this.#listeners.values()) listeners += each.size;
    return listeners;
  }

  add(change: Change): void {
    // Before anyone serves the server, nobody holds a copy of anything.
    if (this.#listeners.size === 0) return;
    this.#gathered.set(`${change.kind} ${"list" in change ? change.list : change.uri}`, change);
    this.#timer ??= setTimeout(() => this.#tell(), gatherMs);
  }

  /**
   * Calls back for each change.
   *
   * @param on - what the listener passes changes on to. Of those that pass them on to the same
   * thing one is called, so that it gets each change once however many serve the server.
   * @returns a function that ends listening.
   */
  listen(listener: Listener, on: object = listener): () => void {
    const listeners = this.#listeners.get(on) ?? new Set();
    this.#listeners.set(on, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(on) === listeners) this.#listeners.delete(on);
    };
  }

  #tell(): void {
    this.#timer = undefined;
    const changes = [...this.#gathered.values()];
    this.#gathered.clear();
    for (const change of changes) {
      for (const [listener] of [...this.#listeners.values()]) listener?.(change);
    }
  }
}
