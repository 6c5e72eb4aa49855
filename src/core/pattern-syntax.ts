/** Regular expressions as JSON Schema has them: ECMA-262 with the flag `u`. */

/** A pattern as a tree. */
export type Piece =
  | { readonly kind: "char" | "edge"; readonly text: string }
  | { readonly kind: "group"; readonly looks: boolean; readonly branches: readonly Branch[] }
  | { readonly kind: "repeat"; readonly of: Piece; readonly min: number; readonly max: number };

/** What stands one after another. */
export type Branch = readonly Piece[];

/** The alternatives of a pattern that the engine takes, or what of it is not read here. */
export function parsePattern(source: string): readonly Branch[] | string {
  const parser = new Parser(source);
  return parser.parse() ?? parser.branches;
}

interface Open {
  readonly looks: boolean;
  /** What was being read when it was opened. */
  readonly outer: Piece[][];
}

class Parser {
  readonly #source: string;
  readonly #open: Open[] = [];
  #at = 0;
  branches: Piece[][] = [[]];

  constructor(source: string) {
    this.#source = source;
  }

  /** What it refuses, if anything. */
  parse(): string | undefined {
    while (this.#at < this.#source.length) {
      const { kind, end } = readAtom(this.#source, this.#at);
      const text = this.#source.slice(this.#at, end);
      this.#at = end;
      if (kind === "reference") return "refers back to a group";
      // Whoever judges its characters reads them without flags.
      if (/^\(\?[a-zA-Z-]+:/.test(text)) return "changes flags in a group";
      this.#take(kind, text);
    }
    return undefined;
  }

  #take(kind: Exclude<Atom["kind"], "reference">, text: string): void {
    switch (kind) {
      case "or":
        this.branches.push([]);
        break;
      case "open":
        this.#open.push({ looks: /^\(\?<?[=!]$/.test(text), outer: this.branches });
        this.branches = [[]];
        break;
      case "close": {
        const { looks, outer } = this.#open.pop() ?? { looks: false, outer: [[]] };
        const { branches } = this;
        this.branches = outer;
        this.#put({ kind: "group", looks, branches });
        break;
      }
      case "char":
        this.#put({ kind: edges.has(text) ? "edge" : "char", text });
    }
  }

  /** Adds a piece with the quantifier that follows it. */
  #put(piece: Piece): void {
    const { end, min, max } = readQuantifier(this.#source, this.#at);
    this.#at = end;
    const isOnce = min === 1 && max === 1;
    this.branches.at(-1)?.push(isOnce ? piece : { kind: "repeat", of: piece, min, max });
  }
}

/** What matches a place and no character. */
const edges: ReadonlySet<string> = new Set(["^", "$", "\\b", "\\B"]);

interface Atom {
  readonly kind: "char" | "open" | "close" | "or" | "reference";
  readonly end: number;
}

function readAtom(source: string, at: number): Atom {
  const char = source.charAt(at);
  const atom = (kind: Atom["kind"], end: number): Atom => ({ kind, end });
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
    const opening = /^\((?:\?(?:[a-zA-Z-]*:|=|!|<=|<!|<[^>]*>))?/.exec(source.slice(at));
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
  readonly min: number;
  readonly max: number;
}

function readQuantifier(source: string, at: number): Quantifier {
  const found = /^(?:[*+?]|\{(\d+)(,)?(\d+)?\})\??/.exec(source.slice(at));
  if (found === null) return { end: at, min: 1, max: 1 };
  const end = at + found[0].length;
  const sign = found[0].charAt(0);
  if (sign === "?") return { end, min: 0, max: 1 };
  if (sign === "*") return { end, min: 0, max: Number.POSITIVE_INFINITY };
  if (sign === "+") return { end, min: 1, max: Number.POSITIVE_INFINITY };
  const min = Number(found[1]);
  if (found[2] === undefined) return { end, min, max: min };
  return { end, min, max: found[3] === undefined ? Number.POSITIVE_INFINITY : Number(found[3]) };
}
