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
  const why = (reason: string) =>
    `the pattern ${JSON.stringify(source)} can take exponential time: ${reason}`;
  const groups: Group[] = [newGroup(0)];
  let closed: Group | undefined;
  let lastRepeated = "";
  for (let at = 0; at < source.length; ) {
    const atom = readAtom(source, at);
    if (atom.kind === "reference") return why("it refers back to a group");
    at = atom.end;
    if (atom.kind === "open") {
      groups.push(newGroup(at));
      lastRepeated = "";
      continue;
    }
    const group = groups.at(-1);
    if (group === undefined) return why("its groups do not match");
    closed = undefined;
    if (atom.kind === "or") {
      endBranch(group, source, at);
      lastRepeated = "";
      continue;
    }
    if (atom.kind === "close") {
      closed = groups.pop();
      if (closed !== undefined) endBranch(closed, source, at);
    }
    const quantifier = readQuantifier(source, at);
    at = quantifier.end;
    const holder = groups.at(-1);
    if (holder === undefined) return why("its groups do not match");
    holder.repeats ||= (closed?.repeats ?? false) || quantifier.unbounded;
    holder.ambiguous ||= closed?.ambiguous ?? false;
    if (quantifier.repeats && closed?.repeats) return why("a repetition holds a repetition");
    if (quantifier.unbounded && closed?.ambiguous) {
      return why("it repeats alternatives that begin alike");
    }
    if (quantifier.unbounded && atom.text === lastRepeated) {
      return why("it repeats the same thing twice in a row");
    }
    lastRepeated = quantifier.unbounded ? atom.text : "";
  }
  return undefined;
}

function newGroup(branchStart: number): Group {
  return { repeats: false, ambiguous: false, branchStart, firsts: new Set(), opaque: false, alternatives: 0 };
}

function endBranch(group: Group, source: string, at: number): void {
  const first = source.charAt(group.branchStart);
  // Only a plain character tells an alternative apart from the others for certain.
  const plain = /^[A-Za-z0-9_@#%&=:;,<>/ -]$/.test(first);
  group.alternatives++;
  group.opaque ||= !plain;
  group.ambiguous ||= group.alternatives > 1 && (group.opaque || group.firsts.has(first));
  group.firsts.add(first);
  group.branchStart = at;
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
    const escape = /^\\(?:[1-9]|k<[^>]*>)/.exec(source.slice(at));
    if (escape !== null) return atom("reference", at + escape[0].length);
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
