/** Every contract suite over a backend that workers share. */
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
import { describe, test } from "vitest";

/** Two workers over one place that nobody else uses. */
export interface Workers {
  readonly one: SharedStores;
  readonly other: SharedStores;
  close(): Promise<void>;
}

export type OpenWorkers = (options?: SharedStoresOptions) => Promise<Workers>;

/** So short that a test may wait for it, so long that a slow machine gets something done. */
const ttlMs = 1_000;

/** Runs the suites of all contracts, each test over two workers of its own. */
export function describeStores(backend: string, open: OpenWorkers): void {
  const opened = async <T>(
    options: SharedStoresOptions,
    pick: (stores: SharedStores) => T,
  ): Promise<Opened & { one: T; other: T }> => {
    const { one, other, close } = await open(options);
    return { one: pick(one), other: pick(other), ttlMs, close };
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
