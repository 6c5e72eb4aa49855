import { MemoryOneTime, type OneTimeStore } from "anyrev";
import { describe, expect, it } from "vitest";
import {
  type StateKeysOptions,
  type StateScope,
  StateSealer,
} from "../../src/core/request-state.ts";

const scope: StateScope = {
  principal: "ada",
  operation: "call-tool",
  target: "deploy",
  arguments: { service: "web", count: 2, list: [1, "2", null], deep: { a: true, b: false } },
};
const state = { round: 1, asked: ["confirm"], text: "é ☕" };

function key(fill: number): Uint8Array {
  return new Uint8Array(32).fill(fill);
}

function openedWith(sealed: unknown): unknown {
  return expect.objectContaining(sealed as object);
}

describe("a sealed state", () => {
  it("opens again for what it was sealed for, and shows nothing of itself", async () => {
    const sealer = new StateSealer();
    const text = await sealer.seal(state, scope);
    expect(text).toMatch(/^[A-Za-z0-9_-]+$/);
    const bytes = Buffer.from(text, "base64url").toString("latin1");
    for (const word of ["round", "confirm", "deploy", "ada"]) expect(bytes).not.toContain(word);
    expect(await sealer.open(text, scope)).toEqual(openedWith(state));
  });

  it("is another each time, though it holds the same", async () => {
    const sealer = new StateSealer();
    const texts = await Promise.all(Array.from({ length: 50 }, () => sealer.seal(state, scope)));
    expect(new Set(texts).size).toBe(50);
  });

  it("does not open once any of its bytes was changed, in any bit", async () => {
    const sealer = new StateSealer({ keys: [key(1), key(2)] });
    const whole = Buffer.from(await sealer.seal(state, scope), "base64url");
    const changes = Array.from({ length: whole.length * 8 }, async (_, bit) => {
      const changed = Buffer.from(whole);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      return sealer.open(changed.toString("base64url"), scope);
    });
    expect(changes.length).toBeGreaterThan(500);
    expect((await Promise.all(changes)).filter((opened) => opened !== undefined)).toEqual([]);
  });

  it("does not open cut short, extended, or spelled another way", async () => {
    const sealer = new StateSealer();
    const text = await sealer.seal(state, scope);
    const cuts = Array.from({ length: text.length }, (_, end) => text.slice(0, end));
    const others = [
      `${text}A`,
      `${text}=`,
      ` ${text}`,
      `${text}\n`,
      `${text}.${text}`,
      text + text,
    ];
    for (const other of [...cuts, ...others, "", "A", "é", "{}"]) {
      expect(await sealer.open(other, scope), other).toBeUndefined();
    }
  });

  it.each<[string, Partial<StateScope>]>([
    ["principal", { principal: "eve" }],
    ["principal, if it is nobody", { principal: "" }],
    ["operation", { operation: "get-prompt" }],
    ["target", { target: "deploy2" }],
    ["arguments", { arguments: {} }],
    ["arguments, down to a type", { arguments: { ...(scope.arguments as object), count: "2" } }],
    [
      "arguments, down to a nesting",
      { arguments: { ...(scope.arguments as object), list: [[1, "2", null]] } },
    ],
    [
      "arguments, down to an order",
      { arguments: { ...(scope.arguments as object), list: ["2", 1, null] } },
    ],
    ["arguments, with one more", { arguments: { ...(scope.arguments as object), more: null } }],
  ])("does not open for another %s", async (_, other) => {
    const sealer = new StateSealer();
    const text = await sealer.seal(state, scope);
    expect(await sealer.open(text, { ...scope, ...other })).toBeUndefined();
  });

  it("does not take a list for the object that is written like it", async () => {
    const sealer = new StateSealer();
    const pairs = ["object", ["a", 1]];
    const text = await sealer.seal(state, { ...scope, arguments: { a: 1 } });
    for (const args of [pairs, ["list", ...pairs], [["a", 1]], "object,a,1"]) {
      expect(await sealer.open(text, { ...scope, arguments: args })).toBeUndefined();
    }
  });

  it("opens for equal arguments, in whatever order their members are written", async () => {
    const sealer = new StateSealer();
    const text = await sealer.seal(state, scope);
    const written = '{"deep":{"b":false,"a":true},"list":[1,"2",null],"count":2.0,"service":"web"}';
    expect(await sealer.open(text, { ...scope, arguments: JSON.parse(written) })).toBeDefined();
  });
});

