/** What handlers keep with a session, or behind a handle. */
import {
  createServer,
  type EndpointOptions,
  MemoryHub,
  MemorySessions,
  type Server,
  StoreError,
} from "anyrev/node";
import { describe, expect, test } from "vitest";
import { bridgeKinds } from "../support/bridge.ts";
import { openWorker } from "../support/live.ts";
import { handshakes } from "../support/matrix.ts";
import { isObject, type JsonObject, revisions } from "../support/schemas.ts";
import { type Talk, Talker } from "../support/talk.ts";

const text = (properties: JsonObject, required: readonly string[] = []) =>
  ({ type: "object", properties, required }) as const;

function declare(): Server {
  const server = createServer({ name: "keeper", version: "1.0.0", log: () => undefined });
  const at = (ex: Parameters<Parameters<Server["tool"]>[2]>[1], handle: unknown) =>
    typeof handle === "string" ? ex.sessions.use(handle) : ex.session;
  const input = text({ handle: { type: "string" } });
  server.tool("open", { description: "Opens." }, async (_, ex) => ({
    handle: (await ex.sessions.open({ n: 0 })).id,
    session: ex.session?.id ?? null,
  }));
  server.tool("add", { description: "Adds one.", input }, async ({ handle }, ex) => {
    const kept = await at(ex, handle);
    const values = await kept?.update((before) => ({ ...before, n: Number(before.n ?? 0) + 1 }));
    return { n: values?.n };
  });
  server.tool("look", { description: "Reads.", input }, async ({ handle }, ex) => {
    const kept = await at(ex, handle);
    return { n: (await kept?.get("n")) ?? null, all: kept?.values ?? null };
  });
  server.tool(
    "change",
    { description: "Changes what it reads.", input },
    async ({ handle }, ex) => {
      const kept = await at(ex, handle);
      await kept?.set("list", [1]);
      (kept?.values.list as number[] | undefined)?.push(2);
      ((await kept?.get("list")) as number[] | undefined)?.push(3);
      await kept?.update((values) => ({ ...values, seen: JSON.stringify(values.list) }));
      await kept?.delete("n");
      return { ...kept?.values };
    },
  );
  server.tool("fill", { description: "Keeps a lot.", input }, async ({ handle }, ex) => {
    await (await at(ex, handle))?.set("much", "x".repeat(300_000));
    return "kept";
  });
  server.tool("end", { description: "Ends.", input }, async ({ handle }, ex) => ({
    ended: await ex.sessions.end(String(handle)),
  }));
  return server;
}

