/** What cancels a call, in each era, and what must not. */
import { createServer, type Server } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { bridges, openBridge } from "../support/bridges.ts";
import { handshakes, rows } from "../support/matrix.ts";
import { openCaller, textOf } from "../support/raw-caller.ts";

interface Entered {
  readonly signal: AbortSignal;
  readonly release: (words: string) => void;
}

/** A server whose calls run until the test lets them go. */
function gated(): { readonly server: Server; readonly entered: (key: string) => Promise<Entered> } {
  const waiting = new Map<string, (entered: Entered) => void>();
  const inside = new Map<string, Entered>();
  const server = createServer({ name: "gated", version: "1", log: () => undefined });
  const input = { type: "object", properties: { key: { type: "string" } } } as const;
  server.tool("gate", { input }, ({ key = "" }, ex) => {
    return new Promise<string>((release) => {
      const entered = { signal: ex.signal, release };
      inside.set(key, entered);
      waiting.get(key)?.(entered);
    });
  });
  const entered = (key: string) =>
    new Promise<Entered>((resolve) => {
      const there = inside.get(key);
      if (there === undefined) waiting.set(key, resolve);
      else resolve(there);
    });
  return { server, entered };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

const call = (key: string) => ({ name: "gate", arguments: { key } });

describe.each(rows(handshakes))("in $revision over $bridge", ({ revision, bridge: name }) => {
  it("R079: a cancel that meets its finished call leaves one outcome and a live server", async () => {
    const { server, entered } = gated();
    await using bridge = await openBridge(name, server);
    const caller = await openCaller(bridge, revision);
    for (let id = 0; id < 10; id++) {
      const answer = caller.request("tools/call", call(`${id}`), { id });
      const gate = await entered(`${id}`);
      gate.release("done");
      const notice = caller.notify("notifications/cancelled", { requestId: id });
      const settled = await answer;
      expect(settled.status).toBe(200);
      const isResult = "result" in (settled.message as object);
      if (isResult) expect(textOf(settled)).toBe("done");
      else expect(settled.error.code).toBe(-32800);
      expect((await notice).status).toBe(202);
      const late = await caller.notify("notifications/cancelled", { requestId: id });
      expect(late.status).toBe(202);
    }
    expect((await caller.request("tools/list")).status).toBe(200);
  });

  it("R079: a cancel that names another id, another type of id or none is ignored", async () => {
    const { server, entered } = gated();
    await using bridge = await openBridge(name, server);
    const caller = await openCaller(bridge, revision);
    const stranger = await openCaller(bridge, revision);
    const answer = caller.request("tools/call", call("a"), { id: 99 });
    const gate = await entered("a");
    const spoiled = [{ requestId: 98 }, { requestId: "99" }, { requestId: null }, {}, undefined];
    for (const params of [...spoiled, { requestId: [99] }, { requestId: { id: 99 } }]) {
      const ignored = await caller.notify("notifications/cancelled", params);
      expect([ignored.status, ignored.text]).toEqual([202, ""]);
    }
    await stranger.notify("notifications/cancelled", { requestId: 99 });
    expect(gate.signal.aborted).toBe(false);
    gate.release("done");
    expect(textOf(await answer)).toBe("done");
  });

  it("R079: a cancel of its own id, number or string, ends the call", async () => {
    const { server, entered } = gated();
    await using bridge = await openBridge(name, server);
    const caller = await openCaller(bridge, revision);
    for (const id of [99, "99", 0, ""]) {
      const answer = caller.request("tools/call", call(JSON.stringify(id)), { id });
      const gate = await entered(JSON.stringify(id));
      await caller.notify("notifications/cancelled", { requestId: id, reason: "enough" });
      expect((await answer).error.code).toBe(-32800);
      expect(gate.signal.aborted).toBe(true);
      gate.release("too late");
    }
  });

  it("R080: a connection that drops cancels nothing; the notification does", async () => {
    const { server, entered } = gated();
    await using bridge = await openBridge(name, server);
    const caller = await openCaller(bridge, revision);
    const hangUp = new AbortController();
    const answer = caller.request("tools/call", call("a"), { id: 7, signal: hangUp.signal });
    const ended = answer.catch(() => undefined);
    const gate = await entered("a");
    hangUp.abort();
    if (name === "node") await ended;
    // A second call goes through, so whatever the hang-up set off has happened.
    const second = caller.request("tools/call", call("b"), { id: 8 });
    (await entered("b")).release("b");
    expect(textOf(await second)).toBe("b");
    expect(gate.signal.aborted).toBe(false);
    await caller.notify("notifications/cancelled", { requestId: 7 });
    expect(gate.signal.aborted).toBe(true);
    gate.release("a");
    await ended;
  });
});

describe.each(bridges)("in 2026-07-28 over the %s bridge", (name) => {
  it("R080: closing the connection aborts the call, before any header of the answer", async () => {
    const { server, entered } = gated();
    await using bridge = await openBridge(name, server);
    const caller = await openCaller(bridge, "2026-07-28");
    const hangUp = new AbortController();
    const answer = caller.request("tools/call", call("a"), { id: 7, signal: hangUp.signal });
    const ended = answer.catch(() => undefined);
    const other = caller.request("tools/call", call("b"), { id: 7 });
    const [gate, neighbour] = await Promise.all([entered("a"), entered("b")]);
    hangUp.abort();
    await aborted(gate.signal);
    expect(neighbour.signal.aborted).toBe(false);
    gate.release("too late");
    neighbour.release("done");
    expect(textOf(await other)).toBe("done");
    await ended;
  });

  it("R080: a handler that only asks now and then learns of the closed connection too", async () => {
    const server = createServer({ name: "polling", version: "1" });
    let begin: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const told = new Promise<boolean>((resolve) => {
      server.tool("poll", {}, async (_, ex) => {
        begin();
        for (let round = 0; round < 1000 && !ex.cancelled; round++) {
          await new Promise((tick) => setTimeout(tick, 1));
        }
        resolve(ex.cancelled);
      });
    });
    await using bridge = await openBridge(name, server);
    const caller = await openCaller(bridge, "2026-07-28");
    const hangUp = new AbortController();
    const params = { name: "poll", arguments: {} };
    const answer = caller.request("tools/call", params, { signal: hangUp.signal });
    const ended = answer.catch(() => undefined);
    await begun;
    hangUp.abort();
    expect(await told).toBe(true);
    await ended;
  });

  it("R080: a cancel sent as a POST is accepted and does nothing", async () => {
    const { server, entered } = gated();
    await using bridge = await openBridge(name, server);
    const caller = await openCaller(bridge, "2026-07-28");
    const answer = caller.request("tools/call", call("a"), { id: 7 });
    const gate = await entered("a");
    const accepted = await caller.notify("notifications/cancelled", { requestId: 7 });
    expect([accepted.status, accepted.text]).toEqual([202, ""]);
    expect(gate.signal.aborted).toBe(false);
    gate.release("done");
    expect(textOf(await answer)).toBe("done");
  });
});
