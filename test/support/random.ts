/** Randomness that a seed repeats, and JSON made of it. */

export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to 1, without 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** From 0 to `end`, without `end`. */
  int(end: number): number {
    return Math.floor(this.next() * end);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(from: readonly T[]): T {
    if (from.length === 0) throw new RangeError("nothing to pick from");
    return from[this.int(from.length)] as T;
  }
}

/** The seed of this run: `FUZZ_SEED` repeats an earlier one. */
export function seedOf(environment: Readonly<Record<string, string | undefined>>): number {
  const given = environment["FUZZ_SEED"];
  return given === undefined ? Date.now() % 4_294_967_296 : Number(given);
}

export const awkwardStrings: readonly string[] = [
  "",
  " ",
  "\t",
  "\n",
  "\0",
  "constructor",
  "__proto__",
  "toString",
  "hasOwnProperty",
  "2.0",
  "1",
  "null",
  "café ☕",
  "\u{1f9e8}",
  "\ud800",
  "\udc00x",
  "\u2028",
  "\ufeff",
  "=?base64?4pi6?=",
  "=?base64?!!!?=",
  "=?base64?=",
  "'\"\\",
  "..%2f..%2fetc",
  "{name}",
  "%",
  "note://1",
];

const awkwardNumbers: readonly number[] = [
  0,
  -0,
  1,
  -1,
  0.5,
  1e21,
  -1e21,
  2 ** 53,
  2 ** 53 - 1,
  -(2 ** 53),
  1e308,
  5e-324,
];

export const awkwardNames: readonly string[] = [
  "__proto__",
  "constructor",
  "prototype",
  "toJSON",
  "then",
  "length",
  "",
  "0",
  "_meta",
  "id",
  "method",
  "params",
  "jsonrpc",
  "name",
];

export function randomScalar(random: Random): unknown {
  switch (random.int(5)) {
    case 0:
      return null;
    case 1:
      return random.chance(0.5);
    case 2:
      return random.pick(awkwardNumbers);
    case 3:
      return "x".repeat(random.int(40));
    default:
      return random.pick(awkwardStrings);
  }
}

export function randomJson(random: Random, depth = 3): unknown {
  if (depth === 0 || random.chance(0.5)) return randomScalar(random);
  const length = random.int(4);
  if (random.chance(0.5)) return Array.from({ length }, () => randomJson(random, depth - 1));
  const object = {};
  for (let count = 0; count < length; count++) {
    setOwn(object, random.pick(awkwardNames), randomJson(random, depth - 1));
  }
  return object;
}

/** Sets a member of its own, also one that an assignment would take for the prototype. */
export function setOwn(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

export function nested(levels: number, random: Random): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = random.chance(0.5) ? [value] : { a: value };
  return value;
}
