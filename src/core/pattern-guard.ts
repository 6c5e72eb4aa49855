/**
 * Which regular expressions may take time exponential in a hostile string. A backtracking
 * engine does so where one repetition holds another, or where alternatives that a
 * repetition holds can begin alike; a back-reference defeats any such reading.
 */

const maxLength = 1_000;

interface Group {
  /** Holds a repetition without an upper bound, at any level. */
  repeats: boolean;
  /** Holds alternatives that are not told apart by their first character. */
  ambiguous: boolean;
  /** Where the current alternative begins. */
  branchStart: number;
  readonly firsts: Set<string>;
  /** Some alternative begins with something other than a plain character. */
  opaque: boolean;
  alternatives: number;
}

/** Why this pattern is refused, or undefined when it is safe to run on any string. */
export function findUnsafePattern(source: string): string | undefined {
  if (source.length > maxLength) return `the pattern is longer than ${maxLength} characters`;
  const reason = new PatternReader(source).findReason();
  return reason === undefined
    ? undefined
    : `the pattern ${JSON.stringify(source)} can take exponential time: ${reason}`;
}

const unbalanced = "its groups do not match";

class PatternReader {
  readonly #source: string;
  readonly #groups: Group[] = [newGroup(0)];
  /** The atom before, if it repeats without bound. */
  #lastRepeated = "";
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
    this.#at = atom.end;
    switch (atom.kind) {
      case "reference":
        return "it refers back to a group";
      case "open":
        this.#groups.push(newGroup(this.#at));
        this.#lastRepeated = "";
        return undefined;
      case "or":
        this.#endBranch(this.#groups.at(-1));
        this.#lastRepeated = "";
        return undefined;
      case "close": {
        const closed = this.#groups.pop();
        this.#endBranch(closed);
        return this.#quantify(atom, closed);
      }
      case "char":
        return this.#quantify(atom, undefined);
    }
  }

  /** Reads the quantifier that follows an atom and judges the two together. */
  #quantify(atom: Atom, closed: Group | undefined): string | undefined {
    const { end, repeats, unbounded } = readQuantifier(this.#source, this.#at);
    this.#at = end;
    const holder = this.#groups.at(-1);
    if (holder === undefined) return unbalanced;
    if (repeats && closed?.repeats === true) return "a repetition holds a repetition";
    if (unbounded && closed?.ambiguous === true) return "it repeats alternatives that begin alike";
    if (unbounded && atom.text === this.#lastRepeated) {
      return "it repeats the same thing twice in a row";
    }
    holder.repeats ||= unbounded || closed?.repeats === true;
    holder.ambiguous ||= closed?.ambiguous === true;
    this.#lastRepeated = unbounded ? atom.text : "";
    return undefined;
  }

  #endBranch(group: Group | undefined): void {
    if (group === undefined) return;
    const first = this.#source.charAt(group.branchStart);
    // Only a plain character tells an alternative apart from the others for certain.
    const plain = /^[A-Za-z0-9_@#%&=:;,<>/ -]$/.test(first);
    group.alternatives++;
    group.opaque ||= !plain;
    group.ambiguous ||= group.alternatives > 1 && (group.opaque || group.firsts.has(first));
    group.firsts.add(first);
    group.branchStart = this.#at;
  }
}

function newGroup(branchStart: number): Group {
  return {
    repeats: false,
    ambiguous: false,
    branchStart,
    firsts: new Set(),
    opaque: false,
    alternatives: 0,
  };
}

interface Atom {
  readonly kind: "char" | "open" | "close" | "or" | "reference";
  readonly end: number;
  readonly text: string;
}

function readAtom(source: string, at: number): Atom {
  const char = source.charAt(at);
  const atom = (kind: Atom["kind"], end: number): Atom => ({
    kind,
    end,
    text: source.slice(at, end),
  });
  if (char === "\\") {
    const reference = /^\\(?:[1-9]|k<[^>]*>)/.exec(source.slice(at));
    if (reference !== null) return atom("reference", at + reference[0].length);
    const whole = /^\\(?:u\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[pP]\{[^}]*\}|.)/su.exec(
      source.slice(at),
    );
    return atom("char", at + (whole?.[0].length ?? 1));
  }
  if (char === "[") return atom("char", endOfClass(source, at));
  if (char === "(") {
    const opening = /^\((?:\?(?::|=|!|<=|<!|<[^>]*>))?/.exec(source.slice(at));
    return atom("open", at + (opening?.[0].length ?? 1));
  }
  if (char === ")") return atom("close", at + 1);
  if (char === "|") return atom("or", at + 1);
  return atom("char", at + 1);
}

function endOfClass(source: string, start: number): number {
  let at = start + 1;
  while (at < source.length && source.charAt(at) !== "]") at += source.charAt(at) === "\\" ? 2 : 1;
  return Math.min(at + 1, source.length);
}

interface Quantifier {
  readonly end: number;
  /** May match its atom more than once. */
  readonly repeats: boolean;
  readonly unbounded: boolean;
}

function readQuantifier(source: string, at: number): Quantifier {
  const found = /^(?:[*+?]|\{(\d+)(,)?(\d+)?\})\??/.exec(source.slice(at));
  if (found === null) return { end: at, repeats: false, unbounded: false };
  const end = at + found[0].length;
  const sign = found[0].charAt(0);
  if (sign === "?") return { end, repeats: false, unbounded: false };
  if (sign !== "{") return { end, repeats: true, unbounded: true };
  const unbounded = found[2] !== undefined && found[3] === undefined;
  return { end, repeats: unbounded || Number(found[3] ?? found[1]) > 1, unbounded };
}
