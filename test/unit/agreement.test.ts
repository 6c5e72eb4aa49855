/** What an operator is told when workers start that do not agree. */
import {
  createEndpoint,
  createServer,
  type EndpointOptions,
  type LogEntry,
  MemoryHub,
  MemoryKeys,
  MemoryOneTime,
  MemorySessions,
  type SharedStores,
  type StateKeysOptions,
  StoreError,
} from "anyrev";
import { afterEach, describe, expect, it } from "vitest";
import { withMethods } from "../support/hubs.ts";
import { until } from "../support/signals.ts";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

function start(options: EndpointOptions, requestState?: StateKeysOptions): LogEntry[] {
  const entries: LogEntry[] = [];
  const log = (entry: LogEntry) => void entries.push(entry);
  const server = createServer({ name: "worker", version: "1.0.0", log, requestState });
  const endpoint = createEndpoint(server, options);
  closing.push(endpoint.close);
  return entries;
}

const key = (byte: number) => new Uint8Array(32).fill(byte);

/** As a store of another machine would look, over the memory of this one. */
function stores(hub = new MemoryHub()): SharedStores {
  const memory = new MemorySessions();
  return {
    sessions: {
      create: (record) => memory.create(record),
      get: (id) => memory.get(id),
      save: (record, version) => memory.save(record, version),
      touch: (id) => memory.touch(id),
      delete: (id) => memory.delete(id),
    },
    hub: withMethods(hub, {}),
    oneTime: new MemoryOneTime(),
    keys: new MemoryKeys(),
    close: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

const soon = () => new Promise((resolve) => setTimeout(resolve, 20));

describe("a worker that starts", () => {
  it("says nothing where it is alone, or shares all", async () => {
    const shared = stores();
    const logs = [
      start({}),
      start({ sessionStore: new MemorySessions(), eventHub: new MemoryHub() }),
      start({ stores: shared }),
      start({ stores: shared }),
    ];
    await soon();
    expect(logs.flat()).toEqual([]);
  });

  it("says that it shares sessions and no keys, or no events", () => {
    const { sessions, hub } = stores();
    const said = (entries: LogEntry[]) =>
      entries.map(({ level, message }) => `${level}: ${message}`);
    expect(said(start({ sessionStore: sessions, eventHub: hub }))).toEqual([
      expect.stringMatching(/^warning: the keys .* give `stores`, or `requestState.keys`$/),
    ]);
    expect(said(start({ sessionStore: sessions }, { keys: [key(1)] }))).toEqual([
      expect.stringMatching(/^warning: sessions are shared, and events are not/),
    ]);
    expect(start({ sessionStore: sessions, eventHub: hub }, { keys: [key(1)] })).toEqual([]);
  });

  it.each<[string, StateKeysOptions | undefined, StateKeysOptions | undefined, boolean]>([
    ["other keys", { keys: [key(1)] }, { keys: [key(2)] }, false],
    ["none configured", { keys: [key(1)] }, undefined, false],
    [
      "a newer one in front that this one has not",
      { keys: [key(1)] },
      { keys: [key(2), key(1)] },
      false,
    ],
    ["a newer one in front", { keys: [key(1), key(2)] }, { keys: [key(2), key(1)] }, true],
    ["the same", { keys: [key(1)] }, { keys: [key(1)] }, true],
  ])("says on both when another has %s", async (_, mine, theirs, agrees) => {
    const shared = stores();
    const first = start({ stores: shared }, mine);
    await soon();
    const second = start({ stores: shared }, theirs);
    if (agrees) await soon();
    else await until("both say so", () => first.length > 0 && second.length > 0);
    const expected = agrees
      ? []
      : [{ level: "warning", message: expect.stringMatching(/other keys for request state/) }];
    expect([first, second]).toEqual(
      [expected, expected].map((each) => each.map((entry) => expect.objectContaining(entry))),
    );
  });

  it("says when another serves other revisions, or keeps no sessions", async () => {
    const shared = stores();
    const first = start({ stores: shared });
    await soon();
    start({ stores: shared, sessions: false });
    start({ stores: shared, revisions: ["2026-07-28", "2025-11-25"] });
    await until("it is said", () => first.length === 2);
    expect(first.map(({ message }) => message).sort()).toEqual([
      expect.stringMatching(/differs in whether it keeps/),
      expect.stringMatching(/serves other revisions: 2026-07-28, 2025-11-25, and not/),
    ]);
  });

  it("serves while its store is away, and looks again until it is there", async () => {
    let away = true;
    const hub = new MemoryHub();
    const slow = withMethods(hub, {
      position: (topic) => {
        if (away) throw new StoreError("away", "gone");
        return hub.position(topic);
      },
    });
    const shared = { ...stores(), hub: slow };
    const first = start({ stores: shared }, { keys: [key(1)] });
    await soon();
    expect(first).toEqual([
      expect.objectContaining({ level: "warning", cause: expect.any(StoreError) }),
    ]);
    away = false;
    await until("it follows", () => hub.counts.followers === 1);
    start({ stores: shared });
    await until("the difference is said", () => first.length === 2);
  });
});
