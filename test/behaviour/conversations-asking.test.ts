/** Questions that a handler asks as if it blocked, in every revision and over every wire. */
import { describe, expect, it } from "vitest";
import { type Answering, Conversant, type Question } from "../support/conversant.ts";
import {
  answerAll,
  columns,
  createConversing,
  fieldsOf,
  type Kind,
  mechanic,
  nameForm,
  page,
} from "../support/conversing.ts";
import { isObject, type JsonObject, type Revision } from "../support/wire.ts";
import type { WireKind } from "../support/wires.ts";

const poem = { role: "assistant", content: [{ type: "text", text: "A poem." }], text: "A poem." };
const work = [{ uri: "file:///work", name: "work" }];
const accepted = { action: "accept", accepted: true, assumed: false };

describe.each(columns)("a caller of %s over %s", (revision, wire) => {
  const by = (kind: Kind) => mechanic(revision, kind);
  const open = (answer: Answering = answerAll(), capabilities?: JsonObject) =>
    Conversant.open(wire, revision, createConversing().server, { answer, capabilities });

  it("is asked for a form, and the handler gets what was filled in", async () => {
    await using peer = await open();
    expect(await peer.call("ask")).toEqual({ ...accepted, content: { name: "Ada" } });
    expect(peer.questions).toHaveLength(1);
    const [question] = peer.questions;
    expect(question?.method).toBe("elicitation/create");
    expect(question?.params).toMatchObject({ message: "who?", requestedSchema: nameForm });
    expect(peer.rounds).toBe(by("form") === "push" ? 1 : 2);
  });

  it("is asked one thing after the other", async () => {
    await using peer = await open(answerAll((message) => `<${message}>`));
    expect(await peer.call("ask_twice")).toMatchObject([
      { content: { name: "<first?>" } },
      { content: { name: "<second?>" } },
    ]);
    expect(messages(peer.questions)).toEqual(["first?", "second?"]);
    expect(peer.rounds).toBe(by("form") === "push" ? 1 : 3);
  });

  it("is asked two things at once", async () => {
    await using peer = await open(answerAll((message) => `<${message}>`));
    expect(await peer.call("both")).toMatchObject({
      one: { content: { name: "<One?>" } },
      two: { content: { name: "<Two?>" } },
    });
    expect(messages(peer.questions)).toEqual(["One?", "Two?"]);
    expect(peer.rounds).toBe(by("form") === "push" ? 1 : 2);
  });

  it.each(["decline", "cancel"])("may %s, which is told apart", async (action) => {
    await using peer = await open(() => ({ action }));
    expect(await peer.call("ask")).toEqual({ action, accepted: false, assumed: false });
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

  it("that declared nothing gets the defaults", async () => {
    await using peer = await open(answerAll(), {});
    expect(await peer.call("ask_or_default")).toEqual({
      ...accepted,
      assumed: true,
      content: { name: "Nobody" },
    });
    expect(await peer.call("sample_or_default")).toMatchObject({ text: "no poem" });
    expect(await peer.call("roots_or_default")).toEqual([{ uri: "file:///default" }]);
    expect(peer.questions).toEqual([]);
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

  it("lets its model write", async () => {
    await using peer = await open();
    expect(await peer.call("sample")).toMatchObject(poem);
    expect(peer.questions).toMatchObject([
      {
        method: "sampling/createMessage",
        params: {
          messages: [{ role: "user", content: { type: "text", text: "Write." } }],
          maxTokens: 10,
        },
      },
    ]);
    expect(peer.rounds).toBe(by("sample") === "push" ? 1 : 2);
  });

  it("tells its roots", async () => {
    await using peer = await open();
    expect(await peer.call("roots")).toEqual(work);
    expect(peer.questions).toMatchObject([{ method: "roots/list" }]);
  });

  it("is sent to a page, where the revision can do that", async () => {
    await using peer = await open();
    if (by("url") === "never") {
      const needed = { elicitation: { url: {} } };
      expect(await refusal(peer, "url")).toEqual(missing(revision, wire, needed));
      expect(peer.questions).toEqual([]);
      return;
    }
    expect(await peer.call("url")).toEqual(accepted);
    expect(peer.questions).toMatchObject([
      { params: { mode: "url", message: "Sign in.", url: page } },
    ]);
    expect("elicitationId" in (peer.questions[0]?.params ?? {})).toBe(revision === "2025-11-25");
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

interface Refusal {
  readonly status: number | undefined;
  readonly code: unknown;
  readonly data: unknown;
}

async function refusal(peer: Conversant, name: string): Promise<Refusal> {
  const { message, origin } = await peer.finish("tools/call", { name });
  const { error } = message;
  if (!isObject(error)) throw new Error(`was not refused: ${JSON.stringify(message)}`);
  return { status: origin.status, code: error["code"], data: error["data"] };
}

/** The refusal of a call whose caller cannot be asked. */
function missing(revision: Revision, wire: WireKind, requiredCapabilities: JsonObject): Refusal {
  const modern = revision === "2026-07-28";
  const overHttp = wire === "socket" || wire === "fetch";
  return {
    status: overHttp ? (modern ? 400 : 200) : undefined,
    code: modern ? -32021 : -32603,
    data: { requiredCapabilities },
  };
}
