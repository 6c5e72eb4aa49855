/** How calls and questions end that are not answered: cancelled, too late, refused, disconnected. */
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { refusalOf } from "../support/carrying.ts";
import { type Answering, Conversant, within } from "../support/conversant.ts";
import { answerAll, columns, createConversing, mechanic } from "../support/conversing.ts";
import { headersFor } from "../support/messages.ts";
import type { Revision } from "../support/wire.ts";
import type { WireKind } from "../support/wires.ts";
import { group } from "./group.ts";

const progressMethod = "notifications/progress";
const cancelMethod = "notifications/cancelled";

const overHttp = (wire: WireKind) => wire === "socket" || wire === "fetch";
const pushed = columns.filter(([revision]) => mechanic(revision, "form") === "push");

async function open(revision: Revision, wire: WireKind, answer: Answering = answerAll()) {
  const { server, effects } = createConversing();
  const peer = await Conversant.open(wire, revision, server, { answer });
  return { peer, effects };
}

/** A call of a tool that runs until it is cancelled. */
async function startWaiting(peer: Conversant) {
  const params = { name: "wait", _meta: { progressToken: 1 } };
  const started = peer.start("tools/call", params);
  await peer.until(() => peer.told(progressMethod).length > 0, "the call runs");
  return started;
}

export const cancelledCalls = group("a call that ends early", columns, (revision, wire) => {
  it("goes on when somebody cancels what is not running, or what they cannot name", async () => {
    const opened = await open(revision, wire);
    await using peer = opened.peer;
    const { id } = await startWaiting(peer);
    for (const requestId of [999, String(id), "ask-1"]) {
      await peer.notify(cancelMethod, { requestId }).over;
    }
    await peer.ask("tools/list");
    expect(opened.effects.cancelled).toEqual([]);
  });
});

export const pushedQuestions = group("a pushed question", pushed, (revision, wire) => {
  it("is taken back when its call is cancelled", async () => {
    const opened = await open(revision, wire, () => undefined);
    await using peer = opened.peer;
    const { id } = peer.start("tools/call", { name: "ask_and_wait" });
    await peer.until(() => peer.questions.length > 0, "it is asked");
    await peer.notify(cancelMethod, { requestId: id }).over;
    await peer.until(() => peer.told(cancelMethod).length > 0, "it is taken back");
    expect(peer.told(cancelMethod)).toMatchObject([{ requestId: peer.questions[0]?.id }]);
    await within(
      until(() => opened.effects.ended === 1),
      "the handler goes on",
    );
  });

  it("is taken back when it is not answered in time", async () => {
    const { peer } = await open(revision, wire, () => undefined);
    await using _ = peer;
    const { message } = await peer.ask("tools/call", { name: "ask_briefly" });
    expect(message["result"]).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("0.03 seconds") }],
    });
    expect(peer.told(cancelMethod)).toMatchObject([{ requestId: peer.questions[0]?.id }]);
  });

  it("that the client answers with an error fails for its handler", async () => {
    const { peer } = await open(revision, wire, () => ({
      error: { code: -32603, message: "no user here" },
    }));
    await using _ = peer;
    const { message } = await peer.ask("tools/call", { name: "ask" });
    expect(message["result"]).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("no user here") }],
    });
  });

  it("is answered by what its schema allows and by nothing else", async () => {
    const { peer } = await open(revision, wire, () => ({
      action: "accept",
      content: { name: "" },
    }));
    await using _ = peer;
    const refused = refusalOf(await peer.ask("tools/call", { name: "ask" }));
    expect(refused).toMatchObject({ code: -32602, status: overHttp(wire) ? 200 : undefined });
    expect(refused.message).toContain("who");
  });

  it("is not answered by what nobody asked, nor twice", async () => {
    const { peer } = await open(revision, wire, () => undefined);
    await using _ = peer;
    const { reply } = peer.start("tools/call", { name: "ask" });
    await peer.until(() => peer.questions.length > 0, "it is asked");
    const id = peer.questions[0]?.id;
    const answer = (to: unknown, name: string) =>
      peer.answer(to, { action: "accept", content: { name } }).over;
    for (const other of ["ask-", "ask-1", 1, String(id).toUpperCase(), `${id} `]) {
      await answer(other, "Eve");
    }
    await answer(id, "Ada");
    await answer(id, "Eve");
    expect(JSON.stringify((await reply).message)).toContain("Ada");
  });
});

export const lostConnections = group(
  "without its connection",
  pushed.filter(([, wire]) => overHttp(wire)),
  (revision, wire) => {
    it("a question may be answered by a request that names no session", async () => {
      const { peer } = await open(revision, wire, () => undefined);
      await using _ = peer;
      const { reply } = peer.start("tools/call", { name: "ask" });
      await peer.until(() => peer.questions.length > 0, "it is asked");
      const result = { action: "accept", content: { name: "Ada" } };
      const message = { jsonrpc: "2.0", id: peer.questions[0]?.id, result };
      const sending = peer.wire.send(message, headersFor(revision, message));
      expect((await sending.response)?.status).toBe(202);
      expect(JSON.stringify((await within(reply, "it is answered")).message)).toContain("Ada");
    });

    it("a call goes on when its connection is lost", async () => {
      const opened = await open(revision, wire);
      await using peer = opened.peer;
      const { id, sending } = await startWaiting(peer);
      sending.disconnect();
      await delay(20);
      expect(opened.effects.cancelled).toEqual([]);
      await peer.notify(cancelMethod, { requestId: id }).over;
      await within(opened.effects.isCancelled(), "it can still be cancelled");
    });
  },
);

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await delay(2);
}
