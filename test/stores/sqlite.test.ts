/** The contracts of the stores, kept by those in SQLite. */
import { describeStores } from "../support/shared-stores.ts";
import { openSqlite, withBetterSqlite } from "../support/sqlite.ts";

describeStores("SQLite over better-sqlite3", (options) => openSqlite(withBetterSqlite, options));
