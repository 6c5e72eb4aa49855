/** The HTTP+SSE transport of 2024-11-05, for clients that know nothing newer. */
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import {
  createLegacySse,
  createServer,
  type Exchange,
  MemoryHub,
  MemorySessions,
  type Server,
  serve,
  toNodeHandler,
} from "anyrev/node";
import express from "express";
import { describe, expect, test } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { bridgeKinds } from "../support/bridge.ts";
import { callEveryTool, walkWithSdk1 } from "../support/every-tool.ts";
import { overSocket, type Worker } from "../support/live.ts";
import { initializeParams, request } from "../support/messages.ts";
import { openSse, openSseWorker, post } from "../support/sse-peer.ts";
import { type JsonObject, revisions } from "../support/wire.ts";

const handshakes = revisions.filter((revision) => revision !== "2026-07-28");
const quiet = () => createFixture({ log: () => undefined });
const capabilities = { elicitation: {}, sampling: {}, roots: {} };
const add = { name: "add", arguments: { a: 1, b: 2 } };
const ping = JSON.stringify(request("2024-11-05", 1, "ping"));
const unknown = new URL(`http://localhost/messages?sessionId=${crypto.randomUUID()}`);

const rows = handshakes.flatMap((revision) =>
  bridgeKinds.map((bridge) => ({ revision, bridge }) as const),
);

/** A server with one tool that never returns. */
function hanging(): { readonly server: Server; readonly entered: Promise<Exchange> } {
  const server = createServer({ name: "hanging", version: "1", log: () => undefined });
  const entered = new Promise<Exchange>((resolve) => {
    server.tool("hang", { description: "Never returns." }, (_, ex) => {
      resolve(ex);
      return new Promise<string>(() => undefined);
    });
  });
  return { server, entered };
}

async function get(
  worker: Worker,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  method = "GET",
): Promise<{ readonly status: number; readonly headers: Headers }> {
  const begun = worker.begin({ method, path, headers });
  const { status, headers: got } = await begun.live;
  begun.drop();
  return { status, headers: got };
}

describe.each(rows)("HTTP+SSE for $revision over $bridge", ({ revision, bridge }) => {
  test("shakes hands and answers on the stream, to posts that are only accepted", async () => {
    await using worker = await openSseWorker(bridge, quiet());
    const { end, headers, posted, endpoint } = await openSse(worker);
    expect(headers.get("content-type")).toBe("text/event-stream");
    expect(headers.get("x-accel-buffering")).toBe("no");
    expect(headers.get("mcp-session-id")).toBeNull();
    expect(endpoint).toMatch(/^messages\?sessionId=[0-9a-f-]{36}$/);
    await end.open(revision);
    const { result } = await end.ask(revision, "tools/call", add);
    expect(result).toMatchObject({ content: [{ text: '{"sum":3}' }] });
    expect((await end.ask(revision, "no/such")).error).toMatchObject({ code: -32601 });
    end.write("nonsense");
    await end.next(({ error }) => (error as JsonObject | undefined)?.["code"] === -32700);
    // An answer may come on the stream before its post was accepted.
    await expect.poll(() => posted).toEqual(["202", "202", "202", "202", "202"]);
    expect(end.problems).toEqual([]);
  });

  test("asks, tells and cancels on the stream", async () => {
    await using worker = await openSseWorker(bridge, quiet());
    const { end } = await openSse(worker);
    await end.open(revision, { capabilities });
    const sampling = { name: "test_sampling", arguments: { prompt: "Say it." } };
    const id = end.start(revision, "tools/call", sampling);
    const content = { type: "text", text: "It." };
    const asked = await end.asked("sampling/createMessage");
    end.answer(asked, { role: "assistant", model: "m", content });
    expect((await end.reply(id)).result).toMatchObject({
      content: [{ text: "LLM response: It." }],
    });
    const counting = { name: "count_to", arguments: { n: 10_000, delayMs: 25 } };
    const call = { ...counting, _meta: { progressToken: 7 } };
    const endless = end.start(revision, "tools/call", call);
    await end.next(({ method }) => method === "notifications/progress");
    end.notify(revision, "notifications/cancelled", { requestId: endless });
    await end.ask(revision, "resources/read", { uri: "test://last-cancelled" });
    const told = end.told("notifications/progress").length;
    await delay(60);
    expect(end.told("notifications/progress")).toHaveLength(told);
    await end.ask(revision, "tools/call", { name: "toggle", arguments: { name: "x" } });
    await end.next(({ method }) => method === "notifications/tools/list_changed");
    expect(end.problems).toEqual([]);
  });

  test("counts the calls of all connections together", async () => {
    const { server, entered } = hanging();
    server.tool("add", { description: "Adds." }, async () => "3");
    await using worker = await openSseWorker(bridge, server, { maxCalls: 1 });
    const [one, other] = [(await openSse(worker)).end, (await openSse(worker)).end];
    for (const end of [one, other]) await end.open(revision);
    const hung = one.start(revision, "tools/call", { name: "hang" });
    await entered;
    const refused = await other.ask(revision, "tools/call", add);
    expect(refused.error).toMatchObject({ code: -32603, data: { retryAfterMs: 1_000 } });
    one.notify(revision, "notifications/cancelled", { requestId: hung });
    expect(one.problems.concat(other.problems)).toEqual([]);
  });
});

