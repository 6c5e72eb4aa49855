/** Every contract suite over a backend that workers share. */

import { setTimeout as delay } from "node:timers/promises";
import type { EventHub, KeyStore, OneTimeStore, SessionStore } from "anyrev";
import type { SharedStores, SharedStoresOptions } from "anyrev/stores/sqlite";
import {
  eventHubSuite,
  keyStoreSuite,
  type Opened,
  oneTimeStoreSuite,
  sessionCapsSuite,
  sessionStoreSuite,
} from "anyrev/testing";
import { describe, expect, test } from "vitest";
import { record } from "../../src/testing/record.ts";

/** Two workers over one place that nobody else uses. */
export interface Workers {
  readonly one: SharedStores;
  readonly other: SharedStores;
  /** Lets time pass, by making all that is kept so much older. */
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

export type OpenWorkers = (options?: SharedStoresOptions) => Promise<Workers>;

/** So long that nothing expires before a test lets the time pass. */
const ttlMs = 100_000;

/** Runs the suites of all contracts, each test over two workers of its own. */
export function describeStores(backend: string, open: OpenWorkers): void {
  const opened = async <T>(
    options: SharedStoresOptions,
    pick: (stores: SharedStores) => T,
  ): Promise<Opened & { one: T; other: T }> => {
    const { one, other, pass, close } = await open(options);
    return { one: pick(one), other: pick(other), ttlMs, pass, close };
  };
  const kept = async (options: SharedStoresOptions) => {
    const { one, other, ...rest } = await opened(options, ({ sessions }): SessionStore => sessions);
    return { store: one, other, ...rest };
  };

  describe.concurrent(`Events in ${backend}`, () => {
    eventHubSuite(
      async () => {
        const { one, ...rest } = await opened({ events: { ttlMs } }, ({ hub }): EventHub => hub);
        return { hub: one, ...rest };
      },
      { test },
    );
  });

  describe.concurrent(`Time in ${backend}`, () => {
    test("passes by itself, and ends what is kept", async () => {
      const { one, other, close } = await open({
        timeoutMs: 20_000,
        sessions: { ttlMs: 300 },
        events: { ttlMs: 300 },
      });
      const start = await one.hub.position("t");
      await one.sessions.create(record("a"));
      await one.hub.publish("t", "a");
      expect(await one.oneTime.claim("a", 300)).toBe(true);
      await delay(400);
      expect(await other.sessions.get("a")).toBeUndefined();
      expect(await other.hub.exists("t")).toBe(false);
      expect(await other.hub.follow("t", start, () => {}, AbortSignal.abort())).toBe(false);
      expect(await other.oneTime.claim("a", 300)).toBe(true);
      await close();
    });
  });

  describe.concurrent(`Sessions in ${backend}`, () => {
    sessionStoreSuite(() => kept({ sessions: { ttlMs } }), { test });
    sessionCapsSuite((sessions) => kept({ sessions }), { test });
  });

  describe.concurrent(`Used ids in ${backend}`, () => {
    oneTimeStoreSuite(
      async () => {
        const { one, ...rest } = await opened({}, ({ oneTime }): OneTimeStore => oneTime);
        return { store: one, ...rest };
      },
      { test },
    );
  });

  describe.concurrent(`Keys in ${backend}`, () => {
    keyStoreSuite(
      async () => {
        const keys = { rotateMs: ttlMs, retireMs: ttlMs };
        const { one, ...rest } = await opened({ keys }, (stores): KeyStore => stores.keys);
        return { store: one, ...rest };
      },
      { test },
    );
  });
}

let prefixes = 0;

/** A part of a server that nobody else uses. */
export function makePrefix(): string {
  return `t${process.pid}_${Date.now() % 100_000}_${++prefixes}`;
}

/** Where tables keep a time, apart from their prefix. */
export const stamps: readonly (readonly [table: string, column: string])[] = [
  ["sessions", "expires_at"],
  ["topics", "written_at"],
  ["topics", "used_at"],
  ["used", "expires_at"],
  ["keys", "made_at"],
  ["tasks", "due_at"],
];

/** Until a backend is there, however long a slow machine takes to make its tables. */
export async function warmUp({ sessions, hub }: SharedStores): Promise<void> {
  for (const end = Date.now() + 20_000; ; ) {
    try {
      await sessions.get("nobody");
      await hub.exists("nothing");
      return;
    } catch (cause) {
      if (Date.now() > end) throw cause;
    }
  }
}
