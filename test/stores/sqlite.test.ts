/** The contracts of the stores, kept by those in SQLite. */
import type { SqliteStoresOptions } from "anyrev/stores/sqlite";
import { describeLimits } from "../support/shared-limits.ts";
import { describeStores } from "../support/shared-stores.ts";
import { openSqlite, withBetterSqlite } from "../support/sqlite.ts";

const open = (options?: SqliteStoresOptions) => openSqlite(withBetterSqlite, options);

describeStores("SQLite", open);
describeLimits("SQLite", open);
