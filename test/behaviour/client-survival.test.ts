/** A client whose servers end, whose streams break, and whose user's functions throw. */
import { type ClientOptions, MemoryVerdicts } from "anyrev/client";
import { describe, expect, test } from "vitest";
import { refusal } from "../support/channel-client.ts";
import { overSender } from "../support/client-ways.ts";
import { connect } from "../support/connecting.ts";
import { FakeHttp, openStream, type Respond, result, sendJson } from "../support/fake-http.ts";
import {
  complete,
  discoverable,
  discovery,
  FakePeer,
  handshaking,
  paramsOf,
  type Script,
  textResult,
} from "../support/fake-peer.ts";
import { senderKinds } from "../support/http-client.ts";
import { until } from "../support/visit.ts";

/** Repeats what it is told, and ends when it is told to. */
const echo: Script = (message, line) => {
  const { name, arguments: args } = paramsOf(message);
  if (name === "end") {
    line.gone(new Error("it ended"));
    return undefined;
  }
  return message["method"] === "tools/call"
    ? { result: textResult((args as { text?: string } | undefined)?.text ?? "") }
    : { result: complete({}) };
};

const eras = [
  ["2026-07-28", discoverable(["2026-07-28"], echo)],
  ["2025-11-25", handshaking("2025-11-25", echo)],
] as const;

describe.each(eras)("a process that serves %s", (revisions, script) => {
  const verdicts = new MemoryVerdicts();
  const options: ClientOptions = { revisions, verdicts };

  test("and ended between calls is started again by the next", async () => {
    const peer = new FakePeer(script, "process");
    const client = await connect(peer.target, options);
    for (let round = 1; round <= 10; round++) {
      expect((await client.call("echo", { text: `${round}` })).text).toBe(`${round}`);
      peer.last.gone();
      await Promise.resolve();
      await Promise.resolve();
    }
    expect((await client.call("echo", { text: "on" })).text).toBe("on");
    expect(peer.lines).toHaveLength(11);
    expect(peer.lines.filter(({ isClosed }) => !isClosed)).toHaveLength(1);
    await client.close();
  });

  test("and ends within a call rejects it, and is not asked a second time", async () => {
    const peer = new FakePeer(script);
    const client = await connect(peer.target, options);
    const beside = refusal(client.call("never", {}, { signal: AbortSignal.timeout(2_000) }));
    const failed = await refusal(client.call("end"));
    expect(failed).toMatchObject({ kind: "interrupted", cause: { message: "it ended" } });
    await beside;
    const ends = peer.heard("tools/call").filter((each) => paramsOf(each)["name"] === "end");
    expect(ends).toHaveLength(1);
    await client.close();
  });

  test("and ends at every call is not started for ever", async () => {
    const peer = new FakePeer(script);
    const client = await connect(peer.target, options);
    for (let round = 0; round < 20; round++) await refusal(client.call("end"));
    const failed = await refusal(client.call("end"));
    expect(failed).toMatchObject({ kind: "closed" });
    expect(failed.message).toMatch(/again and again/);
    expect(peer.lines.length).toBeLessThanOrEqual(7);
    await client.close();
  });

  test("and cannot be started again fails the call that needed it", async () => {
    const peer = new FakePeer(script);
    const client = await connect(peer.target, options);
    peer.script = (_, line) => {
      line.gone(new Error("no more"));
      return undefined;
    };
    await refusal(client.call("end"));
    expect((await refusal(client.call("echo"))).kind).toBe("interrupted");
    peer.script = script;
    expect((await client.call("echo", { text: "back" })).text).toBe("back");
    await client.close();
  });

  test("is started again by what listens to it, which is told that it may have missed something", async () => {
    const listened: Script = (message, line) => {
      if (message["method"] !== "subscriptions/listen") return script(message, line);
      const subscription = { "io.modelcontextprotocol/subscriptionId": message["id"] };
      const method = "notifications/subscriptions/acknowledged";
      const params = { _meta: subscription, notifications: {} };
      line.say({ jsonrpc: "2.0", method, params });
      return undefined;
    };
    const peer = new FakePeer(listened);
    const client = await connect(peer.target, options);
    const heard: unknown[] = [];
    const interests = { lists: ["tools"], uris: ["note://a"] } as const;
    const listening = await client.listen(interests, (change) => heard.push(change));
    expect(heard).toEqual([]);
    peer.last.gone();
    await until(
      () => heard,
      ({ length }) => length === 2,
    );
    expect(peer.lines).toHaveLength(2);
    expect(heard).toEqual([
      { kind: "list-changed", list: "tools" },
      { kind: "resource-updated", uri: "note://a" },
    ]);
    await listening.close();
    await listening.over;
    await client.close();
  });

  test("and is gone for good ends what listens to it with an error", async () => {
    const peer = new FakePeer((message, line) =>
      message["method"] === "subscriptions/listen"
        ? { result: complete({}) }
        : script(message, line),
    );
    const client = await connect(peer.target, options);
    const listening = await client.listen({ lists: ["tools"] }, () => undefined);
    if (revisions === "2025-11-25") {
      peer.script = () => ({ error: { code: -32603, message: "Not today." } });
      peer.last.gone();
      expect(await refusal(listening.over)).toMatchObject({ message: "Not today." });
    } else await listening.over;
    await client.close();
  });
});

