/** The client's reader of streams agrees with the HTML standard, in whatever pieces bytes come. */
import { describe, expect, it } from "vitest";
import { EventSourceReader, type SourceEvent } from "../../src/client/event-source.ts";
import { EventParser } from "../support/event-parser.ts";
import { awkwardStrings, Random, seedOf } from "../support/random.ts";

const seed = seedOf(process.env);

interface Read {
  readonly events: readonly SourceEvent[];
  readonly lastEventId: string | undefined;
  readonly retryMs: number | undefined;
}

function read(chunks: readonly Uint8Array[], maxLength = 100_000): Read {
  const reader = new EventSourceReader(maxLength);
  const events = chunks.flatMap((chunk) => reader.feed(chunk));
  return { events, lastEventId: reader.lastEventId, retryMs: reader.retryMs };
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const readText = (text: string, maxLength?: number): Read => read([bytesOf(text)], maxLength);
const event = (data: string, name = "message"): SourceEvent => ({ kind: "event", name, data });

function cut(bytes: Uint8Array, random: Random): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  const longest = random.pick([1, 2, 3, 10, 100, 1_000]);
  for (let at = 0; at < bytes.length; ) {
    const length = random.chance(0.05) ? 0 : 1 + random.int(longest);
    chunks.push(bytes.subarray(at, at + length));
    at += length;
  }
  return chunks;
}

const fields: readonly string[] = [
  "data: {",
  'data: "a": 1}',
  "data:",
  "data",
  "data:  two blanks",
  "data: é ☕ \u{1f9e8}",
  "dat: no field",
  "data : no field",
  "DATA: no field",
  "\ufeffdata: no field",
  "ï»¿data: no field",
  "id: 1",
  "id: a-b.2",
  "id:3",
  "id:",
  "id",
  "id: 4\0",
  "id: ☕",
  "idx: 5",
  "event: message",
  "event: endpoint",
  "event:ping",
  "event:",
  "event",
  "retry: 30",
  "retry: -1",
  "retry: 1.5",
  "retry: 1e3",
  "retry: ٣",
  "retry:",
  "retry: 007",
  "retry: 40 ",
  ": comment",
  ":",
  "nothing",
  "",
  "",
  "",
];

function randomStream(random: Random): string {
  const ends = random.pick([["\n"], ["\r\n"], ["\r"], ["\n", "\r\n", "\r"]]);
  const start = random.chance(0.1) ? "\ufeff" : "";
  const lines = Array.from({ length: random.int(60) }, () => {
    const line = random.chance(0.9) ? random.pick(fields) : `data: ${random.pick(awkwardStrings)}`;
    return line + random.pick(ends);
  });
  // What is not ended is not read.
  return start + lines.join("") + (random.chance(0.3) ? random.pick(fields) : "");
}

describe("A stream", () => {
  it(`is read as the standard says, alike in 2000 cuttings (seed ${seed})`, () => {
    const random = new Random(seed);
    let told = 0;
    for (let run = 0; run < 2_000; run++) {
      const text = randomStream(random);
      const bytes = bytesOf(text);
      const oracle = new EventParser();
      oracle.feed(bytes);
      const got = read(cut(bytes, random));
      const why = JSON.stringify(text);
      expect(got.events, why).toEqual(
        oracle.events.map(({ event: name, data }) => event(data, name)),
      );
      expect(got.lastEventId ?? "", why).toBe(oracle.lastEventId);
      expect(got.retryMs, why).toBe(oracle.retries.at(-1));
      told += got.events.length;
    }
    expect(told).toBeGreaterThan(2_000);
  });

  it(`has the same events over a cap in 2000 cuttings (seed ${seed})`, () => {
    const random = new Random(seed + 1);
    let large = 0;
    for (let run = 0; run < 2_000; run++) {
      const bytes = bytesOf(randomStream(random));
      const maxLength = random.pick([5, 20, 60]);
      const whole = read([bytes], maxLength);
      const { events, lastEventId } = read(cut(bytes, random), maxLength);
      expect({ events, lastEventId }).toEqual({
        events: whole.events,
        lastEventId: whole.lastEventId,
      });
      large += whole.events.filter(({ kind }) => kind === "too-large").length;
    }
    expect(large).toBeGreaterThan(500);
  });

  it(`is told as far as it has come, at every byte (seed ${seed})`, () => {
    const random = new Random(seed + 2);
    for (let run = 0; run < 100; run++) {
      const bytes = bytesOf(randomStream(random));
      const oracle = new EventParser();
      const reader = new EventSourceReader(100_000);
      let told = 0;
      for (let at = 0; at < bytes.length; at++) {
        const byte = bytes.subarray(at, at + 1);
        oracle.feed(byte);
        told += reader.feed(byte).length;
        // Not held back, also where a carriage return may be half of a line's end.
        expect(told).toBe(oracle.events.length);
        expect(reader.lastEventId ?? "").toBe(oracle.lastEventId);
      }
    }
  });
});

