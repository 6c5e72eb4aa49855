/** Sessions where the next request lands on another worker, and where they are gone. */
import { createServer, MemoryHub, MemorySessions, type Server } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { openWorker } from "../support/live.ts";
import { handshakes, rows } from "../support/matrix.ts";
import { Talker } from "../support/talk.ts";

/** The workers of one server seal with one key. */
const keys = [new Uint8Array(32).fill(7)];

function declare(worker: string): Server {
  const server = createServer({
    name: "shared",
    version: "1.0.0",
    log: () => undefined,
    requestState: { keys },
  });
  server.tool("where", { description: "Which worker runs it." }, () => worker);
  server.tool("agree", { description: "Asks." }, async (_, ex) => {
    const by = await ex.once("by", () => worker);
    const { action } = await ex.ask("sure", { message: "Sure?" });
    return `${action}: from ${by} to ${worker}`;
  });
  return server;
}

describe.each(rows(handshakes))("in $revision over $bridge", ({ revision, bridge }) => {
  it("R041: a session of one worker lives on every worker that shares its store", async () => {
    const shared = { sessionStore: new MemorySessions(), eventHub: new MemoryHub() };
    await using a = await openWorker(bridge, declare("a"), shared);
    await using b = await openWorker(bridge, declare("b"), shared);
    const onA = await Talker.open(a, revision);
    for (const [talker, name] of [
      [onA, "a"],
      [onA.on(b), "b"],
      [onA, "a"],
    ] as const) {
      expect(Object.keys(await talker.ask("tools/list").result())).toContain("tools");
      expect(await talker.call("where").text()).toBe(name);
    }
    expect(shared.sessionStore.size).toBe(1);
  });

  it("R041: without sessions no id is given out, and every worker serves every request", async () => {
    await using a = await openWorker(bridge, declare("a"), { sessions: false });
    await using b = await openWorker(bridge, declare("b"), { sessions: false });
    const onA = await Talker.open(a, revision);
    expect(onA.session).toBeUndefined();
    expect(await onA.call("where").text()).toBe("a");
    expect(await onA.on(b).call("where").text()).toBe("b");
  });

  it("R043: a session that is gone is 404 for everything, until a new one is opened", async () => {
    const sessionStore = new MemorySessions();
    await using worker = await openWorker(bridge, declare("a"), { sessionStore });
    const talker = await Talker.open(worker, revision);
    const listening = talker.listen();
    await listening.live;
    sessionStore.delete(talker.session!);
    const call = talker.call("where", {}, { id: "lost" });
    expect(await call.status()).toBe(404);
    expect(await call.reply()).toMatchObject({ id: "lost", error: { message: /initialize/ } });
    expect(await talker.listen().status()).toBe(404);
    expect(await talker.listen("changes.0").status()).toBe(404);
    expect(await talker.end()).toBe(404);
    listening.drop();
    const again = await Talker.open(worker, revision);
    expect(again.session).toMatch(/^[\x21-\x7e]+$/);
    expect(again.session).not.toBe(talker.session);
    expect(await again.call("where").text()).toBe("a");
    const stream = again.listen();
    expect(await stream.status()).toBe(200);
    stream.drop();
  });
});

describe.each(["fetch", "node"] as const)("in 2026-07-28 over %s", (bridge) => {
  it("R041: there is no session, and a call goes on at whichever worker its next round reaches", async () => {
    await using a = await openWorker(bridge, declare("a"));
    await using b = await openWorker(bridge, declare("b"));
    const onA = await Talker.open(a, "2026-07-28");
    const onB = onA.on(b);
    const first = onA.call("agree");
    const { requestState } = await first.result();
    expect((await first.live).headers.get("mcp-session-id")).toBeNull();
    const second = onB.ask("tools/call", {
      name: "agree",
      arguments: {},
      inputResponses: { sure: { action: "accept", content: {} } },
      requestState,
    });
    expect(await second.text()).toBe("accept: from a to b");
    expect((await second.live).headers.get("mcp-session-id")).toBeNull();
  });
});
