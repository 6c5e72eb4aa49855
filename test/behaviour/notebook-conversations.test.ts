/** What the notebook asks, lets write and announces, over a socket, however its caller is asked. */
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { type Asked, converse, listenTo } from "../support/answering.ts";
import { complaint, data, deleteNote, fill, openBook, textOf } from "../support/book.ts";
import type { Client } from "../support/client.ts";
import { type JsonObject, type Revision, revisions } from "../support/wire.ts";

/** Where a form can be pushed or carried; before, the model is told to ask. */
const askable = (revision: Revision): boolean => revision >= "2025-06-18";

/** What a client declares that can answer whatever its revision lets a server ask. */
function able(revision: Revision): JsonObject {
  return askable(revision) ? { elicitation: {}, sampling: {} } : { sampling: {} };
}

/** Counts what is asked, and answers it all alike. */
function react(result: JsonObject) {
  const asked: Asked[] = [];
  return {
    asked,
    react: (question: Asked): JsonObject => {
      asked.push(question);
      return result;
    },
  };
}

const written = {
  role: "assistant",
  model: "a model",
  stopReason: "endTurn",
  content: { type: "text", text: "Mind the frost." },
};

describe.each(revisions)("in %s", (revision) => {
  test("a note is deleted once its user agrees", async () => {
    const user = react({ action: "accept", content: {} });
    await using book = await openBook(revision, { capabilities: able(revision), ...user });
    await fill(book.client);
    const answer = await converse(book.client, "delete_note", { id: 2 }, user.react);
    expect(data(answer)).toEqual({ id: 2, deleted: true });
    expect(user.asked).toMatchObject([
      {
        method: "elicitation/create",
        params: { message: 'Delete the note "Frost" (47 bytes) for good?' },
      },
    ]);
    expect(complaint(await book.client.call("edit_note", { id: 2, title: "x" }))).toContain("2");
  });

  test.each([
    ["decline", "declined"],
    ["cancel", "closed the question"],
  ])(
    "a %s deletes nothing, whatever the caller confirms, and the result says so",
    async (action, why) => {
      const user = react({ action });
      await using book = await openBook(revision, { capabilities: able(revision), ...user });
      await fill(book.client);
      const asked = { id: 2, confirm: true };
      const answer = data(await converse(book.client, "delete_note", asked, user.react));
      expect(answer).toEqual({ id: 2, deleted: false, why: expect.stringContaining(why) });
      expect(user.asked).toHaveLength(1);
      expect(data(await book.client.call("search_notes", { query: "beds" }))["total"]).toBe(1);
    },
  );

  test("a note that changed after its user was asked is kept", async () => {
    let elsewhere: Client | undefined;
    const editFirst = async ({ method }: Asked): Promise<JsonObject> => {
      expect(method).toBe("elicitation/create");
      data((await elsewhere?.call("edit_note", { id: 2, body: "Other words." }))!);
      return { action: "accept", content: {} };
    };
    const capabilities = able(revision);
    await using book = await openBook(revision, { capabilities, react: editFirst });
    await fill(book.client);
    elsewhere = await book.connect(revision);
    const answer = await converse(book.client, "delete_note", { id: 2 }, editFirst);
    expect(complaint(answer)).toContain("was changed after the user was asked");
    expect(data(await book.client.call("search_notes", { query: "other" }))["total"]).toBe(1);
  });

  test("a topic is summed up by the caller's model", async () => {
    const model = react(written);
    await using book = await openBook(revision, { capabilities: able(revision), ...model });
    await fill(book.client);
    const args = { topic: " Garden" };
    const answer = data(await converse(book.client, "summarise_topic", args, model.react));
    expect(answer).toEqual({
      topic: "garden",
      notes: 2,
      summary: "Mind the frost.",
      byModel: true,
    });
    expect(model.asked).toHaveLength(1);
    const [{ method, params } = { method: "", params: {} }] = model.asked;
    expect(method).toBe("sampling/createMessage");
    expect(params).toMatchObject({ maxTokens: 500, messages: [{ role: "user" }] });
    expect(JSON.stringify(params)).toContain("Cover the beds when the night falls below zero.");
    expect(JSON.stringify(params)).not.toContain("Flour");
  });

  test("a topic is summed up without a model, from how its notes begin", async () => {
    await using book = await openBook(revision);
    await fill(book.client);
    await book.client.call("add_note", { title: "Long", body: "word ".repeat(50), topics: ["x"] });
    const answer = data(await book.client.call("summarise_topic", { topic: "garden" }));
    expect(answer).toMatchObject({ notes: 2, byModel: false });
    expect(String(answer["summary"]).split("\n").sort()).toEqual([
      "- Frost (note://2): Cover the beds when the night falls below zero.",
      "- Tomatoes (note://1): Sow them indoors in March, plant out after the frost.",
    ]);
    const long = data(await book.client.call("summarise_topic", { topic: "x" }));
    expect(long["summary"]).toBe(`- Long (note://4): ${"word ".repeat(20).trim()}…`);
    const unknown = await book.client.call("summarise_topic", { topic: "cars" });
    expect(complaint(unknown)).toContain("food, garden, x");
  });

  test("whoever listens hears of the note, the book and the list", async () => {
    await using book = await openBook(revision);
    const { client, open } = book;
    await fill(client);
    // What was just added is still being announced: changes are gathered for a moment.
    await delay(50);
    await using listening = await listenTo(open, client, ["note://1", "note://book"]);
    await client.call("edit_note", { id: 1, title: "Tomato" });
    await listening.until(3);
    const edited = [
      { method: "notifications/resources/list_changed" },
      { method: "notifications/resources/updated", params: { uri: "note://1" } },
      { method: "notifications/resources/updated", params: { uri: "note://book" } },
    ];
    expect(listening.told).toMatchObject(edited);
    // Nobody asked to hear of this note, only of the book and the list.
    await client.call("edit_note", { id: 2, body: "No ice." });
    await listening.until(5);
    expect(listening.told.slice(3)).toMatchObject([edited[0], edited[2]]);
    await deleteNote(await book.connect("2024-11-05"), 1);
    await listening.until(8);
    expect(listening.told.slice(5)).toMatchObject(edited);
  });
});

describe.each(revisions.filter(askable))("in %s, a client that cannot ask", (revision) => {
  test("is told so, and deletes by confirming", async () => {
    await using book = await openBook(revision);
    const { client } = book;
    await fill(client);
    const refused = complaint(await client.call("delete_note", { id: 2 }));
    expect(refused).toContain("Nothing was deleted");
    expect(refused).toContain("confirm set to true");
    expect(complaint(await client.call("delete_note", { id: 2, confirm: false }))).toBe(refused);
    const confirmed = await client.call("delete_note", { id: 2, confirm: true });
    expect(data(confirmed)).toEqual({ id: 2, deleted: true });
  });
});

describe.each(revisions.filter((revision) => !askable(revision)))("in %s", (revision) => {
  test("a note is not deleted by confirming alone: the model has to ask", async () => {
    await using book = await openBook(revision);
    const { client } = book;
    await fill(client);
    const told = textOf(await client.call("delete_note", { id: 2, confirm: true }));
    expect(told).toContain('"confirm": Delete the note "Frost"');
    expect(told).toContain("_answers");
    expect(data(await client.call("search_notes", { query: "beds" }))["total"]).toBe(1);
  });
});
