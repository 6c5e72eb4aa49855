import { setTimeout as delay } from "node:timers/promises";
import { type EventHub, MemoryHub } from "anyrev";
import { describe, expect, it, vi } from "vitest";
import { EventStream } from "../../src/server/event-stream.ts";
import { PostOutlet, resumeStream } from "../../src/server/outlet.ts";
import { EventParser } from "../support/event-parser.ts";
import { failures, remote, withMethods } from "../support/hubs.ts";

/** Reads a stream as a client does. */
function read(stream: EventStream) {
  const parser = new EventParser();
  let ended = false;
  stream.attach({
    write: (text) => parser.feed(new TextEncoder().encode(text)),
    waiting: () => 0,
    end: () => {
      ended = true;
    },
    destroy: () => {
      ended = true;
    },
  });
  return {
    parser,
    texts: () => parser.events.map(({ data }) => data).filter((data) => data !== ""),
    isOver: () => ended,
    async over(): Promise<void> {
      for (let tries = 0; !ended && tries < 500; tries++) await delay(2);
      expect(ended, "the stream is over").toBe(true);
    },
  };
}

/** Longer than any of these tests. */
const keepAliveMs = 60_000;

function open(hub: EventHub, primed = true) {
  const faults: unknown[] = [];
  const outlet = new PostOutlet(
    {
      hub,
      session: "s",
      primed,
      onFault: (cause) => faults.push(cause),
    },
    keepAliveMs,
  );
  return { outlet, faults };
}

const message = (step: number) => ({ jsonrpc: "2.0", method: "m", params: { step } });
const steps = (texts: readonly string[]) =>
  texts.map((text) => JSON.parse(text).params?.step ?? "answer");

const hubs: readonly (readonly [string, () => EventHub])[] = [
  ["in memory", () => new MemoryHub()],
  ["far away", () => remote(new MemoryHub())],
];

describe.each(hubs)("A call's stream through a hub %s", (_, create) => {
  it.each([true, false])(
    "carries everything once, in order, and ends with the answer (primed: %s)",
    async (primed) => {
      const { outlet, faults } = open(create(), primed);
      for (let step = 0; step < 20; step++) outlet.send(message(step));
      const reader = read(outlet.stream!);
      outlet.send(message(20));
      outlet.finish('{"answer":1}');
      await reader.over();
      expect(steps(reader.texts())).toEqual([
        ...Array.from({ length: 21 }, (_each, at) => at),
        "answer",
      ]);
      expect(faults).toEqual([]);
      const ids = reader.parser.events.map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids[0]).not.toBe("");
    },
  );

  it("that is let go of is taken up where it was left, whatever was told before and after", async () => {
    const hub = create();
    const { outlet } = open(hub);
    for (let step = 0; step < 5; step++) outlet.send(message(step));
    const first = read(outlet.stream!);
    outlet.detach?.(7);
    for (let step = 5; step < 10; step++) outlet.send(message(step));
    await first.over();
    expect(first.parser.retries.at(-1)).toBe(7);
    const second = new EventStream();
    expect(await resumeStream(hub, "s", first.parser.lastEventId, second)).toBe(true);
    const rest = read(second);
    outlet.send(message(10));
    outlet.finish('{"answer":1}');
    await rest.over();
    expect(steps([...first.texts(), ...rest.texts()])).toEqual([
      ...Array.from({ length: 11 }, (_each, at) => at),
      "answer",
    ]);
  });

  it("that is let go of before anything was told can still be taken up", async () => {
    const hub = create();
    const { outlet } = open(hub);
    outlet.detach?.(7);
    const first = read(outlet.stream!);
    await first.over();
    expect([first.texts(), first.parser.lastEventId]).toEqual([
      [],
      expect.stringMatching(/^.{36}\../),
    ]);
    outlet.finish('{"answer":1}');
    const second = new EventStream();
    expect(await resumeStream(hub, "s", first.parser.lastEventId, second)).toBe(true);
    const rest = read(second);
    await rest.over();
    expect(steps(rest.texts())).toEqual(["answer"]);
  });

  it("is unknown to another session, and no other stream of its own session", async () => {
    const hub = create();
    const { outlet } = open(hub);
    outlet.send(message(0));
    const reader = read(outlet.stream!);
    outlet.finish("{}");
    await reader.over();
    const [{ id } = { id: "" }] = reader.parser.events;
    const other = `${crypto.randomUUID()}.${id.split(".").at(-1)}`;
    const stolen = new EventStream();
    expect(await resumeStream(hub, "another", id, stolen)).toBe(false);
    expect(await resumeStream(hub, "s", other, stolen)).toBe(false);
    const thief = read(stolen);
    await delay(20);
    expect(thief.texts()).toEqual([]);
    stolen.end();
  });
});

