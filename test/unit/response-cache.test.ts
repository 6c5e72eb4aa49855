/** Results are given back while they are fresh, to whoever may see them, and to nobody else. */
import { ResponseCache } from "anyrev/client";
import { describe, expect, it } from "vitest";
import type { CacheSubject } from "../../src/client/cache.ts";
import type { CacheHints } from "../../src/core/model.ts";

const list: CacheSubject = {
  server: "https://one.example/mcp",
  request: "tools/list",
  context: "ann",
  list: "tools",
  uri: undefined,
};
const page: CacheSubject = {
  ...list,
  request: "resources/read a://b/c",
  list: undefined,
  uri: "a://b/c",
};
const second: CacheHints = { ttlMs: 1_000, scope: "private" };
const shared: CacheHints = { ttlMs: 1_000, scope: "public" };

class Kept {
  now = 0;
  readonly cache: ResponseCache;

  constructor(options = {}) {
    this.cache = new ResponseCache({ now: () => this.now, ...options });
  }

  put(value: unknown, hints: CacheHints | undefined, subject = list, uris?: string[]): void {
    const expected = this.cache.expect(subject);
    expected.received();
    expected.keep(value, hints, uris);
    expected.end();
  }

  get(subject = list): unknown {
    return this.cache.recall(subject)?.value;
  }
}

describe("a result", () => {
  it("is given back until its time is over, and what is left of that is told", () => {
    const kept = new Kept();
    kept.put({ a: 1 }, second);
    expect(kept.cache.recall(list)).toEqual({ value: { a: 1 }, cache: second });
    kept.now = 999;
    expect(kept.cache.recall(list)?.cache.ttlMs).toBe(1);
    kept.now = 1_000;
    expect(kept.get()).toBeUndefined();
    expect(kept.cache.size).toBe(0);
  });

  it("ages from when its first part came, however long the others took", () => {
    const kept = new Kept();
    const expected = kept.cache.expect(list);
    kept.now = 100;
    expected.received();
    kept.now = 900;
    expected.received();
    expected.keep("whole", second);
    expect(kept.get()).toBe("whole");
    kept.now = 1_100;
    expect(kept.get()).toBeUndefined();
  });

  it("is not kept when it is old before it is whole", () => {
    const kept = new Kept();
    const expected = kept.cache.expect(list);
    expected.received();
    kept.now = 1_000;
    expected.keep("old", second);
    expect(kept.cache.size).toBe(0);
  });

  it.each([
    ["without a hint", undefined],
    ["with no time", { ttlMs: 0, scope: "public" }],
    ["with negative time", { ttlMs: -1, scope: "public" }],
    ["with a time that is no number", { ttlMs: Number.NaN, scope: "public" }],
  ] as const)("%s is not kept, and what was kept before is forgotten", (_, hints) => {
    const kept = new Kept();
    kept.put("one", second);
    kept.put("two", hints);
    expect(kept.get()).toBeUndefined();
    expect([kept.cache.size, kept.cache.bytes]).toEqual([0, 0]);
  });

  it("is kept for a day at most, whatever its server says", () => {
    const kept = new Kept();
    kept.put("forever", { ttlMs: Number.MAX_VALUE, scope: "private" });
    kept.now = 86_399_999;
    expect(kept.get()).toBe("forever");
    kept.now++;
    expect(kept.get()).toBeUndefined();
    const short = new Kept({ maxTtlMs: 5 });
    short.put("shortly", second);
    expect(short.cache.recall(list)?.cache.ttlMs).toBe(5);
  });

  it("cannot be changed by those it was given to", () => {
    const kept = new Kept();
    const value = { tools: ["one"] };
    kept.put(value, second);
    value.tools.push("mine");
    const given = kept.get() as typeof value;
    given.tools.push("mine too");
    expect(kept.get()).toEqual({ tools: ["one"] });
  });

  it("is given for the same request to the same server alone", () => {
    const kept = new Kept();
    kept.put("one", shared);
    expect(kept.get({ ...list, request: "tools/list 2" })).toBeUndefined();
    expect(kept.get({ ...list, server: "https://two.example/mcp" })).toBeUndefined();
    // Nothing that a server or a user names can be taken for something else.
    expect(kept.get({ ...list, server: `${list.server}","x`, request: "" })).toBeUndefined();
    expect(kept.get()).toBe("one");
  });
});

describe("whoever asks", () => {
  const bob = { ...list, context: "bob" };

  it("gets what is private to them and what is public", () => {
    const kept = new Kept();
    kept.put("ann's", second);
    expect(kept.get(bob)).toBeUndefined();
    kept.put("bob's", second, bob);
    expect([kept.get(), kept.get(bob)]).toEqual(["ann's", "bob's"]);
    kept.put("everybody's", shared);
    expect(kept.get({ ...list, context: "eve" })).toBe("everybody's");
  });

  it("finds a public result gone once its server calls it private", () => {
    const kept = new Kept();
    kept.put("everybody's", shared);
    kept.put("ann's", second);
    expect([kept.get(), kept.get(bob)]).toEqual(["ann's", undefined]);
    kept.put("everybody's again", shared);
    expect([kept.get(), kept.get(bob)]).toEqual(["everybody's again", "everybody's again"]);
    expect(kept.cache.size).toBe(1);
  });
});

