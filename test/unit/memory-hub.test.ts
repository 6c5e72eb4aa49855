/** What the hub in memory does beyond its contract: its limits, and that it leaves nothing behind. */
import { type HubEvent, MemoryHub, type MemoryHubOptions } from "anyrev";
import { describe, expect, it } from "vitest";
import { Random } from "../support/random.ts";

function open(options: MemoryHubOptions = {}) {
  const clock = { now: 1_000_000 };
  return { hub: new MemoryHub({ now: () => clock.now, ...options }), clock };
}

/** Everything after a cursor; undefined where that is lost. */
function read(hub: MemoryHub, topic: string, after: string): string | undefined {
  const seen: string[] = [];
  const ended = new AbortController();
  const known = hub.follow(topic, after, ({ data }) => seen.push(data), ended.signal);
  ended.abort();
  return known ? seen.join(" ") : undefined;
}

function publish(hub: MemoryHub, topic: string, words: string): string[] {
  return words.split(" ").map((word) => hub.publish(topic, word));
}

describe("A topic in memory", () => {
  it("keeps so many events, and the cursor before the oldest that is kept", () => {
    const { hub } = open({ maxEvents: 3 });
    const start = hub.position("t");
    const [a, b, c] = publish(hub, "t", "a b c d e");
    expect(read(hub, "t", start)).toBeUndefined();
    expect(read(hub, "t", a!)).toBeUndefined();
    expect(read(hub, "t", b!)).toBe("c d e");
    expect(read(hub, "t", c!)).toBe("d e");
  });

  it("keeps so much data, and a single event that is larger not at all", () => {
    const { hub } = open({ maxLength: 10 });
    const start = hub.position("t");
    const [a] = publish(hub, "t", "aaaa bbbb cccc");
    expect(read(hub, "t", start)).toBeUndefined();
    expect(read(hub, "t", a!)).toBe("bbbb cccc");
    const large = hub.publish("t", "x".repeat(11));
    expect(read(hub, "t", a!)).toBeUndefined();
    expect(read(hub, "t", large)).toBe("");
  });

  it("shows an event to those who follow it also when it is too large to keep", () => {
    const { hub } = open({ maxLength: 10 });
    const seen: string[] = [];
    hub.follow("t", hub.position("t"), ({ data }) => seen.push(data), new AbortController().signal);
    hub.publish("t", "x".repeat(11));
    expect(seen).toHaveLength(1);
  });

  it("shows a follower that publishes more than is kept all of it", () => {
    const { hub } = open({ maxEvents: 2 });
    const [fast, slow]: [string[], string[]] = [[], []];
    const { signal } = new AbortController();
    const start = hub.position("t");
    hub.follow(
      "t",
      start,
      ({ data }) => {
        fast.push(data);
        if (data === "a") publish(hub, "t", "b c d e");
      },
      signal,
    );
    hub.follow("t", start, ({ data }) => slow.push(data), signal);
    hub.publish("t", "a");
    expect([fast.join(""), slow.join("")]).toEqual(["abcde", "abcde"]);
  });

  it("is kept for its time after its last event", () => {
    const { hub, clock } = open({ ttlMs: 100 });
    const start = hub.position("t");
    hub.publish("t", "a");
    clock.now += 99;
    hub.publish("t", "b");
    clock.now += 99;
    expect(read(hub, "t", start)).toBe("a b");
    clock.now += 1;
    expect(read(hub, "t", start)).toBeUndefined();
  });
});

