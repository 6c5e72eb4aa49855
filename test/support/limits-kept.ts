/** The limits of what is kept, each with what goes one step past it. */
import { PassThrough, Writable } from "node:stream";
import { MemoryHub, MemorySessions, type SessionRecord, serveStdio } from "anyrev/node";
import { expect } from "vitest";
import { EventStream, maxQueuedBytes } from "../../src/server/event-stream.ts";
import { toSettings } from "../../src/stores/options.ts";
import { writeRecord } from "../../src/stores/record.ts";
import { request } from "./messages.ts";
import { createShop, modern } from "./shop.ts";

export interface Limit {
  /** Its default, in the code. */
  readonly value: number | "none";
  /** Goes as far as the limit lets it, and one step further. */
  readonly reach: () => Promise<unknown>;
}

const kept = toSettings();

const record = (id: string, more: Partial<SessionRecord> = {}): SessionRecord => ({
  id,
  revision: "2025-11-25",
  client: undefined,
  capabilities: {},
  logLevel: undefined,
  subscriptions: [],
  principal: "",
  values: {},
  writeVersion: 0,
  ...more,
});

/** Opens one session more than there may be, and says which of the first two are left. */
async function crowd(store: MemorySessions, count: number, principal = ""): Promise<boolean[]> {
  for (let at = 0; at <= count; at++) await store.create(record(`${at}`, { principal }));
  return ["0", "1"].map((id) => store.get(id) !== undefined);
}

export const keeping: Record<string, Limit> = {
  "sessions.maxSessions": {
    value: kept.sessions.maxSessions,
    reach: async () => expect(await crowd(new MemorySessions(), 10_000)).toEqual([false, true]),
  },
  "sessions.maxSessionsPerPrincipal": {
    value: kept.sessions.maxSessionsPerPrincipal,
    reach: async () =>
      expect(await crowd(new MemorySessions(), 1_000, "somebody")).toEqual([false, true]),
  },
  "sessions.maxLength": {
    value: kept.sessions.maxLength,
    reach: async () => {
      const store = new MemorySessions();
      const large = (length: number) => record("large", { values: { x: "y".repeat(length) } });
      const bare = writeRecord(large(0), 1_000).length;
      store.create(large(262_144 - bare));
      expect(() => store.create(large(262_145 - bare))).toThrow("262144 are kept");
    },
  },
  "events.maxEvents": {
    value: kept.events.maxEvents,
    reach: async () => {
      const hub = new MemoryHub();
      const start = await hub.position("t");
      const follow = () => hub.follow("t", start, () => {}, AbortSignal.timeout(1));
      for (let at = 0; at < 1_000; at++) await hub.publish("t", "x");
      expect(await follow()).toBe(true);
      await hub.publish("t", "x");
      expect(await follow()).toBe(false);
    },
  },
  "events.maxTopics": {
    value: kept.events.maxTopics,
    reach: async () => {
      const hub = new MemoryHub();
      const first = await hub.position("0");
      await hub.publish("0", "x");
      for (let at = 1; at <= 10_000; at++) await hub.publish(`${at}`, "x");
      expect(await hub.follow("0", first, () => {}, AbortSignal.timeout(1))).toBe(false);
    },
  },
  "bytes that wait on a stream": {
    value: maxQueuedBytes,
    reach: () => {
      let isBroken = false;
      let waits = maxQueuedBytes;
      const stream = new EventStream();
      stream.attach({
        write: () => {},
        waiting: () => waits,
        end: () => {},
        destroy: () => {
          isBroken = true;
        },
      });
      stream.write("one");
      expect(isBroken).toBe(false);
      waits++;
      stream.write("more");
      expect(isBroken).toBe(true);
      return Promise.resolve();
    },
  },
  "maxQueuedBytes of serveStdio": {
    value: 67_108_864,
    reach: async () => {
      const stuck = new Writable({ write: () => {}, highWaterMark: 1 });
      const server = createShop();
      server.tool("large", {}, () => "x".repeat(8_388_608));
      const input = new PassThrough();
      const served = serveStdio(server, { input, output: stuck });
      const message = request(modern, 1, "tools/call", { name: "large", arguments: {} });
      // The input stays open: only what waits can end it.
      for (let at = 0; at < 10; at++) input.write(`${JSON.stringify({ ...message, id: at })}\n`);
      await served;
      expect(stuck.writableLength).toBeGreaterThan(60_000_000);
    },
  },
};
