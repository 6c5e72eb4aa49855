/** The one-pass scan finds what a slow reader of JSON finds, on texts made to mislead it. */
import { expect, it } from "vitest";
import { findFault } from "../../src/jsonrpc/scan.ts";
import { Random, seedOf } from "../support/random.ts";

const seed = seedOf(process.env);
console.log(`json-scan: FUZZ_SEED=${seed}`);

const envelope: readonly string[] = ["jsonrpc", "id", "method", "params"];
const names: readonly string[] = [...envelope, "Id", "i", "", "name", "id ", "\\", '"', "{", "}id"];
const strings: readonly string[] = [
  ...names,
  '","id":1',
  "[[[",
  "\\\\",
  '\\"',
  "],{",
  "é\u2028\u{1f9e8}",
];

/** A reader of JSON that knows where it is, and so needs no cleverness. */
class SlowReader {
  readonly #text: string;
  readonly #maxDepth: number;
  #at = 0;

  constructor(text: string, maxDepth: number) {
    this.#text = text;
    this.#maxDepth = maxDepth;
  }

  read(): string | undefined {
    this.#blank();
    return this.#text[this.#at] === "["
      ? this.#container(1, false, (depth) => this.#value(depth, true))
      : this.#value(0, true);
  }

  /** @param isEnvelope - whether this value is a message, if it is an object */
  #value(depth: number, isEnvelope: boolean): string | undefined {
    this.#blank();
    const char = this.#text[this.#at];
    if (char === "[")
      return this.#container(depth + 1, false, (inner) => this.#value(inner, false));
    if (char === "{") {
      return this.#container(depth + 1, isEnvelope, (inner) => this.#value(inner, false));
    }
    if (char === '"') this.#string();
    else this.#at += /^[^,\]}\s]*/.exec(this.#text.slice(this.#at))?.[0].length ?? 0;
    return undefined;
  }

  #container(
    depth: number,
    isEnvelope: boolean,
    item: (depth: number) => string | undefined,
  ): string | undefined {
    if (depth > this.#maxDepth) return `the message nests deeper than ${this.#maxDepth} levels`;
    const isObject = this.#text[this.#at] === "{";
    const seen = new Set<string>();
    this.#at++;
    for (this.#blank(); !this.#skip(isObject ? "}" : "]"); this.#blank()) {
      this.#skip(",");
      this.#blank();
      if (isObject) {
        const name = this.#string();
        if (isEnvelope && envelope.includes(name)) {
          if (seen.has(name)) return `the message names ${name} more than once`;
          seen.add(name);
        }
        this.#blank();
        this.#skip(":");
      }
      const fault = item(depth);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  #string(): string {
    let end = this.#at + 1;
    while (this.#text[end] !== '"') end += this.#text[end] === "\\" ? 2 : 1;
    const written = this.#text.slice(this.#at, end + 1);
    this.#at = end + 1;
    return String(JSON.parse(written));
  }

  #skip(char: string): boolean {
    if (this.#text[this.#at] !== char) return false;
    this.#at++;
    return true;
  }

  #blank(): void {
    while (/\s/.test(this.#text[this.#at] ?? "x")) this.#at++;
  }
}

function writeString(random: Random, value: string): string {
  if (random.chance(0.7)) return JSON.stringify(value);
  const escaped = Array.from({ length: value.length }, (_, index) =>
    random.chance(0.5)
      ? `\\u${value.charCodeAt(index).toString(16).padStart(4, "0")}`
      : JSON.stringify(value.charAt(index)).slice(1, -1),
  );
  return `"${escaped.join("")}"`;
}

function writeJson(random: Random, depth: number): string {
  const blank = () => random.pick(["", "", "", " ", "\n\t"]);
  const roll = random.next();
  if (depth === 0 || roll < 0.25) return random.pick(["0", "-1.5e3", "true", "null"]);
  if (roll < 0.4) return writeString(random, random.pick(strings));
  const length = random.int(5);
  const items = Array.from({ length }, () => {
    const value = `${blank()}${writeJson(random, depth - 1)}${blank()}`;
    return roll < 0.6
      ? value
      : `${blank()}${writeString(random, random.pick(random.chance(0.7) ? envelope : names))}${blank()}:${value}`;
  });
  const inside = items.length === 0 ? blank() : items.join(",");
  return roll < 0.6 ? `[${inside}]` : `{${inside}}`;
}

it("finds repeated envelope members and depth like a reader that parses", () => {
  const random = new Random(seed);
  const found = { repeated: 0, deep: 0, nothing: 0 };
  for (let count = 0; count < 50_000; count++) {
    const maxDepth = 1 + random.int(7);
    const blank = random.pick(["", " ", "\r\n"]);
    const text = `${blank}${writeJson(random, 6)}${blank}`;
    JSON.parse(text);
    const expected = new SlowReader(text, maxDepth).read();
    expect(findFault(text, maxDepth)?.message, `${text} within ${maxDepth}`).toBe(expected);
    if (expected === undefined) found.nothing++;
    else if (expected.includes("deeper")) found.deep++;
    else found.repeated++;
  }
  // Each of the three must have been met often enough to mean something.
  for (const [kind, times] of Object.entries(found)) expect(times, kind).toBeGreaterThan(500);
});

it.each([
  ['{"id":1,"\\u0069d":2}', "the message names id more than once"],
  ['{"method":"a","params":{},"method":"b"}', "the message names method more than once"],
  ['[{"id":1},{"id":2}]', undefined],
  ['[{"id":1,"id":1}]', "the message names id more than once"],
  ['[[{"id":1,"id":1}]]', undefined],
  ['{"params":{"id":1,"id":2}}', undefined],
  ['{"x":1,"x":2}', undefined],
  ['{"id":"\\\\","id":2}', "the message names id more than once"],
  ['{"a":"\\\\\\",\\"id","id":2}', undefined],
])("of %s it says %j", (text, expected) => {
  expect(findFault(text, 64)?.message).toBe(expected);
});

it("counts levels from the outermost bracket on", () => {
  expect(findFault("[".repeat(64) + "]".repeat(64), 64)).toBeUndefined();
  expect(findFault("[".repeat(65) + "]".repeat(65), 64)?.message).toContain("64 levels");
  expect(findFault('{"a":"[[[[["}', 1)).toBeUndefined();
});

it("takes time in proportion to the text, also where every character is escaped", () => {
  const text = `{"a":"${"\\\\".repeat(500_000)}","b":"${'\\"'.repeat(500_000)}"}`;
  const start = performance.now();
  expect(findFault(text, 64)).toBeUndefined();
  expect(performance.now() - start).toBeLessThan(1000);
});