describe("A call's stream", () => {
  it("that cannot be primed is not let go of: its reader could not come back", () => {
    expect(open(new MemoryHub(), false).outlet.detach).toBeUndefined();
    expect(new PostOutlet(undefined, keepAliveMs).detach).toBeUndefined();
  });

  it("leaves no follower behind, however it ends", async () => {
    const hub = new MemoryHub();
    const ends: ((outlet: PostOutlet) => void)[] = [
      (outlet) => outlet.finish("{}"),
      (outlet) => outlet.stream?.disconnect(),
      (outlet) => outlet.detach?.(1),
    ];
    for (const end of ends) {
      const { outlet } = open(hub);
      outlet.send(message(0));
      read(outlet.stream!);
      end(outlet);
      await delay(1);
      expect(hub.counts.followers).toBe(0);
    }
  });

  it("is found again however long its call is silent, and no longer than it is kept", async () => {
    vi.useFakeTimers();
    try {
      const hub = new MemoryHub({ ttlMs: 90_000 });
      const { outlet } = open(hub);
      outlet.begin();
      const first = read(outlet.stream!);
      outlet.stream?.disconnect();
      await vi.advanceTimersByTimeAsync(3_600_000);
      const again = new EventStream();
      expect(await resumeStream(hub, "s", first.parser.lastEventId, again)).toBe(true);
      const rest = read(again);
      outlet.finish('{"answer":1}');
      await vi.advanceTimersByTimeAsync(0);
      expect([rest.isOver(), steps(rest.texts())]).toEqual([true, ["answer"]]);
      expect(vi.getTimerCount()).toBe(0);
      await vi.advanceTimersByTimeAsync(90_000);
      const late = new EventStream();
      expect(await resumeStream(hub, "s", first.parser.lastEventId, late)).toBe(false);
      expect(hub.counts).toEqual({ topics: 0, followers: 0 });
    } finally {
      vi.useRealTimers();
    }
  });

  it("ends for who came back to it elsewhere, once its worker must have been killed", async () => {
    vi.useFakeTimers();
    try {
      const hub = new MemoryHub();
      let isKilled = false;
      const dying = withMethods(hub, {
        publish: (topic, data) => (isKilled ? new Promise(() => {}) : hub.publish(topic, data)),
      });
      const { outlet } = open(dying);
      outlet.begin();
      const first = read(outlet.stream!);
      outlet.stream?.disconnect();
      const again = new EventStream();
      expect(await resumeStream(hub, "s", first.parser.lastEventId, again)).toBe(true);
      const rest = read(again);
      await vi.advanceTimersByTimeAsync(600_000);
      expect(rest.isOver()).toBe(false);
      isKilled = true;
      await vi.advanceTimersByTimeAsync(90_000);
      expect([rest.isOver(), rest.texts()]).toEqual([true, []]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("tells those who wait for its loss when nobody can come back, and not before", () => {
    const outlet = new PostOutlet(undefined, keepAliveMs);
    let lost = 0;
    outlet.send(message(0));
    outlet.onLost?.(() => lost++);
    expect(lost).toBe(0);
    outlet.stream?.disconnect();
    expect(lost).toBe(1);
    expect(open(new MemoryHub()).outlet.onLost).toBeUndefined();
  });
});

describe.each(failures)("A call's stream, where the hub %s", (_, fail) => {
  it.each(["publish", "position", "follow"] as const)(
    "at %s, is written to without it",
    async (method) => {
      // A stream that is primed begins with its own event instead.
      const primed = method !== "position";
      const { outlet, faults } = open(withMethods(new MemoryHub(), { [method]: fail }), primed);
      outlet.send(message(0));
      const reader = read(outlet.stream!);
      outlet.send(message(1));
      outlet.detach?.(5);
      outlet.finish('{"answer":1}');
      await reader.over();
      expect(steps(reader.texts())).toEqual([0, 1, "answer"]);
      expect(faults).toEqual([expect.objectContaining({ message: "the hub is down" })]);
    },
  );

  it("at a sign of life alone, goes on as before", async () => {
    vi.useFakeTimers();
    try {
      const whole = new MemoryHub();
      let isDown = false;
      const hub = withMethods(whole, {
        publish: (topic, data) => (isDown ? fail() : whole.publish(topic, data)),
      });
      const { outlet, faults } = open(hub);
      outlet.send(message(0));
      const first = read(outlet.stream!);
      outlet.stream?.disconnect();
      isDown = true;
      await vi.advanceTimersByTimeAsync(60_000);
      isDown = false;
      outlet.finish('{"answer":1}');
      await vi.advanceTimersByTimeAsync(0);
      const again = new EventStream();
      expect(await resumeStream(hub, "s", first.parser.lastEventId, again)).toBe(true);
      expect(steps(read(again).texts())).toEqual(["answer"]);
      expect([faults.length, vi.getTimerCount()]).toEqual([3, 0]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("in the midst of it, still brings the answer", async () => {
    const whole = new MemoryHub();
    let isDown = false;
    const hub = withMethods(whole, {
      publish: (topic, data) => (isDown ? fail() : whole.publish(topic, data)),
    });
    const { outlet, faults } = open(hub);
    outlet.send(message(0));
    const reader = read(outlet.stream!);
    outlet.send(message(1));
    isDown = true;
    outlet.send(message(2));
    isDown = false;
    outlet.finish('{"answer":1}');
    await reader.over();
    expect(steps(reader.texts())).toEqual([0, 1, 2, "answer"]);
    expect(faults).toHaveLength(1);
    expect(whole.counts.followers).toBe(0);
  });
});

describe("A call's stream, where the hub loses its topic at once", () => {
  it("is written to without it", async () => {
    const { outlet, faults } = open(withMethods(new MemoryHub(), { follow: () => false }));
    outlet.send(message(0));
    const reader = read(outlet.stream!);
    outlet.finish('{"answer":1}');
    await reader.over();
    expect(steps(reader.texts())).toEqual([0, "answer"]);
    expect(faults).toHaveLength(1);
  });
});
