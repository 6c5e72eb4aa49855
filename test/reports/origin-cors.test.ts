/** Who may call at all: hosts, origins, and what a browser is let to read. */
import { createEndpoint, createServer } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { bridges, openBridge, toRequest } from "../support/bridges.ts";
import { rows } from "../support/matrix.ts";
import { headersFor, request } from "../support/messages.ts";
import { openCaller, shakeHands, toExchanged } from "../support/raw-caller.ts";
import { assertReply } from "../support/wire.ts";

const refusedBefore = { answeredBy: "2026-07-28", echoed: null } as const;

describe.each(rows())("in $revision over $bridge", ({ revision, bridge: name }) => {
  it.each([
    { host: "evil.test:3000" },
    { host: "evil.test" },
    { host: "localhost.evil.test" },
    { host: "127.0.0.1.evil.test:3000" },
    { host: "127.0.0.2" },
    { origin: "http://evil.test" },
    { origin: "null" },
    { origin: "http://localhost.evil.test" },
    { origin: "http://localhost@evil.test" },
    { origin: "file://" },
    { origin: "http://127.0.0.1.evil.test:3000" },
  ])("R112: %j is 403", async (headers) => {
    await using bridge = await openBridge(name, createFixture());
    const caller = await openCaller(bridge, revision, { session: false });
    const refused = await caller.request("tools/list", {}, { headers, ...refusedBefore });
    expect(refused.status).toBe(403);
  });

  it.each([
    { host: "localhost:3000" },
    { host: "[::1]:3000" },
    { host: "127.0.0.1" },
    { host: "LOCALHOST:3000" },
    { host: "localhost:3000", origin: "http://localhost:5173" },
    { host: "127.0.0.1:3000", origin: "http://[::1]:8080" },
    {},
  ])("R112: %j passes", async (headers) => {
    await using bridge = await openBridge(name, createFixture());
    const caller = await openCaller(bridge, revision, { session: false });
    expect((await caller.request("tools/list", {}, { headers })).status).toBe(200);
  });

  it("R115: a page that is allowed can read every answer and the session's id", async () => {
    const origin = "https://app.example.com";
    await using bridge = await openBridge(name, createFixture(), { allowedOrigins: [origin] });
    const caller = await openCaller(bridge, revision);
    const list = (headers: Record<string, string>) =>
      caller.request(
        "tools/list",
        {},
        {
          headers: { origin, ...headers },
          ...(headers["content-type"] && refusedBefore),
        },
      );
    const unknown = { jsonrpc: "2.0", id: 1, method: "no/such", params: {} };
    const answers = [
      await list({}),
      await list({ accept: "text/event-stream" }),
      await list({ "content-type": "text/plain" }),
      await caller.notify("notifications/initialized", undefined, { headers: { origin } }),
      await caller.send(unknown, { headers: { origin }, text: "{", ...refusedBefore }),
      await bridge.send({ method: "PUT", headers: { origin } }),
      await bridge.send({ method: "DELETE", headers: { origin } }),
    ];
    expect(answers.map((answer) => answer.status)).toEqual([200, 200, 415, 202, 400, 405, 400]);
    for (const { headers } of answers) {
      expect(headers.get("access-control-allow-origin")).toBe(origin);
      expect(headers.get("access-control-expose-headers")?.toLowerCase().split(", ")).toEqual(
        expect.arrayContaining(["mcp-session-id", "www-authenticate"]),
      );
      expect(headers.get("vary")).toMatch(/origin/i);
    }
  });
});

