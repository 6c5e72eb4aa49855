/** `Last-Event-ID` in the hands of callers who should not have it, or who made it up. */
import { createServer, MemoryHub, type Server } from "anyrev/node";
import { afterEach, describe, expect, test } from "vitest";
import { bridgeKinds } from "../support/bridge.ts";
import { openWorker, type Worker } from "../support/live.ts";
import { isObject, type JsonObject, revisions } from "../support/schemas.ts";
import { createGate, type Gate } from "../support/signals.ts";
import { type Talk, Talker } from "../support/talk.ts";

const resuming = revisions.filter(
  (revision) => revision >= "2025-03-26" && revision !== "2026-07-28",
);

function declare(gates: ReadonlyMap<string, Gate>): Server {
  const server = createServer({ name: "secrets", version: "1.0.0", log: () => undefined });
  for (const uri of ["note://1", "note://2"]) server.resource(uri, { name: uri }, () => uri);
  const input = {
    type: "object",
    properties: { secret: { type: "string" } },
    required: ["secret"],
  } as const;
  server.tool("leave", { description: "Lets go, and waits.", input }, async ({ secret }, ex) => {
    ex.detach(5);
    await gates.get(secret)?.opened;
    return secret;
  });
  server.tool(
    "tell",
    { description: "Tells a secret, waits, and tells it again.", input },
    async ({ secret }, ex) => {
      ex.log("warning", `${secret} 1`);
      ex.log("warning", `${secret} 2`);
      await gates.get(secret)?.opened;
      ex.log("warning", `${secret} 3`);
      return secret;
    },
  );
  server.tool("announce", { description: "Changes both notes." }, () => {
    server.changed("note://1");
    server.changed("note://2");
    return "announced";
  });
  return server;
}

