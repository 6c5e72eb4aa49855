/** The contracts of the stores, kept by those in SQLite, over each driver. */
import { describeLimits } from "../support/shared-limits.ts";
import { describeStores, type OpenWorkers } from "../support/shared-stores.ts";
import { openSqlite, withBetterSqlite, withNodeSqlite } from "../support/sqlite.ts";

const drivers = { "better-sqlite3": withBetterSqlite, "node:sqlite": withNodeSqlite };

for (const [driver, connect] of Object.entries(drivers)) {
  const open: OpenWorkers = (options) => openSqlite(connect, options);
  describeStores(`SQLite over ${driver}`, open);
  describeLimits(`SQLite over ${driver}`, open);
}
