/**
 * What a pattern costs on a string of a given length where a backtracking engine fails at the last
 * character. A repetition that can take what comes after it is tried at every length, so each
 * multiplies by as much; one that cannot is run through once.
 */
import { allChars, type CharSet, type CharSets, noChars } from "./char-sets.ts";
import type { Branch, Piece } from "./pattern-syntax.ts";

/** The steps that a string of this many characters may take, at most. */
export type PatternCost = (length: number) => number;

/** Written for patterns that the guard has let pass. */
export function patternCost(branches: readonly Branch[], sets: CharSets): PatternCost {
  const judge = new Judge(sets);
  const ways = judge.branches(branches.map(withoutFreeEnd), noChars);
  const isTriedAgain = ways.degree + ways.bounded > 0;
  const isLong = judge.scans || isTriedAgain || judge.looks.length > 0;
  const startsAnywhere = isLong && !branches.every(isAnchored);
  const runs = ways.degree === 0 || judge.scansWithin ? 1 : 0;
  return (length) => {
    const ahead = judge.looks.reduce((sum, look) => sum + evaluate(look, length), runs);
    return evaluate(ways, length) * (startsAnywhere ? length : 1) * (1 + ahead * length);
  };
}

/** In how many ways something is tried: `count` times the lesser of two powers of the length. */
interface Ways {
  readonly count: number;
  /** Repetitions without an end. */
  readonly degree: number;
  /** Repetitions with an end, and the product of their lengths. */
  readonly bounded: number;
  readonly factor: number;
}

const once: Ways = { count: 1, degree: 0, bounded: 0, factor: 1 };

function evaluate({ count, degree, bounded, factor }: Ways, length: number): number {
  return count * Math.min(factor * length ** degree, length ** (degree + bounded));
}

function multiply(one: Ways, other: Ways): Ways {
  return {
    count: one.count * other.count,
    degree: one.degree + other.degree,
    bounded: one.bounded + other.bounded,
    factor: one.factor * other.factor,
  };
}

function repeat({ count, degree, bounded, factor }: Ways, times: number): Ways {
  return {
    count: count ** times,
    degree: degree * times,
    bounded: bounded * times,
    factor: factor ** times,
  };
}

/** The ways of alternatives: those that begin alike are all tried. */
function either(all: readonly Ways[], areAlike: boolean): Ways {
  const counts = all.map(({ count }) => count);
  return {
    count: areAlike ? counts.reduce((sum, count) => sum + count, 0) : Math.max(...counts),
    degree: Math.max(...all.map(({ degree }) => degree)),
    bounded: Math.max(...all.map(({ bounded }) => bounded)),
    factor: Math.max(...all.map(({ factor }) => factor)),
  };
}

interface First {
  readonly set: CharSet;
  readonly isEmptyToo: boolean;
}

class Judge {
  readonly #sets: CharSets;
  readonly #firsts = new Map<Piece, First>();
  /** Something is run through to its end. */
  scans = false;
  /** The same, in each way of what stands before it. */
  scansWithin = false;
  /** The ways of what is looked at ahead or behind, each of which is found or not once and for all. */
  looks: readonly Ways[] = [];

  constructor(sets: CharSets) {
    this.#sets = sets;
  }

  branches(branches: readonly Branch[], next: CharSet): Ways {
    let seen = noChars;
    let areAlike = false;
    const all = branches.map((branch) => {
      const first = this.#begin(branch, next);
      areAlike ||= (seen & first) !== noChars;
      seen |= first;
      return this.#branch(branch, next);
    });
    return either(all, areAlike);
  }

  /** From its end, as what follows a piece decides how often it is tried. */
  #branch(branch: Branch, end: CharSet): Ways {
    let ways = once;
    let next = end;
    for (const piece of branch.toReversed()) {
      ways = multiply(this.#piece(piece, next), ways);
      next = this.#before(piece, next);
    }
    return ways;
  }

  #piece(piece: Piece, next: CharSet): Ways {
    if (piece.kind === "repeat") return this.#repeat(piece, next);
    if (piece.kind !== "group") return once;
    if (!piece.looks) return this.branches(piece.branches, next);
    this.#eachLook(
      () => this.branches(piece.branches, noChars),
      (ways, within) => [ways, ...within.map((look) => multiply(ways, look))],
    );
    return once;
  }

  /** Judges a piece, and lets what it looks at count more than once. */
  #eachLook(
    judge: () => Ways,
    recount: (ways: Ways, within: readonly Ways[]) => readonly Ways[],
  ): Ways {
    const outside = this.looks;
    this.looks = [];
    const ways = judge();
    this.looks = [...outside, ...recount(ways, this.looks)];
    return ways;
  }

  #repeat({ of, min, max }: Repeat, next: CharSet): Ways {
    const first = this.#first(of).set;
    const isEndless = max === Number.POSITIVE_INFINITY;
    const turns = isEndless ? { ...once, degree: 1 } : { ...once, bounded: 1, factor: max };
    const inner = this.#eachLook(
      () => this.#piece(of, max > 1 ? next | first : next),
      (_, within) => within.map((look) => multiply(look, turns)),
    );
    const isTriedAgain = min !== max && (first & next) !== noChars;
    const all = isEndless ? inner : repeat(inner, max);
    if (isTriedAgain) {
      this.scansWithin ||= this.scans;
      const tries = isEndless
        ? { ...once, degree: 1 }
        : { ...once, bounded: 1, factor: max - min + 1 };
      return multiply(all, tries);
    }
    this.scans ||= isEndless;
    return all;
  }

  /** What a branch can begin with, and what follows it where it can be empty. */
  #begin(branch: Branch, next: CharSet): CharSet {
    return branch.reduceRight((after, piece) => this.#before(piece, after), next);
  }

  #before(piece: Piece, next: CharSet): CharSet {
    if (piece.kind === "edge" && piece.text === "$") return noChars;
    const { set, isEmptyToo } = this.#first(piece);
    return isEmptyToo ? set | next : set;
  }

  #first(piece: Piece): First {
    const known = this.#firsts.get(piece);
    if (known !== undefined) return known;
    const first = this.#findFirst(piece);
    this.#firsts.set(piece, first);
    return first;
  }

  #findFirst(piece: Piece): First {
    switch (piece.kind) {
      case "char":
        return { set: this.#sets.of(piece.text), isEmptyToo: false };
      case "repeat": {
        const { set, isEmptyToo } = this.#first(piece.of);
        return { set, isEmptyToo: isEmptyToo || piece.min === 0 };
      }
      case "group":
        // It may fail on anything, after which all before it is tried in other ways.
        if (piece.looks) return { set: allChars, isEmptyToo: true };
        return {
          set: piece.branches.reduce((set, branch) => set | this.#begin(branch, noChars), noChars),
          isEmptyToo: piece.branches.some((branch) =>
            branch.every((inner) => this.#first(inner).isEmptyToo),
          ),
        };
      default:
        return nothing;
    }
  }
}

type Repeat = Piece & { readonly kind: "repeat" };

const nothing: First = { set: noChars, isEmptyToo: true };

/** A repetition of one character at the end of all need not go on to be found, nor can it fail. */
function withoutFreeEnd(branch: Branch): Branch {
  const last = branch.at(-1);
  if (last?.kind !== "repeat" || last.of.kind !== "char") return branch;
  return [...branch.slice(0, -1), ...(last.min === 0 ? [] : [last.of])];
}

function isAnchored(branch: Branch): boolean {
  const first = branch.at(0);
  if (first?.kind === "edge") return first.text === "^";
  return first?.kind === "group" && !first.looks && first.branches.every(isAnchored);
}
