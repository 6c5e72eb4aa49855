/** Servers under test: called in memory by a client of any revision, or by one of each. */
import type { Client } from "../client/client.ts";
import { type ConnectOptions, connectTo, duplexTarget } from "../client/connect.ts";
import { memoryDuplex } from "../client/duplex.ts";
import type { Server } from "../core/server.ts";
import { openMemoryChannel } from "../server/memory-channel.ts";
import type { Awaitable } from "../util/awaitable.ts";

/** The revision of a client; every one that servers are served in. */
export type Revision = "2026-07-28" | "2025-11-25" | "2025-06-18" | "2025-03-26" | "2024-11-05";

/** All of them, newest first. */
export const revisions: readonly Revision[] = Object.freeze([
  "2026-07-28",
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
] as const);

export interface InMemoryOptions extends Omit<ConnectOptions, "revisions"> {
  /** @default what client and server settle on, the newest */
  readonly revision?: Revision | undefined;
}

export interface EveryRevisionOptions extends Omit<ConnectOptions, "revisions"> {
  /** Those to check in. @default all of them */
  readonly revisions?: readonly Revision[] | undefined;
}

/** What goes on in a test: the client is closed afterwards. */
export type Check = (client: Client, revision: Revision) => Awaitable<unknown>;

/**
 * Connects a client to a server of this program, without a socket or a process. Both sides write
 * and read messages as they would over a wire. Close the client at the end of the test.
 *
 * @throws ClientError where the server cannot be spoken with
 */
export function connectInMemory(
  server: Server,
  { revision, ...options }: InMemoryOptions = {},
): Promise<Client> {
  const target = duplexTarget(() =>
    memoryDuplex((onMessage) => openMemoryChannel(server, onMessage)),
  );
  return connectTo(target, { ...options, revisions: revision });
}

/**
 * Runs one check in every revision, one after the other, each with a client of its own.
 *
 * @param server - what is called, or what makes a fresh one for each revision, so that what one
 *   check leaves behind is not there for the next
 * @throws what the first check that failed has thrown, its message beginning with the revisions
 *   in which checks failed
 */
export async function everyRevision(
  server: Server | (() => Awaitable<Server>),
  check: Check,
  options: EveryRevisionOptions = {},
): Promise<void> {
  const { revisions: checked = revisions, ...connecting } = options;
  const failures: Failure[] = [];
  for (const revision of checked) {
    try {
      const called = typeof server === "function" ? await server() : server;
      const client = await connectInMemory(called, { ...connecting, revision });
      try {
        await check(client, revision);
      } finally {
        await client.close();
      }
    } catch (cause) {
      failures.push({ revision, cause });
    }
  }
  const [first] = failures;
  if (first !== undefined) throw named(first.cause, failures);
}

interface Failure {
  readonly revision: Revision;
  readonly cause: unknown;
}

/** The error itself, so that a test runner shows its place and what differs as ever. */
function named(cause: unknown, failures: readonly Failure[]): Error {
  const error = cause instanceof Error && !Object.isFrozen(cause) ? cause : wrapped(cause);
  const { message, stack } = error;
  error.message = describeAll(failures);
  // The stack begins with the message as it was.
  if (stack !== undefined) error.stack = stack.replace(message, () => error.message);
  return error;
}

function wrapped(cause: unknown): Error {
  return new Error(messageOf(cause), { cause });
}

/** Each message once, with the revisions that it came up in. */
function describeAll(failures: readonly Failure[]): string {
  const found = new Map<string, Revision[]>();
  for (const { revision, cause } of failures) {
    const message = messageOf(cause);
    found.set(message, [...(found.get(message) ?? []), revision]);
  }
  return [...found].map(([message, where]) => `in ${where.join(", ")}: ${message}`).join("\n");
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