describe.each(bridgeKinds)("over the %s bridge", (kind) => {
  const openTwo = async (options: EndpointOptions = {}) => {
    const store = new MemorySessions();
    const shared = { sessionStore: store, eventHub: new MemoryHub(), ...options };
    const [a, b] = [
      await openWorker(kind, declare(), shared),
      await openWorker(kind, declare(), shared),
    ];
    return {
      a,
      b,
      store,
      [Symbol.asyncDispose]: async () => {
        await a[Symbol.asyncDispose]();
        await b[Symbol.asyncDispose]();
      },
    };
  };

  test.each(handshakes)("%s: calls at once on two workers lose no write", async (revision) => {
    await using two = await openTwo();
    const onA = await Talker.open(two.a, revision);
    const onB = onA.on(two.b);
    const all = await Promise.all(
      Array.from({ length: 40 }, (_, at) => resultOf((at % 2 === 0 ? onA : onB).call("add"))),
    );
    const seen = all.map(({ n }) => Number(n)).sort((x, y) => x - y);
    expect(seen).toEqual(Array.from({ length: 40 }, (_, at) => at + 1));
    expect(await resultOf(onB.call("look"))).toEqual({ n: 40, all: { n: 40 } });
  });

  test.each(handshakes)(
    "%s: only what is written is kept, and what is deleted is gone",
    async (revision) => {
      await using two = await openTwo();
      const onA = await Talker.open(two.a, revision);
      await onA.call("add").result();
      expect(await resultOf(onA.call("change"))).toEqual({ list: [1], seen: "[1]" });
      expect(await resultOf(onA.on(two.b).call("look"))).toEqual({
        n: null,
        all: { list: [1], seen: "[1]" },
      });
    },
  );

  test.each(handshakes)(
    "%s: what is too much is refused, and leaves all as it was",
    async (revision) => {
      await using two = await openTwo();
      const onA = await Talker.open(two.a, revision);
      await onA.call("add").result();
      expect(await onA.call("fill").result()).toMatchObject({
        isError: true,
        content: [{ text: "this is more than a session can hold; keep less in it" }],
      });
      expect(await resultOf(onA.call("look"))).toEqual({ n: 1, all: { n: 1 } });
    },
  );

  const stateless: EndpointOptions = { sessions: false };
  const rows = revisions.flatMap((revision) => [
    { revision, options: {} },
    { revision, options: stateless },
  ]);

  test.each(rows)(
    "$revision, $options: a handle opens on another worker, until it ends",
    async ({ revision, options }) => {
      await using two = await openTwo(options);
      const onA = await Talker.open(two.a, revision);
      const onB = onA.on(two.b);
      const { handle, session } = await resultOf(onA.call("open"));
      expect(handle).toMatch(/^h_[\w-]{32}$/);
      const has = revision !== "2026-07-28" && options.sessions !== false;
      expect(session).toBe(has ? onA.session : null);
      expect(await resultOf(onB.call("add", { handle }))).toEqual({ n: 1 });
      expect(await resultOf(onA.call("add", { handle }))).toEqual({ n: 2 });
      const { handle: other } = await resultOf(onA.call("open"));
      expect(await resultOf(onA.call("look", { handle: other }))).toMatchObject({ n: 0 });
      expect(await resultOf(onB.call("end", { handle }))).toEqual({ ended: true });
      expect(await resultOf(onB.call("end", { handle }))).toEqual({ ended: false });
      expect(await onA.call("look", { handle }).result()).toMatchObject(refused);
    },
  );

  test("2026-07-28: handles that are none get one answer, whatever is wrong with them", async () => {
    await using two = await openTwo();
    const talker = await Talker.open(two.a, "2026-07-28");
    const session = (await Talker.open(two.a, "2025-11-25")).session;
    const { handle } = await resultOf(talker.call("open"));
    const record = two.store.get(String(handle))!;
    const foreign = `h_${"A".repeat(32)}`;
    two.store.create({ ...record, id: foreign, principal: "somebody else" });
    for (const wrong of ["", "h_", `${handle}x`, `h_${"B".repeat(32)}`, session, foreign, "../h"]) {
      expect(await talker.call("look", { handle: wrong }).result(), wrong).toMatchObject(refused);
      expect(await talker.call("end", { handle: wrong }).text()).toBe('{"ended":false}');
    }
    expect(two.store.get(foreign)).toBeDefined();
  });

  test("2025-11-25: a handle is no session", async () => {
    await using two = await openTwo();
    const onA = await Talker.open(two.a, "2025-11-25");
    const { handle } = await resultOf(onA.call("open"));
    const posing = new Talker(two.a, "2025-11-25", {}, String(handle));
    expect(await posing.call("look").status()).toBe(404);
    expect(await posing.listen().status()).toBe(404);
    expect(await posing.end()).toBe(404);
  });

  test.each(revisions)(
    "%s: while the store is away, what needs it says when to come back",
    async (revision) => {
      await using two = await openTwo();
      const talker = await Talker.open(two.a, revision);
      const { handle } = await resultOf(talker.call("open"));
      const gone = () => {
        throw new StoreError("away", "it is gone", { retryAfterMs: 2_500 });
      };
      const { get, save, create } = two.store;
      Object.assign(two.store, { get: gone, save: gone, create: gone });
      for (const call of [talker.call("add", { handle }), talker.call("open")]) {
        const { status, headers } = await call.live;
        expect([status, headers.get("retry-after")]).toEqual([503, "3"]);
        expect(await call.reply()).toMatchObject({
          error: { code: -32603, message: /again later/, data: { retryAfterMs: 2_500 } },
        });
      }
      // What needs nothing kept is served, and what comes back finds all as it was.
      expect(await talker.ask("tools/list").result()).toHaveProperty("tools");
      Object.assign(two.store, { get, save, create });
      expect(await resultOf(talker.call("add", { handle }))).toEqual({ n: 1 });
    },
  );
});

const refused = {
  isError: true,
  content: [{ text: "this handle is unknown or has expired; leave it out to get a new one" }],
};

async function resultOf(call: Talk): Promise<JsonObject> {
  const value: unknown = JSON.parse(await call.text());
  if (!isObject(value)) throw new Error(`no object: ${JSON.stringify(value)}`);
  return value;
}
