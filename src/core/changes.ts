/** What has changed in a server, told to whoever serves it: once for many changes at once. */
import type { Change } from "./notice.ts";

/** How long changes are gathered before they are told, in milliseconds. */
const gatherMs = 10;

export class Changes {
  readonly #listeners: Set<(change: Change) => void> = new Set();
  readonly #gathered: Map<string, Change> = new Map();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** How many listen: for tests of leaks. */
  get listeners(): number {
    return this.#listeners.size;
  }

  add(change: Change): void {
    // Before anyone serves the server, nobody holds a copy of anything.
    if (this.#listeners.size === 0) return;
    this.#gathered.set(`${change.kind} ${"list" in change ? change.list : change.uri}`, change);
    this.#timer ??= setTimeout(() => this.#tell(), gatherMs);
  }

  /** @returns a function that ends listening. */
  listen(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #tell(): void {
    this.#timer = undefined;
    const changes = [...this.#gathered.values()];
    this.#gathered.clear();
    for (const change of changes) {
      for (const listener of [...this.#listeners]) listener(change);
    }
  }
}
