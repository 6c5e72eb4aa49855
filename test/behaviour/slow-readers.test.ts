/** Streams to readers that are slow, that stall, or that only wait. */
import { connect, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { createServer, type Server, serve } from "anyrev/node";
import { afterEach, describe, expect, test, vi } from "vitest";
import { bridgeKinds } from "../support/bridge.ts";
import { openWorker, type Worker } from "../support/live.ts";
import { headersFor, request } from "../support/messages.ts";
import { isObject, type Revision, revisions } from "../support/schemas.ts";
import { createGate, until } from "../support/signals.ts";
import { type Talk, Talker } from "../support/talk.ts";

const chunk = "x".repeat(65_536);
const mebibyte = 1_048_576;
/** What the log carries on 2026-07-28, where every request says it. */
const audible = { _meta: { "io.modelcontextprotocol/logLevel": "debug" } };

interface Flood {
  told: number;
  aborted: boolean;
}

function declare(flood: Flood, hold: Promise<void> = Promise.resolve()): Server {
  const server = createServer({ name: "flood", version: "1.0.0", log: () => undefined });
  server.resource("note://1", { name: "Note" }, () => "note");
  server.tool("flood", { description: "Tells 60 MiB." }, async (_, ex) => {
    for (let entry = 0; entry < 960; entry++) {
      if (ex.signal.aborted) {
        flood.aborted = true;
        break;
      }
      ex.log("warning", `${entry} ${chunk}`);
      flood.told = entry;
      await turn();
    }
    return "told it all";
  });
  server.tool("trickle", { description: "Tells 4 MiB." }, async (_, ex) => {
    for (let entry = 0; entry < 64; entry++) {
      ex.log("warning", `${entry} ${chunk}`);
      await turn();
      await turn();
    }
    return "told it all";
  });
  server.tool("large", { description: "Returns 5 MiB." }, async (_, ex) => {
    ex.log("warning", "here it comes");
    await turn();
    return "y".repeat(5 * mebibyte);
  });
  server.tool("slow", { description: "Begins, and waits." }, async (_, ex) => {
    ex.log("warning", "begun");
    await hold;
    return "done";
  });
  return server;
}

function call(talker: Talker, name: string): Talk {
  const meta = talker.revision === "2026-07-28" ? audible : {};
  return talker.ask("tools/call", { name, arguments: {}, ...meta });
}

describe.each(bridgeKinds)("Over the %s bridge", (kind) => {
  const workers: Worker[] = [];

  async function open(revision: Revision, server: Server): Promise<Talker> {
    const worker = await openWorker(kind, server);
    workers.push(worker);
    return Talker.open(worker, revision);
  }

  afterEach(async () => {
    vi.useRealTimers();
    for (const worker of workers.splice(0)) await worker[Symbol.asyncDispose]();
  });

  test.each(revisions)("%s: a reader that stalls is dropped, the call is not", async (revision) => {
    const flood: Flood = { told: 0, aborted: false };
    const talker = await open(revision, declare(flood));
    const talk = call(talker, "flood");
    const { chunks } = await talk.live;
    // Nothing is read until all is told, or until the loss of its reader cancels the call.
    await until("the flood is over", () => flood.told === 959 || flood.aborted, 15_000);
    expect(flood.aborted).toBe(kind === "node" && revision === "2026-07-28");
    let read = 0;
    await expect(
      (async () => {
        for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
          read += next.value.length;
        }
      })(),
    ).rejects.toThrow();
    // Over a socket the system holds some megabytes of its own.
    expect(read).toBeLessThan(kind === "node" ? 20 * mebibyte : 2 * mebibyte);
    expect(await talker.ask("tools/list").status()).toBe(200);
  });

  test.each(revisions)("%s: a reader that reads gets all of it", async (revision) => {
    const talker = await open(revision, declare({ told: 0, aborted: false }));
    const talk = call(talker, "trickle");
    expect(await talk.text()).toBe("told it all");
    const numbers = talk.messages
      .map(({ params }) => (isObject(params) ? String(params["data"]).split(" ")[0] : undefined))
      .filter((number) => number !== undefined);
    expect(numbers).toEqual(Array.from({ length: 64 }, (_, index) => String(index)));
  });

  test.each(revisions)("%s: one message may be larger than what may wait", async (revision) => {
    const talker = await open(revision, declare({ told: 0, aborted: false }));
    const talk = call(talker, "large");
    await talk.told("notifications/message");
    expect(await talk.text()).toHaveLength(5 * mebibyte);
  });

  test.each(revisions)(
    "%s: a silent stream says every 20 seconds that it is alive, until it ends",
    async (revision) => {
      const hold = createGate();
      const talker = await open(revision, declare({ told: 0, aborted: false }, hold.opened));
      vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
      const working = call(talker, "slow");
      await working.told("notifications/message");
      const waiting =
        revision === "2026-07-28"
          ? talker.ask("subscriptions/listen", {
              notifications: { resourceSubscriptions: ["note://1"] },
            })
          : talker.listen();
      await waiting.live;
      // A call that can be come back to says to the hub as well that it is there.
      const timers = revision > "2024-11-05" && revision < "2026-07-28" ? 3 : 2;
      await until("both streams beat", () => vi.getTimerCount() === timers);
      vi.advanceTimersByTime(19_999);
      vi.advanceTimersByTime(40_002);
      hold.open();
      expect(await working.text()).toBe("done");
      expect(working.events.filter(({ comment }) => comment !== undefined)).toHaveLength(3);
      await until("one stream beats", () => vi.getTimerCount() === 1);
      const rest = waiting.rest().catch(() => []);
      // The stream of a session begins with a comment, so that it begins at all.
      const all = revision === "2026-07-28" ? 3 : 4;
      await until("the beats are read", () => beats(waiting) >= all);
      expect(beats(waiting)).toBe(all);
      waiting.drop();
      await rest;
      await until("none beats", () => vi.getTimerCount() === 0);
    },
  );
});

function beats({ events }: Talk): number {
  return events.filter(({ comment }) => comment !== undefined).length;
}

test("A socket that does not read is closed, and what waited for it is let go", async () => {
  const flood: Flood = { told: 0, aborted: false };
  await using serving = await serve(declare(flood), { port: 0, drainMs: 100 });
  const message = request("2026-07-28", 1, "tools/call", {
    name: "flood",
    arguments: {},
    ...audible,
  });
  const body = JSON.stringify(message);
  const socket: Socket = connect(serving.port, "127.0.0.1");
  const lines = Object.entries({
    host: `127.0.0.1:${serving.port}`,
    ...headersFor("2026-07-28", message),
    "content-length": String(body.length),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.on("error", () => undefined);
  socket.write(`POST /mcp HTTP/1.1\r\n${lines.join("")}\r\n${body}`);
  await until("the call is cancelled", () => flood.aborted, 15_000);
  expect(flood.told).toBeLessThan(500);
  socket.destroy();
});