describe("Topics in memory", () => {
  it("are so many at most, and the one written longest ago goes first", () => {
    const { hub } = open({ maxTopics: 3 });
    const starts = new Map([..."abcd"].map((name) => [name, hub.position(name)]));
    for (const name of "abca") hub.publish(name, name);
    hub.publish("d", "d");
    expect(hub.counts.topics).toBe(3);
    const kept = [..."abcd"].filter((name) => read(hub, name, starts.get(name)!) !== undefined);
    expect(kept.join("")).toBe("acd");
  });

  it("hold so much together, and the one written longest ago goes first", () => {
    const { hub } = open({ maxTotalLength: 10 });
    const starts = new Map([..."abc"].map((name) => [name, hub.position(name)]));
    const kept = () => [..."abc"].map((name) => read(hub, name, starts.get(name)!));
    for (const name of "ab") hub.publish(name, name.repeat(4));
    hub.publish("a", "aa");
    expect(kept()).toEqual(["aaaa aa", "bbbb", ""]);
    hub.publish("c", "cccc");
    expect(kept()).toEqual(["aaaa aa", undefined, "cccc"]);
    expect(hub.exists("b")).toBe(false);
    // One that is alone with too much loses its own oldest.
    const last = hub.publish("c", "ccccc");
    expect(kept()).toEqual([undefined, undefined, "cccc ccccc"]);
    hub.publish("c", "cc");
    expect([hub.counts.topics, read(hub, "c", starts.get("c")!)]).toEqual([1, undefined]);
    expect(read(hub, "c", last)).toBe("cc");
  });

  it("hold no more than that together, whatever is published, deleted and expires", () => {
    const random = new Random(7);
    const { hub, clock } = open({ maxTotalLength: 500, maxLength: 200, maxEvents: 8, ttlMs: 50 });
    const cursors = new Map<string, string[]>();
    let most = 0;
    for (let step = 0; step < 3_000; step++) {
      const topic = `t${random.int(12)}`;
      const own = cursors.get(topic) ?? [hub.position(topic)];
      cursors.set(topic, own);
      if (random.int(20) === 0) hub.delete(topic);
      else own.push(hub.publish(topic, "x".repeat(random.int(90))));
      // No more events than eight are kept of one topic.
      if (own.length > 9) own.shift();
      clock.now += random.int(3);
      if (step % 10 > 0) continue;
      let held = 0;
      for (const [name, all] of cursors) {
        const from = all.find((cursor) => read(hub, name, cursor) !== undefined);
        if (from !== undefined) held += read(hub, name, from)!.replaceAll(" ", "").length;
      }
      expect(held).toBeLessThanOrEqual(500);
      most = Math.max(most, held);
    }
    // The sum is kept right: what is gone is not counted for ever.
    expect(most).toBeGreaterThan(400);
  });

  it("leave the memory after their time, also when nobody asks for them", () => {
    const { hub, clock } = open({ ttlMs: 100 });
    for (let at = 0; at < 50; at++) hub.publish(`t${at}`, "x");
    expect(hub.counts.topics).toBe(50);
    clock.now += 100;
    hub.publish("another", "x");
    expect(hub.counts.topics).toBe(1);
  });

  it("never take a loss for none, however many of them have come and gone", () => {
    const { hub } = open({ maxTopics: 5 });
    const start = hub.position("t");
    hub.publish("t", "a");
    hub.delete("t");
    for (let at = 0; at < 100; at++) {
      hub.publish(`t${at}`, "x");
      hub.delete(`t${at}`);
      expect(read(hub, "t", start)).toBeUndefined();
    }
  });

  it("are still whole when fewer have gone than are remembered", () => {
    const { hub } = open({ maxTopics: 5 });
    const start = hub.position("quiet");
    for (let at = 0; at < 5; at++) {
      hub.publish(`t${at}`, "x");
      hub.delete(`t${at}`);
    }
    hub.publish("quiet", "a");
    expect(read(hub, "quiet", start)).toBe("a");
  });
});

describe("A cursor", () => {
  it("of another hub is none, such as of this one before it was started anew", () => {
    const [{ hub: before }, { hub: after }] = [open(), open()];
    const cursors = [before.position("t"), ...publish(before, "t", "a b")];
    publish(after, "t", "a b c d");
    for (const cursor of cursors) expect(read(after, "t", cursor), cursor).toBeUndefined();
  });

  it("is none when it lies in the future, or is written in another way", () => {
    const { hub } = open();
    const [a] = publish(hub, "t", "a b");
    const [epoch, number] = a!.split("-");
    const wrong = [
      "1",
      "99",
      ` ${number}`,
      `${number} `,
      `0${number}`,
      "1e0",
      "0x1",
      "+1",
      "",
      "NaN",
      "-1",
    ];
    for (const each of wrong) {
      if (each === number) continue;
      expect(read(hub, "t", `${epoch}-${each}`), each).toBeUndefined();
      expect(read(hub, "t", each), each).toBeUndefined();
    }
    expect(read(hub, "t", a!)).toBe("b");
  });
});

describe("A follower", () => {
  it("is let go of when its signal aborts: before, within and after what is there", () => {
    const { hub } = open();
    const start = hub.position("t");
    publish(hub, "t", "a b c");
    hub.follow("t", start, () => undefined, AbortSignal.abort());
    expect(hub.counts.followers).toBe(0);
    const within = new AbortController();
    const seen: string[] = [];
    const onEvent = ({ data }: HubEvent): void => {
      seen.push(data);
      within.abort();
    };
    hub.follow("t", start, onEvent, within.signal);
    expect([seen, hub.counts.followers]).toEqual([["a"], 0]);
    const after = new AbortController();
    hub.follow("t", start, () => undefined, after.signal);
    expect(hub.counts.followers).toBe(1);
    after.abort();
    expect(hub.counts.followers).toBe(0);
  });

  it("that is told of a loss is not kept", () => {
    const { hub } = open();
    hub.follow("t", "none", () => undefined, new AbortController().signal);
    expect(hub.counts.followers).toBe(0);
  });

  it("that another takes off in the midst of an event does not see that event", () => {
    const { hub } = open();
    const [start, second] = [hub.position("t"), new AbortController()];
    const seen: string[] = [];
    hub.follow("t", start, () => second.abort(), new AbortController().signal);
    hub.follow("t", start, ({ data }) => seen.push(data), second.signal);
    hub.publish("t", "a");
    expect(seen).toEqual([]);
  });

  it("keeps its place when its topic ends and begins anew while another leaves", () => {
    const { hub } = open();
    const [start, other, own] = [hub.position("t"), new AbortController(), new AbortController()];
    const seen: string[] = [];
    hub.follow("t", start, () => undefined, other.signal);
    other.abort();
    hub.follow("t", start, ({ data }) => seen.push(data), own.signal);
    hub.publish("t", "a");
    hub.delete("t");
    hub.publish("t", "b");
    expect(seen).toEqual(["a", "b"]);
    own.abort();
    expect(hub.counts).toEqual({ topics: 1, followers: 0 });
  });
});
