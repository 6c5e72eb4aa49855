/** Notes as text: one, the whole book, and those on a topic for a review. */
import { McpError, type PromptMessage, resource, user } from "anyrev/node";
import { limits } from "./limits.ts";
import type { Note, Notebook } from "./notebook.ts";

export const bookUri = "note://book";

export function uriOf(id: number): string {
  return `note://${id}`;
}

export function toMarkdown({ title, body, topics }: Note): string {
  const about = topics.length > 0 ? `*${topics.join(", ")}*\n\n` : "";
  return `# ${title}\n\n${about}${body}\n`;
}

export function writeBook(notebook: Notebook): string {
  const pages: string[] = [];
  let length = 0;
  for (const note of notebook.notes()) {
    const page = `<!-- ${uriOf(note.id)} -->\n${toMarkdown(note)}`;
    length += page.length;
    if (length > limits.bookLength) {
      pages.push(
        `*${notebook.size - pages.length} more notes do not fit here; read each by its URI.*\n`,
      );
      break;
    }
    pages.push(page);
  }
  return pages.length === 0 ? "*The book is empty.*\n" : pages.join("\n");
}

export function review(notebook: Notebook, asked: string): readonly PromptMessage[] {
  const topic = asked.trim().toLowerCase();
  const { notes, total } = notebook.onTopic(topic, limits.reviewed);
  if (notes.length === 0)
    throw new McpError(noSuchTopic(notebook, asked), { code: "invalid-params" });
  const count = total > notes.length ? `the newest ${notes.length} of ${total}` : `all ${total}`;
  const instruction = `Review my notes on "${topic}" (${count}, below). Say what is settled, what is still open, and where notes contradict or repeat each other. Name notes by their title and URI. Change nothing before I agree.`;
  return [
    ...user(instruction),
    ...notes.flatMap((note) =>
      user(resource({ uri: uriOf(note.id), mimeType: "text/markdown", text: toMarkdown(note) })),
    ),
  ];
}

/** What the caller's model is asked to make a summary of. */
export function summaryRequest(topic: string, notes: readonly Note[]): string {
  const pages = notes.map((note) => `<!-- ${uriOf(note.id)} -->\n${toMarkdown(note)}`).join("\n");
  const fitting =
    pages.length > limits.summarised
      ? `${pages.slice(0, limits.summarised)}\n*The rest does not fit here.*\n`
      : pages;
  return `Summarise these notes on "${topic}" in a few sentences. Say nothing that they do not say.\n\n${fitting}`;
}

/** A summary that needs no model: of each note its title and how it begins. */
export function outline(notes: readonly Note[]): string {
  return notes.map(({ id, title, body }) => `- ${title} (${uriOf(id)}): ${begin(body)}`).join("\n");
}

function begin(body: string): string {
  const words = body.slice(0, 500).replace(/\s+/g, " ").trim();
  return words.length > 100 ? `${words.slice(0, 100).trimEnd()}…` : words;
}

export function noSuchTopic(notebook: Notebook, asked: string): string {
  const there = notebook.topics("", 10);
  const hint =
    there.length > 0
      ? `there are notes on ${there.join(", ")}`
      : "no note has a topic yet; add_note can give it some";
  return `There are no notes on ${JSON.stringify(asked.slice(0, limits.topicLength))}; ${hint}.`;
}