describe("a change", () => {
  it("of a list makes that list stale, for everybody, and no other", () => {
    const kept = new Kept();
    const prompts: CacheSubject = { ...list, request: "prompts/list", list: "prompts" };
    const elsewhere = { ...list, server: "https://two.example/mcp" };
    for (const subject of [list, { ...list, context: "bob" }, prompts, elsewhere, page]) {
      kept.put("kept", second, subject);
    }
    kept.cache.invalidate(list.server, { kind: "list-changed", list: "tools" });
    expect(kept.get()).toBeUndefined();
    expect(kept.get({ ...list, context: "bob" })).toBeUndefined();
    expect([prompts, elsewhere, page].map((each) => kept.get(each))).toEqual(Array(3).fill("kept"));
  });

  it.each([
    ["a://b/c", true],
    ["a://b/c/part", true],
    ["a://b/c#part", true],
    ["a://b", true],
    ["a://b/", true],
    ["x://other", true],
    ["a://b/cd", false],
    ["a://b/d", false],
    ["b", false],
  ])("of %s concerns what tells of a://b/c and x://other: %s", (uri, concerned) => {
    const kept = new Kept();
    kept.put("page", second, page, ["x://other"]);
    kept.cache.invalidate(page.server, { kind: "resource-updated", uri });
    expect(kept.get(page)).toBe(concerned ? undefined : "page");
  });

  it("while a result is on its way keeps it from being kept", () => {
    const kept = new Kept();
    const tools = kept.cache.expect(list);
    const read = kept.cache.expect(page);
    const other = kept.cache.expect({ ...page, request: "other", uri: "y://" });
    kept.cache.invalidate(list.server, { kind: "list-changed", list: "tools" });
    // Only the result will say that it tells of this one.
    kept.cache.invalidate(list.server, { kind: "resource-updated", uri: "x://other" });
    tools.keep("old", second);
    read.keep("old", second, ["x://other"]);
    other.keep("young", second);
    expect([kept.get(), kept.get(page)]).toEqual([undefined, undefined]);
    expect(kept.get({ ...page, request: "other" })).toBe("young");
  });

  it("is remembered for what is on its way so often; a flood of them makes it stale", () => {
    const kept = new Kept();
    const few = kept.cache.expect(page);
    const change = (index: number): void =>
      kept.cache.invalidate(page.server, { kind: "resource-updated", uri: `y://${index}` });
    for (let index = 0; index < 100; index++) change(index);
    few.keep("kept", second);
    expect(kept.get(page)).toBe("kept");
    const many = kept.cache.expect({ ...page, request: "many" });
    for (let index = 0; index < 101; index++) change(index);
    many.keep("not kept", second);
    expect(kept.get({ ...page, request: "many" })).toBeUndefined();
  });
});

describe("what comes later", () => {
  it("wins over what was asked for before and comes after it", () => {
    const kept = new Kept();
    const first = kept.cache.expect(list);
    const second_ = kept.cache.expect(list);
    second_.keep("young", second);
    first.keep("old", second);
    expect(kept.get()).toBe("young");
  });

  it("is forgotten when the server refuses it", () => {
    const kept = new Kept();
    kept.put("there", second, page);
    kept.cache.expect(page).refused();
    expect(kept.get(page)).toBeUndefined();
  });
});

describe("a clock", () => {
  it("that goes back makes everything stale, what is on its way included", () => {
    const kept = new Kept();
    kept.now = 5_000;
    kept.put("one", second);
    const coming = kept.cache.expect(page);
    coming.received();
    kept.now = 4_999;
    coming.keep("two", second);
    expect([kept.get(), kept.get(page), kept.cache.size]).toEqual([undefined, undefined, 0]);
    kept.put("three", second);
    expect(kept.get()).toBe("three");
  });

  it("that is broken makes everything stale", () => {
    const kept = new Kept();
    kept.put("one", second);
    kept.now = Number.NaN;
    expect(kept.get()).toBeUndefined();
    kept.put("two", second);
    expect(kept.get()).toBeUndefined();
  });

  it("is there without being given", async () => {
    const kept = new Kept({ now: undefined });
    kept.put("one", { ttlMs: 20, scope: "private" });
    expect(kept.get()).toBe("one");
    await new Promise((resolve) => setTimeout(resolve, 25));
    expect(kept.get()).toBeUndefined();
  });
});

describe("the bounds", () => {
  const numbered = (index: number): CacheSubject => ({ ...list, request: `tools/list ${index}` });

  it("let the result go that was used longest ago", () => {
    const kept = new Kept({ maxEntries: 3 });
    for (const index of [1, 2, 3]) kept.put(index, second, numbered(index));
    kept.get(numbered(1));
    kept.put(4, second, numbered(4));
    expect([1, 2, 3, 4].map((index) => kept.get(numbered(index)))).toEqual([1, undefined, 3, 4]);
  });

  it("count two bytes a character, and are never passed", () => {
    const kept = new Kept({ maxBytes: 10_000 });
    const text = "x".repeat(1_000);
    for (let index = 0; index < 20; index++) {
      kept.put(text, second, numbered(index));
      expect(kept.cache.bytes).toBeLessThanOrEqual(10_000);
    }
    expect(kept.cache.bytes).toBeGreaterThan(2 * 1_000 * kept.cache.size);
    expect(kept.cache.size).toBe(4);
    kept.put("x".repeat(5_000), second, numbered(20));
    expect(kept.get(numbered(20))).toBeUndefined();
    expect(kept.cache.size).toBe(4);
    kept.cache.clear();
    expect([kept.cache.size, kept.cache.bytes]).toEqual([0, 0]);
  });

  it("hold nothing for what never comes", () => {
    const kept = new Kept();
    const expected = kept.cache.expect(list);
    kept.cache.clear();
    expected.keep("asked for before", second);
    expected.end();
    expect(kept.get()).toBeUndefined();
  });
});