describe("the keys of sealed states", () => {
  it("are of 32 bytes, and there is one at least", () => {
    for (const keys of [
      [],
      [key(1), new Uint8Array(16)],
      [new Uint8Array(31)],
      [new Uint8Array(33)],
    ]) {
      expect(() => new StateSealer({ keys })).toThrow(/32 random bytes/);
    }
    expect(() => new StateSealer({ keys: [key(1)] })).not.toThrow();
  });

  it("rotate: the first seals, each opens, and one that is gone opens nothing", async () => {
    const [older, both, newer] = [[key(1)], [key(2), key(1)], [key(2)]].map(
      (keys) => new StateSealer({ keys }),
    );
    const before = await older!.seal(state, scope);
    const after = await both!.seal(state, scope);
    expect(await both!.open(before, scope)).toBeDefined();
    expect(await newer!.open(after, scope)).toBeDefined();
    expect(await newer!.open(before, scope)).toBeUndefined();
    expect(await older!.open(after, scope)).toBeUndefined();
  });

  it("of two workers open each other's states, and those made at start do not", async () => {
    const shared = { keys: [key(7)] };
    const text = await new StateSealer(shared).seal(state, scope);
    expect(await new StateSealer(shared).open(text, scope)).toBeDefined();
    const own = await new StateSealer().seal(state, scope);
    expect(await new StateSealer().open(own, scope)).toBeUndefined();
  });

  it("may be wiped by whoever passed them in", async () => {
    const passed = key(9);
    const sealer = new StateSealer({ keys: [passed] });
    passed.fill(0);
    const text = await sealer.seal(state, scope);
    expect(await new StateSealer({ keys: [key(9)] }).open(text, scope)).toBeDefined();
  });
});

describe("the limits of sealed states", () => {
  it("end with their time", async () => {
    let now = 5_000;
    const sealer = new StateSealer({ ttlMs: 1_000, now: () => now });
    const text = await sealer.seal(state, scope);
    now += 999;
    expect(await sealer.open(text, scope)).toBeDefined();
    now += 1;
    expect(await sealer.open(text, scope)).toBeUndefined();
  });

  it("are ten minutes unless told otherwise, and no state says otherwise of itself", async () => {
    let now = 0;
    const sealer = new StateSealer({ now: () => now });
    const text = await sealer.seal({ ...state, expiresAt: Number.MAX_SAFE_INTEGER }, scope);
    now = 599_999;
    expect(await sealer.open(text, scope)).toBeDefined();
    now = 600_000;
    expect(await sealer.open(text, scope)).toBeUndefined();
  });

  it("are a length: what is longer is neither sealed nor looked at", async () => {
    const sealer = new StateSealer({ keys: [key(1)], maxLength: 500 });
    await expect(sealer.seal({ text: "x".repeat(500) }, scope)).rejects.toThrow(
      /500 can be carried/,
    );
    const fits = await sealer.seal({ text: "x".repeat(200) }, scope);
    expect(fits.length).toBeLessThanOrEqual(500);
    expect(await sealer.open(fits, scope)).toBeDefined();
    const long = await new StateSealer({ keys: [key(1)] }).seal({ text: "x".repeat(500) }, scope);
    expect(await sealer.open(long, scope)).toBeUndefined();
  });
});

describe("a state for single use", () => {
  const sealers = (singleUse: StateKeysOptions["singleUse"], count = 1): StateSealer[] =>
    Array.from({ length: count }, () => new StateSealer({ keys: [key(1)], singleUse }));

  it("opens once; without the option it opens again", async () => {
    const [once] = sealers(true);
    const [often] = sealers(false);
    for (const [sealer, again] of [
      [once!, false],
      [often!, true],
    ] as const) {
      const text = await sealer.seal(state, scope);
      expect(await sealer.open(text, scope)).toEqual(openedWith(state));
      expect((await sealer.open(text, scope)) !== undefined).toBe(again);
    }
  });

  it("opens once for many that try at the same time, on workers that share a store", async () => {
    const [one, two] = sealers(new MemoryOneTime(), 2);
    const text = await one!.seal(state, scope);
    const opened = await Promise.all(
      Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? one! : two!).open(text, scope)),
    );
    expect(opened.filter((each) => each !== undefined)).toHaveLength(1);
  });

  it("is not used up by whom it does not belong to, nor by a changed copy", async () => {
    const [sealer] = sealers(true);
    const text = await sealer!.seal(state, scope);
    expect(await sealer!.open(text, { ...scope, principal: "eve" })).toBeUndefined();
    expect(await sealer!.open(`${text.slice(0, -2)}AA`, scope)).toBeUndefined();
    expect(await sealer!.open(text, scope)).toBeDefined();
  });

  it("does not use up another state of the same call", async () => {
    const [sealer] = sealers(true);
    const [one, two] = [await sealer!.seal(state, scope), await sealer!.seal(state, scope)];
    expect(await sealer!.open(one, scope)).toBeDefined();
    expect(await sealer!.open(two, scope)).toBeDefined();
  });

  it("is remembered for as long as it is good, and a while for clocks that differ", async () => {
    const claims: [string, number][] = [];
    let now = 0;
    const store: OneTimeStore = {
      claim: (id, ttlMs) => {
        claims.push([id, ttlMs]);
        return Promise.resolve(true);
      },
    };
    const sealer = new StateSealer({ ttlMs: 10_000, now: () => now, singleUse: store });
    const text = await sealer.seal(state, scope);
    now = 4_000;
    expect(await sealer.open(text, scope)).toBeDefined();
    expect(claims).toEqual([[expect.stringMatching(/^[A-Za-z0-9_-]{16}$/), 66_000]]);
    now = 10_000;
    expect(await sealer.open(text, scope)).toBeUndefined();
    expect(claims).toHaveLength(1);
  });
});