describe.each(bridgeKinds)("HTTP+SSE over %s", (bridge) => {
  test("refuses what speaks no handshake, naming those that do", async () => {
    await using worker = await openSseWorker(bridge, quiet());
    const { end } = await openSse(worker);
    // Nothing newer is served here, so the refusal is in the newest handshake revision.
    const modern = request("2026-07-28", "m", "tools/list");
    end.expect("2025-11-25", { ...modern });
    end.write(JSON.stringify(modern));
    expect((await end.reply("m")).error).toMatchObject({
      code: -32022,
      data: { requested: "2026-07-28", supported: handshakes },
    });
    const opening = await end.ask("2025-11-25", "initialize", {
      ...initializeParams("2025-11-25"),
      protocolVersion: "2026-07-28",
    });
    expect(opening.result).toMatchObject({ protocolVersion: "2025-11-25" });
    // A discovery result would be taken as the proof of a modern server.
    expect((await end.ask("2025-11-25", "server/discover")).error).toMatchObject({ code: -32601 });
    expect(end.problems).toEqual([]);
  });

  test("serves the handshake revisions that it is told to", async () => {
    const server = quiet();
    await using worker = await openSseWorker(bridge, server, {
      revisions: ["2026-07-28", "2025-03-26"],
    });
    const { end } = await openSse(worker);
    const params = initializeParams("2024-11-05");
    const { result } = await end.ask("2025-03-26", "initialize", params);
    expect(result).toMatchObject({ protocolVersion: "2025-03-26" });
    expect(() => createLegacySse(server, { revisions: ["2026-07-28"] })).toThrow(/handshake/);
    expect(end.problems).toEqual([]);
  });

  test("knows one stream from another, and none that has ended", async () => {
    await using worker = await openSseWorker(bridge, quiet());
    const one = await openSse(worker);
    const two = await openSse(worker);
    await one.end.open("2025-06-18");
    await two.end.open("2024-11-05");
    await two.end.ask("2024-11-05", "ping");
    expect(one.end.received).toHaveLength(1);
    expect(two.end.received).toHaveLength(2);
    expect(await post(worker, unknown, ping)).toMatch(/^404 .*-32001/);
    for (const query of [
      "",
      "?sessionId=",
      "?sessionId=../../etc",
      `?sessionId=${"a".repeat(5_000)}`,
    ]) {
      expect(await post(worker, new URL(`http://localhost/messages${query}`), ping)).toMatch(
        /^404 /,
      );
    }
    one.drop();
    await expect.poll(() => post(worker, one.posts, ping)).toMatch(/^404 /);
    expect((await two.end.ask("2024-11-05", "ping")).result).toEqual({});
  });

  test("guards its stream and its posts as the endpoint does", async () => {
    await using worker = await openSseWorker(bridge, quiet(), { maxBodyBytes: 1_000 });
    const { end, posts } = await openSse(worker);
    const accept = "text/event-stream";
    const evil = { origin: "http://evil.example.com" };
    expect((await get(worker, "/sse", { accept, ...evil })).status).toBe(403);
    expect((await get(worker, "/sse", { accept, host: "evil.example.com" })).status).toBe(403);
    expect((await get(worker, "/sse", { accept: "application/json" })).status).toBe(406);
    expect((await get(worker, "/sse")).status).toBe(200);
    expect((await get(worker, "/sse", { accept: "*/*" })).status).toBe(200);
    expect(await post(worker, posts, ping, evil)).toMatch(/^403 /);
    expect(await post(worker, posts, ping, { host: "evil.example.com" })).toMatch(/^403 /);
    expect(await post(worker, posts, ping, { "content-type": "text/plain" })).toMatch(/^415 /);
    expect(await post(worker, posts, " ".repeat(1_001))).toMatch(/^413 /);
    for (const [method, path, allow] of [
      ["POST", "/sse", "GET"],
      ["DELETE", "/sse", "GET"],
      ["GET", "/messages", "POST"],
      ["PUT", "/messages", "POST"],
    ] as const) {
      const refused = await get(worker, path, {}, method);
      expect([refused.status, refused.headers.get("allow")]).toEqual([405, allow]);
    }
    expect(await post(worker, posts, ping)).toBe("202");
    expect(end.received.filter((message) => "error" in message)).toEqual([]);
  });

  test("lets a page of an allowed origin read the stream and post", async () => {
    const origin = "https://app.example.com";
    await using worker = await openSseWorker(bridge, quiet(), { allowedOrigins: [origin] });
    const opened = await get(worker, "/sse", { accept: "text/event-stream", origin });
    expect(opened.headers.get("access-control-allow-origin")).toBe(origin);
    const asking = { origin, "access-control-request-method": "POST" };
    const preflight = await get(worker, "/messages", asking, "OPTIONS");
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-methods")).toContain("POST");
  });

  test("leaves nothing behind when a client goes, and cancels what ran for it", async () => {
    const { server, entered } = hanging();
    const sessionStore = new MemorySessions();
    const eventHub = new MemoryHub();
    await using worker = await openSseWorker(bridge, server, { sessionStore, eventHub });
    const before = { sessions: sessionStore.size, ...eventHub.counts };
    const peer = await openSse(worker);
    await peer.end.open("2024-11-05");
    peer.end.start("2024-11-05", "tools/call", { name: "hang" });
    const { signal } = await entered;
    expect(sessionStore.size).toBe(before.sessions + 1);
    expect(signal.aborted).toBe(false);
    peer.drop();
    await peer.ended;
    await expect.poll(() => signal.aborted).toBe(true);
    await expect.poll(() => ({ sessions: sessionStore.size, ...eventHub.counts })).toEqual(before);
  });

  test("ends its streams when it closes, after the calls in flight", async () => {
    const worker = await openSseWorker(bridge, quiet(), { drainMs: 5_000 });
    const { end, ended } = await openSse(worker);
    await end.open("2024-11-05");
    const slow = { name: "echo", arguments: { text: "late", delayMs: 150 } };
    const id = end.start("2024-11-05", "tools/call", slow);
    await end.ask("2024-11-05", "ping");
    await worker[Symbol.asyncDispose]();
    await ended;
    expect((await end.reply(id)).result).toMatchObject({ content: [{ type: "text" }] });
    expect(end.problems).toEqual([]);
  });

  test("reaches a stream of another worker through a shared store and hub", async () => {
    const shared = { sessionStore: new MemorySessions(), eventHub: new MemoryHub() };
    await using one = await openSseWorker(bridge, quiet(), shared);
    await using other = await openSseWorker(bridge, quiet(), shared);
    const { end, posts } = await openSse(one);
    await end.open("2024-11-05");
    const message = request("2024-11-05", "elsewhere", "ping");
    end.expect("2024-11-05", { ...message });
    expect(await post(other, posts, JSON.stringify(message))).toBe("202");
    expect((await end.reply("elsewhere")).result).toEqual({});
  });

  test("takes no session of the endpoint for a stream, though they share a store", async () => {
    const shared = { sessionStore: new MemorySessions(), eventHub: new MemoryHub() };
    await using worker = await openSseWorker(bridge, quiet(), shared);
    await using serving = await serve(quiet(), { ...shared, port: 0 });
    const opening = request("2025-06-18", 1, "initialize", initializeParams("2025-06-18"));
    const response = await fetch(serving.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify(opening),
    });
    const id = response.headers.get("mcp-session-id");
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    const posts = new URL(`http://localhost/messages?sessionId=${id}`);
    expect(await post(worker, posts, ping)).toMatch(/^404 /);
  });

  test("says that the server failed when its store does, and goes on", async () => {
    const logged: string[] = [];
    const server = createFixture({ log: ({ message }) => void logged.push(message) });
    let fails = true;
    class Failing extends MemorySessions {
      override create(...args: Parameters<MemorySessions["create"]>): void {
        if (fails) throw new Error("no connection");
        super.create(...args);
      }
      override delete(): boolean {
        throw new Error("no connection");
      }
    }
    await using worker = await openSseWorker(bridge, server, { sessionStore: new Failing() });
    expect((await get(worker, "/sse")).status).toBe(500);
    fails = false;
    const peer = await openSse(worker);
    peer.drop();
    await expect.poll(() => logged).toHaveLength(2);
    await openSse(worker);
  });
});

