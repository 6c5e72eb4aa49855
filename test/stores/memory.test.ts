/** The contracts of the stores, kept by those in memory. */
import { MemoryHub, MemoryKeys, MemorySessions } from "anyrev";
import {
  eventHubSuite,
  keyStoreSuite,
  type OpenedHub,
  type OpenedKeyStore,
  type OpenedSessionStore,
  sessionCapsSuite,
  sessionStoreSuite,
} from "anyrev/testing";
import { describe, test } from "vitest";
import { later, openHub, openSessions, stand } from "../support/suite.ts";

describe("Events in memory", () => {
  eventHubSuite(openHub, { test });
});

describe("Events that come later", () => {
  const open = (): OpenedHub => {
    const opened = openHub();
    return { ...opened, hub: later(opened.hub), other: later(opened.hub) };
  };
  eventHubSuite(open, { test });
});

describe.concurrent("Events in memory by the time of day", () => {
  // Longer than any test takes that does not wait for it.
  const ttlMs = 1_000;
  const open = (): OpenedHub => ({ hub: new MemoryHub({ ttlMs }), ttlMs });
  eventHubSuite(open, { test });
});

describe("Sessions in memory", () => {
  sessionStoreSuite(openSessions, { test });
});

describe("Sessions that come later", () => {
  const open = (): OpenedSessionStore => {
    const opened = openSessions();
    return { ...opened, store: later(opened.store), other: later(opened.store) };
  };
  sessionStoreSuite(open, { test });
});

describe("Sessions in memory, at their caps", () => {
  sessionCapsSuite(
    (caps) => {
      const { now, pass } = stand();
      return { store: new MemorySessions({ ...caps, now }), ttlMs: 3_600_000, pass };
    },
    { test },
  );
});

const openKeys = (): OpenedKeyStore => {
  const { now, pass } = stand();
  const store = new MemoryKeys({ rotateMs: 1_000, retireMs: 1_000, now });
  return { store, ttlMs: 1_000, pass };
};

describe("Keys in memory", () => {
  keyStoreSuite(openKeys, { test });
});

describe("Keys that come later", () => {
  const open = (): OpenedKeyStore => {
    const opened = openKeys();
    return { ...opened, store: later(opened.store), other: later(opened.store) };
  };
  keyStoreSuite(open, { test });
});
