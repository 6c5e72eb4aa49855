/** Which regular expressions are run on strings that come from elsewhere, and what they then cost. */
import { CharSets } from "./char-sets.ts";
import { type PatternCost, patternCost } from "./pattern-cost.ts";
import { judgeLoops, type Verdict } from "./pattern-loops.ts";
import { parsePattern } from "./pattern-syntax.ts";

const maxLength = 1_000;
/** What so short a text may cost, in steps: a pattern that takes more can hardly be used at all. */
const short = 64;
const maxShortSteps = 100_000_000;

export interface SafePattern {
  readonly source: string;
  readonly expression: RegExp;
  readonly cost: PatternCost;
}

/** Why this pattern is not run at all, as a text, or how it is. */
export function guardPattern(source: string): SafePattern | string {
  if (source.length > maxLength) return `the pattern is longer than ${maxLength} characters`;
  const named = `the pattern ${JSON.stringify(source)}`;
  const expression = compile(source);
  if (typeof expression === "string") {
    return `${named} is none of ECMA-262 with the flag u: ${expression}`;
  }
  const branches = parsePattern(source);
  if (typeof branches === "string") return `${named} ${branches}, which is not supported`;
  const sets = new CharSets(source);
  const verdict = judgeLoops(branches, sets);
  if (verdict !== "safe") return `${named} ${told[verdict]}`;
  const cost = patternCost(branches, sets);
  return cost(short) <= maxShortSteps
    ? { source, expression, cost }
    : `${named} ${told.exponential}`;
}

const told: Readonly<Record<Exclude<Verdict, "safe">, string>> = {
  exponential: "can take exponential time: it matches one text in too many ways",
  "too complex": "is too complex to tell how long it takes: write out fewer repetitions",
};

function compile(source: string): RegExp | string {
  try {
    return new RegExp(source, "u");
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause);
  }
}
