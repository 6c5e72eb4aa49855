/** The contracts of the stores, kept by those in memory. */
import { MemoryHub } from "anyrev";
import {
  eventHubSuite,
  type OpenedHub,
  type OpenedSessionStore,
  sessionStoreSuite,
} from "anyrev/testing";
import { describe, test } from "vitest";
import { later, openHub, openSessions } from "../support/suite.ts";

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

describe("Events in memory by the time of day", () => {
  const open = (): OpenedHub => ({ hub: new MemoryHub({ ttlMs: 100 }), ttlMs: 100 });
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
