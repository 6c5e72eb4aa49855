/** What is under way, where much comes and goes. */

/** What a bag holds; only the bag writes to it. */
export interface Bagged {
  /** Where it lies in its bag; -1 when it is in none. */
  place: number;
}

/**
 * A set in no order. A Set or a Map that much is added to and deleted from makes a new table now
 * and then, and each table refers to the next: once one of them is old, all later ones outlive
 * every young collection, and so does whatever was in them. That costs more than an HTTP call.
 */
export class Bag<T extends Bagged> {
  readonly #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  add(item: T): void {
    item.place = this.#items.push(item) - 1;
  }

  delete(item: T): void {
    const { place } = item;
    if (this.#items[place] !== item) return;
    item.place = -1;
    const last = this.#items.pop();
    // The last one takes its place.
    if (last === undefined || last === item) return;
    this.#items[place] = last;
    last.place = place;
  }

  find(isWanted: (item: T) => boolean): T | undefined {
    return this.#items.find(isWanted);
  }

  /** All of them as they are now: some may be deleted meanwhile. */
  all(): T[] {
    return [...this.#items];
  }
}
