/**
 * Whether a repetition matches some text in ways that double with each turn of it: a backtracking
 * engine then tries them all, which no machine lives to see. The repetition becomes an automaton of
 * its characters; two runs of it over one text that part and meet again are two ways.
 */
import type { CharSet, CharSets } from "./char-sets.ts";
import type { Branch, Piece } from "./pattern-syntax.ts";

/** Characters of one automaton, and pairs of runs that are followed. */
const maxPlaces = 1_000;
const maxPairs = 200_000;
/** Repetitions with an end are written out up to this many times; beyond, they count as endless. */
const maxCopies = 32;

export type Verdict = "safe" | "exponential" | "too complex";

/** Judges each repetition without an end that is within no other, and what is looked at. */
export function judgeLoops(branches: readonly Branch[], sets: CharSets): Verdict {
  for (const piece of branches.flat()) {
    const verdict = judgePiece(piece, sets);
    if (verdict !== "safe") return verdict;
  }
  return "safe";
}

function judgePiece(piece: Piece, sets: CharSets): Verdict {
  if (piece.kind === "group") return judgeLoops(piece.branches, sets);
  if (piece.kind !== "repeat") return "safe";
  if (piece.max !== Number.POSITIVE_INFINITY) return judgePiece(piece.of, sets);
  const looks = judgeLooks(piece.of, sets);
  return looks === "safe" ? new Automaton(sets).judge(piece.of) : looks;
}

/** What is looked at within a repetition runs by itself. */
function judgeLooks(piece: Piece, sets: CharSets): Verdict {
  if (piece.kind === "repeat") return judgeLooks(piece.of, sets);
  if (piece.kind !== "group") return "safe";
  if (piece.looks) return judgeLoops(piece.branches, sets);
  for (const inner of piece.branches.flat()) {
    const verdict = judgeLooks(inner, sets);
    if (verdict !== "safe") return verdict;
  }
  return "safe";
}

/** Which places, and in how many ways: one, or several. */
type Places = ReadonlyMap<number, number>;

interface Part {
  readonly first: Places;
  readonly last: Places;
  /** In how many ways it matches nothing: none, one, or several. */
  readonly empties: number;
}

const nothing: Part = { first: new Map(), last: new Map(), empties: 1 };

class Automaton {
  readonly #sets: CharSets;
  /** The characters of each place, and the places that can follow it. */
  readonly #chars: CharSet[] = [];
  readonly #follow: Map<number, number>[] = [];

  constructor(sets: CharSets) {
    this.#sets = sets;
  }

  /** @param body - of a repetition without an end */
  judge(body: Piece): Verdict {
    if (this.#endless(body) === undefined) return "too complex";
    const isDoubled = this.#follow.some((after) => [...after.values()].some((ways) => ways > 1));
    return isDoubled ? "exponential" : this.#partAndMeet();
  }

  #piece(piece: Piece): Part | undefined {
    switch (piece.kind) {
      case "char":
        return this.#place(piece.text);
      case "repeat":
        return this.#repeat(piece.of, piece.min, piece.max);
      case "group":
        return piece.looks ? nothing : this.#alternatives(piece.branches);
      default:
        return nothing;
    }
  }

  #place(text: string): Part | undefined {
    if (this.#chars.length >= maxPlaces) return undefined;
    const place = this.#chars.push(this.#sets.of(text)) - 1;
    this.#follow.push(new Map());
    const here = new Map([[place, 1]]);
    return { first: here, last: here, empties: 0 };
  }

  #alternatives(branches: readonly Branch[]): Part | undefined {
    let [first, last, empties]: [Places, Places, number] = [new Map(), new Map(), 0];
    for (const branch of branches) {
      const part = this.#sequence(branch);
      if (part === undefined) return undefined;
      first = add(first, part.first, 1);
      last = add(last, part.last, 1);
      empties += part.empties;
    }
    return { first, last, empties: Math.min(empties, 2) };
  }

  #sequence(branch: Branch): Part | undefined {
    let whole = nothing;
    for (const piece of branch) {
      const part = this.#piece(piece);
      if (part === undefined) return undefined;
      whole = this.#join(whole, part);
    }
    return whole;
  }

  #repeat(body: Piece, min: number, max: number): Part | undefined {
    if (max > maxCopies) {
      const part = this.#endless(body);
      return part === undefined || min > 0 ? part : { ...part, empties: 1 };
    }
    // From the last turn: who leaves one out leaves out all that come after it.
    let turns = nothing;
    for (let turn = max; turn > 0; turn--) {
      const part = this.#piece(body);
      if (part === undefined) return undefined;
      const joined = this.#join(part, turns);
      // The engine refuses a turn beyond the least that matches nothing.
      turns = turn <= min ? joined : { ...joined, empties: 1 };
    }
    return turns;
  }

  #endless(body: Piece): Part | undefined {
    const part = this.#piece(body);
    if (part !== undefined) this.#link(part.last, part.first);
    return part;
  }

  #join(before: Part, after: Part): Part {
    this.#link(before.last, after.first);
    return {
      first: add(before.first, after.first, before.empties),
      last: add(after.last, before.last, after.empties),
      empties: Math.min(before.empties * after.empties, 2),
    };
  }

  #link(from: Places, to: Places): void {
    for (const [place, ways] of from) {
      for (const [next, waysOn] of to) {
        const after = this.#follow[place];
        after?.set(next, Math.min((after.get(next) ?? 0) + ways * waysOn, 2));
      }
    }
  }

  /**
   * Whether two runs from one place can part and meet. All places of an endless repetition lead to
   * all others, so what parts and meets anywhere does so in each turn.
   */
  #partAndMeet(): Verdict {
    const open = this.#chars.map((_, place): Pair => [place, place]);
    const seen = new Set<number>();
    for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
      for (const next of this.#nextPairs(pair)) {
        if (isMet(next) && !isMet(pair)) return "exponential";
        const key = next[0] * maxPlaces + next[1];
        if (isMet(next) || seen.has(key)) continue;
        if (seen.size >= maxPairs) return "too complex";
        seen.add(key);
        open.push(next);
      }
    }
    return "safe";
  }

  /** Where two runs can be after one more character that both take. */
  *#nextPairs([one, other]: Pair): Generator<Pair> {
    for (const next of this.#follow[one]?.keys() ?? []) {
      for (const nextOther of this.#follow[other]?.keys() ?? []) {
        const shared = (this.#chars[next] ?? 0n) & (this.#chars[nextOther] ?? 0n);
        if (shared !== 0n) yield next < nextOther ? [next, nextOther] : [nextOther, next];
      }
    }
  }
}

type Pair = readonly [one: number, other: number];

function isMet([one, other]: Pair): boolean {
  return one === other;
}

function add(places: Places, more: Places, times: number): Places {
  if (times === 0 || more.size === 0) return places;
  const all = new Map(places);
  for (const [place, ways] of more)
    all.set(place, Math.min((all.get(place) ?? 0) + ways * times, 2));
  return all;
}
