/** The notebook example over a socket: every revision, restarts, hostile input. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, describe, expect, test } from "vitest";
import { createNotebook } from "../../examples/notebook/server.ts";
import { complaint, data, deleteNote, fill, openBook, resultOf } from "../support/book.ts";
import type { Client } from "../support/client.ts";
import { revisions } from "../support/wire.ts";

const folder = mkdtempSync(join(tmpdir(), "notebook-"));
let files = 0;

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function newFile(): string {
  return join(folder, "deep", `${++files}.sqlite`);
}

async function read(client: Client, uri: string): Promise<string> {
  const answer = await client.ask("resources/read", { uri });
  return resultOf<{ contents: { text: string }[] }>(answer).contents[0]?.text ?? "";
}

async function review(client: Client, topic: string): Promise<Message[]> {
  const answer = await client.ask("prompts/get", { name: "review_notes", arguments: { topic } });
  return resultOf<{ messages: Message[] }>(answer).messages;
}

interface Message {
  readonly content: { readonly text: string };
}

async function suggest(client: Client, ref: object, name: string, value: string) {
  const params = { ref, argument: { name, value } };
  const answer = await client.ask("completion/complete", params);
  return resultOf<{ completion: { values: string[] } }>(answer).completion.values;
}

const template = { type: "ref/resource", uri: "note://{id}" };
const prompt = { type: "ref/prompt", name: "review_notes" };
const uris = async (client: Client): Promise<unknown[]> =>
  (await client.list("resources/list", "resources")).map(({ uri }) => uri);

describe.each(revisions)("in %s", (revision) => {
  test("a note is added, found, edited and deleted", async () => {
    await using book = await openBook(revision);
    const { client } = book;
    await fill(client);
    expect(
      data(
        await client.call("add_note", { title: " Two\n lines ", body: "x", topics: [" A  B "] }),
      ),
    ).toEqual({ id: 4, uri: "note://4", title: "Two lines", topics: ["a b"] });

    const found = data(await client.call("search_notes", { query: "frost" }));
    expect(found).toEqual({
      total: 2,
      notes: [
        {
          id: 2,
          uri: "note://2",
          title: "Frost",
          topics: ["garden"],
          snippet: "Cover the beds when the night falls below zero.",
        },
        {
          id: 1,
          uri: "note://1",
          title: "Tomatoes",
          topics: ["food", "garden"],
          snippet: "Sow them indoors in March, plant out after the **frost**.",
        },
      ],
    });
    const one = data(
      await client.call("search_notes", { query: "frost", topic: "Food", limit: 1 }),
    );
    expect(one).toMatchObject({ total: 1, notes: [{ id: 1 }] });

    const edited = await client.call("edit_note", { id: 2, body: "No ice.", topics: [] });
    expect(data(edited)).toEqual({ id: 2, uri: "note://2", title: "Frost", topics: [] });
    expect(data(await client.call("search_notes", { query: "beds" }))["total"]).toBe(0);
    expect(data(await client.call("search_notes", { query: "ice" }))["total"]).toBe(1);

    expect(data(await deleteNote(client, 2))).toEqual({ id: 2, deleted: true });
    expect(data(await client.call("search_notes", { query: "ice" }))["total"]).toBe(0);
    expect(complaint(await deleteNote(client, 2))).toContain("search_notes");
    expect(complaint(await client.call("edit_note", { id: 2, title: "x" }))).toContain("no note 2");
    expect(complaint(await client.call("edit_note", { id: 1 }))).toContain("Nothing to change");
  });

  test("the tools say what they do", async () => {
    await using book = await openBook(revision);
    const tools = await book.client.list("tools/list", "tools");
    expect(tools.map(({ name }) => name)).toEqual([
      "add_note",
      "search_notes",
      "edit_note",
      "delete_note",
      "summarise_topic",
    ]);
    if (revision === "2024-11-05") return;
    expect(tools.map(({ annotations }) => annotations)).toEqual([
      { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
      { readOnlyHint: true, openWorldHint: false },
      { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
      { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
      { readOnlyHint: true, openWorldHint: false },
    ]);
    if (revision === "2025-03-26") return;
    for (const { title, outputSchema } of tools) {
      expect(title).toMatch(/ notes?$/);
      expect(outputSchema).toMatchObject({ type: "object" });
    }
  });

  test("a note is a resource for as long as it is there", async () => {
    await using book = await openBook(revision);
    const { client } = book;
    expect(await uris(client)).toEqual(["note://book"]);
    expect(await read(client, "note://book")).toBe("*The book is empty.*\n");
    await fill(client);
    expect(await uris(client)).toEqual(["note://book", "note://1", "note://2", "note://3"]);
    expect(await read(client, "note://3")).toBe("# Bread\n\n*food*\n\nFlour, water, salt.\n");

    await client.call("edit_note", { id: 3, title: "Loaf" });
    await deleteNote(client, 1);
    expect(await client.list("resources/list", "resources")).toMatchObject([
      { uri: "note://book" },
      { uri: "note://2", name: "Frost", mimeType: "text/markdown" },
      { uri: "note://3", name: "Loaf" },
    ]);
    const { error } = await client.ask("resources/read", { uri: "note://1" });
    expect(error?.code).toBe(revision === "2026-07-28" ? -32602 : -32002);
    expect(await read(client, "note://book")).toBe(
      "<!-- note://2 -->\n# Frost\n\n*garden*\n\nCover the beds when the night falls below zero.\n\n<!-- note://3 -->\n# Loaf\n\n*food*\n\nFlour, water, salt.\n",
    );
    expect(await client.list("resources/templates/list", "resourceTemplates")).toMatchObject([
      { uriTemplate: "note://{id}", name: "A note" },
    ]);
  });

  test("ids and topics are suggested", async () => {
    await using book = await openBook(revision);
    const { client } = book;
    await fill(client);
    expect((await suggest(client, template, "id", "")).sort()).toEqual(["1", "2", "3"]);
    expect(await suggest(client, template, "id", "2")).toEqual(["2"]);
    expect(await suggest(client, template, "id", "bre")).toEqual(["3"]);
    expect(await suggest(client, template, "id", '"*(')).toEqual([]);
    expect(await suggest(client, prompt, "topic", "")).toEqual(["food", "garden"]);
    expect(await suggest(client, prompt, "topic", "GA")).toEqual(["garden"]);
    expect(await suggest(client, prompt, "topic", "%")).toEqual([]);
  });

  test("a review holds an instruction and the notes on its topic", async () => {
    await using book = await openBook(revision);
    const { client } = book;
    await fill(client);
    const [instruction, ...notes] = await review(client, " Garden");
    expect(instruction?.content.text).toContain('my notes on "garden" (all 2, below)');
    expect(notes).toHaveLength(2);
    expect(notes[0]?.content).toEqual({
      type: "resource",
      resource: {
        uri: "note://2",
        mimeType: "text/markdown",
        text: "# Frost\n\n*garden*\n\nCover the beds when the night falls below zero.\n",
      },
    });
    const unknown = { name: "review_notes", arguments: { topic: "cars" } };
    const { error } = await client.ask("prompts/get", unknown);
    expect(error?.code).toBe(-32602);
    expect(error?.message).toContain("food, garden");
  });
});

test("notes outlive the server, and an id is never used twice", async () => {
  const path = newFile();
  {
    await using book = await openBook("2025-06-18", { path });
    await fill(book.client);
    await deleteNote(book.client, 3);
  }
  await using book = await openBook("2026-07-28", { path });
  expect(await uris(book.client)).toEqual(["note://1", "note://2", "note://book"]);
  const found = data(await book.client.call("search_notes", { query: "frost" }));
  expect(found["total"]).toBe(2);
  const added = data(await book.client.call("add_note", { title: "New", body: "" }));
  expect(added["id"]).toBe(4);
});

test("what a client of one revision writes, a client of another reads", async () => {
  await using book = await openBook("2024-11-05");
  await fill(book.client);
  const modern = await book.connect("2026-07-28");
  expect(data(await modern.call("search_notes", { query: "bread" }))["total"]).toBe(1);
  await deleteNote(modern, 3);
  expect(await uris(book.client)).not.toContain("note://3");
});

test("two programs can keep one book", async () => {
  const path = newFile();
  await using first = await openBook("2025-11-25", { path });
  await using second = await openBook("2025-11-25", { path });
  await fill(first.client);
  expect(await read(second.client, "note://1")).toContain("# Tomatoes");
  expect(data(await deleteNote(second.client, 1))).toEqual({ id: 1, deleted: true });
  const { error } = await first.client.ask("resources/read", { uri: "note://1" });
  expect(error?.code).toBe(-32002);
});

describe("a search", () => {
  const hostile = [
    ['"', 0],
    ['""', 0],
    ['"""frost', 2],
    ['fro"st', 0],
    ["NEAR(frost", 0],
    ["frost NEAR/2 night", 0],
    ["frost AND", 0],
    ["frost OR bread", 0],
    ["NOT frost", 0],
    ["*", 0],
    ["fro*", 2],
    ["^frost", 2],
    ["title:frost", 0],
    ["title : bread", 0],
    ["{title body}: frost", 0],
    ["-frost", 2],
    ["(frost", 2],
    ["frost\u0000bread", 0],
    ["frost\u0000", 2],
    ["FRÖST", 2],
    ["😀", 0],
    ["frost 😀", 2],
    ["\ud800frost", 2],
    ["日本", 1],
    ["'; DROP TABLE notes; --", 0],
    ["   ", 0],
    ["%", 0],
  ] as const;

  test("takes every string for words, whatever it holds", async () => {
    await using book = await openBook("2025-11-25");
    const { client } = book;
    await fill(client);
    await client.call("add_note", { title: "日本語のノート", body: "…" });
    for (const [query, total] of hostile) {
      const answer = await client.call("search_notes", { query });
      if (/[\p{L}\p{N}]/u.test(query)) {
        expect(data(answer)["total"], JSON.stringify(query)).toBe(total);
      } else {
        expect(complaint(answer), JSON.stringify(query)).toContain("one or more words");
      }
    }
    expect(await uris(client)).toHaveLength(5);
  });

  test("without any query, or with one that is too long, is told what to mend", async () => {
    await using book = await openBook("2026-07-28");
    const { client } = book;
    for (const query of ["", "x".repeat(201), 7, null]) {
      expect(complaint(await client.call("search_notes", { query }))).toContain("query");
    }
    expect(complaint(await client.call("search_notes", { query: "x", limit: 51 }))).toContain("50");
    const many = "a ".repeat(100);
    expect(data(await client.call("search_notes", { query: many }))["total"]).toBe(0);
  });
});

test("an id that is no number is no note", async () => {
  await using book = await openBook("2025-11-25");
  const { client } = book;
  await fill(client);
  const ids = ["../1", "%2e%2e%2f1", "..%2F..%2Fetc%2Fpasswd", "01", "1.0", "1e0", "+1", "-1", "0"];
  for (const id of [...ids, "9".repeat(15), "9".repeat(400), "1%00", "%31/", "", "Book"]) {
    const { error } = await client.ask("resources/read", { uri: `note://${id}` });
    expect(error?.code, id).toBe(-32002);
  }
  for (const id of ["../1", "1", 0, -1, 1.5, 1e300, null, [1]]) {
    for (const tool of ["edit_note", "delete_note"]) {
      expect(complaint(await client.call(tool, { id, title: "x" })), `${id}`).toContain("id");
    }
  }
  expect(await uris(client)).toHaveLength(4);
});

test("text of any size is stored whole or refused", async () => {
  await using book = await openBook("2025-11-25");
  const { client } = book;
  const body = "ж".repeat(50_000);
  const added = data(await client.call("add_note", { title: "t".repeat(200), body }));
  expect(added["id"]).toBe(1);
  expect(await read(client, "note://1")).toContain(body);
  const refused: [Record<string, unknown>, string][] = [
    [{ title: "t", body: `${body}x` }, "body"],
    [{ title: "t".repeat(201), body: "" }, "title"],
    [{ title: " \n", body: "" }, "title"],
    [{ title: "t", body: "", topics: Array.from({ length: 11 }, (_, at) => `${at}`) }, "topics"],
    [{ title: "t", body: "", topics: ["x".repeat(41)] }, "topics/0"],
    [{ title: "t", body: "", topics: [" "] }, "topics/0"],
  ];
  for (const [args, where] of refused) {
    expect(complaint(await client.call("add_note", args))).toContain(`- ${where}`);
  }
  expect(await uris(client)).toHaveLength(2);
});

test("a book that is too long ends with how many notes are missing", async () => {
  await using book = await openBook("2025-11-25");
  for (let count = 0; count < 25; count++) {
    await book.client.call("add_note", {
      title: `${count}`,
      body: "x".repeat(49_000),
      topics: ["x"],
    });
  }
  const text = await read(book.client, "note://book");
  expect(text.length).toBeLessThan(1_001_000);
  expect(text).toMatch(/\*5 more notes do not fit here; read each by its URI\.\*\n$/);
  const messages = await review(book.client, "x");
  expect(messages).toHaveLength(21);
  expect(messages[0]?.content.text).toContain("the newest 20 of 25");
});

test("a file that holds something else is left alone", () => {
  const path = join(folder, "other.sqlite");
  const other = new Database(path);
  other.exec("CREATE TABLE mine (x)");
  other.close();
  expect(() => createNotebook({ path })).toThrow("is not a notebook");
  const again = new Database(path);
  expect(again.prepare("SELECT name FROM sqlite_schema").pluck().all()).toEqual(["mine"]);
  again.close();
});
