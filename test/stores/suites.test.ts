/** What the contract suites find in stores that break a promise. */
import { type EventHub, MemorySessions, type SessionStore } from "anyrev";
import {
  eventHubSuite,
  type OpenedHub,
  type OpenedSessionStore,
  sessionStoreSuite,
} from "anyrev/testing";
import { describe, expect, test } from "vitest";
import { later, openHub, openSessions, runSuite } from "../support/suite.ts";

describe.concurrent("A suite", () => {
  test("closes what it opened, also where a test fails", async () => {
    let open = 0;
    const opened = (): OpenedHub => {
      open++;
      const { hub, ...rest } = openHub();
      return { ...rest, hub: broken.silent(hub), close: () => void open-- };
    };
    const { count, failures } = await runSuite((runner) => eventHubSuite(opened, runner));
    expect(failures.size).toBeGreaterThan(0);
    expect(failures.size).toBeLessThan(count);
    expect(open).toBe(0);
  });

  test("passes as a whole under a runner that only collects", async () => {
    const { count, failures } = await runSuite((runner) => eventHubSuite(openHub, runner));
    expect([...failures]).toEqual([]);
    expect(count).toBeGreaterThan(15);
  });
});

type Breaks<T> = Readonly<Record<string, (whole: T) => T>>;

/** Hubs of which each breaks one promise. */
const broken = {
  silent: (hub: EventHub): EventHub => ({ ...methodsOf(hub), follow: () => true }),
  "late to stop": (hub) => ({
    ...methodsOf(hub),
    follow: (topic, after, onEvent) =>
      hub.follow(topic, after, onEvent, new AbortController().signal),
  }),
  "without a backlog": (hub) => ({
    ...methodsOf(hub),
    follow: (topic, _, onEvent, signal) =>
      hub.follow(topic, hub.position(topic) as string, onEvent, signal),
  }),
  "mute about loss": (hub) => ({
    ...methodsOf(hub),
    follow: async (topic, after, onEvent, signal) =>
      (await hub.follow(topic, after, onEvent, signal)) ||
      hub.follow(topic, await hub.position(topic), onEvent, signal),
  }),
  "of one topic": (hub) => ({
    ...methodsOf(hub),
    publish: (_, data) => hub.publish("t", data),
    follow: (_, after, onEvent, signal) => hub.follow("t", after, onEvent, signal),
    position: () => hub.position("t"),
    exists: () => hub.exists("t"),
  }),
  "that repeats": (hub) => ({
    ...methodsOf(hub),
    publish: async (topic, data) => {
      await hub.publish(topic, data);
      return hub.publish(topic, data);
    },
  }),
  "that reorders": (hub) => {
    let held: [string, string] | undefined;
    return {
      ...methodsOf(hub),
      publish: async (topic, data) => {
        const before = held;
        held = before === undefined ? [topic, data] : undefined;
        if (before === undefined) return hub.position(topic);
        await hub.publish(topic, data);
        return hub.publish(...before);
      },
    };
  },
  "in which every topic exists": (hub) => ({ ...methodsOf(hub), exists: () => true }),
  "in which no topic exists": (hub) => ({ ...methodsOf(hub), exists: () => false }),
  "in which topics go on to exist": (hub) => {
    const known = new Set<string>();
    return {
      ...methodsOf(hub),
      publish: (topic, data) => {
        known.add(topic);
        return hub.publish(topic, data);
      },
      exists: (topic) => known.has(topic),
    };
  },
  "in which topics exist that are followed": (hub) => {
    const known = new Set<string>();
    return {
      ...methodsOf(hub),
      follow: (topic, ...rest) => {
        known.add(topic);
        return hub.follow(topic, ...rest);
      },
      exists: async (topic) => known.has(topic) || hub.exists(topic),
    };
  },
  "that never deletes": (hub) => ({ ...methodsOf(hub), delete: () => undefined }),
  "that loses between": (hub) => ({
    ...methodsOf(hub),
    follow: async (topic, after, onEvent, signal) => {
      const known = await hub.follow(topic, after, onEvent, AbortSignal.timeout(0));
      await new Promise((resolve) => setTimeout(resolve, 2));
      if (known) await hub.follow(topic, await hub.position(topic), onEvent, signal);
      return known;
    },
  }),
} satisfies Breaks<EventHub>;

/** Stores of which each breaks one promise. */
const brokenStores: Breaks<SessionStore> = {
  "that saves over anything": (store) => ({
    ...storeMethodsOf(store),
    save: async (record) => {
      const kept = await store.get(record.id);
      return kept !== undefined && store.save(record, kept.writeVersion);
    },
  }),
  "that never expires": (store) => {
    const kept = later(new MemorySessions());
    return { ...storeMethodsOf(store), ...storeMethodsOf(kept) };
  },
  "that lives on for being read": (store) => ({
    ...storeMethodsOf(store),
    get: (id) => store.touch(id),
  }),
  "that does not touch": (store) => ({
    ...storeMethodsOf(store),
    touch: (id) => store.get(id),
  }),
  "that says it deleted": (store) => ({
    ...storeMethodsOf(store),
    delete: async (id) => {
      await store.delete(id);
      return true;
    },
  }),
  "that drops what it does not know": (store) => ({
    ...storeMethodsOf(store),
    create: ({ subscriptions: _, ...record }) => store.create({ ...record, subscriptions: [] }),
  }),
  "that compares too late": (store) => ({
    ...storeMethodsOf(store),
    save: async (record, version) => {
      const kept = await store.get(record.id);
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (kept?.writeVersion !== version) return false;
      const now = await store.get(record.id);
      return now !== undefined && store.save(record, now.writeVersion);
    },
  }),
};

function methodsOf(hub: EventHub): EventHub {
  return {
    publish: (...args) => hub.publish(...args),
    position: (...args) => hub.position(...args),
    exists: (...args) => hub.exists(...args),
    follow: (...args) => hub.follow(...args),
    delete: (...args) => hub.delete(...args),
  };
}

function storeMethodsOf(store: SessionStore): SessionStore {
  return {
    create: (...args) => store.create(...args),
    get: (...args) => store.get(...args),
    save: (...args) => store.save(...args),
    touch: (...args) => store.touch(...args),
    delete: (...args) => store.delete(...args),
  };
}

describe.concurrent("The suite of event hubs refuses a hub", () => {
  test.each(Object.entries<(hub: EventHub) => EventHub>(broken))("%s", async (_, spoil) => {
    const open = (): OpenedHub => {
      const opened = openHub();
      return { ...opened, hub: spoil(opened.hub) };
    };
    const { count, failures } = await runSuite((runner) => eventHubSuite(open, runner));
    expect(failures.size).toBeGreaterThan(0);
    expect(failures.size).toBeLessThan(count);
  });
});

describe.concurrent("The suite of session stores refuses a store", () => {
  test.each(Object.entries(brokenStores))("%s", async (_, spoil) => {
    const open = (): OpenedSessionStore => {
      const opened = openSessions();
      return { ...opened, store: spoil(opened.store) };
    };
    const { count, failures } = await runSuite((runner) => sessionStoreSuite(open, runner));
    expect(failures.size).toBeGreaterThan(0);
    expect(failures.size).toBeLessThan(count);
  });
});
