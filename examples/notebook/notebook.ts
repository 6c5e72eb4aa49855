/** Notes in SQLite, with full-text search. Knows nothing of the protocol. */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { createSchema } from "./schema.ts";

export interface Note {
  readonly id: number;
  readonly title: string;
  readonly body: string;
  readonly topics: readonly string[];
  /** ISO 8601. */
  readonly updatedAt: string;
}

export type NoteText = Pick<Note, "title" | "body" | "topics">;

/** What is left out stays as it is. */
export type NoteChange = { readonly [K in keyof NoteText]?: NoteText[K] | undefined };

/** A note without its body, for lists. */
export type NoteHead = Omit<Note, "body"> & { readonly bytes: number };

export interface Hit extends Omit<Note, "body" | "updatedAt"> {
  /** Some of the body, the words that were found in `**`. */
  readonly snippet: string;
}

interface Row {
  readonly id: number;
  readonly title: string;
  readonly body: string;
  readonly topics: string;
  readonly updatedAt: string;
}

/** The topics of a note as a JSON array, sorted. */
const topicsColumn = `(SELECT json_group_array(topic) FROM
  (SELECT topic FROM topics WHERE note_id = notes.id ORDER BY topic)) AS topics`;
const noteColumns = `notes.id, notes.title, notes.body, notes.updated_at AS updatedAt, ${topicsColumn}`;
const headColumns = `notes.id, notes.title, octet_length(notes.body) AS bytes,
  notes.updated_at AS updatedAt, ${topicsColumn}`;
/** The last two parameters are a topic or null, twice: null is any topic. */
const ofTopic =
  "(? IS NULL OR EXISTS (SELECT 1 FROM topics WHERE note_id = notes.id AND topic = ?))";

export class Notebook {
  readonly #db: Database.Database;
  readonly #statements: ReturnType<typeof prepare>;

  /** Opens the file, and makes it and its folder where there is none; `:memory:` is no file. */
  constructor(path: string) {
    if (path !== ":memory:") mkdirSync(dirname(path), { recursive: true });
    this.#db = new Database(path);
    createSchema(this.#db);
    this.#statements = prepare(this.#db);
  }

  get size(): number {
    return this.#statements.count.get() ?? 0;
  }

  get(id: number): Note | undefined {
    return toNote(this.#statements.get.get(id));
  }

  head(id: number): NoteHead | undefined {
    return toNote(this.#statements.head.get(id));
  }

  heads(): NoteHead[] {
    return this.#statements.heads.all().flatMap((row) => toNote(row) ?? []);
  }

  /** One after the other, so that a large notebook is never in memory as a whole. */
  *notes(): Generator<Note> {
    for (const row of this.#statements.notes.iterate()) {
      const note = toNote(row);
      if (note !== undefined) yield note;
    }
  }

  add(text: NoteText): number {
    return this.#db.transaction(() => {
      const { lastInsertRowid } = this.#statements.insert.run(text.title, text.body, now());
      const id = Number(lastInsertRowid);
      this.#setTopics(id, text.topics);
      return id;
    })();
  }

  /** Changes what is given. @returns whether there is such a note. */
  edit(id: number, change: NoteChange): boolean {
    return this.#db.transaction(() => {
      const { title = null, body = null, topics } = change;
      const { changes } = this.#statements.update.run(title, body, now(), id);
      if (changes > 0 && topics !== undefined) this.#setTopics(id, topics);
      return changes > 0;
    })();
  }

  /** @returns whether there was such a note. */
  delete(id: number): boolean {
    return this.#statements.delete.run(id).changes > 0;
  }

  /** Best first. Every word must be in the note, as it is or as the beginning of a longer one. */
  search(words: string, limit: number, topic?: string): { hits: Hit[]; total: number } {
    const match = toMatch(words);
    if (match === undefined) return { hits: [], total: 0 };
    const of = topic ?? null;
    return {
      hits: this.#statements.search.all(match, of, of, limit).flatMap((row) => toNote(row) ?? []),
      total: this.#statements.countFound.get(match, of, of) ?? 0,
    };
  }

  /** Newest first. */
  onTopic(topic: string, limit: number): { notes: Note[]; total: number } {
    return {
      notes: this.#statements.onTopic.all(topic, limit).flatMap((row) => toNote(row) ?? []),
      total: this.#statements.countOnTopic.get(topic) ?? 0,
    };
  }

  /** The topics that begin like this, those with the most notes first. */
  topics(beginning: string, limit: number): string[] {
    return this.#statements.topics.all(beginning, limit);
  }

  /** The ids that begin with these digits, then those of notes that have these words. */
  suggestIds(typed: string, limit: number): string[] {
    const byId = this.#statements.idsLike.all(typed, limit);
    if (typed === "") return byId;
    const byWords = this.search(typed, limit).hits.map(({ id }) => String(id));
    return [...new Set([...byId, ...byWords])].slice(0, limit);
  }

  close(): void {
    this.#db.close();
  }

  #setTopics(id: number, topics: readonly string[]): void {
    this.#statements.clearTopics.run(id);
    for (const topic of topics) this.#statements.addTopic.run(id, topic);
  }
}

