import { setTimeout as delay } from "node:timers/promises";
import { Channel, createServer, type Exchange, type LogEntry } from "anyrev";
import { describe, expect, it } from "vitest";
import { initializeParams, notification, request } from "../support/messages.ts";
import { isObject, type JsonObject, revisions } from "../support/schemas.ts";

/** A channel, and everything that it sent. */
function open(run: (ex: Exchange) => unknown = () => "done", send?: (text: string) => void) {
  const entries: LogEntry[] = [];
  const server = createServer({ name: "n", version: "1", log: (entry) => entries.push(entry) });
  server.tool("run", {}, async (_, ex) => JSON.stringify((await run(ex)) ?? null));
  server.resource("a:1", { name: "one" }, () => "one");
  const sent: JsonObject[] = [];
  const channel = new Channel(server, send ?? ((text) => sent.push(JSON.parse(text))));
  const receive = (message: unknown): void =>
    channel.receive(new TextEncoder().encode(JSON.stringify(message)));
  return { server, entries, sent, channel, receive };
}

const hello = request("2025-11-25", "hello", "initialize", initializeParams("2025-11-25"));
const call = (id: number) =>
  request("2025-11-25", id, "tools/call", { name: "run", arguments: {} });

async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; !holds() && tries < 300; tries++) await delay(2);
  expect(holds()).toBe(true);
}

describe("A channel that closes", () => {
  it("no longer hears of changes, however often its peer shook hands", async () => {
    const { server, sent, channel, receive } = open();
    const before = server.changes.listeners;
    for (const revision of revisions.filter((each) => each !== "2026-07-28")) {
      receive(request(revision, revision, "initialize", initializeParams(revision)));
    }
    expect(sent).toHaveLength(4);
    await channel.close();
    server.changed("a:1");
    await delay(30);
    expect(sent).toHaveLength(4);
    expect(server.changes.listeners).toBe(before - 1);
  });

  it("answers nothing that comes after, and what was running with its end", async () => {
    let aborted = 0;
    const { sent, channel, receive } = open(async (ex) => {
      await new Promise((resolve) => ex.signal.addEventListener("abort", resolve));
      aborted++;
    });
    receive(hello);
    receive(call(1));
    await delay(1);
    await channel.close();
    receive(call(2));
    channel.receive(new TextEncoder().encode("no JSON"));
    await delay(5);
    expect(aborted).toBe(1);
    expect(sent.map(({ id }) => id)).toEqual(["hello", 1]);
    expect(sent[1]).toHaveProperty("error");
  });

  it("may be closed again", async () => {
    const { channel } = open();
    await Promise.all([channel.close(), channel.close()]);
    await channel.close();
  });
});

describe("A channel whose peer cannot be reached", () => {
  it("logs that and goes on", async () => {
    const { entries, channel, server, receive } = open(undefined, () => {
      throw new Error("nobody there");
    });
    receive(hello);
    receive(call(1));
    receive(notification("notifications/initialized"));
    await until(() => entries.length === 2);
    server.changed("a:1");
    await delay(20);
    await channel.close();
    for (const entry of entries) {
      expect(entry).toMatchObject({ level: "error", cause: { message: "nobody there" } });
    }
  });

  it("logs changes that could not be told", async () => {
    let isGone = false;
    const { entries, channel, server, receive } = open(undefined, () => {
      if (isGone) throw new Error("nobody there");
    });
    receive(hello);
    isGone = true;
    server.tool("another", {}, () => "");
    await until(() => entries.length === 1);
    await channel.close();
  });
});

describe("A channel", () => {
  it("answers many calls at once, each once, in whatever order they end", async () => {
    const { sent, channel, receive } = open(() => delay(Math.random() * 10));
    receive(hello);
    for (let id = 0; id < 100; id++) receive(call(id));
    await channel.settled();
    const ids = sent.slice(1).map(({ id }) => Number(id));
    expect(ids.sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, at) => at));
    expect(sent.every((each) => isObject(each["result"]))).toBe(true);
  });
});
