/** Calls that come back with questions on 2026-07-28, and what servers get wrong with them. */
import type { CallOptions, ClientOptions, ToolResult } from "anyrev/client";
import { createServer } from "anyrev/node";
import { describe, expect, test } from "vitest";
import { refusal } from "../support/channel-client.ts";
import { connect } from "../support/connecting.ts";
import { discoverable, FakePeer, paramsOf, textResult } from "../support/fake-peer.ts";
import type { JsonObject } from "../support/schemas.ts";
import { until } from "../support/visit.ts";

const form = { message: "Who?", requestedSchema: { type: "object", properties: {} } };
const question = { method: "elicitation/create", params: { mode: "form", ...form } };
const onAsk = () => ({ action: "accept", content: { name: "Ann" } }) as const;

function asks(more: JsonObject = { inputRequests: { who: question } }) {
  return { result: { resultType: "input_required", ...more } };
}

/** Answers the rounds of a call one after the other, then with the text "done". */
function inRounds(...rounds: readonly JsonObject[]): FakePeer {
  let round = 0;
  return new FakePeer(
    discoverable(["2026-07-28"], ({ method }) => {
      if (method !== "tools/call") return undefined;
      const more = rounds[round++];
      return more === undefined ? { result: textResult("done") } : asks(more);
    }),
  );
}

async function call(
  peer: FakePeer,
  options: ClientOptions = { onAsk },
  callOptions: CallOptions = {},
): Promise<ToolResult> {
  const client = await connect(peer.target, options);
  try {
    return await client.call("do", { a: 1 }, callOptions);
  } finally {
    await client.close();
  }
}

const sent = (peer: FakePeer) =>
  peer.heard("tools/call").map((message) => {
    const { _meta, ...params } = paramsOf(message);
    return params;
  });

// The others push their questions, or end calls with them, and a client declares what it answers.
describe.each(["2025-03-26", "2024-11-05"])(
  "a tool of %s that asks by its arguments",
  (revision) => {
    const server = createServer({ name: "host", version: "1.0.0" });
    server.tool("greet", { asks: true }, async (_, ex) => {
      const answer = await ex.ask("who", { message: "Who is there?" });
      return answer.accepted ? "Come in." : "Stay out.";
    });

    test("asks the user of a client that can, and the model of one that cannot", async () => {
      await using asking = await connect(server, { revisions: revision, onAsk });
      expect((await asking.call("greet")).text).toBe("Come in.");
      await using silent = await connect(server, { revisions: revision });
      const { text, isError } = await silent.call("greet");
      expect([text, isError]).toEqual([expect.stringContaining('"who": Who is there?'), false]);
      const [, state] = /"_state": ("[^"]+")/.exec(text) ?? [];
      const _state: unknown = JSON.parse(state ?? "null");
      expect((await silent.call("greet", { _state, _answers: { who: "decline" } })).text).toBe(
        "Stay out.",
      );
    });
  },
);

