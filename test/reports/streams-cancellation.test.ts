/** Cancelling calls whose reply is a stream, or that share one connection with others. */
import { createServer, type Exchange, type Server } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { Duplex } from "../support/duplex.ts";
import { openWorker } from "../support/live.ts";
import { handshakes, rows } from "../support/matrix.ts";
import { notification } from "../support/messages.ts";
import { revisions } from "../support/schemas.ts";
import { createGate, type Gate, until } from "../support/signals.ts";
import { type Talk, Talker } from "../support/talk.ts";

interface Work {
  readonly server: Server;
  /** The calls that have begun, and what lets them finish. */
  readonly begun: { readonly ex: Exchange; readonly gate: Gate }[];
}

/** A tool that tells, then works until it is let go, whatever its caller wants. */
function declare(): Work {
  const server = createServer({ name: "work", version: "1.0.0", log: () => undefined });
  const begun: Work["begun"] = [];
  server.tool("work", { description: "Works." }, async (_, ex) => {
    // Watched from the start, as a handler does that can be stopped.
    expect(ex.signal.aborted).toBe(false);
    await ex.progress(1, 3);
    const gate = createGate();
    begun.push({ ex, gate });
    await gate.opened;
    await ex.progress(2, 3);
    ex.log("emergency", "nearly");
    return "worked";
  });
  return { server, begun };
}

async function begin(talker: Talker, id: string | number): Promise<Talk> {
  const call = talker.call("work", {}, { id, token: id });
  await call.told("notifications/progress");
  return call;
}

describe.each(rows(handshakes))("in $revision over $bridge", ({ revision, bridge }) => {
  it("R079: a cancel that meets the end of a stream leaves one outcome and a live server", async () => {
    const { server, begun } = declare();
    await using worker = await openWorker(bridge, server);
    const talker = await Talker.open(worker, revision);
    const outcomes = new Set<string>();
    for (let round = 0; round < 12; round++) {
      const call = await begin(talker, round);
      const { gate } = begun[round]!;
      // From well before the end of the handler to well after the end of the stream.
      if (round % 2 === 0) gate.open();
      for (let turn = 0; turn < round * 8; turn++) await Promise.resolve();
      const cancelling = talker.cancel(round);
      gate.open();
      expect(await cancelling).toBe(202);
      await call.rest();
      const replies = call.messages.filter((message) => !("method" in message));
      expect(replies).toHaveLength(1);
      outcomes.add("result" in replies[0]! ? "result" : "error");
      expect(call.messages.at(-1)).toBe(replies[0]);
    }
    expect(outcomes.has("result")).toBe(true);
    expect(Object.keys(await talker.ask("tools/list").result())).toContain("tools");
  });

  it("R079: what names no running call of the caller is ignored", async () => {
    const { server, begun } = declare();
    await using worker = await openWorker(bridge, server);
    const talker = await Talker.open(worker, revision);
    const other = await Talker.open(worker, revision);
    const call = await begin(talker, 99);
    for (const requestId of ["99", 98, null, undefined, {}, [99], 99.5]) {
      expect(await talker.say(notification("notifications/cancelled", { requestId }))).toBe(202);
    }
    expect(await talker.say(notification("notifications/cancelled"))).toBe(202);
    expect(await other.cancel(99)).toBe(202);
    expect(begun[0]?.ex.signal.aborted).toBe(false);
    begun[0]?.gate.open();
    expect(await call.text()).toBe("worked");
  });

  it("R079: a cancel ends the stream, after which nothing is told", async () => {
    const { server, begun } = declare();
    await using worker = await openWorker(bridge, server);
    const talker = await Talker.open(worker, revision);
    const call = await begin(talker, "one");
    expect(await talker.cancel("one")).toBe(202);
    const [reply, ...more] = await call.rest();
    expect(reply).toMatchObject({ id: "one", error: { code: -32800 } });
    expect(more).toEqual([]);
    const { ex, gate } = begun[0]!;
    expect(ex.signal.aborted).toBe(true);
    gate.open();
    if (call.lastEventId === undefined) return;
    const resumed = talker.resume(call);
    expect(await resumed.rest()).toEqual([]);
  });

  it("R080: a stream that is lost cancels nothing", async () => {
    const { server, begun } = declare();
    await using worker = await openWorker(bridge, server);
    const talker = await Talker.open(worker, revision);
    const call = await begin(talker, 1);
    call.drop();
    await call.rest().catch(() => []);
    await talker.ask("ping").result();
    const { ex, gate } = begun[0]!;
    expect([ex.signal.aborted, ex.cancelled]).toEqual([false, false]);
    gate.open();
    if (revision >= "2025-03-26") {
      const resumed = talker.resume(call);
      expect(await resumed.text()).toBe("worked");
    }
    expect(ex.signal.aborted).toBe(false);
  });
});

