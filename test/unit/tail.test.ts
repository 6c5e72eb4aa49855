/** Who joins the end of a topic while others come, go and are shown events. */
import { describe, expect, test } from "vitest";
import type { Place } from "../../src/stores/place.ts";
import { Follower, Tail } from "../../src/stores/tail.ts";
import type { Reading } from "../../src/stores/topics.ts";
import { until } from "../support/signals.ts";

/** A topic in memory whose reads can be held until they are let go. */
class Topic {
  epoch = "a";
  readonly events: string[] = [];
  lost = 0;
  reads = 0;
  fails = false;
  #held: (() => void)[] | undefined;

  hold(): void {
    this.#held = [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const letGo of held) letGo();
  }

  async read({ epoch, number }: Place): Promise<Reading> {
    this.reads++;
    if (this.fails) throw new Error("away");
    const after = epoch === this.epoch ? Math.max(number, this.lost) : this.lost;
    const numbered = this.events.map((data, at) => ({ number: at + 1, data }));
    const reading: Reading = {
      epoch: this.epoch,
      last: this.events.length,
      lost: this.lost,
      events: numbered.filter((event) => event.number > after).slice(0, 3),
      isFull: numbered.length - after > 3,
    };
    if (this.#held !== undefined) await new Promise<void>((resolve) => this.#held?.push(resolve));
    return reading;
  }

  /** Adds an event. @returns where it stands */
  add(data: string): Place {
    return { epoch: this.epoch, number: this.events.push(data) };
  }

  begin(epoch: string): void {
    this.epoch = epoch;
    this.lost = 0;
    this.events.length = 0;
  }
}

function open() {
  const topic = new Topic();
  const faults: string[] = [];
  let empty = 0;
  const tail = new Tail({
    read: (place) => topic.read(place),
    fault: (cause) => faults.push(String(cause)),
    onEmpty: () => empty++,
  });
  const follow = (number = 0, epoch = "a") => {
    const ended = new AbortController();
    const seen: string[] = [];
    const onEvent = ({ data }: { data: string }): void => void seen.push(data);
    const follower = new Follower({ epoch, number }, onEvent, ended.signal, (cause) =>
      faults.push(String(cause)),
    );
    return { seen, joined: tail.join(follower), end: () => ended.abort() };
  };
  return { topic, tail, faults, follow, empty: () => empty };
}

describe("The end of a topic", () => {
  test("shows an event that came while the only other follower left", async () => {
    const { topic, tail, follow } = open();
    const first = follow();
    await first.joined;
    topic.hold();
    const second = follow();
    tail.offer(topic.add("a"), "a");
    expect(first.seen).toEqual(["a"]);
    first.end();
    topic.release();
    expect(await second.joined).toBe(true);
    await until("it is shown", () => second.seen.length === 1);
    tail.offer(topic.add("b"), "b");
    expect(second.seen).toEqual(["a", "b"]);
  });

  test("shows an event that came while one joined others, once to each", async () => {
    const { topic, tail, follow } = open();
    const first = follow();
    await first.joined;
    topic.hold();
    const second = follow();
    tail.offer(topic.add("a"), "a");
    topic.release();
    await second.joined;
    tail.offer(topic.add("b"), "b");
    await until("both are shown", () => second.seen.length === 2);
    for (const { seen } of [first, second]) expect(seen).toEqual(["a", "b"]);
  });

  test("is rung while it is being joined", async () => {
    const { topic, tail, follow } = open();
    topic.hold();
    const follower = follow();
    tail.ring(topic.add("a"));
    topic.release();
    await follower.joined;
    await until("it is shown", () => follower.seen.length === 1);
  });

  test("reads in pages, and not what it has read", async () => {
    const { topic, tail, follow } = open();
    const data = ["a", "b", "c", "d", "e", "f", "g"];
    for (const each of data) topic.add(each);
    const follower = follow();
    await follower.joined;
    expect(follower.seen).toEqual(data);
    const { reads } = topic;
    tail.ring({ epoch: "a", number: 7 });
    tail.ring({ epoch: "a", number: 3 });
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(topic.reads).toBe(reads);
  });

  test("goes on in the next life of a topic, from its beginning", async () => {
    const { topic, tail, follow } = open();
    topic.add("a");
    const first = follow();
    await first.joined;
    topic.begin("b");
    topic.add("c");
    tail.ring();
    await until("it is shown", () => first.seen.length === 2);
    expect(first.seen).toEqual(["a", "c"]);
    // One that comes with a place in the new life meets those who were there in the old.
    topic.begin("d");
    topic.add("e");
    const second = follow(0, "d");
    expect(await second.joined).toBe(true);
    await until("both are there", () => first.seen.includes("e") && second.seen.includes("e"));
    expect(await follow(1, "a").joined).toBe(false);
    expect(first.seen).toEqual(["a", "c", "e"]);
    expect(second.seen).toEqual(["e"]);
  });

  test("tells of events that were forgotten before they were read", async () => {
    const { topic, tail, faults, follow } = open();
    const follower = follow();
    await follower.joined;
    for (const data of ["a", "b", "c"]) topic.add(data);
    topic.lost = 2;
    tail.ring();
    await until("the rest is shown", () => follower.seen.length === 1);
    expect(follower.seen).toEqual(["c"]);
    expect(faults.join()).toContain("forgotten");
  });

  test("tries again when reading fails, and tells of it", async () => {
    const { topic, tail, faults, follow } = open();
    const follower = follow();
    await follower.joined;
    topic.fails = true;
    tail.ring(topic.add("a"));
    await until("it failed", () => faults.length > 1);
    topic.fails = false;
    await until("it is shown", () => follower.seen.length === 1);
    await expect(open().follow().joined).resolves.toBe(true);
  });

  test("says when nobody is left", async () => {
    const { follow, empty, topic } = open();
    const [first, second] = [follow(), follow()];
    await Promise.all([first.joined, second.joined]);
    first.end();
    expect(empty()).toBe(0);
    second.end();
    expect(empty()).toBe(1);
    topic.fails = true;
    await expect(follow().joined).rejects.toThrow("away");
    expect(empty()).toBe(2);
  });
});
