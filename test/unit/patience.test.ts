/** How long a client waits before another try, and when it has had enough. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Patience } from "../../src/client/patience.ts";
import { Ending } from "../../src/util/ending.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const { signal } = new AbortController();

/** How long it waits, or why not. */
async function waitOf(patience: Patience, retryMs?: number): Promise<number | string> {
  const start = performance.now();
  const waited = patience.wait(retryMs, signal, new Ending());
  await vi.runAllTimersAsync();
  return (await waited) ?? performance.now() - start;
}

/** At least as long as asked, and at most a tenth longer. */
function expectAbout(ms: number | string, askedMs: number): void {
  expect(ms).toBeGreaterThan(askedMs);
  expect(ms).toBeLessThanOrEqual(askedMs * 1.1 + 2);
}

function create(failures = 10, withinMs = 1_000_000): Patience {
  return new Patience({ failures, withinMs, barrenMs: 3_000 });
}

/** A stream that was open so long, and brought so much. */
function open(patience: Patience, news: number, openMs: number): Promise<void> {
  const position = { news: 0 };
  return patience.during(position, async () => {
    position.news += news;
    vi.advanceTimersByTime(openMs);
  });
}

describe("The wait before another try", () => {
  it("is what the server asks, or a second", async () => {
    for (const retryMs of [0, 1, 250, 60_000])
      expectAbout(await waitOf(create(), retryMs), retryMs);
    expectAbout(await waitOf(create()), 1_000);
  });

  it("doubles with each failure up to half a minute, and is never less than asked", async () => {
    const patience = create();
    for (const seconds of [1, 2, 4, 8, 16, 30, 30]) {
      patience.failed();
      expectAbout(await waitOf(patience, 0), seconds * 1_000);
    }
    expectAbout(await waitOf(patience, 45_000), 45_000);
  });

  it("is as long as a failure asks, that once", async () => {
    const patience = create();
    patience.failed(20_000);
    expectAbout(await waitOf(patience, 0), 20_000);
    patience.failed();
    expectAbout(await waitOf(patience, 0), 2_000);
  });

  it("grows where streams end without a word, up to a cap, and shrinks with news", async () => {
    const patience = create();
    for (const ms of [200, 400, 800, 1_600, 3_000, 3_000]) {
      await open(patience, 0, 10);
      expectAbout(await waitOf(patience, 0), ms);
    }
    await open(patience, 1, 10);
    expectAbout(await waitOf(patience, 0), 0);
  });

  it("is short after a stream that was open for long, or that opened after failures", async () => {
    const patience = create();
    await open(patience, 0, 10);
    await open(patience, 0, 5_000);
    expectAbout(await waitOf(patience, 0), 0);
    for (let failed = 0; failed < 5; failed++) patience.failed();
    await open(patience, 1, 10);
    expectAbout(await waitOf(patience, 0), 0);
  });

  it("has an end after failures in a row", async () => {
    const patience = create(2);
    for (let failed = 0; failed < 2; failed++) {
      patience.failed();
      expect(await waitOf(patience, 0)).toBeTypeOf("number");
    }
    patience.failed();
    expect(await waitOf(patience, 0)).toContain("again and again");
  });

  it("has an end after so much time without news", async () => {
    const patience = create(10, 5_000);
    expectAbout(await waitOf(patience, 2_000), 2_000);
    await open(patience, 1, 10);
    expectAbout(await waitOf(patience, 2_000), 2_000);
    await open(patience, 0, 10);
    expectAbout(await waitOf(patience, 2_000), 2_000);
    expect(await waitOf(patience, 2_000)).toContain("too long");
  });

  it("is never so long that a timer overflows", async () => {
    for (const retryMs of [2 ** 31, 1e300, Number.POSITIVE_INFINITY]) {
      expect(await waitOf(create(1, Number.POSITIVE_INFINITY), retryMs)).toContain("too long");
    }
  });

  it("ends when nobody waits any more", async () => {
    const own = new AbortController();
    const ending = new Ending();
    const aborted = create().wait(60_000, own.signal, ending);
    own.abort(new Error("enough"));
    await expect(aborted).rejects.toThrow("enough");
    const closed = create().wait(60_000, signal, ending);
    ending.end();
    await expect(closed).rejects.toMatchObject({ kind: "closed" });
    await expect(create().wait(0, own.signal, new Ending())).rejects.toThrow("enough");
    await expect(create().wait(0, signal, ending)).rejects.toMatchObject({ kind: "closed" });
    expect([vi.getTimerCount(), ending.size]).toEqual([0, 0]);
  });
});
