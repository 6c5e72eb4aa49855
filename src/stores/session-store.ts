/** The contract of a place that keeps handshake sessions, for one worker or for many. */
import type { LogLevel } from "../core/call.ts";
import type { ClientCapabilities, Implementation } from "../core/model.ts";
import type { Awaitable } from "../util/awaitable.ts";
import type { JsonObject } from "../util/json.ts";

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
  /** Who opened it; "" where nobody had to say who they are. */
  readonly principal: string;
  /** What handlers keep with the session. */
  readonly values: JsonObject;
  /** Counts the saves, so that two writers cannot undo each other. */
  readonly writeVersion: number;
}

/**
 * Records expire by the store's clock, some time after they were last created, saved or
 * touched. An expired record is as if it never was.
 *
 * A store is capped, and makes room by ending the session that was longest idle: of the
 * principal that has too many, or of all. A flood of handshakes fills nothing then, and
 * locks nobody out. `sessionStoreSuite` of `anyrev/testing` has these promises as tests.
 */
export interface SessionStore {
  /**
   * Keeps a new record. Its id is not in use.
   *
   * @throws StoreError `too-large` when the record is larger than the store takes
   */
  create(record: SessionRecord): Awaitable<void>;
  get(id: string): Awaitable<SessionRecord | undefined>;
  /**
   * Replaces the record if it is still there at `writeVersion`, and counts one up.
   *
   * @returns whether it did; when not, read it again and decide again.
   * @throws StoreError `too-large` when the record is larger than the store takes
   */
  save(record: SessionRecord, writeVersion: number): Awaitable<boolean>;
  /**
   * Puts the expiry off, and reads: what every request of a session begins with, so it is
   * one step. A store may skip the write while more than nine tenths of the time are left.
   *
   * @returns the record, if it is there
   */
  touch(id: string): Awaitable<SessionRecord | undefined>;
  /** @returns whether the record was there. */
  delete(id: string): Awaitable<boolean>;
}

/** What every session store of anyrev can be told. */
export interface SessionStoreOptions {
  /** How long a session lives without a request, in milliseconds. @default 3600000 */
  readonly ttlMs?: number | undefined;
  /**
   * How many sessions there are at most. Past it the one that was longest idle ends, and its
   * client starts anew: a flood of handshakes cannot fill the store, nor lock anyone out.
   * @default 10000
   */
  readonly maxSessions?: number | undefined;
  /**
   * How many of them one principal has at most; past it the principal's own longest idle one
   * ends, so that nobody's flood ends the sessions of others. Sessions of nobody in
   * particular (`principal: ""`) are not counted together. @default 1000
   */
  readonly maxSessionsPerPrincipal?: number | undefined;
  /**
   * Characters of a record as JSON at most, with the session's own values. What is larger is
   * refused with a StoreError, `too-large`. @default 262144
   */
  readonly maxLength?: number | undefined;
}

/** How a {@link SessionStoreOptions} is read. */
export type SessionLimits = { readonly [name in keyof SessionStoreOptions]-?: number };

export function toSessionLimits(options: SessionStoreOptions = {}): SessionLimits {
  return {
    ttlMs: options.ttlMs ?? 3_600_000,
    maxSessions: options.maxSessions ?? 10_000,
    maxSessionsPerPrincipal: options.maxSessionsPerPrincipal ?? 1_000,
    maxLength: options.maxLength ?? 262_144,
  };
}
