/** Random patterns on texts made to hold them up: what the guard takes costs what it says at most. */
import { createContext, Script } from "node:vm";
import { expect, it } from "vitest";
import { guardPattern, type SafePattern } from "../../src/core/pattern-guard.ts";
import { Random, seedOf } from "../support/random.ts";

const seed = seedOf(process.env);
console.log(`patterns: FUZZ_SEED=${seed}`);

const patterns = 2_000;
/** About 20 ms, of which a hundred times as much is let pass on a busy machine. */
const steps = 2_000_000;
const boundMs = 2_000;

const atoms = ["a", "b", "[ab]", "\\w", ".", "[^a]", "c", "-", "\\d", "\\s", "^", "$", "\\b"];
const quantifiers = ["", "", "", "*", "+", "?", "{1,2}", "{2,}", "{0,3}", "{2}", "*?"];
const groups = ["(?:", "(", "(?:", "(?=", "(?!"];

function createPattern(random: Random, depth: number): string {
  const count = random.chance(0.3) ? 2 + random.int(2) : 1;
  const branches = Array.from({ length: count }, () =>
    random.chance(0.07)
      ? ""
      : Array.from({ length: 1 + random.int(3) }, () => createPiece(random, depth)).join(""),
  );
  return branches.join("|");
}

function createPiece(random: Random, depth: number): string {
  const isGroup = depth > 0 && random.chance(0.4);
  const atom = isGroup
    ? `${random.pick(groups)}${createPattern(random, depth - 1)})`
    : random.pick(atoms);
  const isQuantifiable = !/^[$^]|^\\b|^\(\?[=!]/.test(atom);
  return isQuantifiable ? atom + random.pick(quantifiers) : atom;
}

/** As long as the pattern says that it can be. */
function createText(random: Random, { cost }: SafePattern): string {
  const word = Array.from({ length: 1 + random.int(4) }, () => random.pick([..."aab-1 c"])).join(
    "",
  );
  let length = 4;
  while (length < 200_000 && cost(2 * length) <= steps) length *= 2;
  const end = random.pick(["", "!", "c", "\n"]);
  return word.repeat(Math.ceil(length / word.length)).slice(0, length) + end;
}

const script = new Script("expression.test(text)");

it("are either refused or run in the steps that they were told to take", () => {
  const random = new Random(seed);
  let taken = 0;
  for (let count = 0; count < patterns; count++) {
    const start = random.chance(0.6) ? "^" : "";
    const source = `${start}${createPattern(random, 3)}${random.chance(0.7) ? "$" : ""}`;
    const pattern = guardPattern(source);
    if (typeof pattern === "string") continue;
    taken++;
    for (let tries = 0; tries < 4; tries++) {
      const text = createText(random, pattern);
      const context = createContext({ expression: pattern.expression, text });
      const told = `${source} on ${text.length} of ${text.slice(0, 8)} (FUZZ_SEED=${seed})`;
      expect(() => void script.runInContext(context, { timeout: boundMs }), told).not.toThrow();
    }
  }
  expect(taken).toBeGreaterThan(patterns / 3);
}, 120_000);
