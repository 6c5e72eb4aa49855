import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type LogLevel, logLevels } from "../../src/core/call.ts";
import type { Notice } from "../../src/core/notice.ts";
import { Telling } from "../../src/core/telling.ts";

function tell(options: { token?: string | number; logLevel?: LogLevel } = {}) {
  const sent: Notice[] = [];
  const telling = new Telling({
    token: options.token,
    logLevel: options.logLevel,
    send: (notice) => sent.push(notice),
  });
  const steps = (): number[] =>
    sent.flatMap((notice) => (notice.kind === "progress" ? [notice.progress] : []));
  const logged = (): string[] =>
    sent.flatMap((notice) => (notice.kind === "log" ? [String(notice.data)] : []));
  return { telling, sent, steps, logged };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
});

afterEach(() => {
  vi.useRealTimers();
});

describe("Progress", () => {
  it("is told under the caller's token, with what was said of it", () => {
    for (const token of ["t", "", 0]) {
      const { telling, sent } = tell({ token });
      telling.progress(1, 3, "first");
      vi.advanceTimersByTime(100);
      telling.progress(2, undefined, undefined);
      expect(sent).toEqual([
        { kind: "progress", token, progress: 1, total: 3, message: "first" },
        { kind: "progress", token, progress: 2, total: undefined, message: undefined },
      ]);
    }
  });

  it("is told to nobody without a token", () => {
    const { telling, sent } = tell({ logLevel: "debug" });
    telling.progress(1, 3, undefined);
    expect(sent).toEqual([]);
  });

  it("only rises", () => {
    const { telling, steps } = tell({ token: 1 });
    for (const step of [0, -1, 0, 0.5, 0.5, 0.25, 7, 3, 8]) {
      telling.progress(step, undefined, undefined);
      vi.advanceTimersByTime(1_000);
    }
    expect(steps()).toEqual([0, 0.5, 7, 8]);
  });

  it("is what JSON has numbers for", () => {
    const { telling, sent } = tell({ token: 1 });
    for (const step of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      telling.progress(step, 3, undefined);
    }
    telling.progress(1, Number.POSITIVE_INFINITY, undefined);
    expect(sent).toEqual([expect.objectContaining({ progress: 1, total: undefined })]);
  });

  it("is told once in 20 milliseconds at most, the last of it always", () => {
    const { telling, steps } = tell({ token: 1 });
    for (let step = 1; step <= 100; step++) {
      telling.progress(step, 100, undefined);
      vi.advanceTimersByTime(5);
    }
    expect(steps()).toEqual([...Array.from({ length: 25 }, (_, at) => 1 + at * 4), 100]);
  });

  it("that was dropped for coming too soon may be told again later", () => {
    const { telling, steps } = tell({ token: 1 });
    telling.progress(1, 10, undefined);
    telling.progress(2, 10, undefined);
    vi.advanceTimersByTime(20);
    telling.progress(2, 10, undefined);
    expect(steps()).toEqual([1, 2]);
  });
});

describe("A log entry", () => {
  it("is told from the level on that its caller set", () => {
    for (const [at, logLevel] of logLevels.entries()) {
      const { telling, logged } = tell({ logLevel });
      for (const level of logLevels) telling.log(level, level, undefined);
      expect(logged(), logLevel).toEqual(logLevels.slice(at));
    }
  });

  it("is told to nobody who set no level", () => {
    const { telling, sent } = tell({ token: 1 });
    for (const level of logLevels) telling.log(level, level, undefined);
    expect(sent).toEqual([]);
  });

  it("says its level, its logger and its data as they are", () => {
    const { telling, sent } = tell({ logLevel: "info" });
    const data = { a: [1, null] };
    telling.log("error", data, "db");
    expect(sent).toEqual([{ kind: "log", level: "error", logger: "db", data }]);
  });

  it("is one of a thousand in one call at most", () => {
    const { telling, sent } = tell({ logLevel: "info", token: 1 });
    for (let at = 0; at < 1_500; at++) telling.log("info", at, undefined);
    for (let at = 0; at < 1_500; at++) telling.log("debug", at, undefined);
    expect(sent).toHaveLength(1_000);
    telling.progress(1, 2, undefined);
    expect(sent).toHaveLength(1_001);
  });
});

describe("Nothing", () => {
  it("is told after the end", () => {
    const { telling, sent } = tell({ logLevel: "debug", token: 1 });
    telling.end();
    telling.progress(1, 1, undefined);
    telling.log("emergency", "late", undefined);
    expect(sent).toEqual([]);
  });
});
