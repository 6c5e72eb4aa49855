/** What waits for slow readers on all streams of a process: many small queues are a large one. */

/** A stream as far as its queue goes. */
export interface Queue {
  /** How many bytes wait on it now. */
  waiting(): number;
  /** Gives its reader up, and lets go of what waits. */
  drop(): void;
}

/** Bytes that may wait on all streams together. */
export const maxBacklogBytes = 67_108_864;

/**
 * Knows what waited on each stream when it was written to last. Where that is too much in all,
 * the stream that is furthest behind is given up.
 */
export class Backlog {
  readonly #maxBytes: number;
  readonly #known: Map<Queue, number> = new Map();
  #total = 0;

  constructor(maxBytes: number = maxBacklogBytes) {
    this.#maxBytes = maxBytes;
  }

  /** Called after each write to a queue. */
  written(queue: Queue): void {
    this.#measure(queue);
    if (this.#total <= this.#maxBytes) return;
    // Most have been read from since they were written to.
    for (const known of this.#known.keys()) this.#measure(known);
    while (this.#total > this.#maxBytes) this.#dropLongest();
  }

  /** Called when a queue is over. */
  forget(queue: Queue): void {
    this.#total -= this.#known.get(queue) ?? 0;
    this.#known.delete(queue);
  }

  #measure(queue: Queue): void {
    const before = this.#known.get(queue) ?? 0;
    const now = queue.waiting();
    if (now === before) return;
    this.#total += now - before;
    if (now === 0) this.#known.delete(queue);
    else this.#known.set(queue, now);
  }

  #dropLongest(): void {
    let longest: Queue | undefined;
    let most = 0;
    for (const [queue, waiting] of this.#known) {
      if (waiting > most) [longest, most] = [queue, waiting];
    }
    // None is left to drop only where the sum is wrong.
    if (longest === undefined) this.#total = 0;
    else {
      this.forget(longest);
      longest.drop();
    }
  }
}
