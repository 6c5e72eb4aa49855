/** Callers that come and go, in every way there is, leave nothing behind. */
import { setTimeout as delay } from "node:timers/promises";
import {
  createEndpoint,
  createLegacySse,
  createServer,
  MemoryHub,
  MemorySessions,
  openMemoryChannel,
  type Server,
} from "anyrev/node";
import { afterAll, describe, expect, test } from "vitest";
import type { BridgeKind } from "../support/bridge.ts";
import { collect, count, settledTo } from "../support/counting.ts";
import { openWorker, type Worker } from "../support/live.ts";
import { headersFor, initializeParams, request } from "../support/messages.ts";
import { Random } from "../support/random.ts";
import { type Revision, revisions } from "../support/schemas.ts";
import { until } from "../support/signals.ts";
import { Talker } from "../support/talk.ts";

/** What Node has to say about listeners that pile up. */
const warnings: string[] = [];
const onWarning = ({ name, message }: Error): void => {
  if (name === "MaxListenersExceededWarning") warnings.push(message);
};
process.on("warning", onWarning);

afterAll(() => {
  process.off("warning", onWarning);
  expect(warnings).toEqual([]);
});

/** Handlers that are running. */
interface Busy {
  handlers: number;
}

function declare(busy: Busy): Server {
  const server = createServer({ name: "leaks", version: "1.0.0", log: () => undefined });
  server.resource("note://1", { name: "Note" }, () => "note");
  server.tool("quick", { description: "Answers at once." }, () => "quick");
  server.tool("slow", { description: "Answers soon." }, async () => {
    await delay(2);
    return "slow";
  });
  server.tool("telling", { description: "Tells, and answers soon." }, async (_, ex) => {
    await ex.progress(1, 2);
    ex.log("warning", "telling");
    await delay(2);
    await ex.progress(2, 2);
    return "told";
  });
  server.tool("asking", { description: "Asks, and is not answered." }, async (_, ex) => {
    busy.handlers++;
    try {
      await ex.roots({ timeoutMs: 60_000 });
    } finally {
      busy.handlers--;
    }
    return "answered";
  });
  server.tool("stubborn", { description: "Goes on telling when cancelled." }, async (_, ex) => {
    busy.handlers++;
    await new Promise<void>((resolve) => {
      if (ex.signal.aborted) resolve();
      else ex.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await ex.progress(1, 2);
    ex.log("warning", "still here");
    ex.detach();
    busy.handlers--;
    return "too late";
  });
  return server;
}

async function openCounted(kind: BridgeKind) {
  const busy: Busy = { handlers: 0 };
  const server = declare(busy);
  const hub = new MemoryHub();
  const store = new MemorySessions();
  const counted = { server, hub, store };
  const worker = await openWorker(kind, server, { eventHub: hub, sessionStore: store });
  // From its first call on, a worker listens for cancels that land on others.
  const first = await Talker.open(worker, "2025-11-25");
  await first.call("slow").text();
  await first.end();
  return { busy, worker, counted };
}

/** One visit of a caller, who leaves in a way of its own. */
type Visit = (talker: Talker) => Promise<unknown>;

const told = { token: "told" };

const visits: Readonly<Record<string, Visit>> = {
  "a call dropped at once": (talker) => gone(talker.call("slow")),
  "a call dropped before its answer": async (talker) => {
    const talk = talker.call("slow");
    await new Promise(setImmediate);
    await gone(talk);
  },
  "a stream dropped at once": (talker) => gone(talker.call("telling", {}, told)),
  "a stream dropped before its answer": async (talker) => {
    const talk = talker.call("telling", {}, told);
    await talk.next();
    await gone(talk);
  },
  "a stream dropped after its answer": async (talker) => {
    const talk = talker.call("telling", {}, told);
    await talk.reply();
    await gone(talk);
  },
  "an answer that is not read": async (talker) => {
    const talk = talker.call("quick");
    await talk.live;
    await gone(talk);
  },
  "a listener dropped at once": (talker) => gone(listen(talker)),
  "a listener dropped later": async (talker) => {
    const talk = listen(talker);
    await talk.live;
    await gone(talk);
  },
};

function listen(talker: Talker) {
  if (talker.revision !== "2026-07-28") return talker.listen();
  const notifications = { resourceSubscriptions: ["note://1"], toolsListChanged: true };
  return talker.ask("subscriptions/listen", { notifications });
}

async function gone(talk: ReturnType<Talker["call"]>): Promise<void> {
  talk.drop();
  await talk.rest().catch(() => []);
}

describe.each([
  ["fetch", 8_400],
  ["node", 1_600],
] as const)("Over the %s bridge", (kind, cycles) => {
  test(`${cycles} callers that go in different ways leave nothing behind`, async () => {
    const { worker, counted } = await openCounted(kind);
    const before = count(counted);
    const random = new Random(7);
    const ways = Object.values(visits);
    const visit = async (index: number): Promise<void> => {
      const revision = revisions[index % revisions.length]!;
      const talker = await Talker.open(worker, revision);
      await random.pick(ways)(talker);
      if (talker.session !== undefined) expect(await talker.end()).toBe(204);
    };
    await inTurns(cycles, 16, visit);
    await settledTo(before, counted);
    await worker[Symbol.asyncDispose]();
    const nothing = { listeners: 0, followers: 0, sockets: 0, intervals: 0 };
    await settledTo({ ...before, ...nothing }, counted);
  }, 120_000);

  test.each(revisions)(
    "%s: questions that are abandoned end with their callers",
    async (revision) => {
      const { worker, counted, busy } = await openCounted(kind);
      const before = count(counted);
      await inTurns(100, 10, async () => {
        const talker = await Talker.open(worker, revision);
        const talk = talker.call("asking");
        await talk.next();
        await gone(talk);
        if (talker.session !== undefined) await talker.end();
      });
      await settledTo(before, counted);
      expect(busy.handlers).toBe(0);
      await worker[Symbol.asyncDispose]();
    },
  );

  test.each(revisions)("%s: a handler that ignores its cancel opens nothing", async (revision) => {
    const { worker, counted, busy } = await openCounted(kind);
    const before = count(counted);
    await inTurns(100, 10, async () => {
      const talker = await Talker.open(worker, revision);
      const talk = talker.call("stubborn", {}, { id: 1, token: 1 });
      if (talker.session === undefined) return gone(talk);
      while ((await isOpen(talk)) === true) await talker.cancel(1);
      expect(await talk.rest()).toMatchObject([{ error: { code: -32800 } }]);
      await talker.end();
    });
    await settledTo(before, counted);
    expect(busy.handlers).toBe(0);
    await worker[Symbol.asyncDispose]();
  });

  test("1,000 open streams leave nothing behind when their readers go", async () => {
    const { worker, counted } = await openCounted(kind);
    const before = count(counted);
    const open: ReturnType<Talker["call"]>[] = [];
    const talkers: Talker[] = [];
    await inTurns(1_000, 50, async (index) => {
      const talker = await Talker.open(worker, revisions[index % revisions.length]!);
      talkers.push(talker);
      open.push(listen(talker));
      await open.at(-1)?.live;
    });
    const { followers, intervals } = count(counted);
    expect(followers).toBeGreaterThanOrEqual(1_000);
    // Each says that it is alive.
    expect(intervals).toBeGreaterThanOrEqual(1_000);
    for (const talk of open) talk.drop();
    await Promise.all(open.map((talk) => talk.rest().catch(() => [])));
    await Promise.all(talkers.map((talker) => talker.session && talker.end()));
    await settledTo(before, counted);
    await worker[Symbol.asyncDispose]();
  });

  test("1,000 open streams end when the server closes", async () => {
    const { worker, counted } = await openCounted(kind);
    const before = count(counted);
    const open: ReturnType<Talker["call"]>[] = [];
    await inTurns(1_000, 50, async (index) => {
      open.push(listen(await Talker.open(worker, revisions[index % revisions.length]!)));
      await open.at(-1)?.live;
    });
    await worker[Symbol.asyncDispose]();
    for (const talk of open) {
      const rest = await talk.rest();
      expect(rest.every((message) => "result" in message || "method" in message)).toBe(true);
    }
    await settledTo({ ...before, sessions: 1_000, listeners: 0 }, counted);
    expect(counted.hub.counts.followers).toBe(0);
  });
});

/** Whether a reply is still waited for. */
function isOpen(talk: ReturnType<Talker["call"]>): Promise<boolean> {
  return Promise.race([talk.live.then(() => false), delay(5).then(() => true)]);
}

test("600 connections in memory leave nothing behind", async () => {
  const busy: Busy = { handlers: 0 };
  const server = declare(busy);
  const counted = { server, hub: new MemoryHub(), store: new MemorySessions() };
  const before = count(counted);
  await inTurns(600, 20, async (index) => {
    const revision = revisions[index % revisions.length]!;
    const heard: unknown[] = [];
    const channel = openMemoryChannel(server, (message) => heard.push(message));
    if (revision !== "2026-07-28") {
      channel.send(request(revision, 0, "initialize", initializeParams(revision)));
    } else {
      const notifications = { toolsListChanged: true };
      channel.send(request(revision, 0, "subscriptions/listen", { notifications }));
    }
    channel.send(request(revision, 1, "tools/call", { name: "stubborn", arguments: {} }));
    await until("the first answer", () => heard.length > 0);
    await channel.close();
  });
  await settledTo(before, counted);
  expect(busy.handlers).toBe(0);
});

test("300 readers of the old transport leave nothing behind", async () => {
  const server = declare({ handlers: 0 });
  const counted = { server, hub: new MemoryHub(), store: new MemorySessions() };
  const before = count(counted);
  const legacy = createLegacySse(server, { eventHub: counted.hub, sessionStore: counted.store });
  await inTurns(300, 20, async (index) => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const response = await legacy.fetch(new Request("http://localhost/sse", { signal }));
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    const first = (await reader.read()).value ?? "";
    const target = /data: (.*)/.exec(first)?.[1] ?? "";
    const hello = request("2024-11-05", 0, "initialize", initializeParams("2024-11-05"));
    const posted = await legacy.fetch(
      new Request(`http://localhost/${target}`, {
        method: "POST",
        headers: headersFor("2024-11-05", hello),
        body: JSON.stringify(hello),
      }),
    );
    expect(posted.status).toBe(202);
    expect((await reader.read()).value).toContain('"protocolVersion":"2024-11-05"');
    if (index % 2 === 0) leaving.abort();
    else await reader.cancel();
    await reader.closed.catch(() => undefined);
  });
  await settledTo(before, counted);
});

test("A request that nobody holds any more still ends its stream when it aborts", async () => {
  const hub = new MemoryHub();
  const endpoint = createEndpoint(declare({ handlers: 0 }), { eventHub: hub });
  const leaving = new AbortController();
  const bodies = await Promise.all([open(leaving.signal), open(leaving.signal)]);
  expect(hub.counts.followers).toBe(2);
  await collect();
  leaving.abort();
  await until("nobody follows", () => hub.counts.followers === 0);
  for (const body of bodies) await body?.cancel().catch(() => undefined);
  endpoint.close();

  async function open(signal: AbortSignal) {
    const notifications = { toolsListChanged: true };
    const message = request("2026-07-28", 1, "subscriptions/listen", { notifications });
    const headers = headersFor("2026-07-28", message);
    const init = { method: "POST", headers, body: JSON.stringify(message), signal };
    const { body } = await endpoint.fetch(new Request("http://localhost/mcp", init));
    return body;
  }
});

test("An open stream does not keep the process alive", async () => {
  const timeouts = () => process.getActiveResourcesInfo().filter((each) => each === "Timeout");
  const worker: Worker = await openWorker("fetch", declare({ handlers: 0 }));
  const revision: Revision = "2025-11-25";
  const before = timeouts().length;
  const stream = (await Talker.open(worker, revision)).listen();
  await stream.live;
  expect(timeouts().length).toBe(before);
  await gone(stream);
});

/** Does something many times, some of them at once. */
async function inTurns(
  times: number,
  atOnce: number,
  work: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let index = next++; index < times; index = next++) await work(index);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}
