import { setTimeout as delay } from "node:timers/promises";
import {
  adapter2024_11_05,
  adapter2025_06_18,
  adapter2025_11_25,
  createServer,
  type EventHub,
  MemoryHub,
  MemorySessions,
  type SessionRecord,
  type SessionStore,
} from "anyrev";
import { describe, expect, it } from "vitest";
import { anyone } from "../../src/core/access.ts";
import { ChangeFeed } from "../../src/server/changes.ts";
import type { EventStream } from "../../src/server/event-stream.ts";
import { openSessionStream } from "../../src/server/session-stream.ts";
import { Sessions } from "../../src/server/sessions.ts";
import { Ending } from "../../src/util/ending.ts";
import { EventParser } from "../support/event-parser.ts";
import { failures, remote, withMethods } from "../support/hubs.ts";

const record: SessionRecord = {
  id: "00000000-0000-4000-8000-000000000000",
  revision: "2025-11-25",
  client: undefined,
  capabilities: {},
  logLevel: undefined,
  subscriptions: ["a:1"],
  principal: "",
  values: {},
  writeVersion: 0,
};

/** One worker's streams of one session. */
async function open(hub: EventHub, store: SessionStore = new MemorySessions()) {
  const server = createServer({ name: "n", version: "1", log: () => {} });
  await store.create(record);
  const closing = new Ending();
  const faults: unknown[] = [];
  const feed = new ChangeFeed(server, hub);
  const stream = (lastEventId?: string, adapter = adapter2025_11_25) =>
    openSessionStream({
      hub,
      feed,
      sessions: new Sessions(store),
      session: record,
      access: anyone,
      adapter,
      lastEventId,
      closing,
      keepAliveMs: 60_000,
      onFault: (cause) => faults.push(cause),
    });
  return { server, closing, faults, stream, feed };
}

function read(stream: EventStream | undefined) {
  const parser = new EventParser();
  let ended = false;
  const end = (): void => {
    ended = true;
  };
  stream?.attach({
    write: (text) => parser.feed(new TextEncoder().encode(text)),
    waiting: () => 0,
    end,
    destroy: end,
  });
  const uris = () =>
    parser.events.flatMap(({ data }) =>
      data === "" ? [] : [JSON.parse(data).params?.uri ?? data],
    );
  return { parser, uris, isOver: () => ended };
}

async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; !holds() && tries < 300; tries++) await delay(2);
  expect(holds()).toBe(true);
}

const hubs: readonly (readonly [string, () => EventHub])[] = [
  ["in memory", () => new MemoryHub()],
  ["far away", () => remote(new MemoryHub())],
];

describe.each(hubs)("The stream of a session through a hub %s", (_, create) => {
  it("tells what its session watches and nothing else, each change once", async () => {
    const { server, stream, faults } = await open(create());
    const reader = read(await stream());
    for (const uri of ["a:2", "a:1", "a:3"]) server.changed(uri);
    await until(() => reader.uris().length > 0);
    server.changed("a:1");
    await until(() => reader.uris().length > 1);
    await delay(20);
    expect([reader.uris(), faults]).toEqual([["a:1", "a:1"], []]);
  });

  it("goes on after the last event, also after the one it was primed with", async () => {
    const hub = create();
    const { server, stream } = await open(hub);
    const first = await stream();
    const reader = read(first);
    await until(() => reader.parser.lastEventId !== "");
    first?.disconnect();
    server.changed("a:1");
    await delay(30);
    const second = await stream(reader.parser.lastEventId);
    const again = read(second);
    await until(() => again.uris().length === 1);
    second?.disconnect();
    server.changed("a:1");
    await delay(30);
    const third = read(await stream(again.parser.lastEventId));
    await until(() => third.uris().length === 1);
    await delay(20);
    expect([again.uris(), third.uris()]).toEqual([["a:1"], ["a:1"]]);
  });

  it("begins anew, and says where, when what it was to go on from is lost", async () => {
    const { server, stream } = await open(create());
    for (const id of ["changes.", "changes.none", "changes.99", "changes.\u{1f9e8}"]) {
      const opened = await stream(id);
      const reader = read(opened);
      await until(() => reader.parser.lastEventId !== "");
      expect(reader.parser.lastEventId).not.toBe(id);
      server.changed("a:1");
      await until(() => reader.uris().length === 1);
      opened?.end();
    }
  });

  it("is one at a time: of several that open at once, one stays", async () => {
    const hub = create();
    const [one, two] = [await open(hub), await open(hub)];
    const opened = await Promise.all([one, two, one, two, one].map(({ stream }) => stream()));
    const readers = opened.map(read);
    await until(() => readers.filter(({ isOver }) => isOver()).length === 4);
    await delay(20);
    one.server.changed("a:1");
    const left = readers.filter(({ isOver }) => !isOver());
    await until(() => left[0]?.uris().length === 1);
    expect(left).toHaveLength(1);
    expect(readers.flatMap(({ uris }) => uris())).toEqual(["a:1"]);
  });

  it("is over when the server closes, and none is opened after", async () => {
    const { stream, closing } = await open(create());
    const reader = read(await stream());
    closing.end();
    expect(reader.isOver()).toBe(true);
    expect(read(await stream()).isOver()).toBe(true);
    expect(closing.size).toBe(0);
  });
});