describe("HTTP+SSE", () => {
  test("is not served unless it is asked for", async () => {
    await using worker = overSocket(await serve(quiet(), { port: 0 }));
    expect((await get(worker, "/sse", { accept: "text/event-stream" })).status).toBe(404);
  });

  test("goes beside the endpoint, which it leaves alone", async () => {
    await using serving = await serve(quiet(), { port: 0, legacySse: true });
    const worker = overSocket({ port: serving.port, close: async () => undefined });
    const { end } = await openSse(worker);
    await end.open("2024-11-05");
    const modern = request("2026-07-28", 1, "tools/list");
    const response = await fetch(serving.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/list",
      },
      body: JSON.stringify(modern),
    });
    expect(await response.json()).toMatchObject({ result: { resultType: "complete" } });
    expect((await get(worker, "/elsewhere")).status).toBe(404);
  });

  test("answers 404 at a path that it does not serve, where it stands alone", async () => {
    const legacy = createLegacySse(quiet(), { path: "/api/sse" });
    const url = "http://localhost/sse";
    expect((await legacy.fetch(new Request(url))).status).toBe(404);
    expect(legacy.serves("/api/sse?x=1")).toBe(true);
    expect(legacy.serves("/api/messages?sessionId=1")).toBe(true);
    expect(legacy.serves("/messages")).toBe(false);
  });

  test.each(["/api", ""])("is right for clients behind the prefix %o", async (prefix) => {
    const app = express();
    const legacy = createLegacySse(quiet());
    app.use(prefix === "" ? "/" : prefix, toNodeHandler(legacy));
    const listening = app.listen(0, "127.0.0.1");
    await new Promise((resolve) => listening.once("listening", resolve));
    const { port } = listening.address() as AddressInfo;
    const close = async () => {
      legacy.close();
      listening.closeAllConnections();
      await new Promise((resolve) => listening.close(resolve));
    };
    await using worker = overSocket({ port, close });
    const { end, posts } = await openSse(worker, `${prefix}/sse`);
    expect(posts.pathname).toBe(`${prefix}/messages`);
    await end.open("2024-11-05");
    expect((await end.ask("2024-11-05", "tools/call", add)).result).toMatchObject({
      content: [{ text: '{"sum":3}' }],
    });
    const transport = new SSEClientTransport(new URL(`http://127.0.0.1:${port}${prefix}/sse`));
    const walker = await walkWithSdk1(transport, "2025-11-25");
    expect(await walker.callTool("add", { a: 1, b: 2 })).toMatchObject({
      structuredContent: { sum: 3 },
    });
    await walker.close();
  });

  test("serves every tool to the official client", async () => {
    await using serving = await serve(quiet(), { port: 0, legacySse: true, drainMs: 200 });
    const transport = new SSEClientTransport(new URL("/sse", serving.url));
    const walker = await walkWithSdk1(transport, "2025-11-25");
    const texts = await callEveryTool(walker);
    expect(walker.negotiated).toBe("2025-11-25");
    expect(texts.get("test_sampling")).toBe("LLM response: Ada");
    expect(texts.get("test_elicitation")).toContain('"username":"Ada"');
    expect(walker.problems).toEqual([]);
    await walker.close();
  });
});
