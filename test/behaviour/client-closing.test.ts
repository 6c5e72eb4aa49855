/** What a client leaves behind: nothing, however it is closed and whatever was under way. */
import { getEventListeners } from "node:events";
import type { ClientOptions } from "anyrev/client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { refusal } from "../support/channel-client.ts";
import { openWay, wayRows } from "../support/client-ways.ts";
import { connect } from "../support/connecting.ts";
import { collect } from "../support/counting.ts";
import {
  complete,
  discoverable,
  either,
  FakePeer,
  handshaking,
  noTools,
  textResult,
} from "../support/fake-peer.ts";
import { createTourServer } from "../support/tour-server.ts";
import { until } from "../support/visit.ts";

/** Timers that keep the process alive, sockets, and pipes. */
function held(): string[] {
  return process
    .getActiveResourcesInfo()
    .filter((name) => name === "Timeout" || name.startsWith("TCP") || name.startsWith("Pipe"))
    .sort();
}

const warned: Error[] = [];
const onWarned = (warning: Error): void => void warned.push(warning);

beforeEach(() => {
  warned.length = 0;
  process.on("warning", onWarned);
});

afterEach(() => {
  process.off("warning", onWarned);
  expect(warned).toEqual([]);
});

/** Answers calls with an empty text, and listening with its end. */
const quick = either(
  ({ method }) => (method === "tools/list" ? noTools : undefined),
  discoverable(["2026-07-28"], ({ method }) => ({
    result: method === "subscriptions/listen" ? complete({}) : textResult(""),
  })),
);

describe.each(wayRows())("closing in $revision over $way", ({ way, revision }) => {
  test("ends calls, questions and listening, and holds nothing any more", async () => {
    const before = held();
    const tour = createTourServer();
    const opened = await openWay(way, tour.server);
    const signals: AbortSignal[] = [];
    const options: ClientOptions = {
      revisions: revision,
      logLevel: "info",
      onLog: () => undefined,
      onAsk: (_, { signal }) => {
        signals.push(signal);
        return new Promise(() => undefined);
      },
    };
    const client = await connect(opened.target, options);
    const { signal } = new AbortController();
    const listening = await client.listen({ lists: ["tools"], uris: ["note://a"] }, () => {}, {
      signal,
    });
    const waiting = [
      ...[1, 2, 3].map(() => client.call("wait", { ms: 20_000 }, { signal })),
      client.call("ask_form", {}, { signal }),
      client.call("steps", { n: 1_000, everyMs: 30 }, { signal, onProgress: () => undefined }),
    ].map(refusal);
    await until(
      () => tour.begun + signals.length,
      (begun) => begun === 4,
    );
    await Promise.all([client.close(), client.close()]);
    for (const each of waiting) expect((await each).kind).toBe("closed");
    await listening.over;
    expect(signals[0]?.aborted).toBe(true);
    expect(getEventListeners(signal, "abort")).toEqual([]);
    await client.close();
    await opened[Symbol.asyncDispose]();
    await until(held, (now) => now.length <= before.length);
  });
});

describe("what callers share", () => {
  test("has one listener of ours while calls are under way, and none after 10,000", async () => {
    const client = await connect(new FakePeer(quick).target);
    const { signal } = new AbortController();
    for (let round = 0; round < 100; round++) {
      const calls = Array.from({ length: 100 }, () => client.call("do", {}, { signal }));
      expect(getEventListeners(signal, "abort").length).toBeLessThanOrEqual(1);
      await Promise.all(calls);
    }
    expect(getEventListeners(signal, "abort")).toEqual([]);
    await client.close();
  });

  test("has no listener of ours after listening that the server ended", async () => {
    const client = await connect(new FakePeer(quick).target);
    const { signal } = new AbortController();
    for (let round = 0; round < 500; round++) {
      const listening = await client.listen({ lists: ["tools"] }, () => undefined, { signal });
      await listening.over;
    }
    expect(getEventListeners(signal, "abort")).toEqual([]);
    await client.close();
  });

  test("may be a signal that aborts for fifty calls, or had aborted before", async () => {
    const peer = new FakePeer(discoverable(["2026-07-28"], () => undefined));
    const client = await connect(peer.target);
    const giveUp = new AbortController();
    const { signal } = giveUp;
    const calls = Array.from({ length: 50 }, () => refusal(client.call("do", {}, { signal })));
    await until(
      () => peer.heard("tools/call"),
      ({ length }) => length === 50,
    );
    giveUp.abort();
    for (const each of calls) expect((await each).kind).toBe("aborted");
    expect((await refusal(client.call("do", {}, { signal }))).kind).toBe("aborted");
    expect((await refusal(client.listen({}, () => undefined, { signal }))).kind).toBe("aborted");
    expect(peer.heard("tools/call")).toHaveLength(50);
    expect(peer.heard("notifications/cancelled")).toHaveLength(50);
    await client.close();
  });
});

describe("a client", () => {
  test("does not grow by the calls it has made", async () => {
    const client = await connect(new FakePeer(quick).target);
    const peer = new FakePeer(quick);
    const other = await connect(peer.target);
    const run = async (times: number) => {
      for (let at = 0; at < times; at++) {
        await other.call("do", {}, { onProgress: () => undefined });
        peer.last.heard.length = 0;
      }
      await collect();
      return process.memoryUsage().heapUsed;
    };
    await run(500);
    const before = await run(500);
    expect((await run(5_000)) - before).toBeLessThan(1_500_000);
    await client.close();
    await other.close();
  });

  test("holds no timer of a call that ended before the question that it had asked", async () => {
    const before = held();
    const peer = new FakePeer(
      handshaking("2025-11-25", (message, line) => {
        if (message["method"] !== "tools/call") return undefined;
        const params = { message: "?", requestedSchema: { type: "object", properties: {} } };
        line.say({ jsonrpc: "2.0", id: "q", method: "elicitation/create", params });
        return { result: textResult("done") };
      }),
    );
    let answer: () => void = () => undefined;
    const client = await connect(peer.target, {
      revisions: "2025-11-25",
      onAsk: () => new Promise((resolve) => (answer = () => resolve({ action: "decline" }))),
    });
    await client.call("do");
    answer();
    await until(
      () => peer.last.heard.filter(({ method }) => method === undefined),
      ({ length }) => length === 1,
    );
    expect(held()).toEqual(before);
    await client.close();
  });

  test("that is closed while it connects gives the connection up", async () => {
    const giveUp = new AbortController();
    const peer = new FakePeer(() => undefined);
    const connecting = refusal(connect(peer.target, { signal: giveUp.signal }));
    await until(
      () => peer.lines,
      ({ length }) => length === 1,
    );
    giveUp.abort();
    expect((await connecting).kind).toBe("aborted");
    expect(peer.last.isClosed).toBe(true);
    const never = connect(peer.target, { signal: AbortSignal.abort() });
    expect((await refusal(never)).kind).toBe("aborted");
  });

  test("does not wait for ever for a connection that does not open", async () => {
    let closed = 0;
    const duplex = {
      open: () => new Promise<void>(() => undefined),
      send: () => undefined,
      close: async () => void closed++,
    };
    const { duplexTarget } = await import("anyrev/client");
    const failed = await refusal(
      connect(
        duplexTarget(() => duplex),
        { timeoutMs: 30 },
      ),
    );
    expect(failed.kind).toBe("timeout");
    expect(closed).toBe(1);
  });
});
