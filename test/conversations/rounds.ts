/** What is carried from one round of a call to the next, and what is not believed. */
import type { ServerOptions } from "anyrev/node";
import { expect, it } from "vitest";
import { pausing, refusalOf, round, saidAtEnd, stateRefusalOf } from "../support/carrying.ts";
import { Conversant } from "../support/conversant.ts";
import { answerAll, columns, createConversing, mechanic } from "../support/conversing.ts";
import { isObject } from "../support/wire.ts";
import { group } from "./group.ts";

const overHttp = (wire: string) => wire === "socket" || wire === "fetch";

export const rounds = group("a call in rounds", columns, (revision, wire) => {
  const by = mechanic(revision, "form");

  it("keeps its state", async () => {
    const { server } = createConversing();
    await using peer = await Conversant.open(wire, revision, server, { answer: answerAll() });
    expect(await peer.call("state")).toEqual({ started: "yes", isKept: true });
  });

  it.each([
    ["forms", "form", 1],
    ["pairs", "form", 2],
    ["samples", "sample", 1],
    ["pages", "url", 1],
    ["mixed", "form", 1],
  ] as const)("asks ten times at most, however it asks: %s", async (what, kind, each) => {
    // What cannot be asked is not asked once.
    if (mechanic(revision, kind) === "never") return expect(kind).toBe("url");
    const { server, effects } = createConversing();
    await using peer = await Conversant.open(wire, revision, server, { answer: answerAll() });
    expect(await peer.call(`ten_${what}`)).toBe("satisfied");
    expect(peer.questions).toHaveLength(10 * each);
    peer.questions.length = 0;
    effects.runs = 0;
    const refused = refusalOf(await peer.finish("tools/call", { name: `insatiable_${what}` }));
    const status = overHttp(wire) ? 200 : undefined;
    const message = "this call has asked 10 times and is still not done";
    expect(refused).toEqual({ code: -32603, status, message, data: undefined });
    expect(peer.questions).toHaveLength(10 * each);
    expect(effects.runs).toBeLessThan(70);
  });

  it.each([
    ["prompts/get", { name: "asking" }, "for Ada"],
    ["resources/read", { uri: "asking://1" }, "of Ada"],
  ])("asks in %s as well, unless answers could only be arguments", async (method, params, said) => {
    const { server } = createConversing();
    await using peer = await Conversant.open(wire, revision, server, { answer: answerAll() });
    const reply = await peer.finish(method, params);
    if (by === "arguments") {
      expect(refusalOf(reply)).toMatchObject({ code: -32603 });
      expect(peer.questions).toEqual([]);
      return;
    }
    expect(JSON.stringify(reply.message)).toContain(`"${said}"`);
    expect(peer.questions).toHaveLength(1);
    expect(peer.rounds).toBe(by === "restart" ? 2 : 1);
  });
});

const inRounds = columns.filter(([revision]) => mechanic(revision, "form") !== "push");

