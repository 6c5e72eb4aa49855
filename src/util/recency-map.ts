/** A map in the order of last use, longest ago first. */

interface Place<V> {
  readonly key: string;
  value: V;
  older: Place<V> | undefined;
  newer: Place<V> | undefined;
}

/**
 * What a Map does by deleting a key and setting it again; but a Map makes a new table every few
 * times, and that costs more than the rest of a request (see `Bag`).
 */
export class RecencyMap<V> {
  readonly #places: Map<string, Place<V>> = new Map();
  #oldest: Place<V> | undefined;
  #newest: Place<V> | undefined;

  get size(): number {
    return this.#places.size;
  }

  /** Looking is no use. */
  get(key: string): V | undefined {
    return this.#places.get(key)?.value;
  }

  /** Sets it, as the last used. */
  set(key: string, value: V): void {
    let place = this.#places.get(key);
    if (place === undefined) {
      place = { key, value, older: undefined, newer: undefined };
      this.#places.set(key, place);
    } else {
      place.value = value;
      if (place === this.#newest) return;
      this.#unlink(place);
    }
    place.newer = undefined;
    place.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = place;
    else this.#newest.newer = place;
    this.#newest = place;
  }

  delete(key: string): boolean {
    const place = this.#places.get(key);
    if (place === undefined) return false;
    this.#places.delete(key);
    this.#unlink(place);
    return true;
  }

  /** The one that is come to may be deleted. */
  *[Symbol.iterator](): Generator<readonly [key: string, value: V]> {
    for (let place = this.#oldest; place !== undefined; ) {
      const { newer } = place;
      yield [place.key, place.value];
      place = newer;
    }
  }

  #unlink({ older, newer }: Place<V>): void {
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
  }
}
