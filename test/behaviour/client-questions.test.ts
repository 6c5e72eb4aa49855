/** Questions that servers push to a client, also more and others than they should. */
import type { ClientOptions } from "anyrev/client";
import { describe, expect, test } from "vitest";
import { refusal } from "../support/channel-client.ts";
import { connect } from "../support/connecting.ts";
import { FakePeer, handshaking, type Line, paramsOf, textResult } from "../support/fake-peer.ts";
import { isObject, type JsonObject } from "../support/schemas.ts";
import { until } from "../support/visit.ts";

const revisions = "2025-11-25";
const form = { message: "Who?", requestedSchema: { type: "object", properties: {} } };

function asking(id: string | number, method = "elicitation/create", params: unknown = form) {
  return { jsonrpc: "2.0", id, method, params };
}

/** A server whose calls are answered once `answer` says so. */
function asker(onCall: (message: JsonObject, line: Line) => void): FakePeer {
  return new FakePeer(
    handshaking(revisions, (message, line) => {
      if (message["method"] === "tools/call") onCall(message, line);
      return undefined;
    }),
  );
}

const answersOf = ({ last }: FakePeer) => last.heard.filter(({ method }) => method === undefined);

/** Puts one question to a client, and returns what it answers. */
async function put(options: ClientOptions, question: JsonObject): Promise<JsonObject> {
  const peer = asker(() => undefined);
  const client = await connect(peer.target, { revisions, ...options });
  peer.last.say(question);
  const [answer] = await until(
    () => answersOf(peer),
    ({ length }) => length === 1,
  );
  await client.close();
  return answer!;
}

function codeOf({ error }: JsonObject): unknown {
  return isObject(error) ? error["code"] : undefined;
}

