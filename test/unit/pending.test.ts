import { McpError, MemoryHub } from "anyrev";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { RpcReply } from "../../src/jsonrpc/message.ts";
import { PendingQuestions } from "../../src/server/pending.ts";
import { withMethods } from "../support/hubs.ts";

type Asked = Readonly<Record<string, unknown>>;

const question = { method: "roots/list", params: {} };

/** A caller that keeps what it is sent, and can be lost. */
function caller() {
  const sent: Asked[] = [];
  let onLost = (): void => undefined;
  return {
    sent,
    send: (message: Asked) => void sent.push(message),
    onLost: (callback: () => void) => {
      onLost = callback;
    },
    lose: () => onLost(),
  };
}

function reply(asked: Asked | undefined, more: Partial<RpcReply> = {}): RpcReply {
  const id = String(asked?.["id"]);
  return { kind: "reply", id, result: { roots: [] }, error: undefined, ...more };
}

/** Asks, and sees to it that a rejection is not taken for one that nobody heard. */
function ask(
  pending: PendingQuestions,
  by: ReturnType<typeof caller>,
  options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
): Promise<unknown> {
  const { timeoutMs = 1_000, signal = new AbortController().signal } = options;
  const asked = pending.ask(question, by, { timeoutMs, signal });
  asked.catch(() => undefined);
  return asked;
}

/** Lets what is ready run. */
function turn(): Promise<unknown> {
  return vi.advanceTimersByTimeAsync(0);
}

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  expect(vi.getTimerCount(), "timers that were left behind").toBe(0);
  vi.useRealTimers();
});

describe("A question that waits", () => {
  it("is sent once under an id of its own, and gets the answer to that id", async () => {
    const [pending, by] = [new PendingQuestions(undefined), caller()];
    const answers = [ask(pending, by), ask(pending, by)];
    await turn();
    expect(by.sent).toEqual([
      { jsonrpc: "2.0", id: expect.stringMatching(/^ask-[0-9a-f-]{36}$/), ...question },
      { jsonrpc: "2.0", id: expect.stringMatching(/^ask-[0-9a-f-]{36}$/), ...question },
    ]);
    expect(by.sent[0]?.["id"]).not.toBe(by.sent[1]?.["id"]);
    await pending.settle(reply(by.sent[1], { result: "second" }));
    await pending.settle(reply(by.sent[0], { result: "first" }));
    expect(await Promise.all(answers)).toEqual(["first", "second"]);
    expect(pending.size).toBe(0);
  });

  it("gets the first answer; what comes later, or to another id, is ignored", async () => {
    const [pending, by] = [new PendingQuestions(undefined), caller()];
    const answer = ask(pending, by);
    await turn();
    const foreign = [
      "",
      "ask-",
      "ask-1",
      1,
      null,
      `ask-${crypto.randomUUID()}`,
      `${by.sent[0]?.["id"]} `,
    ];
    for (const id of foreign) await pending.settle(reply(undefined, { id, result: "foreign" }));
    await pending.settle(reply(by.sent[0], { result: "right" }));
    await pending.settle(reply(by.sent[0], { result: "late" }));
    expect(await answer).toBe("right");
    await pending.settle(reply(by.sent[0], { result: "later" }));
    expect([pending.size, by.sent.length]).toEqual([0, 1]);
  });

  it.each([
    ["with its message", { code: -1, message: "not now" }, /refused the question: not now$/],
    ["without a message", { code: -1 }, /refused the question: $/],
    ["of no shape", "boom", /refused the question: $/],
    ["of any length", { message: "x".repeat(10_000) }, /^.{0,540}$/],
  ])("fails with an error that the client answers %s", async (_, error, message) => {
    const [pending, by] = [new PendingQuestions(undefined), caller()];
    const answer = ask(pending, by);
    await turn();
    await pending.settle(reply(by.sent[0], { result: undefined, error }));
    await expect(answer).rejects.toThrow(McpError);
    await expect(answer).rejects.toThrow(message);
    expect(by.sent).toHaveLength(1);
  });

  it("ends with its time, and takes the question back", async () => {
    const [pending, by] = [new PendingQuestions(undefined), caller()];
    const answer = ask(pending, by, { timeoutMs: 500 });
    await vi.advanceTimersByTimeAsync(499);
    expect([pending.size, by.sent.length]).toEqual([1, 1]);
    await vi.advanceTimersByTimeAsync(1);
    await expect(answer).rejects.toThrow(/not answered within 0.5 seconds/);
    expect(by.sent[1]).toEqual({
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId: by.sent[0]?.["id"], reason: expect.any(String) },
    });
    expect(pending.size).toBe(0);
  });

  it("waits as long as a timer can where it is told to wait for ever", async () => {
    const [pending, by] = [new PendingQuestions(undefined), caller()];
    const answer = ask(pending, by, { timeoutMs: Number.POSITIVE_INFINITY });
    await vi.advanceTimersByTimeAsync(24 * 3_600_000);
    await pending.settle(reply(by.sent[0], { result: "at last" }));
    expect(await answer).toBe("at last");
  });

  it("ends with its call, and takes the question back within the abort", async () => {
    const [pending, by, call] = [new PendingQuestions(undefined), caller(), new AbortController()];
    const answer = ask(pending, by, { signal: call.signal });
    await turn();
    call.abort();
    expect(by.sent.map(({ method }) => method)).toEqual(["roots/list", "notifications/cancelled"]);
    await expect(answer).rejects.toThrow(/over before the question was answered/);
    expect(pending.size).toBe(0);
  });

  it("ends when the caller is lost for good", async () => {
    const [pending, by] = [new PendingQuestions(undefined), caller()];
    const answer = ask(pending, by);
    await turn();
    by.lose();
    await expect(answer).rejects.toThrow(/disconnected/);
    expect(pending.size).toBe(0);
  });

  it("that has its answer is not taken back by what ends afterwards", async () => {
    const [pending, by, call] = [new PendingQuestions(undefined), caller(), new AbortController()];
    const answer = ask(pending, by, { signal: call.signal });
    await turn();
    await pending.settle(reply(by.sent[0]));
    await answer;
    call.abort();
    by.lose();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(by.sent).toHaveLength(1);
  });
});

