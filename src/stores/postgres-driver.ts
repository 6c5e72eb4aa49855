/** One way to send statements to PostgreSQL, whichever driver it is. */
import { StoreError } from "../core/store-error.ts";
import { Deadline, within } from "./deadline.ts";
import type { SqlRow, SqlValue } from "./sql.ts";

/** As much of a `Pool` of `pg` as is used. */
export interface PgPool {
  readonly options?: { readonly max?: number | undefined } | undefined;
  connect(): Promise<PgPoolClient>;
}

/** As much of a client of such a pool as is used. */
export interface PgPoolClient {
  query(config: PgQuery): Promise<{ readonly rows: readonly unknown[] }>;
  release(destroy?: boolean): void;
  on(event: "notification", listener: (told: PgNotification) => void): unknown;
  on(event: "error" | "end", listener: () => void): unknown;
  off(event: "notification", listener: (told: PgNotification) => void): unknown;
  off(event: "error" | "end", listener: () => void): unknown;
}

export interface PgQuery {
  readonly text: string;
  readonly values?: SqlValue[];
  readonly name?: string;
  readonly query_timeout?: number;
}

export interface PgNotification {
  readonly channel: string;
  readonly payload?: string | undefined;
}

/** As much of the tag that `postgres` makes as is used. */
export interface PostgresTag {
  unsafe(
    text: string,
    values?: SqlValue[],
    options?: { readonly prepare?: boolean },
  ): PromiseLike<readonly unknown[]>;
  listen(
    channel: string,
    onNotify: (payload: string) => void,
    onListen?: () => void,
  ): Promise<{ unlisten(): Promise<void> }>;
}

export type PostgresClient = PgPool | PostgresTag;

/** Hears what is told on a channel, and what becomes of hearing it. */
export interface Listening {
  readonly onNotify: (payload: string) => void;
  /** It hears from here on; what was told before was missed. */
  readonly onListen: () => void;
  /** It hears no more. */
  readonly onLost: () => void;
}

/** Connections as the stores use them. */
export interface PostgresConnection {
  /** @throws StoreError `away` when there is no answer in time */
  query(text: string, values: SqlValue[], timeoutMs: number): Promise<readonly SqlRow[]>;
  /** Several statements without values, as one step. */
  script(text: string, timeoutMs: number): Promise<void>;
  /** @returns what ends it; undefined where there is no connection to spare. */
  listen(
    channel: string,
    listening: Listening,
    timeoutMs: number,
  ): Promise<(() => void) | undefined>;
}

/** @throws TypeError when it is neither. */
export function toConnection(client: PostgresClient, prepares: boolean): PostgresConnection {
  if ("unsafe" in client && typeof client.unsafe === "function") return ofTag(client, prepares);
  if ("connect" in client && typeof client.connect === "function") return ofPool(client, prepares);
  throw new TypeError("the client is neither a Pool of pg nor the tag of postgres");
}

function ofPool(pool: PgPool, prepares: boolean): PostgresConnection {
  const deadline = new Deadline();
  const names = new Map<string, string>();
  const nameOf = (text: string): string => {
    const known = names.get(text) ?? `anyrev_${hash(text)}`;
    names.set(text, known);
    return known;
  };
  const use = async (query: PgQuery, timeoutMs: number): Promise<readonly unknown[]> => {
    const end = Date.now() + timeoutMs;
    const client = await take(pool, deadline, timeoutMs);
    const leftMs = Math.max(1, end - Date.now());
    // Out of its pool it has no other, and an error that nobody hears ends the process.
    client.on("error", ignore);
    try {
      const { rows } = await client.query({ ...query, query_timeout: leftMs });
      client.off("error", ignore);
      client.release();
      return rows;
    } catch (cause) {
      // After an error of the database's own the connection is as good as before. It is
      // listened to in case it is not: whoever releases it hears what comes after.
      client.release(!(stateOf(cause) ?? "away").match(/^(?:2|4)/));
      throw translate(cause);
    }
  };
  return {
    query: async (text, values, timeoutMs) => {
      const name = prepares ? { name: nameOf(text) } : {};
      return (await use({ text, values, ...name }, timeoutMs)) as SqlRow[];
    },
    script: async (text, timeoutMs) => void (await use({ text }, timeoutMs)),
    listen: async (channel, listening, timeoutMs) => {
      // A pool of one would have none left to work with.
      if (pool.options?.max === 1) return undefined;
      return listenOn(await take(pool, deadline, timeoutMs), channel, listening, timeoutMs);
    },
  };
}