function prepare(db: Database.Database) {
  return {
    count: db.prepare<[], number>("SELECT count(*) FROM notes").pluck(),
    get: db.prepare<[number], Row>(`SELECT ${noteColumns} FROM notes WHERE id = ?`),
    head: db.prepare<[number], Omit<Row, "body"> & { bytes: number }>(
      `SELECT ${headColumns} FROM notes WHERE id = ?`,
    ),
    heads: db.prepare<[], Omit<Row, "body"> & { bytes: number }>(
      `SELECT ${headColumns} FROM notes ORDER BY id`,
    ),
    notes: db.prepare<[], Row>(`SELECT ${noteColumns} FROM notes ORDER BY id`),
    insert: db.prepare<[string, string, string]>(
      "INSERT INTO notes (title, body, updated_at) VALUES (?, ?, ?)",
    ),
    update: db.prepare<[string | null, string | null, string, number]>(
      `UPDATE notes SET title = coalesce(?, title), body = coalesce(?, body), updated_at = ?
       WHERE id = ?`,
    ),
    delete: db.prepare<[number]>("DELETE FROM notes WHERE id = ?"),
    clearTopics: db.prepare<[number]>("DELETE FROM topics WHERE note_id = ?"),
    addTopic: db.prepare<[number, string]>("INSERT OR IGNORE INTO topics VALUES (?, ?)"),
    // A word in the title counts five times one in the body.
    search: db.prepare<
      [string, string | null, string | null, number],
      Omit<Row, "body" | "updatedAt"> & { snippet: string }
    >(
      `SELECT notes.id, notes.title, ${topicsColumn},
         snippet(words, 1, '**', '**', '…', 24) AS snippet
       FROM words JOIN notes ON notes.id = words.rowid
       WHERE words MATCH ? AND ${ofTopic}
       ORDER BY bm25(words, 5.0, 1.0), notes.id LIMIT ?`,
    ),
    countFound: db
      .prepare<[string, string | null, string | null], number>(
        `SELECT count(*) FROM words JOIN notes ON notes.id = words.rowid
         WHERE words MATCH ? AND ${ofTopic}`,
      )
      .pluck(),
    onTopic: db.prepare<[string, number], Row>(
      `SELECT ${noteColumns} FROM notes JOIN topics ON topics.note_id = notes.id
       WHERE topics.topic = ? ORDER BY notes.updated_at DESC, notes.id DESC LIMIT ?`,
    ),
    countOnTopic: db
      .prepare<[string], number>("SELECT count(*) FROM topics WHERE topic = ?")
      .pluck(),
    topics: db
      .prepare<[string, number], string>(
        `SELECT topic FROM topics WHERE instr(topic, ?) = 1
         GROUP BY topic ORDER BY count(*) DESC, topic LIMIT ?`,
      )
      .pluck(),
    idsLike: db
      .prepare<[string, number], string>(
        `SELECT CAST(id AS TEXT) FROM notes WHERE instr(CAST(id AS TEXT), ?) = 1
         ORDER BY updated_at DESC, id DESC LIMIT ?`,
      )
      .pluck(),
  };
}

/**
 * What somebody typed, as an FTS5 query. The query language has operators and can be
 * malformed, so each word goes in as a quoted string, in which only `"` means something.
 * Undefined when there is no word in it: a string without letters and digits matches nothing.
 */
function toMatch(typed: string): string | undefined {
  const words = typed
    .split(/[\s\p{Cc}]+/u)
    .filter((word) => /[\p{L}\p{N}]/u.test(word))
    .slice(0, 20);
  if (words.length === 0) return undefined;
  return words.map((word) => `"${word.replaceAll('"', '""')}"*`).join(" ");
}

function toNote<R extends { readonly topics: string }>(
  row: R | undefined,
): (Omit<R, "topics"> & { readonly topics: readonly string[] }) | undefined {
  // The column is a JSON array of strings that SQLite itself has written.
  return row && { ...row, topics: JSON.parse(row.topics) as string[] };
}

function now(): string {
  return new Date().toISOString();
}
