/** What stores that workers share do at their limits, and at their end. */
import { setTimeout as delay } from "node:timers/promises";
import { type EventHub, StoreError } from "anyrev";
import { describe, expect, test } from "vitest";
import { record } from "../../src/testing/record.ts";
import { until } from "../../src/testing/runner.ts";
import { makePrefix, type OpenWorkers } from "./shared-stores.ts";

/** One that never comes. */
const never = (): AbortSignal => new AbortController().signal;

export function describeLimits(backend: string, openWorkers: OpenWorkers): void {
  // With as much time as a slow machine takes.
  const open: OpenWorkers = (options) => openWorkers({ timeoutMs: 20_000, ...options });
  const canGoOn = async (
    { hub }: { hub: EventHub },
    topic: string,
    from: string,
  ): Promise<boolean> => hub.follow(topic, from, () => undefined, AbortSignal.abort());

  describe.concurrent(`Limits of ${backend}`, () => {
    test("keep so many events of a topic, and tell who misses one", async () => {
      const { one, other, close } = await open({ events: { maxEvents: 3 } });
      const cursors = [await one.hub.position("t")];
      const seen: string[] = [];
      await other.hub.follow("t", cursors[0]!, ({ data }) => seen.push(data), never());
      for (const data of ["a", "b", "c", "d", "e"]) {
        cursors.push(await one.hub.publish("t", data));
        await until(() => seen.at(-1) === data, "seeing it");
      }
      expect(seen).toEqual(["a", "b", "c", "d", "e"]);
      const known = await Promise.all(cursors.map((cursor) => canGoOn(other, "t", cursor)));
      expect(known).toEqual([false, false, true, true, true, true]);
      await close();
    });

    test("keep so much of a topic, and refuse an event that is more than that", async () => {
      const { one, other, close } = await open({
        events: { maxLength: 1_000, maxEventLength: 800 },
      });
      const cursors = [await one.hub.position("t")];
      for (const letter of ["a", "b", "c"]) {
        cursors.push(await one.hub.publish("t", letter.repeat(400)));
      }
      const known = await Promise.all(cursors.map((cursor) => canGoOn(other, "t", cursor)));
      expect(known).toEqual([false, true, true, true]);
      const refused = (async () => one.hub.publish("t", "x".repeat(801)))();
      await expect(refused).rejects.toMatchObject({ name: "StoreError", code: "too-large" });
      // So many characters, whatever they take as they are kept.
      const escaped = (async () => one.hub.publish("t", "\0".repeat(700)))();
      await expect(escaped).rejects.toMatchObject({ code: "too-large" });
      expect(await canGoOn(other, "t", cursors[1]!)).toBe(true);
      await close();
    });

    test("keep so many topics, and forget the one that was used longest ago", async () => {
      const { one, other, close } = await open({ events: { maxTopics: 3 } });
      for (const topic of ["a", "b", "c"]) {
        await one.hub.publish(topic, "1");
        await delay(3);
      }
      await other.hub.publish("a", "2");
      await delay(3);
      await other.hub.publish("d", "1");
      const left = await Promise.all(["a", "b", "c", "d"].map((topic) => one.hub.exists(topic)));
      expect(left).toEqual([true, false, true, true]);
      await close();
    });

    test("refuse names that are too long, and find none under them", async () => {
      const { one, close } = await open();
      const long = "x".repeat(513);
      const writes = [
        () => one.hub.publish(long, "a"),
        () => one.oneTime.claim(long, 1_000),
        () => one.sessions.create(record(long)),
        () => one.sessions.create(record("a", { principal: long })),
      ];
      for (const write of writes) {
        await expect((async () => write())()).rejects.toMatchObject({ code: "too-large" });
      }
      expect(await one.sessions.get(long)).toBeUndefined();
      expect(await one.sessions.touch("x".repeat(100_000))).toBeUndefined();
      await close();
    });

    test("remember so many used ids, and refuse new ones rather than forget", async () => {
      const { one, other, pass, close } = await open({ oneTime: { max: 3 } });
      for (const [id, ttlMs] of [
        ["a", 10_000],
        ["b", 100_000],
        ["c", 100_000],
      ] as const) {
        expect(await one.oneTime.claim(id, ttlMs)).toBe(true);
      }
      const refused = (async () => one.oneTime.claim("d", 10_000))();
      await expect(refused).rejects.toMatchObject({ name: "StoreError", code: "full" });
      await pass(50_000);
      expect(await one.oneTime.claim("d", 10_000)).toBe(true);
      await expect((async () => other.oneTime.claim("e", 10_000))()).rejects.toThrow(StoreError);
      await close();
    });

    test("keep what has one prefix from what has another", async () => {
      const [mine, theirs] = [makePrefix(), makePrefix()];
      const { one, close } = await open({ prefix: mine });
      const another = await open({ prefix: theirs });
      const seen: string[] = [];
      await one.hub.follow(
        "t",
        await one.hub.position("t"),
        ({ data }) => seen.push(data),
        never(),
      );
      await another.one.sessions.create(record("a"));
      await another.one.hub.publish("t", "theirs");
      await another.one.keys.rotate(new Uint8Array(32));
      expect(await another.one.oneTime.claim("a", 10_000)).toBe(true);
      expect(await one.sessions.get("a")).toBeUndefined();
      expect(await one.hub.exists("t")).toBe(false);
      expect(await one.keys.read()).toEqual([]);
      expect(await one.oneTime.claim("a", 10_000)).toBe(true);
      await one.hub.publish("t", "mine");
      await reaches(seen, ["mine"]);
      await close();
      await another.close();
    });

    test.for(["", "A", "1a", "a-b", "a b", 'a"; DROP TABLE x; --', "é", "a".repeat(31)])(
      "admit no prefix %j",
      async (prefix) => {
        await expect(open({ prefix })).rejects.toThrow(RangeError);
      },
    );

    test.for([
      { events: { maxEvents: 0 } },
      { events: { ttlMs: Number.NaN } },
      { sessions: { ttlMs: Number.POSITIVE_INFINITY } },
      { sessions: { maxSessions: -1 } },
      { keys: { rotateMs: 0 } },
      { timeoutMs: 0 },
    ])("admit no %j", async (options) => {
      await expect(open(options)).rejects.toThrow(RangeError);
    });
  });

  describe.concurrent(`Use of ${backend}`, () => {
    test("keeps it known where a topic stands that is followed, however silent", async () => {
      const { one, other, close } = await open({ events: { ttlMs: 600 } });
      const seen: string[] = [];
      await one.hub.follow(
        "t",
        await one.hub.position("t"),
        ({ data }) => seen.push(data),
        never(),
      );
      const last = await other.hub.publish("t", "a");
      await delay(7_500);
      expect(await canGoOn(other, "t", last)).toBe(true);
      await other.hub.publish("t", "b");
      await until(() => seen.includes("b"), "seeing what was published");
      await close();
    });

    test("reads a topic once for all who follow it, and each sees all of it", async () => {
      const { one, other, close } = await open();
      const start = await one.hub.position("t");
      const all = Array.from({ length: 30 }, (): string[] => []);
      const expected = Array.from({ length: 450 }, (_, at) => `${at}`);
      const publishing = (async () => {
        for (const data of expected) await other.hub.publish("t", data);
      })();
      for (const seen of all) {
        await one.hub.follow("t", start, ({ data }) => seen.push(data), never());
        await delay(2);
      }
      await publishing;
      for (const seen of all) await reaches(seen, expected);
      await close();
    });

    test("goes on for the others when a callback throws, and tells of it", async () => {
      const faults: unknown[] = [];
      const { one, other, close } = await open({ onFault: (cause) => faults.push(cause) });
      const start = await one.hub.position("t");
      const seen: string[] = [];
      const fail = (): never => {
        throw new Error("of the callback");
      };
      await one.hub.follow("t", start, fail, never());
      await one.hub.follow("t", start, ({ data }) => seen.push(data), never());
      for (const data of ["a", "b"]) await other.hub.publish("t", data);
      await reaches(seen, ["a", "b"]);
      expect(faults.map(String)).toEqual(["Error: of the callback", "Error: of the callback"]);
      await close();
    });

    test("is over once it is closed, and nobody is called back any more", async () => {
      const { one, other, close } = await open();
      const seen: string[] = [];
      const witness: string[] = [];
      const start = await one.hub.position("t");
      await one.hub.follow("t", start, ({ data }) => seen.push(data), never());
      await other.hub.follow("t", start, ({ data }) => witness.push(data), never());
      await one.close();
      await other.hub.publish("t", "a");
      await reaches(witness, ["a"]);
      await delay(50);
      expect(seen).toEqual([]);
      const uses = [
        () => one.hub.publish("t", "b"),
        () => one.hub.follow("t", start, () => undefined, never()),
        () => one.sessions.get("a"),
        () => one.oneTime.claim("a", 1_000),
        () => one.keys.read(),
      ];
      for (const use of uses) {
        await expect((async () => use())()).rejects.toMatchObject({ code: "closed" });
      }
      await one.close();
      await close();
    });
  });
}

async function reaches(seen: readonly string[], expected: readonly string[]): Promise<void> {
  await until(() => seen.length >= expected.length, `seeing ${expected.length} events`);
  expect(seen).toEqual(expected);
}