describe("a user's function that throws", () => {
  test("is uncaught, and every other message is heard", async () => {
    const uncaught: unknown[] = [];
    const handlers = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    process.on("uncaughtException", (cause) => uncaught.push(cause));
    try {
      const fail = (name: string) => () => {
        throw new Error(name);
      };
      const peer = new FakePeer(
        handshaking("2025-11-25", (message, line) => {
          const token = (paramsOf(message)["_meta"] as { progressToken?: unknown } | undefined)
            ?.progressToken;
          const note = (method: string, params: unknown) => ({ jsonrpc: "2.0", method, params });
          const all = [
            "garbage",
            note("notifications/message", { level: "info", data: 1 }),
            note("notifications/tools/list_changed", {}),
            note("notifications/progress", { progressToken: token, progress: 1 }),
            { jsonrpc: "2.0", id: message["id"], result: textResult("heard") },
          ];
          line.write(all.map((each) => `${JSON.stringify(each)}\n`).join(""));
          return undefined;
        }),
      );
      const client = await connect(peer.target, {
        revisions: "2025-11-25",
        onLog: fail("log"),
        onWarning: fail("warning"),
      });
      await client.listen({ lists: ["tools"] }, fail("change"));
      const { text } = await client.call("do", {}, { onProgress: fail("progress") });
      expect(text).toBe("heard");
      await until(
        () => uncaught,
        ({ length }) => length === 4,
      );
      const names = uncaught.map((cause) => (cause as Error).message);
      expect(names).toEqual(["warning", "log", "change", "progress"]);
      await client.close();
    } finally {
      process.removeAllListeners("uncaughtException");
      for (const handler of handlers) process.on("uncaughtException", handler);
    }
  });
});

describe.each(senderKinds)("a reply lost with its stream on 2026-07-28, over %s", (kind) => {
  /** Breaks off the first replies to calls. */
  async function breaking(times: number): Promise<FakeHttp> {
    let broken = 0;
    const respond: Respond = ({ rpcMethod, id }, response) => {
      if (rpcMethod === "server/discover") {
        return sendJson(response, result(id, discovery(["2026-07-28"])));
      }
      if (broken++ >= times) return sendJson(response, result(id, textResult(`id ${id}`)));
      openStream(response);
      return setTimeout(() => response.destroy(), 5);
    };
    return FakeHttp.open(respond);
  }

  const calls = (fake: FakeHttp) =>
    fake.requests.filter(({ rpcMethod }) => rpcMethod === "tools/call").map(({ id }) => id);
  const to = (fake: FakeHttp) => overSender(kind, fake.url);

  test("is asked for again under a new id", async () => {
    await using fake = await breaking(2);
    const client = await connect(to(fake));
    const { text } = await client.call("do");
    const ids = calls(fake);
    expect(new Set(ids).size).toBe(3);
    expect(text).toBe(`id ${ids.at(-1)}`);
    await client.close();
  });

  test("is given up after three tries", async () => {
    await using fake = await breaking(100);
    const client = await connect(to(fake));
    expect((await refusal(client.call("do"))).kind).toBe("interrupted");
    expect(calls(fake)).toHaveLength(3);
    await client.close();
  });

  test("is not asked for again by whoever forbids it", async () => {
    await using fake = await breaking(1);
    const client = await connect(to(fake));
    const failed = await refusal(client.call("do", {}, { reissue: "never" }));
    expect(failed.kind).toBe("interrupted");
    expect(calls(fake)).toHaveLength(1);
    expect((await client.call("do", {}, { reissue: "never" })).text).toMatch(/^id /);
    await client.close();
  });
});
