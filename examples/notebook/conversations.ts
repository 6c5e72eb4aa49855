/** The tools that involve whoever calls: deleting asks its user, summarising asks its model. */
import { failed, type Server } from "anyrev/node";
import { z } from "zod";
import { limits } from "./limits.ts";
import type { Notebook } from "./notebook.ts";
import { noSuchTopic, outline, summaryRequest } from "./pages.ts";
import { noSuchNote, noteId } from "./tools.ts";

export function declareConversations(
  server: Server,
  notebook: Notebook,
  changed: (id: number) => void,
): void {
  declareDelete(server, notebook, changed);
  declareSummarise(server, notebook);
}

function declareDelete(server: Server, notebook: Notebook, changed: (id: number) => void): void {
  server.tool(
    "delete_note",
    {
      title: "Delete a note",
      description:
        "Deletes a note for good, once the user agrees. Where the user cannot be asked from here, the result says so: ask them yourself, then call again with confirm.",
      annotations: {
        readOnlyHint: false,
        destructiveHint: true,
        idempotentHint: true,
        openWorldHint: false,
      },
      input: z.object({
        id: noteId,
        confirm: z
          .boolean()
          .default(false)
          .describe(
            "True when the user has agreed. Where they can be asked, they are all the same.",
          ),
      }),
      output: z.object({
        id: noteId,
        deleted: z.boolean(),
        why: z.string().optional().describe("Why it was not deleted."),
      }),
      asks: true,
    },
    async ({ id, confirm }, ex) => {
      const head = notebook.head(id);
      // Another process may have deleted it, so the list is brought up to date either way.
      if (head === undefined) {
        changed(id);
        return noSuchNote(id);
      }
      const asked = await ex.once("asked", () => head.updatedAt);
      const answer = await ex.ask("confirm", {
        message: `Delete the note "${head.title}" (${head.bytes} bytes) for good?`,
        default: {},
      });
      if (!answer.accepted) return { id, deleted: false, why: notAgreed[answer.action] };
      if (answer.assumed && !confirm) return failed(nobodyToAsk);
      // The user agreed to the note as it was; the answer may have taken a while.
      const now = notebook.head(id);
      if (now !== undefined && now.updatedAt !== asked) return failed(changedSince);
      const deleted = notebook.delete(id);
      changed(id);
      return deleted ? { id, deleted } : noSuchNote(id);
    },
  );
}

const notAgreed = {
  decline: "The user declined, so nothing was deleted.",
  cancel: "The user closed the question without an answer, so nothing was deleted.",
} as const;

const nobodyToAsk =
  "Nothing was deleted: this client cannot ask its user. Ask them, and if they agree, call again with confirm set to true.";

const changedSince =
  "Nothing was deleted: the note was changed after the user was asked. Read it, then call again.";

function declareSummarise(server: Server, notebook: Notebook): void {
  server.tool(
    "summarise_topic",
    {
      title: "Summarise notes",
      description:
        "Sums up the notes on a topic, in the words of the client's model where it lends one.",
      annotations: { readOnlyHint: true, openWorldHint: false },
      input: z.object({
        topic: z.string().min(1).max(limits.topicLength).describe("A topic that notes have."),
      }),
      output: z.object({
        topic: z.string(),
        notes: z.int().describe("How many notes the summary is made of."),
        summary: z.string(),
        byModel: z.boolean().describe("False where it is only how each note begins."),
      }),
    },
    async ({ topic: asked }, ex) => {
      const topic = asked.trim().toLowerCase();
      const { notes } = notebook.onTopic(topic, limits.reviewed);
      if (notes.length === 0) return failed(noSuchTopic(notebook, asked));
      const beginnings = outline(notes);
      const { text, assumed } = await ex.sample("summary", {
        messages: summaryRequest(topic, notes),
        maxTokens: 500,
        default: beginnings,
      });
      const byModel = !assumed && text.trim() !== "";
      return { topic, notes: notes.length, summary: byModel ? text : beginnings, byModel };
    },
  );
}
