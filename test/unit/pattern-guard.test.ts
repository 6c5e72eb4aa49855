import { describe, expect, it } from "vitest";
import { guardPattern, type SafePattern } from "../../src/core/pattern-guard.ts";

const safe: readonly string[] = [
  "",
  "^[a-z]+$",
  "^\\d{4}-\\d{2}-\\d{2}$",
  "^[a-z0-9]+(-[a-z0-9]+)*$",
  "^(\\d{1,3}\\.){3}\\d{1,3}$",
  "^([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}$",
  "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
  "^(25[0-5]|2[0-4]\\d|[01]?\\d\\d?)(\\.(25[0-5]|2[0-4]\\d|[01]?\\d\\d?)){3}$",
  "^[^@\\s]+@[^@\\s]+\\.[a-z]{2,}$",
  "^(?=.*[a-z])(?=.*\\d).{8,64}$",
  "^(?:foo|bar|qux)*$",
  "^(?:ab)*(?:cd)*$",
  "^(/[^/]+)+$",
  "^(?<year>\\d{4})$",
  "[)(*+]+",
  "\\(a+\\)+",
  "\\p{L}+",
  "^v?\\d+(\\.\\d+)*$",
  "a*b*",
  "^\\d?\\d?:\\d\\d$",
  "(a+)?",
  "(a+){1}",
  "(a{2}){3}",
  "(?:\\u{1f600}x)+",
  "(a|ab)*$",
  "(a|)*$",
  "(a?)*$",
  "a+a+$",
  "\\d*\\d*$",
  "(ab)*(ab)*$",
  "^[a-z]+(\\s+[a-z]+)*\\s*$",
  "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
  "^(?:\\+[^+]{1,64})*$",
  "(?:x(?=a*b)y)*$",
  // A version as semver.org has it.
  "^(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)(?:-((?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\\.(?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\\+([0-9a-zA-Z-]+(?:\\.[0-9a-zA-Z-]+)*))?$",
];

const ways = "it matches one text in too many ways";

/** Each with a string on which a backtracking engine would try every way. */
const unsafe: readonly (readonly [pattern: string, why: string])[] = [
  ["(a+)+$", ways],
  ["(a*)*$", ways],
  ["((a+)b?)*$", ways],
  ["(a+){2,}$", ways],
  ["(a{1,})*$", ways],
  ["([a-z]+)+?$", ways],
  ["(-[a-z-]+)*$", ways],
  ["(.[a-z]+)*$", ways],
  ["(a|a)*$", ways],
  ["(a|[ab])*$", ways],
  ["(\\w|\\d)*$", ways],
  ["([\\u0400-\\u04ff]|[\\u0430-\\u044f])*$", ways],
  ["(\\p{L}|\\p{Lu})*$", ways],
  ["(?:(?:x|x)y)+$", ways],
  ["(a?b|b)*$", ways],
  ["(a{0}b|b)*$", ways],
  ["(a?a)*$", ways],
  ["(a?b?)+$", ways],
  ["(a{1,2})*$", ways],
  ["(a?a?-)*$", ways],
  ["(a(?:x*|y*))*$", ways],
  ["(?:a|b(?=(c+)+d))*$", ways],
  ["^(?!(a+)+$)b", ways],
  ["(?:[a-z]{1,64}[a-z]{1,64})*$", ways],
  ["(a|a){30}$", ways],
  ["(a?){30}$", ways],
  ["(a{1,5}){1,20}$", ways],
  ["((a?){6}){6}$", ways],
  [`${"a?".repeat(20)}$`, ways],
  [`(?:${"(?:[a-z]{32}x){32}".repeat(2)})*`, "too complex"],
  ["(a)\\1*", "refers back to a group"],
  ["(?<n>a)\\k<n>", "refers back to a group"],
  ["(a", "none of ECMA-262"],
  ["a)", "none of ECMA-262"],
  ["[", "none of ECMA-262"],
  ["\\@", "none of ECMA-262"],
];

function guard(pattern: string): SafePattern {
  const guarded = guardPattern(pattern);
  if (typeof guarded === "string") throw new Error(guarded);
  return guarded;
}

describe("a pattern", () => {
  it.each(safe)("%s is safe on any string that is not too long for it", (pattern) => {
    expect(guard(pattern).source).toBe(pattern);
  });

  it.each(unsafe)("%s is refused, for %s", (pattern, why) => {
    const message = guardPattern(pattern);
    expect(message).toContain(JSON.stringify(pattern));
    expect(message).toContain(why);
  });

  it("of a thousand characters is read, a longer one is refused unread", () => {
    expect(guard("a".repeat(1000)).cost(10)).toBeGreaterThan(0);
    expect(guardPattern("a".repeat(1001))).toContain("longer than 1000 characters");
  });

  const parts = ["a", "-a", "1.", "ab", "0:", "/a", "aA1", " ", "0-", "a "];

  it.each(safe)("%s runs as soon as it was told, on strings made to hold it up", (pattern) => {
    const { cost, expression } = guard(pattern);
    for (const part of parts) {
      for (const length of [100, 1_000, 10_000, 100_000]) {
        if (cost(length) > 1e8) break;
        const text = part.repeat(length / part.length);
        const start = performance.now();
        for (const end of ["!", "\n", "x"]) expression.test(text.slice(0, -1) + end);
        // A hundred million steps are about a second.
        expect(performance.now() - start, `${length} of ${part}`).toBeLessThan(5_000);
      }
    }
  });

  it("is judged quickly, whatever it holds", () => {
    const start = performance.now();
    const cells = [
      "(",
      "[",
      "\\",
      "a?",
      "(a|",
      "(?:",
      "{1,",
      "()",
      "a{1}",
      "(a{9}b)*",
      "[a-z]",
      ".",
    ];
    for (const part of cells) {
      const text = part.repeat(Math.floor(990 / part.length));
      for (const pattern of [
        text,
        `(?:${text})*`,
        text + ")*".repeat(text.split("(").length - 1),
      ]) {
        guardPattern(pattern.slice(0, 1_000));
      }
    }
    expect(performance.now() - start).toBeLessThan(5_000);
  });
});

describe("what a pattern costs", () => {
  it.each([
    ["^[a-z]+$", 1],
    ["^a+b+c+$", 1],
    ["^[\\w.+-]+@[\\w-]+\\.[\\w.-]+$", 1],
    ["\\.(?:png|jpe?g)$", 1],
    ["^\\d+ (?:a|b)*\\p{L}$", 1],
    ["[a-z]+$", 2],
    [".*foo.*", 2],
    ["^.*-.*x$", 2],
    ["^(?=.*\\d)[a-z\\d]+$", 2],
    ["^(.*)-(.*)-(.*)x$", 3],
    ["^.*-.*-.*-.*x$", 4],
    ["(.*)-(.*)x$", 3],
  ])("%s grows with the power of %i of the length", (pattern, power) => {
    const { cost } = guard(pattern);
    expect(Math.log10(cost(100_000) / cost(10_000))).toBeCloseTo(power, 1);
  });
});
