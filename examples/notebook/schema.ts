/** The tables of a notebook. */
import type { Database } from "better-sqlite3";

const version = 1;

const tables = `
  -- AUTOINCREMENT: the id of a deleted note is never given to another one.
  CREATE TABLE notes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    updated_at TEXT NOT NULL
  ) STRICT;

  CREATE TABLE topics (
    note_id INTEGER NOT NULL REFERENCES notes (id) ON DELETE CASCADE,
    topic TEXT NOT NULL,
    PRIMARY KEY (note_id, topic)
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX topics_by_name ON topics (topic);

  -- The index reads the text from the notes, and the triggers tell it of every change.
  CREATE VIRTUAL TABLE words USING fts5 (
    title, body,
    content = 'notes', content_rowid = 'id',
    tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
  );

  CREATE TRIGGER note_added AFTER INSERT ON notes BEGIN
    INSERT INTO words (rowid, title, body) VALUES (new.id, new.title, new.body);
  END;

  CREATE TRIGGER note_deleted AFTER DELETE ON notes BEGIN
    INSERT INTO words (words, rowid, title, body) VALUES ('delete', old.id, old.title, old.body);
  END;

  CREATE TRIGGER note_edited AFTER UPDATE ON notes BEGIN
    INSERT INTO words (words, rowid, title, body) VALUES ('delete', old.id, old.title, old.body);
    INSERT INTO words (rowid, title, body) VALUES (new.id, new.title, new.body);
  END;
`;

/** Makes the tables in a new file, and refuses a file that holds something else. */
export function createSchema(db: Database): void {
  db.pragma("journal_mode = WAL");
  db.pragma("foreign_keys = ON");
  db.pragma("busy_timeout = 5000");
  db.transaction(() => {
    const found = db.pragma("user_version", { simple: true });
    if (found === version) return;
    const count = db.prepare("SELECT count(*) FROM sqlite_schema").pluck().get();
    if (found !== 0 || count !== 0) throw new Error(`${db.name} is not a notebook of this version`);
    db.exec(tables);
    db.pragma(`user_version = ${version}`);
  }).immediate();
}
