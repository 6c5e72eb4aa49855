/** What is carried between the rounds of a call, where it may be used once. */
import { type LogEntry, MemoryOneTime, type OneTimeStore, type ServerOptions } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { pausing, refusalOf, round, saidAtEnd, stateRefusalOf } from "../support/carrying.ts";
import { Conversant, type Reply } from "../support/conversant.ts";
import { answerAll, columns, createConversing, mechanic } from "../support/conversing.ts";

const inRounds = columns.filter(([revision]) => mechanic(revision, "form") !== "push");
const pushed = columns.filter(([revision]) => mechanic(revision, "form") === "push");

const name = { name: "Ada" };
const key = new Uint8Array(32).fill(5);

describe.each(inRounds)("a state for single use in %s over %s", (revision, wire) => {
  const open = (requestState: ServerOptions["requestState"], more: Partial<ServerOptions> = {}) =>
    Conversant.open(wire, revision, createConversing({ requestState, ...more }).server);

  it("goes on with its call once, and is refused after that like one that is unknown", async () => {
    await using peer = await open({ singleUse: true });
    const { state } = await pausing(peer, "ask");
    const carried = { answers: { who: name }, state };
    expect(saidAtEnd(await round(peer, "ask", {}, carried))).toMatchObject({ content: name });
    const used = await round(peer, "ask", {}, carried);
    const unknown = await round(peer, "ask", {}, { ...carried, state: `${state}AA` });
    expect({ ...used.message, id: 0 }).toEqual({ ...unknown.message, id: 0 });
    expect(stateRefusalOf(peer, used)).toContain("was used");
  });

  it("is used up by the round that asks on, and that round gives another", async () => {
    await using peer = await open({ singleUse: true });
    const { state } = await pausing(peer, "ask_twice");
    const next = await pausing(peer, "ask_twice", {}, { answers: { first: name }, state });
    const again = await round(peer, "ask_twice", {}, { answers: { first: name }, state });
    expect(stateRefusalOf(peer, again)).toContain("was used");
    const last = await round(
      peer,
      "ask_twice",
      {},
      { answers: { second: name }, state: next.state },
    );
    expect(saidAtEnd(last)).toMatchObject([{ content: name }, { content: name }]);
  });

  it("lets one of two that are sent at once go on", async () => {
    await using peer = await open({ singleUse: true });
    const { state } = await pausing(peer, "ask");
    const carried = { answers: { who: name }, state };
    const replies = await Promise.all([1, 2, 3].map(() => round(peer, "ask", {}, carried)));
    const isDone = ({ message }: Reply) => JSON.stringify(message).includes("Ada");
    const refused = replies.filter((reply) => !isDone(reply));
    expect(refused).toHaveLength(2);
    for (const reply of refused) stateRefusalOf(peer, reply);
  });

  it("may be used again where that is not asked for", async () => {
    await using peer = await open({});
    const { state } = await pausing(peer, "ask");
    for (let time = 0; time < 2; time++) {
      const reply = await round(peer, "ask", {}, { answers: { who: name }, state });
      expect(saidAtEnd(reply)).toMatchObject({ content: name });
    }
  });

  it("is used up on every worker that shares the store, and the keys", async () => {
    const requestState = { keys: [key], singleUse: new MemoryOneTime() };
    await using one = await open(requestState);
    await using two = await open(requestState);
    const { state } = await pausing(one, "ask");
    const carried = { answers: { who: name }, state };
    expect(saidAtEnd(await round(two, "ask", {}, carried))).toMatchObject({ content: name });
    stateRefusalOf(one, await round(one, "ask", {}, carried));
  });

  it.each<[string, OneTimeStore["claim"]]>([
    ["rejects", () => Promise.reject(new Error("the store is down"))],
    [
      "throws",
      () => {
        throw new Error("the store is down");
      },
    ],
  ])("is not believed, but answered, when its store %s", async (_, claim) => {
    const entries: LogEntry[] = [];
    const log = (entry: LogEntry): void => void entries.push(entry);
    await using peer = await open({ singleUse: { claim } }, { log });
    const { state } = await pausing(peer, "ask");
    const refused = refusalOf(await round(peer, "ask", {}, { answers: { who: name }, state }));
    expect(refused.code).toBe(-32603);
    expect(refused.message).not.toContain("down");
    expect(entries).toEqual([
      expect.objectContaining({ level: "error", cause: new Error("the store is down") }),
    ]);
  });
});

describe.each(pushed)("single use of states in %s over %s", (revision, wire) => {
  it("is nothing to a call that carries none", async () => {
    const { server } = createConversing({ requestState: { singleUse: true } });
    await using peer = await Conversant.open(wire, revision, server, { answer: answerAll() });
    for (let time = 0; time < 2; time++) {
      expect(await peer.call("ask")).toMatchObject({ content: name });
    }
  });
});
