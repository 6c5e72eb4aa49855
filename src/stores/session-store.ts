/** The contract of a place that keeps handshake sessions, for one worker or for many. */
import type { LogLevel } from "../core/call.ts";
import type { ClientCapabilities, Implementation } from "../core/model.ts";
import type { Awaitable } from "../util/awaitable.ts";

export interface SessionRecord {
  /** The value of `Mcp-Session-Id`: visible ASCII, not to be guessed. */
  readonly id: string;
  /** The version that the handshake settled on. */
  readonly revision: string;
  readonly client: Implementation | undefined;
  readonly capabilities: ClientCapabilities;
  readonly logLevel: LogLevel | undefined;
  /** The resources whose changes the session wants to hear of. */
  readonly subscriptions: readonly string[];
  /** Counts the saves, so that two writers cannot undo each other. */
  readonly writeVersion: number;
}

/**
 * Records expire by the store's clock, some time after they were last created, saved or
 * touched. An expired record is as if it never was.
 */
export interface SessionStore {
  /** Keeps a new record. Its id is not in use. */
  create(record: SessionRecord): Awaitable<void>;
  get(id: string): Awaitable<SessionRecord | undefined>;
  /**
   * Replaces the record if it is still there at `writeVersion`, and counts one up.
   *
   * @returns whether it did; when not, read it again and decide again.
   */
  save(record: SessionRecord, writeVersion: number): Awaitable<boolean>;
  /** Puts the expiry off. @returns whether the record is there. */
  touch(id: string): Awaitable<boolean>;
  /** @returns whether the record was there. */
  delete(id: string): Awaitable<boolean>;
}
