/**
 * Which characters the atoms of one pattern match, told by those characters at which their
 * sets can begin or end: two sets that share any character share one of these.
 */

/** One bit for each character looked at, and the lowest for what lies outside of ASCII by property. */
export type CharSet = bigint;

export const noChars: CharSet = 0n;
export const allChars: CharSet = -1n;

const byProperty: CharSet = 1n;

export class CharSets {
  readonly #samples: readonly string[];
  readonly #known = new Map<string, CharSet>();

  constructor(source: string) {
    this.#samples = [...samplesOf(source)].map((point) => String.fromCodePoint(point));
  }

  /** @param atom - what matches one character, such as `a`, `\d` or `[^/]` */
  of(atom: string): CharSet {
    const known = this.#known.get(atom);
    if (known !== undefined) return known;
    const pattern = new RegExp(`^${atom}$`, "u");
    let set = noChars;
    for (const [index, char] of this.#samples.entries()) {
      if (pattern.test(char)) set |= 2n << BigInt(index);
    }
    if (isWide(atom)) set |= byProperty;
    this.#known.set(atom, set);
    return set;
  }
}

/** Matches characters by a property, or all but some: beyond ASCII, any two of these may meet. */
function isWide(atom: string): boolean {
  return /^\.$|^\[\^|\\[pPDSW]/.test(atom);
}

function samplesOf(source: string): Set<number> {
  const points = new Set(Array.from({ length: 128 }, (_, point) => point));
  const enter = (point: number): void => {
    for (const near of [point - 1, point, point + 1]) {
      if (near >= 0 && near <= 0x10ffff) points.add(near);
    }
  };
  for (const char of source) enter(char.codePointAt(0) ?? 0);
  for (const found of source.matchAll(/\\(?:u\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4}))/g)) {
    enter(Number.parseInt(found[1] ?? found[2] ?? "0", 16));
  }
  for (const found of source.matchAll(/\\x([0-9a-fA-F]{2})/g)) {
    enter(Number.parseInt(found[1] ?? "0", 16));
  }
  // The spaces that `\s` has beyond ASCII.
  for (const point of [0xa0, 0x1680, 0x2000, 0x2028, 0x202f, 0x205f, 0x3000, 0xfeff]) enter(point);
  return points;
}