describe("An event", () => {
  it("whose character two chunks share is whole", () => {
    const bytes = bytesOf('data: {"t":"日"}\n\n');
    for (let at = 0; at <= bytes.length; at++) {
      expect(read([bytes.subarray(0, at), bytes.subarray(at)]).events).toEqual([
        event('{"t":"日"}'),
      ]);
    }
  });

  it("of several lines has them joined", () => {
    expect(readText('data: {\ndata: "a":1\ndata: }\n\n').events).toEqual([event('{\n"a":1\n}')]);
  });

  it("without data tells its id and is none", () => {
    expect(readText("id: 1\n\n")).toEqual({ events: [], lastEventId: "1", retryMs: undefined });
    expect(readText("id: 1\ndata: a\n\nid: 2\nevent: x\n\ndata: b\n\n")).toMatchObject({
      events: [event("a"), event("b")],
      lastEventId: "2",
    });
  });

  it("with empty data is one", () => {
    expect(readText("id: 1\ndata: \n\n")).toMatchObject({ events: [event("")], lastEventId: "1" });
  });

  it("that has not ended has not come, nor has its id", () => {
    expect(readText("id: 1\ndata: a\n\nid: 2\ndata: b\n")).toMatchObject({
      events: [event("a")],
      lastEventId: "1",
    });
  });

  it("takes an id back with an empty one, and keeps it through one with NUL", () => {
    expect(readText("id: 1\ndata: a\n\nid:\ndata: b\n\n").lastEventId).toBe("");
    expect(readText("id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n").lastEventId).toBe("1");
  });

  it("of just the cap is let through, and one more character is not", () => {
    const text = `data: ${"x".repeat(93)}\n\n`;
    expect(readText(text, 100).events).toHaveLength(1);
    expect(readText(text, 100).events[0]?.kind).toBe("event");
    expect(readText(text, 99).events).toEqual([{ kind: "too-large" }]);
  });

  it("over the cap is told at once, and costs the ones around it nothing", () => {
    const reader = new EventSourceReader(50);
    expect(reader.feed(bytesOf(`data: a\n\nid: 7\ndata: ${"x".repeat(60)}`))).toEqual([
      event("a"),
      { kind: "too-large" },
    ]);
    for (let more = 0; more < 100; more++) {
      expect(reader.feed(bytesOf(`\ndata: ${"x".repeat(1_000)}`))).toEqual([]);
    }
    expect(reader.feed(bytesOf("\n\ndata: b\n\n"))).toEqual([event("b")]);
    expect(reader.lastEventId).toBeUndefined();
  });

  it("in a million pieces takes no more than linear time", () => {
    const reader = new EventSourceReader(2_000_000);
    const start = performance.now();
    reader.feed(bytesOf("data: "));
    const piece = bytesOf("xyz");
    for (let count = 0; count < 300_000; count++) reader.feed(piece);
    const [whole] = reader.feed(bytesOf("\n\n"));
    expect(whole?.kind === "event" && whole.data.length).toBe(900_000);
    const lines = bytesOf("data: x\n".repeat(100_000));
    reader.feed(lines);
    reader.feed(bytesOf("\n\r"));
    expect(performance.now() - start).toBeLessThan(5_000);
  });
});