describe.each(["fetch", "node"] as const)("in 2026-07-28 over %s", (bridge) => {
  it("R080: closing the stream aborts the call", async () => {
    const { server, begun } = declare();
    await using worker = await openWorker(bridge, server);
    const talker = await Talker.open(worker, "2026-07-28");
    const calls = [await begin(talker, 1), await begin(talker, 2)];
    calls[0]?.drop();
    await until("the call is aborted", () => begun[0]?.ex.signal.aborted === true);
    for (const { gate } of begun) gate.open();
    expect(await calls[1]?.text()).toBe("worked");
    expect(begun[1]?.ex.signal.aborted).toBe(false);
  });
});

describe.each(revisions)("in %s", (revision) => {
  describe.each(["stdio", "memory"] as const)("over %s", (kind) => {
    it("R079: a cancel that meets its finished call leaves one outcome at most", async () => {
      const { server, begun } = declare();
      await using duplex = await Duplex.open(kind, server, revision);
      for (let round = 0; round < 12; round++) {
        void duplex.ask(round, "tools/call", { name: "work", arguments: {} }, round);
        await until("it works", () => begun.length > round);
        if (round % 2 === 0) duplex.say(cancel(round));
        for (let turn = 0; turn < round / 2; turn++) await Promise.resolve();
        begun[round]?.gate.open();
        if (round % 2 === 1) duplex.say(cancel(round));
        await duplex.ask(`after ${round}`, "tools/list");
      }
      expect(duplex.foreign).toEqual([]);
    });

    it("R079: ids of another type, unknown ones and none cancel nothing", async () => {
      const { server, begun } = declare();
      await using duplex = await Duplex.open(kind, server, revision);
      const working = duplex.ask(99, "tools/call", { name: "work", arguments: {} });
      await until("it works", () => begun.length > 0);
      for (const requestId of ["99", 98, null, {}, [99]]) duplex.say(cancel(requestId));
      duplex.say(notification("notifications/cancelled"));
      await duplex.ask("after", "tools/list");
      expect(begun[0]?.ex.signal.aborted).toBe(false);
      begun[0]?.gate.open();
      expect((await working).reply).toHaveProperty("result");
    });

    it("R080: a cancel aborts the call, and nothing more is sent for it", async () => {
      const { server, begun } = declare();
      await using duplex = await Duplex.open(kind, server, revision);
      void duplex.ask(1, "tools/call", { name: "work", arguments: {} }, "token");
      await until("it works", () => begun.length > 0);
      duplex.say(cancel(1));
      await duplex.ask("after", "tools/list");
      expect(begun[0]?.ex.signal.aborted).toBe(true);
      begun[0]?.gate.open();
      await duplex.ask("later", "tools/list");
      expect(duplex.missing).toBe(1);
      expect([...duplex.foreign, ...duplex.heard]).toEqual([]);
    });

    it("R080: the end of the connection aborts what it asked for", async () => {
      const { server, begun } = declare();
      const duplex = await Duplex.open(kind, server, revision);
      void duplex.ask(1, "tools/call", { name: "work", arguments: {} });
      await until("it works", () => begun.length > 0);
      const closing = duplex.close();
      await until("the call is aborted", () => begun[0]?.ex.signal.aborted === true);
      begun[0]?.gate.open();
      await closing;
    });
  });
});

function cancel(requestId: unknown): object {
  return notification("notifications/cancelled", { requestId });
}
