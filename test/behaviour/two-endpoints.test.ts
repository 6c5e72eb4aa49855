/** Two endpoints over one server and one hub: what changes is told once, whichever of them tells it. */
import { createServer, type HubEvent, MemoryHub, type Server } from "anyrev/node";
import { afterEach, describe, expect, test } from "vitest";
import { bridgeKinds } from "../support/bridge.ts";
import { openWorker, type Worker } from "../support/live.ts";
import { type Revision, revisions } from "../support/schemas.ts";
import { until } from "../support/signals.ts";
import { type Talk, Talker } from "../support/talk.ts";

const updated = "notifications/resources/updated";
const toolsChanged = "notifications/tools/list_changed";

function declare(): Server {
  const server = createServer({ name: "shared", version: "1.0.0", log: () => undefined });
  server.resource("note://1", { name: "Note" }, () => "note");
  server.tool("change", { description: "Changes both." }, () => {
    server.changed("note://1");
    server.tool("passing", { description: "Passes." }, () => "by").remove();
    return "changed";
  });
  return server;
}

/** Hears of the note and of the tools, by the way of the revision. */
async function listen(worker: Worker, revision: Revision): Promise<Talk> {
  const talker = await Talker.open(worker, revision);
  if (revision === "2026-07-28") {
    const notifications = { resourceSubscriptions: ["note://1"], toolsListChanged: true };
    const listening = talker.ask("subscriptions/listen", { notifications });
    await listening.told("notifications/subscriptions/acknowledged");
    return listening;
  }
  await talker.ask("resources/subscribe", { uri: "note://1" }).result();
  const stream = talker.listen();
  await stream.live;
  return stream;
}

describe.each(bridgeKinds)("Two endpoints over the %s bridge", (kind) => {
  const workers: Worker[] = [];
  const following = new AbortController();

  async function openPair() {
    const [server, hub] = [declare(), new MemoryHub()];
    const published: string[] = [];
    const hear = ({ data }: HubEvent): void => void published.push(data);
    hub.follow("changes", hub.position("changes"), hear, following.signal);
    const first = await openWorker(kind, server, { eventHub: hub });
    const second = await openWorker(kind, server, { eventHub: hub });
    workers.push(first, second);
    return { first, second, server, published };
  }

  afterEach(async () => {
    for (const worker of workers.splice(0)) await worker[Symbol.asyncDispose]();
  });

  test.each(revisions)(
    "%s: tell each change once to whoever listens at either",
    async (revision) => {
      const { first, second, published } = await openPair();
      const streams = [await listen(first, revision), await listen(second, revision)];
      const caller = await Talker.open(second, revision);
      for (let round = 1; round <= 2; round++) {
        expect(await caller.call("change").text()).toBe("changed");
        await until("the changes are published", () => published.length >= 2 * round);
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(published).toHaveLength(4);
      for (const stream of streams) {
        for (let round = 1; round <= 2; round++) {
          await stream.told(updated);
          await stream.told(toolsChanged);
        }
        // Nothing else is under way: what is told next is the change that comes next.
        await caller.call("change").text();
        await stream.told(updated);
        stream.drop();
      }
    },
  );

  test.each(revisions)("%s: go on to tell when one of them is closed", async (revision) => {
    const { first, second, server, published } = await openPair();
    const stream = await listen(second, revision);
    await first[Symbol.asyncDispose]();
    workers.shift();
    server.changed("note://1");
    await stream.told(updated);
    expect(published).toHaveLength(1);
    stream.drop();
    await second[Symbol.asyncDispose]();
    workers.shift();
    expect(server.changes.listeners).toBe(0);
  });
});

test("Two hubs are told of each change, each once", async () => {
  const server = declare();
  const hubs = [new MemoryHub(), new MemoryHub()];
  const published = hubs.map((hub) => {
    const own: string[] = [];
    const hear = ({ data }: HubEvent): void => void own.push(data);
    hub.follow("changes", hub.position("changes"), hear, new AbortController().signal);
    return own;
  });
  const workers = await Promise.all(
    hubs.map((eventHub) => openWorker("fetch", server, { eventHub })),
  );
  server.changed("note://1");
  await until("both are told", () => published.every(({ length }) => length > 0));
  expect(published.map(({ length }) => length)).toEqual([1, 1]);
  for (const worker of workers) await worker[Symbol.asyncDispose]();
});
