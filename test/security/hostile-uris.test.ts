/** URIs made to hold up whoever matches them against a template. */
import { createServer, parseUriTemplate } from "anyrev";
import { describe, expect, it } from "vitest";
import { openBridge } from "../support/bridges.ts";
import { request } from "../support/messages.ts";
import { Random, seedOf } from "../support/random.ts";
import { openCaller } from "../support/raw-caller.ts";
import { revisions } from "../support/wire.ts";

const seed = seedOf(process.env);
console.log(`hostile uris: FUZZ_SEED=${seed}`);

/** What matching one URI may take, and what it may take where the machine is busy with others. */
const boundMs = 5;
const guardMs = 100;
/** The longest that is looked at. */
const longest = 8_192;

const templates: readonly string[] = [
  "x://{a}",
  "x://{a}/{b}/{c}",
  "x://{a}-{b}-{c}-{d}-{e}-{f}-{g}-{h}",
  "x://{+a}{+b}{+c}",
  "x://{+a}/{+b}#{c}",
  "x:{/a*}{/b*}{/c*}",
  "x:{/a,b,c}{?d,e*}",
  "x:{?a*}{&b*}",
  "x:{;a*,b}{#c*}",
  "x:{.a*}{.b*}",
  "x://{a:5}{b:500}{+c:9999}",
  "x://{a,b,c,d}{+e,f}",
  "{a}{b}{c}{d}",
];

const parts: readonly string[] = [
  ..."/-,.;?&#=%a:{}",
  "%2",
  "%25",
  "%C3%A9",
  "%ff",
  "a=",
  "&a=",
  "/a",
  "a,",
  ";a=",
  "é",
  "\ud800",
  " ",
  "\0",
  "..%2f",
  "x://",
];

/** Repeats a few parts up to a length, and ends in what makes a match fail, or not. */
function createUri(random: Random, length: number): string {
  const start = random.pick(["x://", "x:", "", "x:///", "y://"]);
  const cell = Array.from({ length: 1 + random.int(4) }, () => random.pick(parts)).join("");
  const end = random.pick(["", "!", " ", "#", "/", "\0", "%", "?"]);
  const repeats = Math.max(1, Math.floor((length - start.length - end.length) / cell.length));
  return start + cell.repeat(repeats) + end;
}

function timeOf(run: () => unknown): number {
  const start = performance.now();
  run();
  return performance.now() - start;
}

/** The quickest of a few tries: what else the machine does is not what is measured. */
function quickest(run: () => unknown, enoughMs: number): number {
  let least = timeOf(run);
  for (let tries = 0; tries < 4 && least > enoughMs; tries++) least = Math.min(least, timeOf(run));
  return least;
}

describe.each(templates)("the template %s", (source) => {
  const { match } = parseUriTemplate(source);

  it("is matched against each of 1,000 hostile URIs within 5 ms", () => {
    const random = new Random(seed);
    const all = Array.from({ length: 1_000 }, () => {
      const uri = createUri(random, random.pick([50, 200, 1_000, 2_000, longest, 20_000]));
      const ms = quickest(() => match(uri), boundMs);
      expect(ms, `${JSON.stringify(uri.slice(0, 60))}… FUZZ_SEED=${seed}`).toBeLessThan(guardMs);
      return ms;
    });
    // Nearly all of them: on a busy machine some are held up in each of their tries.
    expect(all.sort((a, b) => a - b)[950]).toBeLessThan(boundMs);
  });

  it("takes time that grows as the URI does", () => {
    const random = new Random(seed);
    const cells = Array.from({ length: 20 }, () => random.int(4_294_967_296));
    const timeFor = (length: number): number => {
      const uris = cells.map((cell) => createUri(new Random(cell), length));
      const run = () => uris.forEach((uri) => void match(uri));
      return Math.min(...Array.from({ length: 3 }, () => timeOf(run)));
    };
    timeFor(1_000);
    const ratio = () => timeFor(8_000) / Math.max(timeFor(1_000), 0.2);
    // Linear is 8, and quadratic is 64. The least of some: what else the machine does only adds.
    let least = ratio();
    for (let tries = 0; tries < 12 && least >= 28; tries++) least = Math.min(least, ratio());
    expect(least, `FUZZ_SEED=${seed}`).toBeLessThan(28);
  });
});

describe.each(revisions)("in %s", (revision) => {
  it("a hostile URI is refused as one that nobody has, and the next one is served", async () => {
    const server = createServer({ name: "uris", version: "1", log: () => undefined });
    let reads = 0;
    for (const source of templates.slice(1, -1)) {
      server.template(source, { name: source }, () => {
        reads++;
        return "read";
      });
    }
    await using bridge = await openBridge("node", server);
    const caller = await openCaller(bridge, revision);
    const random = new Random(seed);
    for (let count = 0; count < 100; count++) {
      // Half a pair is no text that a header could carry.
      const uri = `y:${createUri(random, 5_000).replaceAll("\ud800", "x")}`;
      // Not every one of them is a URI, so none is judged as a client's message.
      const refused = await caller.send(request(revision, count, "resources/read", { uri }));
      // In a code of its own up to 2025-11-25.
      const code = revision === "2026-07-28" ? -32602 : -32002;
      expect(refused.error.code, `${uri.slice(0, 60)} FUZZ_SEED=${seed}`).toBe(code);
    }
    expect(reads).toBe(0);
    const read = await caller.request("resources/read", { uri: "x://a/b/c" });
    expect(read.result).toMatchObject({ contents: [{ text: "read" }] });
  });
});
