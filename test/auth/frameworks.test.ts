/** Inside applications that know who is calling already, and under the paths they have. */
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { checkTokens } from "anyrev/auth";
import {
  createEndpoint,
  type Endpoint,
  type EndpointOptions,
  type Principal,
  toNodeHandler,
} from "anyrev/node";
import express from "express";
import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { withHeaders } from "../support/as-principal.ts";
import { type Bridge, sendTo, toRequest } from "../support/bridges.ts";
import { openCaller, textOf } from "../support/raw-caller.ts";
import { revisions } from "../support/wire.ts";

const resource = "http://localhost/tools/mcp";
const people: Readonly<Record<string, Principal>> = {
  ada: { issuer: "app", subject: "ada", scopes: ["read", "write"] },
  eve: { issuer: "app", subject: "eve", scopes: ["read"] },
  late: { issuer: "app", subject: "late", scopes: ["read"], expiresAt: 1 },
};

interface Known extends express.Request {
  user?: string | undefined;
}

function endpointOf(auth?: EndpointOptions["auth"]): Endpoint {
  const server = createFixture({ restricted: true, log: () => undefined });
  return createEndpoint(server, auth === undefined ? {} : { auth });
}

/** Signs in by a header of its own, as a gateway in front would, and mounts below a prefix. */
async function inExpress(endpoint: Endpoint): Promise<Bridge> {
  const app = express();
  const handle = toNodeHandler<Known>(endpoint, {
    principal: ({ user }) => people[user ?? ""],
  });
  app.use((request: Known, _response, next) => {
    request.user = request.get("x-signed-in");
    next();
  });
  app.use("/tools", express.Router().all("/mcp", handle));
  if (endpoint.metadataPath !== undefined) app.get(endpoint.metadataPath, handle);
  const http = createHttpServer(app);
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  return {
    name: "node",
    port,
    send: (message) => sendTo(port, { target: "/tools/mcp", ...message }),
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
}

function inHono(endpoint: Endpoint): Promise<Bridge> {
  const app = new Hono<{ Variables: { principal: Principal | undefined } }>();
  app.use(async (context, next) => {
    context.set("principal", people[context.req.header("x-signed-in") ?? ""]);
    await next();
  });
  const tools = new Hono<{ Variables: { principal: Principal | undefined } }>();
  tools.all("/mcp", (context) => endpoint.fetchAs(context.get("principal"), context.req.raw));
  app.route("/tools", tools);
  if (endpoint.metadataPath !== undefined) {
    app.get(endpoint.metadataPath, (context) => endpoint.fetch(context.req.raw));
  }
  return Promise.resolve({
    name: "fetch",
    port: 0,
    send: async (message) => {
      const response = await app.fetch(toRequest({ target: "/tools/mcp", ...message }));
      const { status, headers } = response;
      return { status, headers, text: await response.text() };
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  });
}

/** Callers name no target, so that the mounts can. */
function signedIn(bridge: Bridge, user: string): Bridge {
  const as = withHeaders(bridge, { "x-signed-in": user });
  return { ...as, send: ({ target: _, ...message }) => as.send(message) };
}

describe.each([
  ["Express", inExpress],
  ["Hono", inHono],
] as const)("in %s", (_, mount) => {
  it.each(revisions)(
    "who was signed in by the application is the principal, in %s",
    async (revision) => {
      await using bridge = await mount(endpointOf({ resource, scopes: ["read"] }));
      const ada = await openCaller(signedIn(bridge, "ada"), revision);
      const whoami = await ada.request("tools/call", { name: "whoami", arguments: {} });
      expect(JSON.parse(textOf(whoami)).principal).toMatchObject({ issuer: "app", subject: "ada" });
      const note = { name: "write_note", arguments: {} };
      expect((await ada.request("tools/call", note)).status).toBe(200);
      const eve = await openCaller(signedIn(bridge, "eve"), revision);
      expect((await eve.request("tools/call", note)).status).toBe(403);
      if (ada.session === undefined) return;
      const headers = { "mcp-session-id": ada.session, "mcp-protocol-version": revision };
      expect((await eve.request("tools/list", {}, { headers })).status).toBe(404);
    },
  );

  it("who was not, or no longer, gets 401 with the way to the metadata", async () => {
    await using bridge = await mount(endpointOf({ resource }));
    for (const user of ["nobody", "late"]) {
      const refused = await signedIn(bridge, user).send({ method: "POST", body: "{}" });
      expect(refused.status).toBe(401);
      const url = /resource_metadata="([^"]+)"/.exec(refused.headers.get("www-authenticate") ?? "");
      const target = new URL(url?.[1] ?? "").pathname;
      const document = await bridge.send({ method: "GET", target });
      expect(JSON.parse(document.text)).toMatchObject({ resource });
    }
  });

  it("tokens are taken beside it, of those that were not signed in", async () => {
    const token = "a-token-beside-the-application";
    const authenticators = [checkTokens([{ token, subject: "script" }])];
    await using bridge = await mount(endpointOf({ resource, authenticators }));
    const script = withHeaders(signedIn(bridge, "nobody"), { authorization: `Bearer ${token}` });
    const caller = await openCaller(script, "2026-07-28");
    const whoami = await caller.request("tools/call", { name: "whoami", arguments: {} });
    expect(textOf(whoami)).toContain("script");
  });

  it("an endpoint that asks nobody takes nobody's word for who it is", async () => {
    await using bridge = await mount(endpointOf());
    const refused = await signedIn(bridge, "ada")
      .send({ method: "GET" })
      .catch((cause: Error) => ({ status: Number(/draw a (\d+)/.exec(cause.message)?.[1]) }));
    expect(refused.status).toBe(500);
  });
});
