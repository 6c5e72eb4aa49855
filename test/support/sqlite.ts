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
