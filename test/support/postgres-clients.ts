/** Clients of both drivers of PostgreSQL. */
import type { PostgresClient } from "anyrev/stores/postgres";
import pg from "pg";
import postgres from "postgres";
import { stamps } from "./shared-stores.ts";

export interface ConnectedPostgres {
  readonly client: PostgresClient;
  close(): Promise<unknown>;
}

/** By the name of their package. */
export const postgresDrivers: Readonly<Record<string, (url: string) => ConnectedPostgres>> = {
  pg: (url) => {
    const pool = new pg.Pool({ connectionString: url, max: 5 });
    pool.on("error", () => undefined);
    return { client: pool, close: () => pool.end() };
  },
  postgres: (url) => {
    const sql = postgres(url, {
      max: 5,
      onnotice: () => undefined,
      // By default it waits for up to 20 seconds before it connects anew.
      backoff: () => 0.2,
      // What it fetches is not used, and if that fails nobody hears of it: the process ends.
      fetch_types: false,
    });
    return { client: sql, close: () => sql.end({ timeout: 0 }) };
  },
};

/** Makes all that is kept under a prefix so much older. */
export async function passInPostgres(url: string, prefix: string, ms: number): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const [table, column] of stamps) {
    await client.query(`UPDATE ${prefix}_${table} SET ${column} = ${column} - $1`, [ms]);
  }
  await client.end();
}
