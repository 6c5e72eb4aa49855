import { describe, expect, it } from "vitest";
import { findUnsafePattern } from "../../src/core/pattern-guard.ts";

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
];

/** Each with a string on which a backtracking engine would try every way. */
const unsafe: readonly (readonly [pattern: string, why: string])[] = [
  ["(a+)+$", "a repetition holds a repetition"],
  ["(a*)*", "a repetition holds a repetition"],
  ["((a+)b?)*", "a repetition holds a repetition"],
  ["(a+){2,}", "a repetition holds a repetition"],
  ["(a{1,})*", "a repetition holds a repetition"],
  ["([a-z]+)+?", "a repetition holds a repetition"],
  ["(-[a-z-]+)*", "a repetition holds a repetition"],
  ["(.[a-z]+)*", "a repetition holds a repetition"],
  ["(a|a)*$", "it repeats alternatives that begin alike"],
  ["(a|ab)*$", "it repeats alternatives that begin alike"],
  ["(a|[ab])*$", "it repeats alternatives that begin alike"],
  ["(a|)*$", "it repeats alternatives that begin alike"],
  ["(?:(?:x|x)y)+$", "a repetition holds what varies in length"],
  ["(a?b|b)*$", "it repeats alternatives that begin alike"],
  ["(a{0}b|b)*$", "it repeats alternatives that begin alike"],
  ["(a?a)*$", "a repetition holds what varies in length"],
  ["(a?b?)+$", "a repetition holds what varies in length"],
  ["(a{1,2})*$", "a repetition holds what varies in length"],
  ["(a?a?-)*$", "a repetition holds what varies in length"],
  ["(a|a){30}$", "there are too many ways to match one string"],
  ["(a?){30}$", "there are too many ways to match one string"],
  ["(a{1,5}){1,20}$", "there are too many ways to match one string"],
  ["((a?){5}){5}$", "there are too many ways to match one string"],
  [`${"a?".repeat(20)}$`, "there are too many ways to match one string"],
  ["a+a+$", "it repeats the same thing twice in a row"],
  ["\\d*\\d*$", "it repeats the same thing twice in a row"],
  ["(ab)*(ab)*$", "it repeats the same thing twice in a row"],
  ["(a)\\1*", "it refers back to a group"],
  ["(?<n>a)\\k<n>", "it refers back to a group"],
  ["(a", "its groups do not match"],
  ["a)", "its groups do not match"],
];

describe("a pattern", () => {
  it.each(safe)("%s is safe on any string", (pattern) => {
    expect(findUnsafePattern(pattern)).toBeUndefined();
  });

  it.each(unsafe)("%s is refused, for %s", (pattern, why) => {
    const message = findUnsafePattern(pattern);
    expect(message).toContain(JSON.stringify(pattern));
    expect(message).toContain(why);
  });

  it("of a thousand characters is read, a longer one is refused unread", () => {
    expect(findUnsafePattern("a".repeat(1000))).toBeUndefined();
    expect(findUnsafePattern("a".repeat(1001))).toContain("longer than 1000 characters");
  });

  it("that passes runs quickly on strings made to hold it up", () => {
    const hostile = ["a", "-a", "1.", "ab", "0:", "/a", "aA1"].flatMap((part) => [
      `${part.repeat(5000)}!`,
      `${part.repeat(5000)}\n`,
    ]);
    for (const pattern of safe) {
      const start = performance.now();
      for (const text of hostile) new RegExp(pattern, "u").test(text);
      expect(performance.now() - start, pattern).toBeLessThan(2000);
    }
  });

  it("is judged quickly, whatever it holds", () => {
    const start = performance.now();
    for (const part of ["(", "[", "\\", "a?", "(a|", "(?:", "{1,", "()", "a{1}"]) {
      findUnsafePattern(part.repeat(Math.floor(1000 / part.length)));
    }
    expect(performance.now() - start).toBeLessThan(500);
  });
});
