/** Two workers that share a session store and an event hub: whatever begins on one goes on on the other. */
import { createServer, MemoryHub, MemorySessions, type Server } from "anyrev/node";
import { afterEach, describe, expect, test } from "vitest";
import { bridgeKinds } from "../support/bridge.ts";
import { openWorker, type Worker } from "../support/live.ts";
import { isObject, type JsonObject, type Revision, revisions } from "../support/schemas.ts";
import { createGate, type Gate, until } from "../support/signals.ts";
import { type Talk, Talker } from "../support/talk.ts";

const handshakes = revisions.slice(1);
const resuming = handshakes.filter((revision) => revision >= "2025-03-26");

/** What a worker's tools wait for, shared by both so that a test need not know who works. */
interface Shop {
  readonly gate: Gate;
  readonly aborted: string[];
}

function declare(worker: string, { gate, aborted }: Shop): Server {
  const server = createServer({ name: worker, version: "1.0.0", log: () => undefined });
  server.resource("note://1", { name: "Note" }, () => "note");
  server.prompt("hello", { description: "Says hello." }, () => "hello");
  server.tool("where", { description: "Which worker runs it." }, () => worker);
  server.tool("roots", { description: "Asks for the roots." }, async (_, ex) => {
    const roots = await ex.roots({ timeoutMs: 5_000 });
    return `${worker}: ${roots.map(({ uri }) => uri).join(" ")}`;
  });
  server.tool("confirm", { description: "Asks the user." }, async (_, ex) => {
    const { action, content } = await ex.ask("sure", {
      message: "Sure?",
      schema: { type: "object", properties: { why: { type: "string" } } },
      timeoutMs: 5_000,
    });
    return `${worker}: ${action} ${content?.why}`;
  });
  server.tool("tell", { description: "Tells six things, with a break." }, async (_, ex) => {
    for (const entry of [1, 2, 3]) ex.log("warning", entry);
    await gate.opened;
    for (const entry of [4, 5, 6]) ex.log("warning", entry);
    return worker;
  });
  server.tool("wait", { description: "Waits to be cancelled." }, async (_, ex) => {
    ex.log("warning", "waiting");
    await new Promise<void>((resolve) => {
      ex.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    aborted.push(worker);
    return "cancelled";
  });
  server.tool("announce", { description: "Changes the note." }, () => {
    server.changed("note://1");
    return "announced";
  });
  return server;
}

/** What the entries that were logged say. */
function told(messages: readonly JsonObject[]): unknown[] {
  return messages
    .filter(({ method }) => method === "notifications/message")
    .map(({ params }) => (isObject(params) ? params["data"] : undefined));
}

describe.each(bridgeKinds)("Two workers over the %s bridge", (kind) => {
  const workers: Worker[] = [];

  async function openPair() {
    const shop: Shop = { gate: createGate(), aborted: [] };
    const hub = new MemoryHub();
    const options = { sessionStore: new MemorySessions(), eventHub: hub };
    const a = await openWorker(kind, declare("a", shop), options);
    const b = await openWorker(kind, declare("b", shop), options);
    workers.push(a, b);
    return { a, b, hub, ...shop };
  }

  afterEach(async () => {
    for (const worker of workers.splice(0)) await worker[Symbol.asyncDispose]();
  });

  test.each(handshakes)("%s: a session opened by one is used on the other", async (revision) => {
    const { a, b } = await openPair();
    const onA = await Talker.open(a, revision);
    const onB = onA.on(b);
    expect(await onA.call("where").text()).toBe("a");
    expect(await onB.call("where").text()).toBe("b");
    expect(await onB.end()).toBe(204);
    expect(await onA.call("where").status()).toBe(404);
  });

  test.each(handshakes)(
    "%s: a question asked by one is answered through the other",
    async (revision) => {
      const { a, b } = await openPair();
      const onA = await Talker.open(a, revision);
      const call = onA.call("roots");
      const asked = await call.told("roots/list");
      const roots = [{ uri: "file:///home", name: "home" }];
      expect(await onA.on(b).answer(asked, { roots })).toBe(202);
      expect(await call.text()).toBe("a: file:///home");
    },
  );

  test.each(["2025-06-18", "2025-11-25"] as const)(
    "%s: the answer of a user reaches the worker that asked, from a POST without a session too",
    async (revision) => {
      const { a, b } = await openPair();
      const onA = await Talker.open(a, revision);
      const call = onA.call("confirm");
      const asked = await call.told("elicitation/create");
      const stranger = new Talker(b, revision, {}, undefined);
      const answer = { action: "accept", content: { why: "because" } };
      expect(await stranger.answer(asked, answer)).toBe(202);
      expect(await call.text()).toBe("a: accept because");
    },
  );

  test.each(resuming)(
    "%s: a stream lost with one is resumed on the other without loss or repeat",
    async (revision) => {
      const { a, b, gate } = await openPair();
      const onA = await Talker.open(a, revision);
      const lost = onA.call("tell");
      for (let count = 0; count < 2; count++) await lost.next();
      lost.drop();
      const resumed = onA.on(b).resume(lost);
      expect(told([(await resumed.next())!])).toEqual([3]);
      gate.open();
      expect(await resumed.text()).toBe("a");
      expect([...told(lost.messages), ...told(resumed.messages)]).toEqual([1, 2, 3, 4, 5, 6]);
    },
  );

  test.each(resuming)("%s: what was told while nobody listened is not lost", async (revision) => {
    const { a, b, gate } = await openPair();
    const onA = await Talker.open(a, revision);
    const lost = onA.call("tell");
    await lost.next();
    lost.drop();
    gate.open();
    await until("the call is done", async () => (await onA.call("where").text()) === "a");
    const resumed = onA.on(b).resume(lost);
    expect(await resumed.text()).toBe("a");
    expect(told(resumed.messages)).toEqual([2, 3, 4, 5, 6]);
  });

  test.each(resuming)(
    "%s: a stream that was taken up elsewhere no longer goes where it was",
    async (revision) => {
      const { a, b, gate } = await openPair();
      const onA = await Talker.open(a, revision);
      const first = onA.call("tell");
      for (let count = 0; count < 3; count++) await first.next();
      const second = onA.on(b).resume(first);
      await second.live;
      expect(await first.rest()).toEqual([]);
      gate.open();
      expect(await second.text()).toBe("a");
      expect(told(second.messages)).toEqual([4, 5, 6]);
    },
  );

  test.each(handshakes)(
    "%s: a change on one is heard on the other, once, by the stream of the session",
    async (revision) => {
      const { a, b } = await openPair();
      const onA = await Talker.open(a, revision);
      await onA.ask("resources/subscribe", { uri: "note://1" }).result();
      const stream = onA.on(b).listen();
      await stream.live;
      expect(await onA.call("announce").text()).toBe("announced");
      const updated = await stream.told("notifications/resources/updated");
      expect(updated["params"]).toEqual({ uri: "note://1" });
      await onA.call("announce").text();
      await stream.told("notifications/resources/updated");
      expect(await onA.end()).toBe(204);
      expect(await stream.rest()).toEqual([]);
    },
  );

  test("2026-07-28: a change on one is heard by who listens on the other", async () => {
    const { a, b } = await openPair();
    const onB = await Talker.open(b, "2026-07-28");
    const notifications = { resourceSubscriptions: ["note://1"] };
    const listening = onB.ask("subscriptions/listen", { notifications });
    await listening.told("notifications/subscriptions/acknowledged");
    await onB.on(a).call("announce").text();
    await listening.told("notifications/resources/updated");
    listening.drop();
  });

  test.each(handshakes)("%s: DELETE on one ends the streams on the other", async (revision) => {
    const { a, b } = await openPair();
    const onA = await Talker.open(a, revision);
    const stream = onA.on(b).listen();
    const bystander = (await Talker.open(b, revision)).listen();
    await stream.live;
    await bystander.live;
    expect(await onA.end()).toBe(204);
    expect(await stream.rest()).toEqual([]);
    expect(await Promise.race([bystander.rest(), soon()])).toBe("open");
    bystander.drop();
  });

  test.each(handshakes)(
    "%s: DELETE on one cancels what the session runs on the other",
    async (revision) => {
      const { a, b, aborted } = await openPair();
      const onA = await Talker.open(a, revision);
      const waiting = onA.call("wait");
      await waiting.told("notifications/message");
      expect(await onA.on(b).end()).toBe(204);
      await until("the call is cancelled", () => aborted.length > 0);
      await waiting.rest();
    },
  );

  test.each(handshakes)(
    "%s: a cancel that lands on one stops what runs on the other",
    async (revision) => {
      const { a, b, aborted } = await openPair();
      const onA = await Talker.open(a, revision);
      const other = await Talker.open(a, revision);
      const calls = [onA.call("wait", {}, { id: 7 }), other.call("wait", {}, { id: 7 })];
      for (const call of calls) await call.told("notifications/message");
      expect(await onA.on(b).cancel("7")).toBe(202);
      expect(await onA.on(b).cancel(7)).toBe(202);
      await until("the call is cancelled", () => aborted.length > 0);
      await calls[0]?.rest();
      expect(aborted).toEqual(["a"]);
      expect(await other.on(b).cancel(7)).toBe(202);
      await until("the other call is cancelled", () => aborted.length > 1);
    },
  );

  test.each(handshakes)(
    "%s: the newest stream of a session takes the place of the others, whoever serves them",
    async (revision) => {
      const { a, b } = await openPair();
      const onA = await Talker.open(a, revision);
      const streams: Talk[] = [onA.listen(), onA.on(b).listen(), onA.listen()];
      for (const stream of streams) await stream.live;
      await onA.ask("resources/subscribe", { uri: "note://1" }).result();
      await onA.call("announce").text();
      const read = streams.map((stream) => stream.rest().catch(() => []));
      await until("one of them hears it", () =>
        streams.some(({ messages }) => messages.length > 0),
      );
      await soon();
      for (const stream of streams) stream.drop();
      await Promise.all(read);
      const messages = streams.flatMap((stream) => stream.messages);
      expect(messages.map(({ method }) => method)).toEqual(["notifications/resources/updated"]);
    },
  );

  test("leave nothing in the hub to follow once everybody is gone", async () => {
    const { a, b, hub, gate } = await openPair();
    for (const revision of handshakes satisfies readonly Revision[]) {
      const onA = await Talker.open(a, revision);
      const stream = onA.on(b).listen();
      const call = onA.call("tell");
      await Promise.all([stream.live, call.next()]);
      call.drop();
      await onA.on(b).end();
    }
    gate.open();
    await Promise.all(workers.splice(0).map((worker) => worker[Symbol.asyncDispose]()));
    await until("nobody follows", () => hub.counts.followers === 0);
  });
});

function soon(): Promise<"open"> {
  return new Promise((resolve) => setTimeout(() => resolve("open"), 30));
}
