/** What the notebook offers to clients: declared once, for every revision. */
import { createServer, type Declared, type Log, type Server } from "anyrev/node";
import { declareConversations } from "./conversations.ts";
import { limits } from "./limits.ts";
import { Notebook } from "./notebook.ts";
import { bookUri, review, toMarkdown, uriOf, writeBook } from "./pages.ts";
import { declareTools } from "./tools.ts";

export interface NotebookOptions {
  /** The file that holds the notes; `:memory:` for none. */
  readonly path: string;
  readonly log?: Log | undefined;
}

export interface NotebookServer {
  readonly server: Server;
  /** Closes the file. To be called once nothing is served any more. */
  readonly close: () => void;
}

export function createNotebook({ path, log }: NotebookOptions): NotebookServer {
  const notebook = new Notebook(path);
  const server = createServer({
    name: "notebook",
    version: "1.0.0",
    title: "Notebook",
    description: "Keeps notes, and finds them again.",
    instructions:
      "Search before you add, so that one thing is not noted twice. A note is also a resource, note://<id>; the whole book is note://book.",
    log,
  });
  const changed = listNotes(server, notebook);
  declareTools(server, notebook, changed);
  declareConversations(server, notebook, changed);
  declareBook(server, notebook);
  declareTemplate(server, notebook);
  declareReview(server, notebook);
  return { server, close: () => notebook.close() };
}

/**
 * Lists every note as a resource, and tells who holds a copy when one has changed.
 *
 * @returns what to call when a note has come, changed or gone.
 */
function listNotes(server: Server, notebook: Notebook): (id: number) => void {
  const listed = new Map<number, Declared>();
  const update = (id: number, head = notebook.head(id)): void => {
    listed.get(id)?.remove();
    listed.delete(id);
    if (head === undefined) return;
    const declared = server.resource(
      uriOf(id),
      {
        name: head.title,
        title: head.title,
        description: head.topics.length > 0 ? `On ${head.topics.join(", ")}.` : undefined,
        mimeType: "text/markdown",
        size: head.bytes,
        annotations: { lastModified: head.updatedAt },
      },
      () => read(notebook, id),
    );
    listed.set(id, declared);
  };
  for (const head of notebook.heads()) update(head.id, head);
  return (id) => {
    // Listing it anew announces the list by itself.
    update(id);
    server.changed(uriOf(id));
    server.changed(bookUri);
  };
}

function declareBook(server: Server, notebook: Notebook): void {
  server.resource(
    bookUri,
    {
      name: "The whole book",
      title: "The whole book",
      description: "Every note, one after the other.",
      mimeType: "text/markdown",
    },
    () => writeBook(notebook),
  );
}

/** Also finds the notes that another process has added to the file since it was opened. */
function declareTemplate(server: Server, notebook: Notebook): void {
  server.template(
    "note://{id}",
    {
      name: "A note",
      title: "A note by its id",
      description: "One note. Its id is the number that add_note and search_notes give.",
      mimeType: "text/markdown",
      complete: { id: (typed) => notebook.suggestIds(typed, limits.suggestions) },
    },
    ({ id }) => (/^[1-9]\d{0,14}$/.test(id) ? read(notebook, Number(id)) : undefined),
  );
}

function declareReview(server: Server, notebook: Notebook): void {
  server.prompt(
    "review_notes",
    {
      title: "Review notes",
      description: "Goes through the notes on a topic: what is done, open, or contradictory.",
      arguments: {
        topic: {
          title: "Topic",
          description: "One of the topics that notes have.",
          required: true,
          complete: (typed) => notebook.topics(typed.trim().toLowerCase(), limits.suggestions),
        },
      },
    },
    ({ topic }) => review(notebook, topic),
  );
}

function read(notebook: Notebook, id: number): string | undefined {
  const note = notebook.get(id);
  return note && toMarkdown(note);
}