describe("a pushed question", () => {
  test("is answered while its call, and others, are under way", async () => {
    const peer = asker((message, line) => {
      const { name } = paramsOf(message);
      if (name === "asks") line.say(asking("q1"));
      else line.say({ jsonrpc: "2.0", id: message["id"], result: textResult(name) });
    });
    let answer: (name: string) => void = () => undefined;
    const client = await connect(peer.target, {
      revisions,
      onAsk: () =>
        new Promise((resolve) => {
          answer = (name) => resolve({ action: "accept", content: { name } });
        }),
    });
    const asks = client.call("asks");
    expect((await client.call("other")).text).toBe("other");
    answer("Ann");
    await until(
      () => answersOf(peer),
      ({ length }) => length === 1,
    );
    expect(answersOf(peer)).toEqual([
      { jsonrpc: "2.0", id: "q1", result: { action: "accept", content: { name: "Ann" } } },
    ]);
    const [{ id } = {}] = peer.heard("tools/call");
    peer.last.say({ jsonrpc: "2.0", id, result: textResult("done") });
    expect((await asks).text).toBe("done");
    await client.close();
  });

  test.each([
    ["no handler", {}, asking(1), -32601],
    ["no handler for pages", { onAsk: accept, asksUrls: false }, page("https://a.example"), -32601],
    ["an unknown method", { onAsk: accept }, asking(1, "elicitation/destroy"), -32601],
    ["a method that is inherited", { onAsk: accept }, asking(1, "constructor"), -32601],
    ["an unknown mode", { onAsk: accept }, asking(1, undefined, { ...form, mode: "x" }), -32601],
    ["no form", { onAsk: accept }, asking(1, undefined, { message: "?" }), -32602],
    ["no params", { onAsk: accept }, asking(1, undefined, null), -32602],
    ["params that are a list", { onAsk: accept }, asking(1, undefined, [form]), -32602],
    ["a script for a page", { onAsk: accept }, page("javascript:alert(1)"), -32602],
    ["a file for a page", { onAsk: accept }, page("file:///etc/passwd"), -32602],
    ["half a URL for a page", { onAsk: accept }, page("https://"), -32602],
    ["no messages", { onSample: write }, asking(1, "sampling/createMessage", {}), -32602],
  ])("with %s is refused", async (_, options: ClientOptions, question, code) => {
    expect(codeOf(await put(options, question))).toBe(code);
  });

  test("whose handler fails is refused without a word of why, and the user is warned", async () => {
    const warnings: string[] = [];
    const onAsk = () => Promise.reject(new Error("the password is 1234"));
    const onWarning = (warning: string) => warnings.push(warning);
    const answer = await put({ onAsk, onWarning }, asking(1));
    expect(codeOf(answer)).toBe(-32603);
    expect(JSON.stringify(answer)).not.toContain("1234");
    expect(warnings).toEqual([expect.stringContaining("the password is 1234")]);
  });

  test("fills in what was left out, with what the form would have shown", async () => {
    const properties = {
      name: { type: "string", default: "Ann" },
      age: { type: "integer", default: 0 },
      sure: { type: "boolean", default: false },
      note: { type: "string" },
    };
    const schema = { type: "object", properties };
    const params = { message: "?", requestedSchema: schema };
    const onAsk: ClientOptions["onAsk"] = () => ({ action: "accept", content: { age: 5 } });
    const answer = await put({ onAsk }, asking(1, undefined, params));
    expect(answer["result"]).toEqual({
      action: "accept",
      content: { name: "Ann", age: 5, sure: false },
    });
  });

  test("that is a ping is answered by every client", async () => {
    expect(await put({}, { jsonrpc: "2.0", id: "p", method: "ping" })).toEqual({
      jsonrpc: "2.0",
      id: "p",
      result: {},
    });
  });

  test("that is taken back is not answered, and no longer holds its call's clock", async () => {
    const signals: AbortSignal[] = [];
    const peer = asker((_, line) => line.say(asking(7)));
    const client = await connect(peer.target, {
      revisions,
      onAsk: (_, { signal }) => {
        signals.push(signal);
        return new Promise(() => undefined);
      },
    });
    const call = refusal(client.call("asks", {}, { timeoutMs: 60, maxTimeoutMs: 5_000 }));
    await until(
      () => signals,
      ({ length }) => length === 1,
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
    const params = { requestId: 7 };
    peer.last.say({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    expect((await call).message).toMatch(/0\.06 seconds/);
    expect(signals[0]?.aborted).toBe(true);
    expect(answersOf(peer)).toEqual([]);
    await client.close();
  });

  test("stops the clock of its call, but not the cap", async () => {
    const peer = asker((_, line) => line.say(asking(7)));
    const onAsk = () => new Promise<never>(() => undefined);
    const client = await connect(peer.target, { revisions, onAsk });
    const failed = await refusal(client.call("asks", {}, { timeoutMs: 20, maxTimeoutMs: 120 }));
    expect(failed.kind).toBe("timeout");
    expect(failed.message).toMatch(/0\.12 seconds/);
    await client.close();
  });

  test("too many is refused, and so is one whose id is being answered", async () => {
    const open: (() => void)[] = [];
    const peer = asker((_, line) => {
      for (let id = 1; id <= 70; id++) line.say(asking(id));
      line.say(asking(1));
    });
    const client = await connect(peer.target, {
      revisions,
      onAsk: () => new Promise((resolve) => open.push(() => resolve({ action: "decline" }))),
    });
    const call = refusal(client.call("asks", {}, { maxTimeoutMs: 5_000 }));
    await until(
      () => answersOf(peer),
      ({ length }) => length === 7,
    );
    expect(open).toHaveLength(64);
    expect(answersOf(peer).map(codeOf)).toEqual(Array(7).fill(-32603));
    for (const answer of open) answer();
    await until(
      () => answersOf(peer),
      ({ length }) => length === 71,
    );
    peer.last.say(asking("later"));
    await until(
      () => open,
      ({ length }) => length === 65,
    );
    await client.close();
    expect((await call).kind).toBe("closed");
  });
});

const accept = () => ({ action: "accept" }) as const;
const write = () => ({ content: "x", model: "m" });

function page(url: string) {
  return asking(1, undefined, { mode: "url", message: "See.", url, elicitationId: "1" });
}
