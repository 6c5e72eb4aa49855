/** The clocks of a call, and what stops them. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Watch } from "../../src/client/watch.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const open = () => new Watch({ timeoutMs: 100, maxTimeoutMs: 250 });

it("a call that is held runs out of no time, and of what was left after that", () => {
  const watch = open();
  vi.advanceTimersByTime(90);
  const release = watch.hold();
  vi.advanceTimersByTime(10_000);
  expect(watch.aborted).toBe(false);
  release();
  vi.advanceTimersByTime(99);
  watch.restart();
  vi.advanceTimersByTime(60);
  expect(watch.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(watch.reason?.message).toBe("the call is not over after 0.25 seconds");
});

it("what several hold goes on when the last lets go, and each lets go once", () => {
  const watch = open();
  const [one, other] = [watch.hold(), watch.hold()];
  vi.advanceTimersByTime(500);
  one();
  one();
  vi.advanceTimersByTime(500);
  expect(watch.aborted).toBe(false);
  other();
  vi.advanceTimersByTime(100);
  expect(watch.reason?.message).toBe("no reply came within 0.1 seconds");
});

it("a call that is over stays over, whoever lets go of it", () => {
  const watch = open();
  const release = watch.hold();
  watch.stop();
  release();
  vi.advanceTimersByTime(1_000);
  expect(watch.aborted).toBe(false);
  expect(vi.getTimerCount()).toBe(0);
});
