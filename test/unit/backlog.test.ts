import { describe, expect, it } from "vitest";
import { Backlog, type Queue } from "../../src/server/backlog.ts";

class TestQueue implements Queue {
  bytes = 0;
  isDropped = false;

  waiting(): number {
    return this.bytes;
  }

  drop(): void {
    this.isDropped = true;
    this.bytes = 0;
  }
}

function fill(backlog: Backlog, ...sizes: readonly number[]): TestQueue[] {
  return sizes.map((bytes) => {
    const queue = new TestQueue();
    queue.bytes = bytes;
    backlog.written(queue);
    return queue;
  });
}

describe("what waits on all streams together", () => {
  it("gives up the stream that is furthest behind, and no more of them than it must", () => {
    const queues = fill(new Backlog(100), 30, 50, 20, 10);
    expect(queues.map(({ isDropped }) => isDropped)).toEqual([false, true, false, false]);
  });

  it("looks again at what was read meanwhile before it gives anybody up", () => {
    const backlog = new Backlog(100);
    const [one] = fill(backlog, 90);
    if (one !== undefined) one.bytes = 0;
    const [other] = fill(backlog, 80);
    expect([one?.isDropped, other?.isDropped]).toEqual([false, false]);
  });

  it("forgets what is over", () => {
    const backlog = new Backlog(100);
    const [one] = fill(backlog, 90);
    if (one !== undefined) backlog.forget(one);
    const [other] = fill(backlog, 90);
    expect([one?.isDropped, other?.isDropped]).toEqual([false, false]);
  });

  it("may be of one alone", () => {
    expect(fill(new Backlog(100), 101)[0]?.isDropped).toBe(true);
  });
});
