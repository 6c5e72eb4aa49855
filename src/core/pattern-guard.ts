/**
 * Which regular expressions may take time exponential in a hostile string. A backtracking
 * engine does so where a repetition holds something that matches one string in several
 * ways: another repetition, what may be left out, or alternatives that can begin alike.
 * A back-reference defeats any such reading.
 */

import { type Atom, readAtom, readQuantifier } from "./pattern-syntax.ts";

const maxLength = 1_000;
/** In how many ways one string may be matched, all of which a failing match tries. */
const maxWays = 10_000;

interface Part {
  readonly text: string;
  readonly isGroup: boolean;
  readonly varies: boolean;
}

interface Varying {
  readonly text: string;
  /** In how many ways it and its likes before it match. */
  readonly ways: number;
}

interface Group {
  readonly start: number;
  /** What stands before it, if its length varies. */
  readonly before: Varying | undefined;
  /** Holds a repetition without an upper bound, at any level. */
  repeats: boolean;
  /** Its alternatives are not told apart by their first character. */
  ambiguous: boolean;
  /** Where the current alternative begins. */
  branchStart: number;
  /** The current alternative may begin with what follows its first part. */
  skipsFirst: boolean;
  readonly firsts: Set<string>;
  /** Some alternative begins with something other than a plain character. */
  opaque: boolean;
  alternatives: number;
  /** In how many ways the current alternative can match, and those before it. */
  branchWays: number;
  mostWays: number;
  allWays: number;
  readonly parts: Part[];
}

/** Why this pattern is refused, or undefined when it is safe to run on any string. */
export function findUnsafePattern(source: string): string | undefined {
  if (source.length > maxLength) return `the pattern is longer than ${maxLength} characters`;
  const reason = new PatternReader(source).findReason();
  if (reason === undefined) return findInvalid(source);
  return `the pattern ${JSON.stringify(source)} can take exponential time: ${reason}`;
}

/** A validator compiles a pattern at the first value, which is too late to say that it is none. */
function findInvalid(source: string): string | undefined {
  try {
    new RegExp(source, "u");
    return undefined;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    return `it is no pattern of ECMA-262 with the flag u: ${why}`;
  }
}

const unbalanced = "its groups do not match";
const twice = "it repeats the same thing twice in a row";
const flags = "it changes flags in a group, which is not supported";
const tooMany = "there are too many ways to match one string";

