/** Questions that a handler asks as if it blocked, in every revision and over every wire. */
import { expect, it } from "vitest";
import { type Answering, Conversant, type Question } from "../support/conversant.ts";
import {
  answerAll,
  columns,
  createConversing,
  fieldsOf,
  type Kind,
  mechanic,
} from "../support/conversing.ts";
import type { JsonObject } from "../support/wire.ts";
import { group } from "./group.ts";
import { missing, refusal } from "./unasked.ts";

const work = [{ uri: "file:///work", name: "work" }];
const accepted = { action: "accept", accepted: true, assumed: false };

export const callers = group("a caller", columns, (revision, wire) => {
  const by = (kind: Kind) => mechanic(revision, kind);
  const open = (answer: Answering = answerAll(), capabilities?: JsonObject) =>
    Conversant.open(wire, revision, createConversing().server, { answer, capabilities });

  it("is asked two things at once", async () => {
    await using peer = await open(answerAll((message) => `<${message}>`));
    expect(await peer.call("both")).toMatchObject({
      one: { content: { name: "<One?>" } },
      two: { content: { name: "<Two?>" } },
    });
    expect(messages(peer.questions)).toEqual(["One?", "Two?"]);
    expect(peer.rounds).toBe(by("form") === "push" ? 1 : 2);
  });

  it("may agree to a question without fields", async () => {
    await using peer = await open(() => ({ action: "accept", content: {} }));
    expect(await peer.call("confirm")).toEqual({ ...accepted, content: {} });
    const [question] = peer.questions;
    expect(question && fieldsOf(question)).toEqual({});
  });

  it("is not kept waiting by a handler that does not wait for its own question", async () => {
    await using peer = await open((question) =>
      question.key === undefined ? undefined : { action: "decline" },
    );
    expect(await peer.call("ask_and_leave")).toBe("left");
    expect(peer.questions).toHaveLength(1);
    const takenBack = by("form") === "push" ? [{ requestId: expect.anything() }] : [];
    expect(peer.told("notifications/cancelled")).toMatchObject(takenBack);
  });

  it("that can be asked is asked although there is a default", async () => {
    await using peer = await open();
    const said = await peer.call("ask_or_default");
    // The older two have no way to ask but arguments, which the tool did not declare.
    const asked = by("form") !== "arguments";
    expect(said).toMatchObject({ content: { name: asked ? "Ada" : "Nobody" }, assumed: !asked });
    expect(peer.questions).toHaveLength(asked ? 1 : 0);
  });

  it.each([
    ["ask_or_fail", { elicitation: {} }],
    ["sample", { sampling: {} }],
    ["roots", { roots: {} }],
    ["url", { elicitation: { url: {} } }],
  ] as const)("that declared nothing is refused %s, which needs it", async (name, needed) => {
    await using peer = await open(answerAll(), {});
    expect(await refusal(peer, name)).toEqual(missing(revision, wire, needed));
    expect(peer.questions).toEqual([]);
  });

  it("is asked for a form, for its model and for its roots at once, and each one time", async () => {
    await using peer = await open();
    expect(await peer.call("several")).toEqual([{ name: "Ada" }, "A poem.", work]);
    expect(peer.questions.map(({ method }) => method).toSorted()).toEqual([
      "elicitation/create",
      "roots/list",
      "sampling/createMessage",
    ]);
    expect(peer.rounds).toBe(by("form") === "push" ? 1 : 2);
  });
});

const messages = (questions: readonly Question[]) =>
  questions.map(({ params }) => params["message"]);
