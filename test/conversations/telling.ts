/** Progress and log entries: only for who asked, and only what the revision can say. */
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { Conversant, type ConversantOptions } from "../support/conversant.ts";
import { answerAll, columns, createConversing } from "../support/conversing.ts";
import { isObject } from "../support/wire.ts";
import { group } from "./group.ts";

const progressMethod = "notifications/progress";
const logMethod = "notifications/message";
const logLevelKey = "io.modelcontextprotocol/logLevel";
const overHttp = columns.filter(([, wire]) => wire === "socket" || wire === "fetch");

export const tellingCalls = group("a call that tells", columns, (revision, wire) => {
  const modern = revision === "2026-07-28";
  const open = () => Conversant.open(wire, revision, createConversing().server);

  it.each(["a token", "", 0, 7, -1])("reports progress under the token %j", async (token) => {
    await using peer = await open();
    expect(await peer.call("progress", {}, { progressToken: token })).toBe("done");
    // Without a rise there is nothing to report.
    const words = (message: string) => (revision === "2024-11-05" ? {} : { message });
    const reports = [
      { progressToken: token, progress: 1, total: 3, ...words("first") },
      { progressToken: token, progress: 3, total: 3, ...words("last") },
    ];
    expect(peer.told(progressMethod)).toEqual(reports);
    await delay(10);
    expect(peer.heard).toHaveLength(reports.length);
  });

  it.each([undefined, {}, { progressToken: null }, { progressToken: 1.5 }])(
    "reports no progress without a token (%j)",
    async (meta) => {
      await using peer = await open();
      const params = { name: "progress", ...(meta && { _meta: meta }) };
      const { message, origin } = await peer.askRaw("tools/call", params);
      expect(message["result"]).toMatchObject({ content: [{ text: '"done"' }] });
      // What has nothing to tell before its end is told in one piece.
      expect(origin.via).toBe(wire === "socket" || wire === "fetch" ? "body" : "channel");
      expect(peer.heard).toEqual([]);
    },
  );

  it("logs what is severe enough for its caller", async () => {
    await using peer = await open();
    const entries = [
      { level: "debug", data: { detail: 1 } },
      { level: "info", logger: "worker", data: "going on" },
      { level: "error", data: null },
    ];
    for (const [level, count] of [
      ["debug", 3],
      ["info", 2],
      ["error", 1],
      ["emergency", 0],
    ] as const) {
      peer.heard.length = 0;
      if (!modern) await peer.ask("logging/setLevel", { level });
      await peer.call("log", {}, modern ? { [logLevelKey]: level } : undefined);
      const expected = count === 0 ? [] : entries.slice(-count);
      expect(peer.told(logMethod), level).toEqual(expected);
    }
  });

  it("logs nothing in 2026-07-28, and what an operator reads before, when no level is asked for", async () => {
    await using peer = await open();
    await peer.call("log");
    expect(peer.told(logMethod)).toHaveLength(modern ? 0 : 2);
  });

  it("refuses a level that does not exist", async () => {
    await using peer = await open();
    const { message } = modern
      ? await peer.askRaw("tools/call", { name: "log", _meta: { [logLevelKey]: "loud" } })
      : await peer.askRaw("logging/setLevel", { level: "loud" });
    expect(message["error"]).toMatchObject({ code: -32602 });
    expect(JSON.stringify(message["error"])).toContain("emergency");
  });

  it("tells each of many calls at once its own progress", async () => {
    await using peer = await open();
    const tokens = ["a", "b", "c", "d"];
    const calls = tokens.map((progressToken) =>
      peer.ask("tools/call", { name: "progress", _meta: { progressToken } }),
    );
    await Promise.all(calls);
    const told = peer.told(progressMethod) as { progressToken: string; progress: number }[];
    for (const token of tokens) {
      const own = told.filter(({ progressToken }) => progressToken === token);
      expect(own.map(({ progress }) => progress)).toEqual([1, 3]);
    }
  });
});

export const replies = group("a reply", overHttp, (revision, wire) => {
  const modern = revision === "2026-07-28";
  const open = (options: ConversantOptions) =>
    Conversant.open(wire, revision, createConversing().server, {
      answer: answerAll(),
      ...options,
    });

  it("is a stream from the first thing to tell, and nothing on its way may hold it back", async () => {
    await using peer = await open({});
    const { reply, sending } = peer.start("tools/call", {
      name: "progress",
      _meta: { progressToken: 1 },
    });
    expect((await reply).origin.via).toBe("post");
    const { headers, status } = (await sending.response) ?? new Response();
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("text/event-stream");
    expect(headers.get("x-accel-buffering")).toBe("no");
    expect(headers.get("cache-control")).toContain("no-transform");
    await sending.over;
  });

  it("to a caller that takes no stream tells and asks nothing by one", async () => {
    await using peer = await open({ accept: "application/json" });
    const { message, origin } = await peer.ask("tools/call", {
      name: "progress",
      _meta: { progressToken: 1 },
    });
    expect(message["result"]).toMatchObject({ content: [{ text: '"done"' }] });
    expect(origin.via).toBe("body");
    expect(await peer.call("ask_or_default")).toMatchObject({ assumed: !modern });
    const { message: sampled } = await peer.finish("tools/call", { name: "sample" });
    expect("error" in sampled).toBe(!modern);
    // Arguments and restarts need no stream; only pushed questions do.
    const { message: asked } = await peer.finish("tools/call", { name: "ask" });
    expect("error" in asked).toBe(revision === "2025-06-18" || revision === "2025-11-25");
    expect(peer.heard).toEqual([]);
  });

  it("to a caller that takes only a stream is one, also when there is nothing to tell", async () => {
    await using peer = await open({ accept: "text/event-stream" });
    const { origin } = await peer.ask("tools/call", { name: "progress" });
    expect(origin.via).toBe("post");
    expect(await peer.call("sample")).toMatchObject({ text: "A poem." });
  });

  it("without sessions promises no log where nobody remembers which level was set", async () => {
    await using peer = await open({ endpoint: { sessions: false } });
    const { message } = await peer.askRaw("server/discover", {});
    for (const said of [message["result"], ...(modern ? [] : [peer.opened])]) {
      expect(isObject(said) && isObject(said["capabilities"])).toBe(true);
      expect(JSON.stringify(said).includes('"logging"')).toBe(modern);
    }
    for (const [method, params] of [
      ["logging/setLevel", { level: "debug" }],
      ["resources/subscribe", { uri: "note://1" }],
      ["resources/unsubscribe", { uri: "note://1" }],
    ] as const) {
      const { message: refused, origin } = await peer.askRaw(method, params);
      expect(refused["error"], method).toMatchObject({ code: -32601 });
      expect(origin.status).toBe(modern ? 404 : 200);
    }
  });

  it("without sessions reports progress, but asks only where the request says what can be asked", async () => {
    await using peer = await open({ endpoint: { sessions: false } });
    expect(peer.sessionId).toBeUndefined();
    await peer.call("progress", {}, { progressToken: "t" });
    expect(peer.told(progressMethod)).toHaveLength(2);
    await peer.call("log", {}, modern ? { [logLevelKey]: "info" } : undefined);
    expect(peer.told(logMethod)).toHaveLength(modern ? 2 : 0);
    expect(await peer.call("ask_or_default")).toMatchObject({ assumed: !modern });
    const { message: sampled } = await peer.finish("tools/call", { name: "sample" });
    expect("error" in sampled).toBe(!modern);
    const { message: asked } = await peer.finish("tools/call", { name: "ask" });
    expect("error" in asked).toBe(revision === "2025-06-18" || revision === "2025-11-25");
  });
});
