/** How much is under way at once, and for how long, in every revision and over every bridge. */
import { createServer, type EndpointOptions, type Server, serve } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { fixtureAuth, fixtureTokens } from "../../fixture/auth.ts";
import { Conversant, type Reply } from "../support/conversant.ts";
import { headersFor, request } from "../support/messages.ts";
import { modern, tried } from "../support/shop.ts";
import { isObject, type Revision } from "../support/wire.ts";

interface Holding {
  readonly server: Server;
  /** Resolves when so many calls run. */
  runs(count: number): Promise<void>;
  release(): void;
  readonly cancelled: unknown[];
}

function createHolding(): Holding {
  const server = createServer({ name: "holding", version: "1", log: () => {} });
  const held: (() => void)[] = [];
  const cancelled: unknown[] = [];
  server.tool("hold", {}, async (_, ex) => {
    await new Promise<void>((resolve) => {
      held.push(resolve);
      ex.signal.addEventListener("abort", () => cancelled.push(ex.signal.reason));
    });
    return "held";
  });
  server.tool("quick", {}, () => "quick");
  server.resource("note://1", { name: "note" }, () => "note");
  return {
    server,
    cancelled,
    runs: async (count) => {
      while (held.length < count) await new Promise((resolve) => setTimeout(resolve, 2));
    },
    release: () => {
      for (const resolve of held.splice(0)) resolve();
    },
  };
}

function expectFull({ message, origin }: Reply, status: 429 | 503, what: string): void {
  expect(message["error"]).toMatchObject({
    code: -32603,
    message: expect.stringContaining(what),
    data: { retryAfterMs: 1_000 },
  });
  if (origin.status === undefined) return;
  expect(origin.status).toBe(status);
  expect(origin.headers?.get("retry-after")).toBe("1");
}

describe.each(tried)("in %s over %s", (revision: Revision, wire) => {
  const open = (server: Server, endpoint: EndpointOptions) =>
    Conversant.open(wire, revision, server, { endpoint });
  const hold = (peer: Conversant) => peer.start("tools/call", { name: "hold", arguments: {} });
  const quick = (peer: Conversant) => peer.ask("tools/call", { name: "quick", arguments: {} });

  it("one call more than run at once in all is told to come back, and then is served", async () => {
    const { server, runs, release } = createHolding();
    await using peer = await open(server, { maxCalls: 2 });
    const held = [hold(peer), hold(peer)];
    await runs(2);
    expectFull(await quick(peer), 503, "too many calls");
    release();
    await Promise.all(held.map(({ reply }) => reply));
    expect((await quick(peer)).message).toHaveProperty("result");
  });

  it("one caller has so many at once, where callers can be told apart", async () => {
    const { server, runs, release } = createHolding();
    await using peer = await open(server, { maxCallsPerCaller: 1 });
    const { reply } = hold(peer);
    await runs(1);
    const another = await quick(peer);
    // Over HTTP nothing tells one request of nobody in particular from those of others.
    if (revision === modern && wire !== "stdio") expect(another.message).toHaveProperty("result");
    else expectFull(another, 429, "you have too many calls");
    release();
    await reply;
    expect((await quick(peer)).message).toHaveProperty("result");
  });

  it("a call whose time is up is told so and cancelled, and takes its place until it ends", async () => {
    const { server, cancelled, runs, release } = createHolding();
    await using peer = await open(server, { callTimeoutMs: 40, maxCalls: 1 });
    const { reply } = hold(peer);
    await runs(1);
    expect((await reply).message["error"]).toMatchObject({
      code: -32603,
      message: "the call was ended after 40 ms",
    });
    expect(cancelled).toEqual(["the call took too long"]);
    expectFull(await quick(peer), 503, "too many calls");
    release();
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect((await quick(peer)).message).toHaveProperty("result");
  });
});

describe("streams that wait for changes", () => {
  const listening = { notifications: { toolsListChanged: true } };

  it.each(tried.filter(([revision]) => revision === modern))(
    "are so many at once in %s over %s, and a place is free when one ends",
    async (revision, wire) => {
      const { server } = createHolding();
      const endpoint = { maxStreams: 1 };
      await using peer = await Conversant.open(wire, revision, server, { endpoint });
      const { id, sending } = peer.start("subscriptions/listen", listening);
      await peer.until(() => peer.heard.length > 0, "it is acknowledged");
      expectFull(await peer.ask("subscriptions/listen", listening), 503, "too many streams");
      if (wire === "stdio") peer.notify("notifications/cancelled", { requestId: id });
      else sending.disconnect();
      await new Promise((resolve) => setTimeout(resolve, 30));
      peer.start("subscriptions/listen", listening);
      await peer.until(() => peer.heard.length > 1, "another is acknowledged");
    },
  );

  it.each(tried.filter(([revision, wire]) => revision !== modern && wire !== "stdio"))(
    "of sessions are so many at once in %s over %s, and a place is free when one ends",
    async (revision, wire) => {
      const { server } = createHolding();
      const endpoint = { maxStreams: 1 };
      await using peer = await Conversant.open(wire, revision, server, { endpoint });
      const first = await peer.listen();
      // Whether it is a stream or none, its body is read to its end by the peer.
      const refused = peer.wire.listen({
        accept: "text/event-stream",
        "mcp-session-id": peer.sessionId ?? "",
      });
      const response = await refused.response;
      expect([response?.status, response?.headers.get("retry-after")]).toEqual([503, "1"]);
      first.disconnect();
      await new Promise((resolve) => setTimeout(resolve, 30));
      expect((await (await peer.listen()).response)?.status).toBe(200);
    },
  );

  it("of one principal are so many, and those of another do not count among them", async () => {
    const { server } = createHolding();
    await using serving = await serve(server, {
      port: 0,
      drainMs: 50,
      auth: fixtureAuth,
      maxStreamsPerCaller: 1,
    });
    const gone = new AbortController();
    const listen = (who: keyof typeof fixtureTokens) => {
      const message = request(modern, 1, "subscriptions/listen", listening);
      const headers = {
        ...headersFor(modern, message),
        authorization: `Bearer ${fixtureTokens[who]}`,
      };
      const body = JSON.stringify(message);
      return fetch(serving.url, { method: "POST", headers, body, signal: gone.signal });
    };
    expect((await listen("alice")).status).toBe(200);
    const refused = await listen("alice");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    const told: unknown = await refused.json();
    expect(isObject(told) && told["error"]).toMatchObject({ code: -32603 });
    expect((await listen("bob")).status).toBe(200);
    gone.abort();
  });
});

it("a limit that is no positive number is refused at the start", async () => {
  const { server } = createHolding();
  await expect(serve(server, { port: 0, maxCalls: 0 })).rejects.toThrow("maxCalls");
  await expect(serve(server, { port: 0, maxHeaders: -1 })).rejects.toThrow("maxHeaders");
});