describe("a call that comes back with questions", () => {
  test.each([
    [""],
    ["plain"],
    ["é ☕ \u2028\u0000\ud800 \ud83e\udde8"],
    ['"}],{'],
    ["x".repeat(1_000_000)],
  ])("is made again with its state as it came, and a new id", async (requestState) => {
    const peer = inRounds({ inputRequests: { who: question }, requestState });
    expect((await call(peer)).text).toBe("done");
    const who = { action: "accept", content: { name: "Ann" } };
    const first = { name: "do", arguments: { a: 1 } };
    expect(sent(peer)).toEqual([first, { ...first, inputResponses: { who }, requestState }]);
    const ids = peer.heard("tools/call").map(({ id }) => id);
    expect(new Set(ids).size).toBe(2);
  });

  test("has the state of each round only in the next", async () => {
    const peer = inRounds(
      { inputRequests: { one: question }, requestState: "1" },
      { inputRequests: { two: question } },
      { requestState: "3" },
    );
    expect((await call(peer)).text).toBe("done");
    expect(sent(peer).map(({ requestState }) => requestState)).toEqual([
      undefined,
      "1",
      undefined,
      "3",
    ]);
    expect(sent(peer).map(({ inputResponses }) => Object.keys(inputResponses ?? {}))).toEqual([
      [],
      ["one"],
      ["two"],
      [],
    ]);
  });

  test("keeps keys that mean something to JavaScript", async () => {
    const keys = ["__proto__", "constructor", "toString", "1", ""];
    const inputRequests = Object.fromEntries(keys.map((key) => [key, question]));
    const peer = inRounds({ inputRequests });
    expect((await call(peer)).text).toBe("done");
    const { inputResponses } = sent(peer)[1] ?? {};
    expect(Object.keys(inputResponses as object).sort()).toEqual([...keys].sort());
    expect(({} as JsonObject)["action"]).toBeUndefined();
  });

  test.each([
    ["without questions or state", {}],
    ["with a state that is no string", { requestState: 5 }],
    ["with questions that are a list", { inputRequests: [question] }],
    ["with a question that is none", { inputRequests: { who: "?" } }],
    ["with a question without a method", { inputRequests: { who: { params: form } } }],
    ["of an unknown type", { resultType: "later" }],
    ["of a type that is no string", { resultType: { toString: 1 } }],
  ])("%s is invalid", async (_, more) => {
    expect((await refusal(call(inRounds(more)))).kind).toBe("invalid-answer");
  });

  test("is invalid when they are too many, or come again and again", async () => {
    const many = Array.from({ length: 51 }, (_, index) => [`q${index}`, question] as const);
    let asked = 0;
    const counting: ClientOptions = {
      onAsk: () => {
        asked++;
        return onAsk();
      },
    };
    const peer = inRounds({ inputRequests: Object.fromEntries(many) });
    expect((await refusal(call(peer, counting))).kind).toBe("invalid-answer");
    expect(asked).toBe(0);
    const endless = inRounds(...Array(50).fill({ inputRequests: { who: question } }));
    expect((await refusal(call(endless, { ...counting, maxRounds: 4 }))).kind).toBe(
      "invalid-answer",
    );
    expect(asked).toBe(4);
    expect(endless.heard("tools/call")).toHaveLength(5);
  });

  test("is unsupported without a handler for them", async () => {
    const failed = await refusal(call(inRounds({ inputRequests: { who: question } }), {}));
    expect(failed.kind).toBe("unsupported");
  });

  test("fails with what a handler throws, and the other handlers are told to stop", async () => {
    const signals: AbortSignal[] = [];
    const options: ClientOptions = {
      onAsk: () => Promise.reject(new RangeError("out of names")),
      onSample: (_, { signal }) => {
        signals.push(signal);
        return new Promise(() => undefined);
      },
    };
    const sample = { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } };
    const peer = inRounds({ inputRequests: { sample, who: question } });
    await expect(call(peer, options)).rejects.toThrow(RangeError);
    expect(signals[0]?.aborted).toBe(true);
  });
});

describe("a call whose questions are never answered", () => {
  const stuck = () => {
    const signals: AbortSignal[] = [];
    const options: ClientOptions = {
      onAsk: (_, { signal }) => {
        signals.push(signal);
        return new Promise(() => undefined);
      },
    };
    const asked = { inputRequests: { who: question } };
    return { signals, options, peer: inRounds(asked, asked) };
  };

  test("ends when its caller gives it up", async () => {
    const { signals, options, peer } = stuck();
    const giveUp = new AbortController();
    const failing = refusal(call(peer, options, { signal: giveUp.signal }));
    await until(
      () => signals,
      ({ length }) => length === 1,
    );
    giveUp.abort(new Error("no more"));
    expect(await failing).toMatchObject({ kind: "aborted", cause: { message: "no more" } });
    expect(signals[0]?.aborted).toBe(true);
  });

  test("ends when the client is closed", async () => {
    const { signals, options, peer } = stuck();
    const client = await connect(peer.target, options);
    const { signal } = new AbortController();
    const failing = [{}, { signal }].map((each) => refusal(client.call("do", {}, each)));
    await until(
      () => signals,
      ({ length }) => length === 2,
    );
    await client.close();
    for (const each of failing) expect((await each).kind).toBe("closed");
    expect(signals.every(({ aborted }) => aborted)).toBe(true);
  });

  test("ends at the cap, which counts from its first request", async () => {
    const { signals, options, peer } = stuck();
    const failed = await refusal(call(peer, options, { timeoutMs: 50, maxTimeoutMs: 120 }));
    expect(failed).toMatchObject({ kind: "timeout" });
    expect(signals[0]?.aborted).toBe(true);
    const slowly = inRounds(...Array(9).fill({ inputRequests: { who: question } }));
    const slow: ClientOptions = {
      onAsk: () => new Promise((resolve) => setTimeout(() => resolve({ action: "decline" }), 40)),
    };
    const late = await refusal(call(slowly, slow, { timeoutMs: 100, maxTimeoutMs: 200 }));
    expect(late.kind).toBe("timeout");
  });
});
