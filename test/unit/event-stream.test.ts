import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { EventStream, maxQueuedBytes } from "../../src/server/event-stream.ts";

/** A bridge that keeps what is written, and tells how much of it waits. */
function sink() {
  const calls: string[] = [];
  let queued = 0;
  return {
    calls,
    write: (text: string) => void calls.push(text),
    waiting: () => queued,
    end: () => void calls.push("<end>"),
    destroy: () => void calls.push("<destroy>"),
    stall: (bytes: number) => {
      queued = bytes;
    },
  };
}

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  expect(vi.getTimerCount(), "timers that were left behind").toBe(0);
  vi.useRealTimers();
});

describe("What is written to a stream", () => {
  it("before its bridge is there comes first, and in order", () => {
    const [stream, bridge] = [new EventStream(), sink()];
    stream.write("a");
    stream.write("b");
    stream.attach(bridge);
    stream.write("c");
    expect(bridge.calls).toEqual(["a", "b", "c"]);
    stream.end();
    expect(bridge.calls).toEqual(["a", "b", "c", "<end>"]);
  });

  it("and ended before its bridge is there is still delivered", () => {
    const [stream, bridge] = [new EventStream(), sink()];
    stream.write("a");
    stream.end();
    stream.write("late");
    stream.attach(bridge);
    expect(bridge.calls).toEqual(["a", "<end>"]);
  });

  it("after its end goes nowhere, and a second end is none", () => {
    const [stream, bridge] = [new EventStream(), sink()];
    stream.attach(bridge);
    stream.end();
    stream.write("late");
    stream.end();
    vi.advanceTimersByTime(100_000);
    expect(bridge.calls).toEqual(["<end>"]);
    expect(stream.open).toBe(false);
  });

  it("after its reader left goes nowhere", () => {
    const [stream, bridge] = [new EventStream(), sink()];
    stream.attach(bridge);
    stream.disconnect();
    stream.write("late");
    stream.end();
    vi.advanceTimersByTime(100_000);
    expect(bridge.calls).toEqual([]);
    expect(stream.open).toBe(false);
  });

  it("for a reader that left before the bridge was there is not kept", () => {
    const [stream, bridge] = [new EventStream(), sink()];
    stream.write("a");
    stream.disconnect();
    stream.attach(bridge);
    expect(bridge.calls).toEqual(["<destroy>"]);
  });
});

describe("A reader that falls behind", () => {
  it("is dropped when there is more to write, once", () => {
    const [stream, bridge] = [new EventStream(), sink()];
    stream.attach(bridge);
    bridge.stall(maxQueuedBytes);
    stream.write("fits");
    bridge.stall(maxQueuedBytes + 1);
    expect(stream.open).toBe(true);
    stream.write("too much");
    stream.write("more");
    stream.end();
    expect(bridge.calls).toEqual(["fits", "<destroy>"]);
    expect(stream.open).toBe(false);
  });

  it("is dropped by a sign of life too", () => {
    const [stream, bridge] = [new EventStream(), sink()];
    stream.attach(bridge);
    bridge.stall(maxQueuedBytes + 1);
    vi.advanceTimersByTime(20_000);
    expect(bridge.calls).toEqual(["<destroy>"]);
  });

  it("before its bridge is there is dropped too, and its text is not kept", () => {
    const [stream, bridge] = [new EventStream(), sink()];
    let closed = 0;
    stream.onClose(() => closed++);
    const piece = "x".repeat(maxQueuedBytes / 4);
    for (let at = 0; at < 20; at++) stream.write(piece);
    expect([stream.open, closed]).toEqual([false, 1]);
    stream.attach(bridge);
    expect(bridge.calls).toEqual(["<destroy>"]);
  });

  it("may miss nothing of one message that is larger than what may wait", () => {
    const [stream, bridge] = [new EventStream(), sink()];
    const large = "x".repeat(maxQueuedBytes * 2);
    stream.attach(bridge);
    stream.write(large);
    expect(bridge.calls).toEqual([large]);
    stream.end();
  });
});

describe("Who waits for the end of a stream", () => {
  const ends: readonly (readonly [string, (stream: EventStream) => void])[] = [
    ["ends", (stream) => stream.end()],
    ["is left by its reader", (stream) => stream.disconnect()],
    [
      "drops its reader",
      (stream) => {
        for (let at = 0; at < 20; at++) stream.write("x".repeat(maxQueuedBytes / 4));
      },
    ],
  ];

  it.each(ends)("is called once when it %s, whatever happens then", (_, end) => {
    const stream = new EventStream();
    let [first, second] = [0, 0];
    stream.onClose(() => first++);
    stream.onClose(() => second++);
    end(stream);
    stream.end();
    stream.disconnect();
    stream.disconnect();
    expect([first, second]).toEqual([1, 1]);
  });

  it.each(ends)("is called at once when it is over because it %s", (_, end) => {
    const stream = new EventStream();
    end(stream);
    let called = 0;
    stream.onClose(() => called++);
    expect(called).toBe(1);
  });

  it("may write, end and wait again within the call", () => {
    const [stream, bridge] = [new EventStream(), sink()];
    stream.attach(bridge);
    let called = 0;
    stream.onClose(() => {
      stream.write("late");
      stream.end();
      stream.onClose(() => called++);
    });
    stream.end();
    expect(called).toBe(1);
    expect(bridge.calls).toEqual(["<end>"]);
  });
});

describe("A silent stream", () => {
  it("says every twenty seconds that it is alive, in a comment, until its end", () => {
    const [stream, bridge] = [new EventStream(), sink()];
    stream.attach(bridge);
    vi.advanceTimersByTime(19_999);
    expect(bridge.calls).toEqual([]);
    vi.advanceTimersByTime(40_001);
    expect(bridge.calls).toEqual([":\n\n", ":\n\n", ":\n\n"]);
    stream.end();
    vi.advanceTimersByTime(100_000);
    expect(bridge.calls).toEqual([":\n\n", ":\n\n", ":\n\n", "<end>"]);
  });

  it("says nothing before its bridge is there", () => {
    const [stream, bridge] = [new EventStream(), sink()];
    vi.advanceTimersByTime(100_000);
    stream.attach(bridge);
    expect(bridge.calls).toEqual([]);
    stream.end();
  });
});
