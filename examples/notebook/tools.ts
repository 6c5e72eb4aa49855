/** The tools that only work on the book: add, search, edit. */
import { type Content, failed, type Server } from "anyrev/node";
import { z } from "zod";
import { limits } from "./limits.ts";
import type { Notebook } from "./notebook.ts";
import { uriOf } from "./pages.ts";

export const noteId = z
  .int()
  .min(1)
  .describe("The note's number, as add_note and search_notes give it.");
const title = z
  .string()
  .min(1)
  .max(limits.titleLength)
  .regex(/\S/, "must have a letter in it")
  .describe("One line.");
const body = z.string().max(limits.bodyLength).describe("The note itself, in Markdown.");
const topics = z
  .array(z.string().min(1).max(limits.topicLength).regex(/\S/, "must have a letter in it"))
  .max(limits.topicsPerNote)
  .describe('What it is about, such as ["work", "garden"]. Case does not matter.');

const saved = z.object({
  id: noteId,
  uri: z.string(),
  title: z.string(),
  topics: z.array(z.string()),
});

export function declareTools(
  server: Server,
  notebook: Notebook,
  changed: (id: number) => void,
): void {
  declareAdd(server, notebook, changed);
  declareSearch(server, notebook);
  declareEdit(server, notebook, changed);
}

function declareAdd(server: Server, notebook: Notebook, changed: (id: number) => void): void {
  server.tool(
    "add_note",
    {
      title: "Add a note",
      description: "Writes a new note and gives its id and URI.",
      annotations: {
        readOnlyHint: false,
        destructiveHint: false,
        idempotentHint: false,
        openWorldHint: false,
      },
      input: z.object({ title, body, topics: topics.default([]) }),
      output: saved,
    },
    (note) => {
      if (notebook.size >= limits.notes) {
        return failed(
          `The book is full (${limits.notes} notes). Delete some with delete_note first.`,
        );
      }
      const added = notebook.add(tidy(note));
      changed(added);
      return describe(notebook, added);
    },
  );
}

function declareSearch(server: Server, notebook: Notebook): void {
  server.tool(
    "search_notes",
    {
      title: "Search notes",
      description:
        "Finds the notes that have all of the words, or longer ones that begin so, best first.",
      annotations: { readOnlyHint: true, openWorldHint: false },
      input: z.object({
        query: z
          .string()
          .min(1)
          .max(limits.queryLength)
          .describe("Words only: quotes, AND, OR, NEAR and * have no meaning here."),
        topic: z.string().max(limits.topicLength).optional().describe("Only notes on this topic."),
        limit: z.int().min(1).max(limits.results).default(10).describe("How many at most."),
      }),
      output: z.object({
        total: z.int().describe("How many there are, more than given included."),
        notes: z.array(saved.extend({ snippet: z.string() })),
      }),
    },
    ({ query, topic, limit }) => {
      if (!/[\p{L}\p{N}]/u.test(query)) {
        return failed("There is no word in this query. Give one or more words to look for.");
      }
      const { hits, total } = notebook.search(query, limit, topic?.trim().toLowerCase());
      return {
        total,
        notes: hits.map((hit) => ({ ...hit, uri: uriOf(hit.id), topics: [...hit.topics] })),
      };
    },
  );
}

function declareEdit(server: Server, notebook: Notebook, changed: (id: number) => void): void {
  server.tool(
    "edit_note",
    {
      title: "Edit a note",
      description: "Replaces the title, the body or the topics of a note; what is left out stays.",
      annotations: {
        readOnlyHint: false,
        destructiveHint: true,
        idempotentHint: true,
        openWorldHint: false,
      },
      input: z.object({
        id: noteId,
        title: title.optional(),
        body: body.optional(),
        topics: topics.optional(),
      }),
      output: saved,
    },
    ({ id, ...change }) => {
      if (Object.keys(change).length === 0) {
        return failed("Nothing to change. Give a title, a body or topics.");
      }
      if (!notebook.edit(id, tidy(change))) return noSuchNote(id);
      changed(id);
      return describe(notebook, id);
    },
  );
}

function describe(notebook: Notebook, id: number): z.input<typeof saved> | Content {
  const head = notebook.head(id);
  if (head === undefined) return noSuchNote(id);
  return { id, uri: uriOf(id), title: head.title, topics: [...head.topics] };
}

export function noSuchNote(id: number): Content {
  return failed(
    `There is no note ${id}. Find the right one with search_notes, or read note://book.`,
  );
}

/** A title on one line; topics in lower case, so that one topic is not several. */
function tidy<T extends { title?: string | undefined; topics?: readonly string[] | undefined }>(
  text: T,
): T {
  const { title, topics } = text;
  return {
    ...text,
    ...(title !== undefined && { title: oneLine(title) }),
    ...(topics !== undefined && { topics: topics.map((topic) => oneLine(topic).toLowerCase()) }),
  };
}

function oneLine(words: string): string {
  return words.replace(/\s+/g, " ").trim();
}
