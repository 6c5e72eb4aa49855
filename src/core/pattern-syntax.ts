/** The parts of a regular expression as JSON Schema has them: ECMA-262 with the flag `u`. */

export interface Atom {
  readonly kind: "char" | "open" | "close" | "or" | "reference";
  readonly end: number;
}

export function readAtom(source: string, at: number): Atom {
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

export interface Quantifier {
  readonly end: number;
  readonly min: number;
  readonly max: number;
}

export function readQuantifier(source: string, at: number): Quantifier {
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

/** A pattern as a tree. */
export type Piece =
  | { readonly kind: "char" | "edge" | "reference"; readonly text: string }
  | { readonly kind: "group"; readonly looks: boolean; readonly branches: readonly Branch[] }
  | { readonly kind: "repeat"; readonly of: Piece; readonly min: number; readonly max: number };

/** What stands one after another. */
export type Branch = readonly Piece[];

/** The alternatives of a pattern that the engine takes. */
export function parsePattern(source: string): readonly Branch[] {
  const open: { readonly looks: boolean; readonly branches: Piece[][] }[] = [];
  let branches: Piece[][] = [[]];
  let at = 0;
  const put = (piece: Piece): void => {
    const { end, min, max } = readQuantifier(source, at);
    at = end;
    branches.at(-1)?.push(min === 1 && max === 1 ? piece : { kind: "repeat", of: piece, min, max });
  };
  while (at < source.length) {
    const { kind, end } = readAtom(source, at);
    const text = source.slice(at, end);
    at = end;
    if (kind === "or") branches.push([]);
    else if (kind === "open") {
      open.push({ looks: /^\(\?(?:=|!|<=|<!)$/.test(text), branches });
      branches = [[]];
    } else if (kind === "close") {
      const { looks = false, branches: outer } = open.pop() ?? { branches: [[]] };
      const group: Piece = { kind: "group", looks, branches };
      branches = outer;
      put(group);
    } else put({ kind: kind === "char" && edges.has(text) ? "edge" : kind, text });
  }
  return branches;
}

/** What matches a place and no character. */
const edges: ReadonlySet<string> = new Set(["^", "$", "\\b", "\\B"]);