export const carriedStates = group("what is carried", inRounds, (revision, wire) => {
  const open = (options: Partial<ServerOptions> = {}) =>
    Conversant.open(wire, revision, createConversing(options).server);
  const name = { name: "Ada" };

  it("is refused after the change of any one character", async () => {
    await using peer = await open();
    const { state } = await pausing(peer, "ask");
    const spoiled = Array.from({ length: state.length }, (_, at) => {
      const other = state[at] === "A" ? "B" : "A";
      return state.slice(0, at) + other + state.slice(at + 1);
    });
    const isTried = (at: number) => at < 4 || at % 7 === 0 || at > state.length - 4;
    for (const changed of spoiled.filter((_, at) => isTried(at))) {
      const reply = await round(peer, "ask", {}, { answers: { who: name }, state: changed });
      expect(stateRefusalOf(peer, reply)).toContain("was changed");
    }
    const reply = await round(peer, "ask", {}, { answers: { who: name }, state });
    expect(saidAtEnd(reply)).toMatchObject({ content: name });
  });

  it.each(["", "a", "AAAA", "not base64 ✓", "A".repeat(70_000)])(
    "is refused when it never was given out (%#)",
    async (state) => {
      await using peer = await open();
      const reply = await round(peer, "ask", {}, { answers: { who: name }, state });
      expect(stateRefusalOf(peer, reply)).toContain("was not given out");
    },
  );

  it("is good for its own tool and arguments alone, in any order of these", async () => {
    await using peer = await open();
    const { state } = await pausing(peer, "ask_twice", { a: 1, b: [{ c: null, d: 2 }] });
    const carried = { answers: { first: name }, state };
    for (const [tool, args] of [
      ["ask", { a: 1, b: [{ c: null, d: 2 }] }],
      ["ask_twice", {}],
      ["ask_twice", { a: 1 }],
      ["ask_twice", { a: "1", b: [{ c: null, d: 2 }] }],
      ["ask_twice", { a: 1, b: { 0: { c: null, d: 2 } } }],
    ] as const) {
      const reply = await round(peer, tool, args, carried);
      expect(stateRefusalOf(peer, reply)).toContain("was not given out for this call");
    }
    const again = await pausing(peer, "ask_twice", { b: [{ d: 2, c: null }], a: 1 }, carried);
    expect(again.keys).toEqual(["second"]);
  });

  it("is good until it expires", async () => {
    let now = 1_000_000;
    await using peer = await open({ requestState: { ttlMs: 60_000, now: () => now } });
    const { state } = await pausing(peer, "ask");
    const carried = { answers: { who: name }, state };
    now += 59_999;
    expect(saidAtEnd(await round(peer, "ask", {}, carried))).toMatchObject({ content: name });
    now += 1;
    expect(stateRefusalOf(peer, await round(peer, "ask", {}, carried))).toContain("expired");
  });

  it("is opened by every key and sealed by the first", async () => {
    const [old, young] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
    const keyed = (...keys: Uint8Array[]) => open({ requestState: { keys } });
    await using before = await keyed(old);
    await using between = await keyed(young, old);
    await using afterwards = await keyed(young);
    const first = await pausing(before, "ask_twice");
    const carried = { answers: { first: name }, state: first.state };
    stateRefusalOf(afterwards, await round(afterwards, "ask_twice", {}, carried));
    const second = await pausing(between, "ask_twice", {}, carried);
    expect(second.keys).toEqual(["second"]);
    const last = { answers: { second: { name: "Bea" } }, state: second.state };
    stateRefusalOf(before, await round(before, "ask_twice", {}, last));
    expect(saidAtEnd(await round(afterwards, "ask_twice", {}, last))).toMatchObject([
      { content: name },
      { content: { name: "Bea" } },
    ]);
  });

  it("is opened by no other server", async () => {
    await using one = await open();
    await using other = await open();
    const { state } = await pausing(one, "ask");
    const reply = await round(other, "ask", {}, { answers: { who: name }, state });
    expect(stateRefusalOf(other, reply)).toContain("was not given out");
  });

  it("is not larger than allowed", async () => {
    await using peer = await open({ requestState: { maxLength: 100 } });
    const { code, message } = refusalOf(await round(peer, "ask"));
    expect(code).toBe(-32603);
    expect(message).toContain("cannot be carried");
  });

  it("shows nothing of itself", async () => {
    await using peer = await open();
    const { state } = await pausing(peer, "ask");
    const { state: again } = await pausing(peer, "ask");
    expect(state).not.toBe(again);
    const bytes = Buffer.from(state, "base64url").toString("latin1");
    for (const word of ["who", "asked", "round"]) expect(bytes).not.toContain(word);
  });

  it("may be lost after the first round, as long as the answers are there", async () => {
    await using peer = await open();
    const reply = await round(peer, "ask", {}, { answers: { who: name } });
    expect(saidAtEnd(reply)).toMatchObject({ content: name });
  });

  it.each([
    ["that is missing", {}],
    ["to what was not asked", { second: name, unheard_of: name, __proto__: name }],
    ["that its schema does not allow", { first: { name: "" } }],
    ["of another type", { first: { name: 5 } }],
    ["that is no object", { first: "Ada" }],
  ])("is asked for again after an answer %s", async (_, answers) => {
    await using peer = await open();
    const { state } = await pausing(peer, "ask_twice");
    const again = await pausing(peer, "ask_twice", {}, { answers, state, isSpoiled: true });
    expect(again.keys).toEqual(["first"]);
    const next = { answers: { first: name }, state: again.state };
    expect((await pausing(peer, "ask_twice", {}, next)).keys).toEqual(["second"]);
  });
});

const byArguments = columns.filter(([revision]) => mechanic(revision, "form") === "arguments");

export const models = group("a model", byArguments, (revision, wire) => {
  it("that copied the state wrong reads that it may begin anew, and does", async () => {
    const { server } = createConversing();
    await using peer = await Conversant.open(wire, revision, server, { answer: answerAll() });
    const { state } = await pausing(peer, "ask");
    const wrong = { answers: { who: { name: "Ada" } }, state: `${state.slice(0, -3)}…` };
    const { message } = await round(peer, "ask", {}, wrong);
    expect(message["result"]).toEqual({
      content: [
        {
          type: "text",
          text: "_state was not given out for this call, was changed, was used or has expired; call again without it",
        },
      ],
      isError: true,
    });
    expect(await peer.call("ask")).toMatchObject({ content: { name: "Ada" } });
  });
});

const restarting = columns.filter(([revision]) => mechanic(revision, "form") === "restart");

export const requestStates = group("a request that carries", restarting, (_, wire) => {
  const status = overHttp(wire) ? 200 : undefined;
  const open = () => Conversant.open(wire, "2026-07-28", createConversing().server);

  it.each(["tools/list", "prompts/list", "resources/list", "server/discover"])(
    "carries nothing on %s, and looks at nothing that is there",
    async (method) => {
      await using peer = await open();
      const { message } = await peer.askRaw(method, { requestState: 5, inputResponses: "none" });
      expect(message["result"]).toMatchObject({ resultType: "complete" });
    },
  );

  it.each([
    [{ requestState: 5 }, "requestState"],
    [{ inputResponses: [] }, "inputResponses"],
    [{ inputResponses: "none" }, "inputResponses"],
  ])("names the field when %j is carried", async (params, field) => {
    await using peer = await open();
    const reply = await peer.askRaw("tools/call", { name: "ask", ...params });
    const { code, message, ...rest } = refusalOf(reply);
    expect(code).toBe(-32602);
    expect(rest.status).toBe(status);
    expect(message).toContain(field);
  });

  it("asks anew, and not for ever, of a client that carries the state but no answer", async () => {
    await using peer = await open();
    let state: string | undefined;
    for (let count = 1; count <= 10; count++) {
      const paused = await pausing(peer, "ask", {}, { state });
      expect(paused.keys).toEqual(["who"]);
      state = paused.state;
    }
    const { message } = await round(peer, "ask", {}, { state });
    expect(isObject(message["error"]) && message["error"]["code"]).toBe(-32603);
  });
});