class PatternReader {
  readonly #source: string;
  readonly #groups: Group[] = [newGroup(0, 0, undefined)];
  /** The part before, if its length varies. */
  #last: Varying | undefined;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  findReason(): string | undefined {
    while (this.#at < this.#source.length) {
      const reason = this.#step(readAtom(this.#source, this.#at));
      if (reason !== undefined) return reason;
    }
    return this.#groups.length === 1 ? undefined : unbalanced;
  }

  #step(atom: Atom): string | undefined {
    const start = this.#at;
    this.#at = atom.end;
    switch (atom.kind) {
      case "reference":
        return "it refers back to a group";
      case "open":
        // Those who judge its characters read them without flags.
        if (/^\(\?[a-zA-Z-]+:/.test(this.#source.slice(start, this.#at))) return flags;
        this.#groups.push(newGroup(start, this.#at, this.#last));
        this.#last = undefined;
        return undefined;
      case "or":
        this.#endBranch(this.#groups.at(-1));
        this.#last = undefined;
        return undefined;
      case "close": {
        const closed = this.#groups.pop();
        this.#endBranch(closed);
        if (closed === undefined) return unbalanced;
        this.#last = closed.before;
        return this.#quantify(closed.start, closed);
      }
      case "char":
        return this.#quantify(start, undefined);
    }
  }

  /** Reads the quantifier that follows a part and judges the two together. */
  #quantify(start: number, closed: Group | undefined): string | undefined {
    const text = this.#source.slice(start, this.#at);
    const { end, min, max } = readQuantifier(this.#source, this.#at);
    this.#at = end;
    const holder = this.#groups.at(-1);
    if (holder === undefined) return unbalanced;
    const reason = closed === undefined ? undefined : judgeRepetition(closed, max);
    if (reason !== undefined) return reason;
    const unbounded = max === Number.POSITIVE_INFINITY;
    const varies = min !== max;
    const ways = unbounded ? 1 : waysOf(closed) ** max * (max - min + 1);
    if (start === holder.branchStart && min === 0) holder.skipsFirst = true;
    holder.repeats ||= unbounded || closed?.repeats === true;
    holder.branchWays = Math.min(holder.branchWays * ways, Number.MAX_SAFE_INTEGER);
    const isInside = closed !== undefined && (closed.repeats || waysOf(closed) > 1);
    holder.parts.push({ text, isGroup: closed !== undefined, varies: varies || isInside });
    return this.#follow(text, varies, unbounded ? Number.POSITIVE_INFINITY : ways);
  }

  /** Neighbours that can take each other's characters multiply their ways. */
  #follow(text: string, varies: boolean, ways: number): string | undefined {
    const before = this.#last?.text === text ? this.#last.ways : 1;
    const together = before * ways;
    this.#last = varies ? { text, ways: together } : undefined;
    if (!varies || before === 1) return undefined;
    if (together === Number.POSITIVE_INFINITY) return twice;
    return together > maxWays ? tooMany : undefined;
  }

  #endBranch(group: Group | undefined): void {
    if (group === undefined) return;
    const first = this.#source.charAt(group.branchStart);
    // Only a plain character tells an alternative apart from the others for certain.
    const plain = /^[A-Za-z0-9_@#%&=:;,<>/ -]$/.test(first) && !group.skipsFirst;
    group.alternatives++;
    group.opaque ||= !plain;
    group.ambiguous ||= group.alternatives > 1 && (group.opaque || group.firsts.has(first));
    group.firsts.add(first);
    group.mostWays = Math.max(group.mostWays, group.branchWays);
    group.allWays += group.branchWays;
    group.branchWays = 1;
    group.skipsFirst = false;
    group.branchStart = this.#at;
  }
}

function judgeRepetition(closed: Group, max: number): string | undefined {
  if (max <= 1 || isDelimited(closed)) return undefined;
  if (closed.repeats) return "a repetition holds a repetition";
  const ways = waysOf(closed);
  if (max !== Number.POSITIVE_INFINITY) return ways ** max > maxWays ? tooMany : undefined;
  if (ways === 1) return undefined;
  return closed.ambiguous
    ? "it repeats alternatives that begin alike"
    : "a repetition holds what varies in length";
}

function waysOf(group: Group | undefined): number {
  if (group === undefined || isDelimited(group)) return 1;
  return group.ambiguous ? group.allWays : group.mostWays;
}

/**
 * Begins or ends with a character that nothing else in it matches, as `-[a-z]+` does, and
 * varies in one place only: then a string tells by itself where each repetition begins.
 */
function isDelimited({ parts, alternatives }: Group): boolean {
  if (alternatives !== 1 || parts.some((part) => part.isGroup)) return false;
  if (parts.filter((part) => part.varies).length > 1) return false;
  return [parts.at(0), parts.at(-1)].some((edge) => {
    const delimiter = edge === undefined || edge.varies ? undefined : literalOf(edge.text);
    return (
      delimiter !== undefined &&
      parts.every((part) => part === edge || !matches(part.text, delimiter))
    );
  });
}

function literalOf(text: string): string | undefined {
  if (/^[^\\.^$[\](){}*+?|]$/u.test(text)) return text;
  return /^\\[^A-Za-z0-9]$/u.test(text) ? text.slice(1) : undefined;
}

/** Whether an atom of one character matches it; what is no atom by itself may match anything. */
function matches(atom: string, char: string): boolean {
  try {
    return new RegExp(`^(?:${atom})$`, "u").test(char);
  } catch {
    return true;
  }
}

function newGroup(start: number, branchStart: number, before: Varying | undefined): Group {
  return {
    start,
    before,
    repeats: false,
    ambiguous: false,
    branchStart,
    skipsFirst: false,
    firsts: new Set(),
    opaque: false,
    alternatives: 0,
    branchWays: 1,
    mostWays: 1,
    allWays: 0,
    parts: [],
  };
}
