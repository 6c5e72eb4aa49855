import { MemoryOneTime } from "anyrev";
import { oneTimeStoreSuite } from "anyrev/testing";
import { describe, expect, it, test } from "vitest";
import { later, runSuite } from "../support/suite.ts";

const ttlMs = 1_000;

function open(max?: number) {
  let time = 1_000_000;
  const store = new MemoryOneTime({ max, now: () => time });
  const pass = (ms: number): void => {
    time += ms;
  };
  return { store, ttlMs, pass };
}

describe("Used ids in memory", () => {
  oneTimeStoreSuite(open, { test });

  it("are forgotten after their time, and may be used anew", () => {
    const { store, pass } = open();
    expect(store.claim("a", ttlMs)).toBe(true);
    pass(ttlMs - 1);
    expect(store.claim("a", ttlMs)).toBe(false);
    pass(1);
    expect(store.claim("a", ttlMs)).toBe(true);
  });

  it("leave the memory after their time, also when nobody asks for them", () => {
    const { store, pass } = open();
    for (let at = 0; at < 100; at++) store.claim(`id ${at}`, ttlMs);
    expect(store.size).toBe(100);
    pass(ttlMs);
    store.claim("another", ttlMs);
    expect(store.size).toBe(1);
  });

  it("are never forgotten before their time: what does not fit is refused", () => {
    const { store, pass } = open(3);
    for (const [id, ms] of [
      ["a", 3_000],
      ["b", 1_000],
      ["c", 2_000],
    ] as const) {
      expect(store.claim(id, ms)).toBe(true);
    }
    expect(store.claim("d", 1_000)).toBe(false);
    for (const id of ["a", "b", "c"]) expect(store.claim(id, 1_000)).toBe(false);
    pass(1_000);
    expect(store.claim("d", 1_000)).toBe(true);
    expect(store.claim("e", 1_000)).toBe(false);
    for (const id of ["a", "c", "d"]) expect(store.claim(id, 1_000)).toBe(false);
    expect(store.size).toBe(3);
  });

  it("number a hundred thousand unless told otherwise", () => {
    const store = new MemoryOneTime({ now: () => 0 });
    for (let at = 0; at < 100_000; at++) store.claim(`id ${at}`, ttlMs);
    expect(store.claim("one more", ttlMs)).toBe(false);
    expect(store.size).toBe(100_000);
  });
});

describe("Used ids that come later", () => {
  oneTimeStoreSuite(() => ({ store: later(new MemoryOneTime()), ttlMs: 200 }), { test });
});

describe("The suite of used ids refuses a store", () => {
  const used = new Set<string>();
  it.each([
    ["that takes every claim", { claim: () => true }],
    ["that takes none", { claim: () => false }],
    [
      "that looks before it writes",
      {
        claim: async (id: string) => {
          const known = used.has(id);
          await Promise.resolve();
          used.add(id);
          return !known;
        },
      },
    ],
  ])("%s", async (_, store) => {
    used.clear();
    const opened = () => ({ store, ttlMs: 10 });
    const { failures } = await runSuite((runner) => oneTimeStoreSuite(opened, runner));
    expect(failures.size).toBeGreaterThan(0);
  });
});
