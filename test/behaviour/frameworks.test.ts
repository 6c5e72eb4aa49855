/** The endpoint inside the frameworks people have, in every revision. */
import { createServer as createHttpServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { serve as serveHono } from "@hono/node-server";
import { createEndpoint, type Endpoint, toNodeHandler } from "anyrev/node";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { type Bridge, type HttpAnswer, sendTo, toRequest } from "../support/bridges.ts";
import { openCaller, textOf } from "../support/raw-caller.ts";
import { revisions } from "../support/wire.ts";

type Mount = (endpoint: Endpoint) => Promise<Bridge>;

function onPort(http: HttpServer): Promise<Bridge> {
  return new Promise((resolve) => {
    http.listen(0, "127.0.0.1", () => {
      const { port } = http.address() as AddressInfo;
      resolve({
        name: "node",
        port,
        send: (message) => sendTo(port, message),
        [Symbol.asyncDispose]: () =>
          new Promise<void>((closed) => {
            http.close(() => closed());
            http.closeAllConnections();
          }),
      });
    });
  });
}

async function inExpress(endpoint: Endpoint, parsed: boolean): Promise<Bridge> {
  const app = express();
  if (parsed) app.use(express.json({ limit: "10mb" }));
  app.all("/mcp", toNodeHandler(endpoint));
  return onPort(createHttpServer(app));
}

async function inFastify(endpoint: Endpoint, parsed: boolean): Promise<Bridge> {
  const app = fastify({ bodyLimit: 10_000_000 });
  if (!parsed) {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", (_request, payload, done) => done(null, payload));
  }
  const handle = toNodeHandler(endpoint);
  app.all("/mcp", (request, reply) => {
    reply.hijack();
    handle(parsed ? Object.assign(request.raw, { body: request.body }) : request.raw, reply.raw);
  });
  await app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = app.server.address() as AddressInfo;
  return {
    name: "node",
    port,
    send: (message) => sendTo(port, message),
    [Symbol.asyncDispose]: async () => {
      app.server.closeAllConnections();
      await app.close();
    },
  };
}

function honoOf(endpoint: Endpoint): Hono {
  const app = new Hono();
  app.all("/mcp", (context) => endpoint.fetch(context.req.raw));
  return app;
}

function inHonoOnNode(endpoint: Endpoint): Promise<Bridge> {
  return new Promise((resolve) => {
    const options = { fetch: honoOf(endpoint).fetch, port: 0, hostname: "127.0.0.1" };
    const http = serveHono(options, ({ port }) => {
      resolve({
        name: "node",
        port,
        send: (message) => sendTo(port, message),
        [Symbol.asyncDispose]: () =>
          new Promise<void>((closed) => {
            http.close(() => closed());
            if ("closeAllConnections" in http) http.closeAllConnections();
          }),
      });
    });
  });
}

async function inHono(endpoint: Endpoint): Promise<Bridge> {
  const app = honoOf(endpoint);
  return {
    name: "fetch",
    port: 0,
    send: async (message): Promise<HttpAnswer> => {
      const response = await app.fetch(toRequest(message));
      const { status, headers } = response;
      return { status, headers, text: await response.text() };
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

const mounts: Readonly<Record<string, Mount>> = {
  "node:http": (endpoint) => onPort(createHttpServer(toNodeHandler(endpoint))),
  "Express 5": (endpoint) => inExpress(endpoint, false),
  "Express 5 behind its JSON parser": (endpoint) => inExpress(endpoint, true),
  "Fastify 5": (endpoint) => inFastify(endpoint, false),
  "Fastify 5 behind its JSON parser": (endpoint) => inFastify(endpoint, true),
  "Hono on Node": inHonoOnNode,
  Hono: inHono,
};

const all = Object.entries(mounts).flatMap(([where, mount]) =>
  revisions.map((revision) => ({ where, mount, revision })),
);

describe.each(all)("$revision in $where", ({ mount, revision, where }) => {
  it("lists, calls, reads and refuses like anywhere else", async () => {
    await using bridge = await mount(createEndpoint(createFixture()));
    const caller = await openCaller(bridge, revision);
    expect((await caller.request("tools/list")).result["tools"]).toBeInstanceOf(Array);
    const params = { name: "echo", arguments: { text: "caf\u00e9 \ud83d\ude00" } };
    const called = await caller.request("tools/call", params);
    expect(JSON.parse(textOf(called))).toEqual({ text: "caf\u00e9 \ud83d\ude00" });
    const uri = "test://static-text";
    expect((await caller.request("resources/read", { uri })).text).toContain("static text");
    const streamed = await caller.request(
      "tools/list",
      {},
      {
        headers: { accept: "text/event-stream" },
      },
    );
    expect(streamed.headers.get("content-type")).toBe("text/event-stream");
    expect((await caller.notify("notifications/initialized")).status).toBe(202);
    const unknown = await caller.request("tools/call", { name: "nope", arguments: {} });
    expect(unknown.error.code).toBe(-32602);
  });

  it("keeps to its limits, its methods and its guard", async () => {
    await using bridge = await mount(createEndpoint(createFixture(), { maxBodyBytes: 5000 }));
    const caller = await openCaller(bridge, revision);
    const refused = { answeredBy: "2026-07-28", echoed: null } as const;
    const large = { name: "echo", arguments: { text: "x".repeat(6000) } };
    expect((await caller.request("tools/call", large, refused)).status).toBe(413);
    const foreign = { headers: { origin: "http://evil.test" }, ...refused };
    expect((await caller.request("tools/list", {}, foreign)).status).toBe(403);
    const put = await bridge.send({ method: "PUT", headers: { "mcp-protocol-version": revision } });
    expect(put.status).toBe(405);
    if (caller.session === undefined) return;
    const headers = { "mcp-session-id": caller.session };
    const ended = await bridge.send({ method: "DELETE", headers });
    expect([where, ended.status]).toEqual([where, 204]);
    expect((await caller.request("tools/list")).status).toBe(404);
  });
});

describe.each(Object.entries(mounts))("in %s", (_, mount) => {
  it("takes an array of messages where the revision has them", async () => {
    await using bridge = await mount(createEndpoint(createFixture()));
    const caller = await openCaller(bridge, "2025-03-26");
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    const answered = await caller.send([ping, { ...ping, id: 2 }]);
    expect(answered.message).toMatchObject([{ id: 1 }, { id: 2 }]);
  });
});