describe("A question of a call that is over", () => {
  it("is not sent", async () => {
    const [pending, by] = [new PendingQuestions(undefined), caller()];
    await expect(ask(pending, by, { signal: AbortSignal.abort() })).rejects.toThrow(McpError);
    expect([by.sent, pending.size]).toEqual([[], 0]);
  });

  it("is not sent either when the call ends while the hub is still asked", async () => {
    const hub = new MemoryHub();
    let goOn = (): void => undefined;
    const slow = withMethods(hub, {
      publish: async (topic, data) => {
        await new Promise<void>((resolve) => {
          goOn = resolve;
        });
        return hub.publish(topic, data);
      },
    });
    const [pending, by, call] = [new PendingQuestions(slow), caller(), new AbortController()];
    const answer = ask(pending, by, { signal: call.signal });
    await turn();
    call.abort();
    await expect(answer).rejects.toThrow(McpError);
    goOn();
    await turn();
    expect([by.sent, pending.size, hub.counts]).toEqual([[], 0, { topics: 0, followers: 0 }]);
  });
});

describe("A question between two workers", () => {
  it("is answered through the one that did not ask it", async () => {
    const hub = new MemoryHub();
    const [asks, answers, by] = [new PendingQuestions(hub), new PendingQuestions(hub), caller()];
    const answer = ask(asks, by);
    await turn();
    await answers.settle(reply(by.sent[0], { result: { action: "accept" } }));
    expect(await answer).toEqual({ action: "accept" });
    await turn();
    expect(hub.counts).toEqual({ topics: 0, followers: 0 });
  });

  it("is refused through the one that did not ask it", async () => {
    const hub = new MemoryHub();
    const [asks, answers, by] = [new PendingQuestions(hub), new PendingQuestions(hub), caller()];
    const answer = ask(asks, by);
    await turn();
    const error = { code: -1, message: "not now" };
    await answers.settle(reply(by.sent[0], { result: undefined, error }));
    await expect(answer).rejects.toThrow(/not now/);
  });

  it("puts nothing into the hub for an id that no worker gave out", async () => {
    const hub = new MemoryHub();
    const pending = new PendingQuestions(hub);
    for (const id of ["", "ask-", "1", 7, `ask-${"a".repeat(1_000)}`, "ask-../../x", null]) {
      await pending.settle(reply(undefined, { id }));
    }
    for (let count = 0; count < 100; count++) {
      await pending.settle(reply(undefined, { id: `ask-${crypto.randomUUID()}` }));
    }
    expect(hub.counts.topics).toBe(0);
  });

  it("puts nothing into the hub for an answer that comes too late", async () => {
    const hub = new MemoryHub();
    const [asks, answers, by] = [new PendingQuestions(hub), new PendingQuestions(hub), caller()];
    const answer = ask(asks, by, { timeoutMs: 500 });
    await vi.advanceTimersByTimeAsync(500);
    await expect(answer).rejects.toThrow(/not answered/);
    await answers.settle(reply(by.sent[0]));
    expect(hub.counts).toEqual({ topics: 0, followers: 0 });
  });

  it.each(["goes on", "fails at it once"])(
    "is answered through the other also after hours, where the hub %s",
    async (how) => {
      const whole = new MemoryHub({ ttlMs: 150_000 });
      let published = 0;
      const hub = withMethods(whole, {
        publish: (topic, data) => {
          if (how !== "goes on" && ++published === 2) throw new Error("down");
          return whole.publish(topic, data);
        },
      });
      const [asks, answers, by] = [new PendingQuestions(hub), new PendingQuestions(hub), caller()];
      const answer = ask(asks, by, { timeoutMs: 24 * 3_600_000 });
      await vi.advanceTimersByTimeAsync(3 * 3_600_000);
      await answers.settle(reply(by.sent[0], { result: "at last" }));
      expect(await answer).toBe("at last");
    },
  );

  it.each(["publish", "exists", "follow", "delete"] as const)(
    "leaves no rejection behind when %s of the hub fails, at once or later",
    async (broken) => {
      const failures = [
        () => {
          throw new Error("down");
        },
        () => Promise.reject(new Error("down")),
      ];
      for (const fail of failures) {
        const whole = new MemoryHub();
        const hub = withMethods(whole, { [broken]: fail });
        const [pending, by] = [new PendingQuestions(hub), caller()];
        const answer = ask(pending, by);
        await turn();
        const asked = by.sent.length > 0;
        expect(asked).toBe(broken === "exists" || broken === "delete");
        if (asked) await pending.settle(reply(by.sent[0], { result: "here" }));
        const [settled] = await Promise.allSettled([answer]);
        expect(settled?.status).toBe(asked ? "fulfilled" : "rejected");
        await turn();
        expect([pending.size, whole.counts.followers]).toEqual([0, 0]);
      }
    },
  );

  it("does not wait for an answer that the hub could never bring", async () => {
    const hub = new MemoryHub();
    const lossy = withMethods(hub, { follow: () => false });
    const by = caller();
    await expect(ask(new PendingQuestions(lossy), by)).rejects.toThrow(/lost the topic/);
    expect(by.sent).toEqual([]);
  });
});
