/** Lines are the same in whatever pieces their bytes come. */
import { describe, expect, it } from "vitest";
import { type Line, LineReader } from "../../src/jsonrpc/lines.ts";
import { Random, seedOf } from "../support/random.ts";

const seed = seedOf(process.env);

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** What a reader makes of the chunks, as texts; `null` for a line that is too long. */
function read(chunks: readonly Uint8Array[], maxBytes = 1_000): (string | null)[] {
  const reader = new LineReader(maxBytes);
  const lines: Line[] = [];
  for (const chunk of chunks) {
    // As a stream does that reads into one buffer again and again.
    const lent = chunk.slice();
    lines.push(...reader.feed(lent).map(copied));
    lent.fill(0x7e);
  }
  lines.push(...reader.end().map(copied));
  return lines.map((line) => (line.kind === "line" ? Buffer.from(line.bytes).toString() : null));
}

/** The bytes of a line are lent until the next chunk. */
function copied(line: Line): Line {
  return line.kind === "line" ? { kind: "line", bytes: line.bytes.slice() } : line;
}

function cut(bytes: Uint8Array, random: Random): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  const longest = random.pick([1, 2, 3, 7, 40, 400]);
  for (let at = 0; at < bytes.length; ) {
    const length = random.chance(0.05) ? 0 : 1 + random.int(longest);
    chunks.push(bytes.subarray(at, at + length));
    at += length;
  }
  return chunks;
}

const pieces: readonly string[] = [
  '{"a":1}',
  "é ☕ \u{1f9e8}",
  "\r",
  "\r\n",
  "\n",
  "\n\n",
  " ",
  "\t",
  "x".repeat(30),
  "x".repeat(70),
  "\0",
];

describe("Lines", () => {
  it(`are the same in 2000 cuttings as in one piece (seed ${seed})`, () => {
    const random = new Random(seed);
    let told = 0;
    for (let run = 0; run < 2_000; run++) {
      const text = Array.from({ length: random.int(20) }, () => random.pick(pieces)).join("");
      const bytes = bytesOf(text);
      const maxBytes = random.pick([10, 31, 64, 1_000]);
      const whole = read([bytes], maxBytes);
      expect(read(cut(bytes, random), maxBytes), JSON.stringify(text)).toEqual(whole);
      told += whole.length;
    }
    expect(told).toBeGreaterThan(2_000);
  });

  it(`are those between the newlines, blank ones left out (seed ${seed})`, () => {
    const random = new Random(seed);
    for (let run = 0; run < 500; run++) {
      const text = Array.from({ length: random.int(20) }, () => random.pick(pieces)).join("");
      const expected = text
        .split("\n")
        .filter((line) => /[^ \t\r]/.test(line))
        .map((line) => line.replace(/\r$/, ""));
      expect(read([bytesOf(text)]), JSON.stringify(text)).toEqual(expected);
    }
  });

  it("end with CRLF as with LF, and keep a carriage return within", () => {
    expect(read([bytesOf("a\r\nb\nc\rd\r\r\n")])).toEqual(["a", "b", "c\rd\r"]);
  });

  it("are left out when blank", () => {
    expect(read([bytesOf("\n\r\n \t\r\n  \na\n\n")])).toEqual(["a"]);
  });

  it("end with the input too", () => {
    expect(read([bytesOf("a\nb")])).toEqual(["a", "b"]);
    expect(read([bytesOf("a\nb\r")])).toEqual(["a", "b"]);
    expect(read([bytesOf("a\n")])).toEqual(["a"]);
    expect(read([])).toEqual([]);
  });

  it("keep a character whole that two chunks share", () => {
    const bytes = bytesOf("☕\n");
    expect(read([bytes.subarray(0, 1), bytes.subarray(1, 2), bytes.subarray(2)])).toEqual(["☕"]);
  });
});

describe("A line over the cap", () => {
  it("is told once, and the next one is read", () => {
    const long = "x".repeat(11);
    expect(read([bytesOf(`${long}\nb\n`)], 10)).toEqual([null, "b"]);
    expect(read([bytesOf(`a\n${long}${long}${long}\nb\n${long}\n`)], 10)).toEqual([
      "a",
      null,
      "b",
      null,
    ]);
    expect(read([bytesOf(`${"x".repeat(10)}\n`)], 10)).toEqual(["x".repeat(10)]);
  });

  it("is told as soon as it is known, before its end", () => {
    const reader = new LineReader(10);
    expect(reader.feed(bytesOf("x".repeat(10)))).toEqual([]);
    expect(reader.feed(bytesOf("x"))).toEqual([{ kind: "too-long" }]);
    for (let at = 0; at < 100; at++) expect(reader.feed(bytesOf("x".repeat(1_000)))).toEqual([]);
    const [line, ...more] = reader.feed(bytesOf("\na\n"));
    expect(more).toEqual([]);
    expect(line?.kind === "line" && Buffer.from(line.bytes).toString()).toBe("a");
  });

  it("leaves nothing behind when the input ends in it", () => {
    const reader = new LineReader(10);
    reader.feed(bytesOf("x".repeat(11)));
    expect(reader.end()).toEqual([]);
    expect(reader.feed(bytesOf("a\n"))).toHaveLength(1);
  });

  it("tells its ends when it has ended, where that is asked for", () => {
    const bytes = bytesOf(`{"id":1,${"x".repeat(50)}"end"}\r\nb\n${"y".repeat(11)}`);
    for (const size of [1, 3, 7, 200]) {
      const reader = new LineReader(10, 8);
      const lines: Line[] = [];
      for (let at = 0; at < bytes.length; at += size) {
        lines.push(...reader.feed(bytes.slice(at, at + size)).map(copied));
      }
      lines.push(...reader.end());
      const told = lines.map((line) =>
        line.kind === "skipped"
          ? [Buffer.from(line.head).toString(), Buffer.from(line.tail).toString()]
          : line.kind,
      );
      expect(told, `in pieces of ${size}`).toEqual([
        "too-long",
        ['{"id":1,', 'x"end"}'],
        "line",
        "too-long",
        ["y".repeat(8), "y".repeat(8)],
      ]);
    }
  });
});