describe.each(bridgeKinds)("Over the %s bridge", (kind) => {
  const workers: Worker[] = [];

  async function open(hub = new MemoryHub()) {
    const gates = new Map(["ann", "bob"].map((secret) => [secret, createGate()] as const));
    const worker = await openWorker(kind, declare(gates), { eventHub: hub });
    workers.push(worker);
    return { worker, release: (secret: string) => gates.get(secret)?.open() };
  }

  afterEach(async () => {
    for (const worker of workers.splice(0)) await worker[Symbol.asyncDispose]();
  });

  test.each(resuming)("%s: the event of another session is of no use", async (revision) => {
    const { worker, release } = await open();
    const ann = await Talker.open(worker, revision);
    const bob = await Talker.open(worker, revision);
    const told = ann.call("tell", { secret: "ann" });
    await told.next();
    await refused(bob.listen(told.lastEventId));
    release("ann");
    expect(await told.text()).toBe("ann");
    await refused(bob.listen(told.lastEventId));
    // Nor does the attempt take the stream from its owner.
    expect(said(told.messages)).toEqual(["ann 1", "ann 2", "ann 3"]);
  });

  test.each(resuming)("%s: the event of one stream resumes no other", async (revision) => {
    const { worker, release } = await open();
    const talker = await Talker.open(worker, revision);
    const ann = talker.call("tell", { secret: "ann" }, { id: "a" });
    const bob = talker.call("tell", { secret: "bob" }, { id: "b" });
    await Promise.all([ann.next(), bob.next()]);
    ann.drop();
    const resumed = talker.resume(ann);
    await resumed.live;
    release("bob");
    expect(await bob.text()).toBe("bob");
    release("ann");
    expect(await resumed.text()).toBe("ann");
    expect(said(resumed.messages)).toEqual(["ann 2", "ann 3"]);
  });

  test.each(resuming)("%s: an event that was made up shows nothing", async (revision) => {
    const { worker, release } = await open();
    const ann = await Talker.open(worker, revision);
    const bob = await Talker.open(worker, revision);
    const told = ann.call("tell", { secret: "ann" });
    await told.next();
    const [stream, cursor] = String(told.lastEventId).split(".");
    const forged = [
      ...["", ".", "0", "1", `.${cursor}`, `${stream}`, `${stream}.`, `${stream}.-1`],
      ...[`${stream}.0`, `${stream}.1e0`, `${stream}.0x0`, `${stream}.999`, `x${stream}.0`],
      ...[`${crypto.randomUUID()}.0`, `${ann.session}.0`, `${ann.session}:${stream}.0`],
      ...["stream:", `stream:${ann.session}:${stream}.0`, "cancelled.0", "answer:1.0"],
    ];
    for (const id of forged) await refused(bob.listen(id));
    release("ann");
    expect(await told.text()).toBe("ann");
  });

  test.each(resuming)(
    "%s: a stream that has said nothing since is gone on with, one that is not there is refused",
    async (revision) => {
      const { worker, release } = await open();
      const talker = await Talker.open(worker, revision);
      const told = talker.call("tell", { secret: "ann" });
      await told.next();
      await told.next();
      told.drop();
      const resumed = talker.resume(told);
      await resumed.live;
      await refused(talker.listen(`${crypto.randomUUID()}.${cursorOf(told)}`));
      release("ann");
      expect(await resumed.text()).toBe("ann");
      expect(said(resumed.messages)).toEqual(["ann 3"]);
      // What has been answered says nothing more, and is there all the same.
      const after = talker.resume(resumed);
      expect(await after.status()).toBe(200);
      expect(await after.rest()).toEqual([]);
    },
  );

  test.each(resuming)("%s: a stream that was forgotten is refused", async (revision) => {
    let now = 0;
    const { worker, release } = await open(new MemoryHub({ ttlMs: 1_000, now: () => now }));
    const talker = await Talker.open(worker, revision);
    const told = talker.call("tell", { secret: "ann" });
    await told.next();
    release("ann");
    expect(await told.text()).toBe("ann");
    expect(await talker.resume(told).status()).toBe(200);
    now += 2_000;
    await refused(talker.listen(told.lastEventId));
  });

  test("2025-11-25: a stream that has only begun is gone on with", async () => {
    const { worker, release } = await open();
    const talker = await Talker.open(worker, "2025-11-25");
    const told = talker.call("leave", { secret: "ann" });
    await told.rest();
    expect([told.lastEventId, told.messages]).toEqual([expect.any(String), []]);
    const resumed = talker.resume(told);
    await resumed.live;
    release("ann");
    expect(await resumed.text()).toBe("ann");
  });

  test.each(resuming)(
    "%s: no cursor of changes shows a change that the session does not watch",
    async (revision) => {
      const { worker } = await open();
      const ann = await Talker.open(worker, revision);
      const bob = await Talker.open(worker, revision);
      await ann.ask("resources/subscribe", { uri: "note://1" }).result();
      await bob.ask("resources/subscribe", { uri: "note://2" }).result();
      const listening = ann.listen();
      await listening.live;
      for (let round = 0; round < 2; round++) {
        await bob.call("announce").text();
        await listening.told("notifications/resources/updated");
      }
      const [first] = listening.events.flatMap(({ id, data }) => (data && id ? [id] : []));
      for (const id of [
        first!,
        "changes.0",
        "changes.",
        "changes.-1",
        "changes.9999",
        "changes.x",
      ]) {
        const uris = (await heard(bob.listen(id))).map(({ params }) =>
          isObject(params) ? params["uri"] : undefined,
        );
        expect(new Set(uris).has("note://1")).toBe(false);
        if (id === first) expect(uris).toEqual(["note://2", "note://2"]);
      }
    },
  );

  test.each(resuming)("%s: an event that is too old is refused, not skipped", async (revision) => {
    const { worker, release } = await open(new MemoryHub({ maxEvents: 2 }));
    const talker = await Talker.open(worker, revision);
    const told = talker.call("tell", { secret: "ann" });
    await told.next();
    told.drop();
    release("ann");
    expect(await talker.call("announce").text()).toBe("announced");
    await refused(talker.listen(told.lastEventId));
  });

  test.each(resuming)("%s: a session that has ended resumes nothing", async (revision) => {
    const { worker, release } = await open();
    const talker = await Talker.open(worker, revision);
    const told = talker.call("tell", { secret: "ann" });
    await told.next();
    told.drop();
    expect(await talker.end()).toBe(204);
    release("ann");
    expect(await talker.resume(told).status()).toBe(404);
  });

  test("2024-11-05: an event id means nothing", async () => {
    const { worker, release } = await open();
    const ann = await Talker.open(worker, "2025-11-25");
    const told = ann.call("tell", { secret: "ann" });
    await told.next();
    const bob = await Talker.open(worker, "2024-11-05");
    const stream = bob.listen(told.lastEventId);
    expect(await stream.status()).toBe(200);
    release("ann");
    await told.text();
    expect(await heard(stream)).toEqual([]);
  });

  test("2026-07-28: an event id brings no stream back", async () => {
    const { worker, release } = await open();
    const ann = await Talker.open(worker, "2025-11-25");
    const told = ann.call("tell", { secret: "ann" });
    await told.next();
    const modern = await Talker.open(worker, "2026-07-28");
    expect(await modern.resume(told).status()).toBe(405);
    const listed = modern.ask(
      "tools/list",
      {},
      { headers: { "last-event-id": told.lastEventId! } },
    );
    expect(Object.keys(await listed.result())).toContain("tools");
    release("ann");
    await told.text();
  });
});

/** A stream that is not opened: its reader is told that there is nothing to go on from. */
async function refused(stream: Talk): Promise<void> {
  expect(await stream.status()).toBe(400);
  const message = expect.stringMatching(/Last-Event-ID names no event/);
  expect(await stream.next()).toMatchObject({ error: { code: -32600, message } });
}

function cursorOf({ lastEventId }: Talk): string {
  return String(lastEventId).split(".").at(-1) ?? "";
}

/** What a stream says within a short while; then its reader goes. */
async function heard(talk: Talk): Promise<readonly JsonObject[]> {
  const reading = talk.rest().catch(() => []);
  await Promise.race([reading, new Promise((resolve) => setTimeout(resolve, 30))]);
  talk.drop();
  await reading;
  return talk.messages.filter((message) => !("error" in message));
}

function said(messages: readonly JsonObject[]): unknown[] {
  return messages.flatMap(({ params }) => (isObject(params) ? [params["data"]] : []));
}
