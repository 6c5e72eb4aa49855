/** What the suites for shared stores find in those that break a promise. */
import {
  type EventHub,
  type KeyStore,
  MemoryHub,
  MemoryKeys,
  MemoryOneTime,
  MemorySessions,
  type SessionStore,
  StoreError,
} from "anyrev";
import {
  keyStoreSuite,
  type OpenedFaultyStores,
  sessionCapsSuite,
  storeFaultsSuite,
} from "anyrev/testing";
import { describe, expect, test } from "vitest";
import { withMethods } from "../support/hubs.ts";
import { runSuite, stand } from "../support/suite.ts";

const keysThat: Readonly<Record<string, (keys: MemoryKeys) => KeyStore>> = {
  "takes none": (keys) => ({ read: () => keys.read(), rotate: () => keys.read() }),
  "takes every key": (keys) => {
    const taken: { bytes: Uint8Array; ageMs: number }[] = [];
    return {
      read: () => taken,
      rotate: (bytes) => {
        keys.rotate(bytes);
        return [{ bytes, ageMs: 0 }, ...taken.splice(0, taken.length, { bytes, ageMs: 0 })];
      },
    };
  },
  "forgets what it has replaced": (keys) => ({
    read: () => keys.read().slice(0, 1),
    rotate: (key) => keys.rotate(key).slice(0, 1),
  }),
  "has the oldest in front": (keys) => ({
    read: () => keys.read().toReversed(),
    rotate: (key) => keys.rotate(key).toReversed(),
  }),
  "drops a bit": (keys) => ({
    read: () => keys.read(),
    rotate: (key) => keys.rotate(key.length === 32 ? key.map((byte) => byte & 0x7f) : key),
  }),
};

describe.concurrent("The suite of rings of keys refuses one that", () => {
  test.each(Object.entries(keysThat))("%s", async (_, spoil) => {
    const open = () => {
      const { now, pass } = stand();
      const keys = new MemoryKeys({ rotateMs: 1_000, retireMs: 1_000, now });
      return { store: spoil(keys), ttlMs: 1_000, pass };
    };
    const { failures } = await runSuite((runner) => keyStoreSuite(open, runner));
    expect(failures.size).toBeGreaterThan(0);
  });
});

type Caps = NonNullable<ConstructorParameters<typeof MemorySessions>[0]>;

const capsThat: Readonly<Record<string, (caps: Caps) => SessionStore>> = {
  "has none": ({ now }) => new MemorySessions({ now }),
  "counts all together": ({ maxSessionsPerPrincipal: _, ...caps }) => new MemorySessions(caps),
  "counts nobody in particular as somebody": (caps) => {
    const store = new MemorySessions(caps);
    return {
      create: (record) => store.create({ ...record, principal: record.principal || "nobody" }),
      get: (id) => store.get(id),
      save: (record, version) => store.save(record, version),
      touch: (id) => store.touch(id),
      delete: (id) => store.delete(id),
    };
  },
  "takes a record of any size": ({ maxLength: _, ...caps }) => new MemorySessions(caps),
};

describe.concurrent("The suite of capped sessions refuses a store that", () => {
  test.each(Object.entries(capsThat))("%s", async (_, spoil) => {
    const { count, failures } = await runSuite((runner) =>
      sessionCapsSuite((caps) => {
        const { now, pass } = stand();
        return { store: spoil({ ...caps, now }), ttlMs: 3_600_000, pass };
      }, runner),
    );
    expect(failures.size).toBeGreaterThan(0);
    expect(failures.size).toBeLessThan(count);
  });
});

interface Failing extends OpenedFaultyStores {
  fault: string;
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Stores in memory, of which the hub does what a fault makes it do. */
function openFailing(): Failing {
  const hub = new MemoryHub();
  const opened: Failing = { fault: "", one: { ...stores(hub) }, other: { ...stores(hub) } };
  const publish: EventHub["publish"] = async (topic, data) => {
    switch (opened.fault) {
      case "away":
        throw new StoreError("away", "away");
      case "broken":
        throw new Error("broken");
      case "slow":
        await wait(2_100);
        break;
      case "doubling":
        hub.publish(topic, data);
        break;
      case "losing":
        return hub.position(topic);
    }
    return hub.publish(topic, data);
  };
  const one = { ...opened.one, hub: withMethods(hub, { publish }) };
  return Object.assign(opened, { one, other: { ...one, hub } });
}

function stores(hub: EventHub) {
  return { hub, sessions: new MemorySessions(), oneTime: new MemoryOneTime() };
}

describe.concurrent("The suite of faults", () => {
  const during = (fault: string) => async (opened: Failing) => {
    opened.fault = fault;
    await wait(100);
    opened.fault = "";
  };

  test("takes stores that are away for a while", async () => {
    const faults = { "they are away": during("away"), "nothing happens": during("") };
    const { failures } = await runSuite((runner) => storeFaultsSuite(openFailing, faults, runner));
    expect([...failures]).toEqual([]);
  });

  test.each(["broken", "slow", "doubling", "losing"])("refuses a hub that is %s", async (fault) => {
    const { failures } = await runSuite((runner) =>
      storeFaultsSuite(openFailing, { fault: during(fault) }, runner),
    );
    expect(failures.size).toBe(1);
  });

  test("refuses stores that do not come back", async () => {
    const stay = (opened: Failing): void => {
      opened.fault = "away";
    };
    const { failures } = await runSuite((runner) =>
      storeFaultsSuite(openFailing, { "they are gone": stay }, runner),
    );
    expect([...failures.values()].join()).toContain("worked again");
  });
});