describe.each(bridges)("over the %s bridge", (name) => {
  it.each(["GET", "POST", "DELETE", "PUT", "PATCH", "OPTIONS", "HEAD"])(
    "R112: %s is refused before anything of it is read, on every path",
    async (method) => {
      await using bridge = await openBridge(name, createFixture());
      for (const target of ["/mcp", "/mcp?mcp=2024-11-05", "/", "/elsewhere"]) {
        for (const spoiled of [{ host: "evil.test" }, { origin: "http://evil.test" }]) {
          const headers = { ...spoiled, "access-control-request-method": "POST" };
          const refused = toExchanged(await bridge.send({ method, target, headers }));
          expect(refused.status).toBe(403);
          expect(refused.headers.has("access-control-allow-origin")).toBe(false);
          if (refused.message === undefined) continue;
          assertReply("2026-07-28", { method: "nothing" }, refused.message);
        }
      }
    },
  );

  it("R113: a host allowed at any port is allowed without one", async () => {
    for (const rule of ["127.0.0.1:*", "127.0.0.1"]) {
      await using bridge = await openBridge(name, createFixture(), { allowedHosts: [rule] });
      const caller = await openCaller(bridge, "2026-07-28");
      for (const host of ["127.0.0.1", "127.0.0.1:80", "127.0.0.1:65535"]) {
        expect((await caller.request("tools/list", {}, { headers: { host } })).status).toBe(200);
      }
    }
  });

  it("R113: a rule with a port allows that port, and a refusal names the setting", async () => {
    const allowedHosts = ["mcp.example.com:8443", "[::1]"];
    await using bridge = await openBridge(name, createFixture(), { allowedHosts });
    const caller = await openCaller(bridge, "2026-07-28");
    const list = (host: string, options = {}) =>
      caller.request("tools/list", {}, { headers: { host }, ...options });
    for (const host of ["mcp.example.com:8443", "MCP.example.com:8443", "[::1]:9"]) {
      expect((await list(host)).status).toBe(200);
    }
    for (const host of ["mcp.example.com", "mcp.example.com:443", "mcp.example.com:84430"]) {
      const refused = await list(host, refusedBefore);
      expect(refused.status).toBe(403);
      expect(refused.error.message).toContain("allowedHosts");
    }
  });

  it("R115: a handshake from a page shows it the session's id", async () => {
    const origin = "https://app.example.com";
    await using bridge = await openBridge(name, createFixture(), { allowedOrigins: [origin] });
    const caller = await openCaller(bridge, "2025-11-25", { session: false });
    const params = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "page", version: "1" },
    };
    const opened = await caller.request("initialize", params, { headers: { origin } });
    expect(opened.headers.has("mcp-session-id")).toBe(true);
    expect(opened.headers.get("access-control-expose-headers")).toContain("mcp-session-id");
    expect((await shakeHands(bridge, "2025-11-25")).session).toBeDefined();
  });
});

it("R115: a page can read even that the server failed", async () => {
  const origin = "https://app.example.com";
  const fail = () => {
    throw new Error("the store is gone");
  };
  const endpoint = createEndpoint(createFixture({ log: () => undefined }), {
    allowedOrigins: [origin],
    sessionStore: { create: fail, get: fail, save: fail, touch: fail, delete: fail },
  });
  const message = request("2025-11-25", 1, "tools/list");
  const headers = {
    ...headersFor("2025-11-25", message),
    origin,
    "mcp-session-id": crypto.randomUUID(),
  };
  const answer = await endpoint.fetch(toRequest({ headers, body: JSON.stringify(message) }));
  expect(answer.status).toBe(500);
  expect(answer.headers.get("access-control-allow-origin")).toBe(origin);
  expect(await answer.text()).not.toContain("the store is gone");
});

it("R115: a page that asks too often can read when to come back", async () => {
  const limiter = { consume: () => Promise.reject({ msBeforeNext: 1_500 }) };
  const server = createServer({ name: "busy", version: "1" });
  server.tool("any", {}, () => "any");
  await using bridge = await openBridge("node", server, { rateLimits: { limiter } });
  const origin = "http://localhost:5173";
  const message = request("2026-07-28", 1, "tools/list");
  const headers = { ...headersFor("2026-07-28", message), origin };
  const { status, headers: told } = await bridge.send({ headers, body: JSON.stringify(message) });
  expect([status, told.get("retry-after")]).toEqual([429, "2"]);
  expect(told.get("access-control-allow-origin")).toBe(origin);
  expect(told.get("access-control-expose-headers")?.split(", ")).toContain("retry-after");
});
