/** SQLite files that are gone after the test, and connections of two kinds. */
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import {
  createSqliteStores,
  type SqliteDatabase,
  type SqliteStoresOptions,
} from "anyrev/stores/sqlite";
import Database from "better-sqlite3";
import { inject } from "vitest";
import { stamps, type Workers } from "./shared-stores.ts";

export interface OpenDatabase extends SqliteDatabase {
  close(): unknown;
}

export type Connect = (path: string) => OpenDatabase;

export const withBetterSqlite: Connect = (path) => new Database(path);

interface NodeSqlite {
  readonly DatabaseSync: new (path: string) => OpenDatabase;
}

/** That of Node itself from 22.5 on; before, one that has its shape and its errors. */
export const withNodeSqlite: Connect = (path) => {
  const load = (process as { getBuiltinModule?(id: string): NodeSqlite | undefined })
    .getBuiltinModule;
  const sqlite = load?.call(process, "node:sqlite");
  return sqlite === undefined ? standIn(path) : new sqlite.DatabaseSync(path);
};

function standIn(path: string): OpenDatabase {
  const db = new Database(path);
  const fails = <T>(run: () => T): T => {
    try {
      return run();
    } catch (cause) {
      const { code, message } = cause as { code?: string; message: string };
      if (!code?.startsWith("SQLITE_BUSY")) throw cause;
      throw Object.assign(new Error(message), { code: "ERR_SQLITE_ERROR", errcode: 5 });
    }
  };
  const bare = (row: unknown): unknown => Object.assign(Object.create(null), row);
  return {
    close: () => db.close(),
    prepare: (text) => {
      const statement = fails(() => db.prepare(text));
      const known = new Set(text.match(/(?<=:)\w+/g));
      const check = (params: object): object => {
        const unknown = Object.keys(params).filter((name) => !known.has(name));
        if (unknown.length > 0) throw new Error(`Unknown named parameter '${unknown[0]}'`);
        return params;
      };
      return {
        run: (params) => fails(() => statement.run(check(params))),
        get: (params) => fails(() => bare(statement.get(check(params)))),
        all: (params) => fails(() => statement.all(check(params)).map(bare)),
      };
    },
  };
}

export async function makeFolder(): Promise<string> {
  return mkdtemp(join(inject("serversFolder"), "sqlite-"));
}

/** Two workers over a new file, each with a connection of its own. */
export async function openSqlite(
  connect: Connect,
  options?: SqliteStoresOptions,
): Promise<Workers> {
  const folder = await makeFolder();
  const path = join(folder, "stores.db");
  const [first, second] = [connect(path), connect(path)];
  const [one, other] = [createSqliteStores(first, options), createSqliteStores(second, options)];
  return {
    one,
    other,
    pass: async (ms) => {
      for (const [table, column] of stamps) {
        first.prepare(`UPDATE anyrev_${table} SET ${column} = ${column} - :ms`).run({ ms });
      }
    },
    close: async () => {
      await Promise.all([one.close(), other.close()]);
      first.close();
      second.close();
      await rm(folder, { recursive: true });
    },
  };
}
