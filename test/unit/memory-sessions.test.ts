/** The contract of a session store, kept by the one in memory. */
import { MemorySessions, type SessionStore } from "anyrev";
import { describe, expect, test } from "vitest";
import { record } from "../../src/testing/record.ts";

const ttlMs = 1_000;

/** A store whose clock stands until it is told. */
function open(maxSessions?: number): { store: MemorySessions; clock: { now: number } } {
  const clock = { now: 1_000_000 };
  return { store: new MemorySessions({ now: () => clock.now, ttlMs, maxSessions }), clock };
}

describe("A store of sessions in memory", () => {
  test("is a session store and starts empty", () => {
    const store: SessionStore & { size: number } = open().store;
    expect(store.size).toBe(0);
    expect(store.get("a")).toBeUndefined();
    expect(store.touch("a")).toBeUndefined();
    expect(store.delete("a")).toBe(false);
    expect(store.save(record("a"), 0)).toBe(false);
    expect(store.size).toBe(0);
  });

  test("gives back what was created, under its own id alone", () => {
    const { store } = open();
    store.create(record("a"));
    store.create(record("b", { revision: "2025-11-25", client: undefined }));
    expect(store.get("a")).toEqual(record("a"));
    expect(store.get("b")).toEqual(record("b", { revision: "2025-11-25", client: undefined }));
    for (const id of ["A", "a ", "", "__proto__", "constructor"]) {
      expect(store.get(id)).toBeUndefined();
    }
  });

  test("saves over the write version that was read, and counts one up", () => {
    const { store } = open();
    store.create(record("a"));
    expect(store.save(record("a", { logLevel: "error" }), 0)).toBe(true);
    expect(store.get("a")).toEqual(record("a", { logLevel: "error", writeVersion: 1 }));
    expect(store.save(record("a", { logLevel: "debug", writeVersion: 1 }), 1)).toBe(true);
    expect(store.get("a")).toEqual(record("a", { logLevel: "debug", writeVersion: 2 }));
  });

  test("lets the first of two writers win, and the second one know", () => {
    const { store } = open();
    store.create(record("a"));
    const read = store.get("a")!;
    expect(store.save({ ...read, logLevel: "error" }, read.writeVersion)).toBe(true);
    expect(store.save({ ...read, logLevel: "debug" }, read.writeVersion)).toBe(false);
    expect(store.save({ ...read, logLevel: "debug" }, 7)).toBe(false);
    expect(store.get("a")).toMatchObject({ logLevel: "error", writeVersion: 1 });
  });

  test("compares the version that is passed, not the one inside the record", () => {
    const { store } = open();
    store.create(record("a"));
    expect(store.save(record("a", { writeVersion: 41 }), 0)).toBe(true);
    expect(store.get("a")?.writeVersion).toBe(1);
  });

  test("does not change a record that somebody has read", () => {
    const { store } = open();
    store.create(record("a"));
    const read = store.get("a");
    store.save(record("a", { logLevel: "error" }), 0);
    expect(read).toEqual(record("a"));
  });

  test("deletes once, and saves nothing over what was deleted", () => {
    const { store } = open();
    store.create(record("a"));
    store.create(record("b"));
    expect(store.delete("a")).toBe(true);
    expect(store.delete("a")).toBe(false);
    expect(store.get("a")).toBeUndefined();
    expect(store.save(record("a"), 0)).toBe(false);
    expect(store.touch("a")).toBeUndefined();
    expect(store.get("b")).toEqual(record("b"));
    expect(store.size).toBe(1);
  });
});

describe("A session in memory", () => {
  test("is there for its whole lifetime and gone right after", () => {
    const { store, clock } = open();
    store.create(record("a"));
    clock.now += ttlMs - 1;
    expect(store.get("a")).toEqual(record("a"));
    clock.now += 1;
    expect(store.get("a")).toBeUndefined();
  });

  test.each<[string, (store: SessionStore) => unknown]>([
    ["touched", (store) => store.touch("a")],
    ["saved", (store) => store.save(record("a"), 0)],
  ])("lives on from when it was last %s", (_, use) => {
    const { store, clock } = open();
    store.create(record("a"));
    clock.now += ttlMs - 1;
    expect(use(store)).toBeTruthy();
    clock.now += ttlMs - 1;
    expect(store.get("a")).toBeDefined();
    clock.now += 1;
    expect(store.get("a")).toBeUndefined();
  });

  test("does not live on because it was looked at, or because a save of it failed", () => {
    const { store, clock } = open();
    store.create(record("a"));
    clock.now += ttlMs - 1;
    expect(store.get("a")).toBeDefined();
    expect(store.save(record("a"), 3)).toBe(false);
    clock.now += 1;
    expect(store.get("a")).toBeUndefined();
  });

  test("that expired is as if it never was", () => {
    const expired = (): SessionStore => {
      const { store, clock } = open();
      store.create(record("a"));
      clock.now += ttlMs;
      return store;
    };
    expect(expired().touch("a")).toBeUndefined();
    expect(expired().save(record("a"), 0)).toBe(false);
    expect(expired().delete("a")).toBe(false);
    const store = expired();
    store.create(record("a", { revision: "2025-11-25" }));
    expect(store.get("a")).toEqual(record("a", { revision: "2025-11-25" }));
  });

  test("lives an hour unless told otherwise", () => {
    let now = 0;
    const store = new MemorySessions({ now: () => now });
    store.create(record("a"));
    now = 3_599_999;
    expect(store.get("a")).toBeDefined();
    now = 3_600_000;
    expect(store.get("a")).toBeUndefined();
  });
});

describe("A full store", () => {
  const kept = (store: MemorySessions, ids: string): string =>
    [...ids].filter((id) => store.get(id) !== undefined).join("");

  test("lets the session go that was longest idle", () => {
    const { store, clock } = open(3);
    for (const id of "abc") {
      store.create(record(id));
      clock.now += 1;
    }
    store.touch("a");
    store.save(record("b"), 0);
    store.create(record("d"));
    expect(kept(store, "abcd")).toBe("abd");
    store.create(record("e"));
    expect(kept(store, "abcde")).toBe("bde");
    store.create(record("f"));
    expect(kept(store, "abcdef")).toBe("def");
  });

  test("never holds more than its cap, however many handshakes come", () => {
    const { store } = open(3);
    for (let at = 0; at < 100; at++) {
      store.create(record(`id ${at}`));
      expect(store.size).toBeLessThanOrEqual(3);
    }
    for (const at of [97, 98, 99]) expect(store.get(`id ${at}`)).toBeDefined();
  });

  test("holds ten thousand unless told otherwise", () => {
    const store = new MemorySessions();
    for (let at = 0; at <= 10_000; at++) store.create(record(`id ${at}`));
    expect(store.size).toBe(10_000);
    expect(store.get("id 0")).toBeUndefined();
    expect(store.get("id 1")).toBeDefined();
  });

  test("drops what expired before anything that lives", () => {
    const { store, clock } = open(3);
    store.create(record("a"));
    store.create(record("b"));
    clock.now += ttlMs - 1;
    store.create(record("c"));
    clock.now += 1;
    store.create(record("d"));
    expect(kept(store, "abcd")).toBe("cd");
    expect(store.size).toBe(2);
  });

  test("keeps expired sessions out of its memory also when nobody asks for them", () => {
    const { store, clock } = open();
    for (const id of "abc") store.create(record(id));
    expect(store.size).toBe(3);
    clock.now += ttlMs;
    store.create(record("d"));
    expect(store.size).toBe(1);
  });
});
