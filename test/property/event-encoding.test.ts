/** What is encoded as an event is what a reader by the HTML standard reads. */
import { describe, expect, it } from "vitest";
import { encodeEvent, keepAlive, type ServerEvent } from "../../src/sse/encode.ts";
import { EventParser } from "../support/event-parser.ts";
import { awkwardStrings, Random, seedOf } from "../support/random.ts";

const seed = seedOf(process.env);

function parse(text: string, random?: Random): EventParser {
  const parser = new EventParser();
  const bytes = new TextEncoder().encode(text);
  const longest = random?.pick([1, 2, 5, 50, 500]) ?? bytes.length;
  for (let at = 0; at < bytes.length; ) {
    const length = 1 + (random?.int(longest) ?? longest);
    parser.feed(bytes.subarray(at, at + length));
    at += length;
  }
  return parser;
}

const scraps: readonly string[] = [
  "\r",
  "\n",
  "\r\n",
  "\n\n",
  " ",
  ":",
  "data: forged",
  "event: forged",
  "id: 7",
  "retry: 1",
  "x".repeat(30),
  "é ☕ \u{1f9e8}",
];

/** A reader turns every kind of line break into a line feed, and a lone surrogate into U+FFFD. */
function asRead(data: string): string {
  return Buffer.from(data.replace(/\r\n|\r/g, "\n")).toString();
}

function randomEvent(random: Random): ServerEvent {
  const words = Array.from({ length: random.int(8) }, () =>
    random.pick(random.chance(0.7) ? scraps : awkwardStrings),
  );
  return {
    data: words.join(""),
    event: random.chance(0.5) ? random.pick(["message", "endpoint", "é"]) : undefined,
    id: random.chance(0.5) ? random.pick(["1", "a-b.7", "☕", " x", ""]) : undefined,
    retryMs: random.chance(0.2) ? random.int(10_000) : undefined,
  };
}

describe("An encoded event", () => {
  it(`is read back as it was, in 2000 streams cut anywhere (seed ${seed})`, () => {
    const random = new Random(seed);
    for (let run = 0; run < 2_000; run++) {
      const events = Array.from({ length: 1 + random.int(4) }, () => randomEvent(random));
      const text = events
        .map((event) => encodeEvent(event) + (random.chance(0.3) ? keepAlive : ""))
        .join("");
      const parser = parse(text, random);
      let last = "";
      const expected = events.map(({ event, id, data }) => {
        last = id ?? last;
        return { event: event ?? "message", data: asRead(data), id: last };
      });
      expect(parser.events, JSON.stringify(events)).toEqual(expected);
      expect(parser.lastEventId).toBe(last);
      expect(parser.retries).toEqual(events.flatMap(({ retryMs }) => retryMs ?? []));
    }
  });

  it("without data primes its reader with an id", () => {
    const parser = parse(encodeEvent({ id: "7", data: "", retryMs: 1_000 }));
    expect(parser.events).toEqual([{ event: "message", data: "", id: "7" }]);
    expect([parser.lastEventId, parser.retries]).toEqual(["7", [1_000]]);
  });

  it("keeps a blank at the start of its data, its id and its name", () => {
    const parser = parse(encodeEvent({ id: " i", event: " e", data: " d" }));
    expect(parser.events).toEqual([{ id: " i", event: " e", data: " d" }]);
  });

  it.each(["\n", "\r", "\r\n", "\0"])(
    "has no %j in its id or its name, whatever is passed",
    (broken) => {
      for (const value of [broken, `a${broken}`, `a${broken}data: forged`, `${broken}a`]) {
        expect(() => encodeEvent({ id: value, data: "d" })).toThrow(TypeError);
        expect(() => encodeEvent({ event: value, data: "d" })).toThrow(TypeError);
      }
    },
  );

  it("cannot be forged from within data", () => {
    const forged = "a\n\nevent: endpoint\ndata: http://evil.example\n\nid: 9\r\rdata: b";
    const parser = parse(encodeEvent({ event: "message", id: "1", data: forged }));
    expect(parser.events).toEqual([{ event: "message", id: "1", data: asRead(forged) }]);
    expect(parser.lastEventId).toBe("1");
  });
});

describe("A sign of life", () => {
  it("is a comment that ends no event and changes none", () => {
    const event = encodeEvent({ id: "1", data: "a" });
    const parser = parse(keepAlive + event + keepAlive + keepAlive + event);
    expect(parser.events).toHaveLength(2);
    expect(parser.comments).toEqual(["", "", ""]);
  });
});