/** A connection that comes too late goes back unused: nothing is sent after its caller was told. */
async function take(pool: PgPool, deadline: Deadline, timeoutMs: number): Promise<PgPoolClient> {
  let isLate = false;
  const connect = async (): Promise<PgPoolClient> => {
    const client = await pool.connect();
    if (isLate) client.release();
    return client;
  };
  try {
    return await deadline.wait(timeoutMs, connect);
  } catch (cause) {
    isLate = true;
    throw translate(cause);
  }
}

async function listenOn(
  client: PgPoolClient,
  channel: string,
  { onNotify, onListen, onLost }: Listening,
  timeoutMs: number,
): Promise<() => void> {
  const hear = (told: PgNotification): void => {
    if (told.channel === channel) onNotify(told.payload ?? "");
  };
  let isOver = false;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    client.off("notification", hear);
    client.off("end", lose);
    client.on("error", ignore);
    client.off("error", lose);
    client.release(true);
  };
  // Until it listens, what breaks it is told to whoever began: not twice, or it would begin twice.
  let isOpen = false;
  const lose = (): void => {
    end();
    if (isOpen) onLost();
  };
  client.on("notification", hear);
  client.on("error", lose);
  client.on("end", lose);
  try {
    await client.query({ text: `LISTEN ${channel}`, query_timeout: timeoutMs });
    if (isOver) throw new Error("the connection broke as soon as it listened");
  } catch (cause) {
    end();
    throw translate(cause);
  }
  isOpen = true;
  onListen();
  return end;
}

function ofTag(tag: PostgresTag, prepares: boolean): PostgresConnection {
  const deadline = new Deadline();
  // What is late is left to the driver. It can be told to take it back, but then it never uses
  // the connection again that it was about to send it by.
  const use = async (
    start: () => PromiseLike<readonly unknown[]>,
    timeoutMs: number,
  ): Promise<readonly unknown[]> => {
    try {
      return await deadline.wait(timeoutMs, start);
    } catch (cause) {
      throw translate(cause);
    }
  };
  return {
    query: async (text, values, timeoutMs) =>
      (await use(
        () => tag.unsafe(text, values, { prepare: prepares }),
        timeoutMs,
      )) as readonly SqlRow[],
    script: async (text, timeoutMs) => void (await use(() => tag.unsafe(text), timeoutMs)),
    listen: async (channel, { onNotify, onListen }, timeoutMs) => {
      // The driver connects anew by itself, and tells by `onListen` when it has.
      const opening = tag.listen(channel, onNotify, onListen);
      const { unlisten } = await within(timeoutMs, opening).catch((cause: unknown) => {
        opening.then(
          (late) => quietly(() => late.unlisten()),
          () => undefined,
        );
        throw translate(cause);
      });
      return () => quietly(unlisten);
    },
  };
}

/** What fails here is told to nobody: nobody waits for it, and there is nothing to be done. */
function quietly(run: () => unknown): void {
  new Promise((resolve) => resolve(run())).catch(() => undefined);
}

/** What a connection fails with is told to whoever waits for its answer. */
function ignore(): void {}

/** The SQLSTATE of an error (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
function stateOf(cause: unknown): string | undefined {
  if (typeof cause !== "object" || cause === null || !("code" in cause)) return undefined;
  const { code } = cause;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** Disk full, out of memory, and limits of the configuration. */
const full = /^(?:53100|53200|53400|54)/;
/** Broken connections, too many of them, a server that stops or starts, and a lost race. */
const passing = /^(?:08|53|57|58|40)/;

function translate(cause: unknown): unknown {
  if (cause instanceof StoreError) return cause;
  const state = stateOf(cause);
  if (state !== undefined && full.test(state)) {
    return new StoreError("full", "PostgreSQL has no room left", { cause, retryAfterMs: 60_000 });
  }
  // Any other is about the statement, and would be the same the next time.
  if (state !== undefined && !passing.test(state)) return cause;
  return new StoreError("away", "PostgreSQL could not be reached", { cause, retryAfterMs: 1_000 });
}

/** A short name for a statement (FNV-1a, twice over). */
function hash(text: string): string {
  let [a, b] = [0x811c9dc5, 0x01000193];
  for (let at = 0; at < text.length; at++) {
    a = Math.imul(a ^ text.charCodeAt(at), 0x01000193);
    b = Math.imul(b ^ text.charCodeAt(at), 0x85ebca6b);
  }
  return `${(a >>> 0).toString(36)}${(b >>> 0).toString(36)}`;
}