describe("The stream of a session", () => {
  it("is numbered where it can be resumed, and primed where the revision says so", async () => {
    for (const [adapter, primed, numbered] of [
      [adapter2025_11_25, true, true],
      [adapter2025_06_18, false, true],
      [adapter2024_11_05, false, false],
    ] as const) {
      const { server, stream } = await open(new MemoryHub());
      const reader = read(await stream(undefined, adapter));
      expect(reader.parser.lastEventId !== "", adapter.revision).toBe(primed);
      server.changed("a:1");
      await until(() => reader.uris().length === 1);
      expect(reader.parser.lastEventId !== "", adapter.revision).toBe(numbered);
    }
  });

  it("ends when its session has, at the next change", async () => {
    const store = new MemorySessions();
    const { server, stream } = await open(new MemoryHub(), store);
    const reader = read(await stream());
    store.delete(record.id);
    server.changed("a:1");
    await until(reader.isOver);
    expect(reader.uris()).toEqual([]);
  });

  it("leaves nothing behind in the hub or in its server when it is over", async () => {
    const hub = new MemoryHub();
    const { stream, closing } = await open(hub);
    for (const id of [undefined, "changes.none", `${crypto.randomUUID()}.none`, "none"]) {
      (await stream(id))?.disconnect();
      expect([hub.counts.followers, closing.size], String(id)).toEqual([0, 0]);
    }
  });
});

describe.each(failures)("The stream of a session, where something %s", (_, fail) => {
  it.each(["publish", "position", "follow"] as const)(
    "in %s of the hub, is not opened, and leaves nothing behind",
    async (method) => {
      const whole = new MemoryHub();
      const { stream, closing } = await open(withMethods(whole, { [method]: fail }));
      await expect(stream()).rejects.toThrow("the hub is down");
      expect([whole.counts.followers, closing.size]).toEqual([0, 0]);
    },
  );

  it("in its second following, is not opened either, nor left behind", async () => {
    const whole = new MemoryHub();
    let calls = 0;
    const follow: EventHub["follow"] = (...args) =>
      ++calls === 2 ? fail() : whole.follow(...args);
    const { stream, closing } = await open(withMethods(whole, { follow }));
    await expect(stream()).rejects.toThrow("the hub is down");
    expect([calls, whole.counts.followers, closing.size]).toEqual([2, 0, 0]);
  });

  it("in the store, ends where it is, for its reader to come back after the last event", async () => {
    const store = new MemorySessions();
    let isDown = false;
    const failing: SessionStore = {
      create: (each) => store.create(each),
      get: (id) => store.get(id),
      save: (each, version) => store.save(each, version),
      touch: (id) => (isDown ? fail() : store.touch(id)),
      delete: (id) => store.delete(id),
    };
    const hub = new MemoryHub();
    const { server, stream, faults } = await open(hub, failing);
    const reader = read(await stream());
    server.changed("a:1");
    await until(() => reader.uris().length === 1);
    isDown = true;
    server.changed("a:1");
    await until(reader.isOver);
    expect(faults).toHaveLength(1);
    isDown = false;
    server.changed("a:1");
    await delay(30);
    const again = read(await stream(reader.parser.lastEventId));
    await until(() => again.uris().length === 2);
  });
});
