/** With a real authorization server: from the first 401 to a call, and over a refresh. */
import { type Authenticator, checkIntrospected, checkJwt } from "anyrev/auth";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { withHeaders } from "../support/as-principal.ts";
import {
  type AuthorizationServer,
  openAuthorizationServer,
} from "../support/authorization-server.ts";
import { type Bridge, openBridge } from "../support/bridges.ts";
import { rows } from "../support/matrix.ts";
import { openCaller, textOf } from "../support/raw-caller.ts";

const resource = "http://localhost/mcp";

beforeAll(() => {
  // It says on the console what a production server would have to change.
  for (const method of ["log", "info", "warn", "error"] as const) {
    vi.spyOn(console, method).mockImplementation(() => undefined);
  }
});

afterAll(() => {
  vi.restoreAllMocks();
});

const ways: Record<"jwt" | "opaque", (server: AuthorizationServer) => Authenticator> = {
  jwt: ({ issuer }) => checkJwt({ issuer }),
  opaque: ({ issuer, asker }) =>
    checkIntrospected({
      issuer,
      endpoint: `${issuer}/token/introspection`,
      ...asker,
      cacheMs: 0,
    }),
};

describe.each(["jwt", "opaque"] as const)("tokens that are %s", (format) => {
  let issuing: AuthorizationServer;
  beforeAll(async () => {
    issuing = await openAuthorizationServer(format);
  });
  afterAll(() => issuing[Symbol.asyncDispose]());

  const bridges: Bridge[] = [];
  const open = async (name: "fetch" | "node"): Promise<Bridge> => {
    const auth = { resource, scopes: ["read"], authenticators: [ways[format](issuing)] };
    const server = createFixture({ restricted: true, log: () => undefined });
    const bridge = await openBridge(name, server, { path: "/mcp", auth });
    bridges.push(bridge);
    return bridge;
  };
  afterEach(async () => {
    for (const bridge of bridges.splice(0)) await bridge[Symbol.asyncDispose]();
  });
  const with_ = (bridge: Bridge, token: string): Bridge =>
    withHeaders(bridge, { authorization: `Bearer ${token}` });

  it.each(rows())("lead from a 401 to a call, in $revision over $bridge", async (row) => {
    const bridge = await open(row.bridge);
    const refused = await bridge.send({});
    expect(refused.status).toBe(401);
    const found = /resource_metadata="([^"]+)", scope="read"$/.exec(
      refused.headers.get("www-authenticate") ?? "",
    );
    const target = new URL(found?.[1] ?? "").pathname;
    const metadata = JSON.parse((await bridge.send({ method: "GET", target })).text);
    expect(metadata).toMatchObject({ resource, authorization_servers: [issuing.issuer] });
    const token = await issuing.forClient(metadata.resource);
    const caller = await openCaller(with_(bridge, token), row.revision);
    const whoami = await caller.request("tools/call", { name: "whoami", arguments: {} });
    expect(JSON.parse(textOf(whoami)).principal).toEqual({
      issuer: issuing.issuer,
      subject: "editor",
      client: "editor",
      scopes: ["read"],
    });
    const lacking = await caller.request("tools/call", { name: "write_note", arguments: {} });
    expect(lacking.status).toBe(403);
    const more = await issuing.forClient(resource, "read write");
    const stepped = await caller.request(
      "tools/call",
      { name: "write_note", arguments: {} },
      { headers: { authorization: `Bearer ${more}` } },
    );
    expect(textOf(stepped)).toBe("kept");
  });

  it("R048: keep the session of a user whose client has them refreshed", async () => {
    const bridge = await open("fetch");
    const first = await issuing.refresh(
      await issuing.agree("ada", resource, "read write"),
      resource,
    );
    const caller = await openCaller(with_(bridge, first.access), "2025-11-25");
    const call = async (name: string, args: object, token: string) =>
      textOf(
        await caller.request(
          "tools/call",
          { name, arguments: { ...args } },
          { headers: { authorization: `Bearer ${token}` } },
        ),
      );
    await call("remember", { key: "k", value: "kept" }, first.access);
    const second = await issuing.refresh(first.refresh, resource);
    expect(second.access).not.toBe(first.access);
    expect(await call("recall", { key: "k" }, second.access)).toContain("kept");
    const other = await issuing.refresh(await issuing.agree("eve", resource, "read"), resource);
    const robbed = await caller.request(
      "tools/call",
      { name: "recall", arguments: { key: "k" } },
      { headers: { authorization: `Bearer ${other.access}` } },
    );
    expect(robbed.status).toBe(404);
  });

  it("are no good when they are for another resource, or changed", async () => {
    const bridge = await open("fetch");
    const elsewhere = await issuing.forClient("http://localhost/other");
    const token = await issuing.forClient(resource);
    for (const bad of [elsewhere, `${token.slice(0, -4)}AAAA`]) {
      expect((await with_(bridge, bad).send({})).status).toBe(401);
    }
  });
});

it("a token that was revoked is no good to whoever asks its issuer", async () => {
  await using issuing = await openAuthorizationServer("opaque");
  const auth = { resource, authenticators: [ways.opaque(issuing)] };
  const server = createFixture({ log: () => undefined });
  await using bridge = await openBridge("fetch", server, { path: "/mcp", auth });
  const token = await issuing.forClient(resource);
  const caller = await openCaller(
    withHeaders(bridge, { authorization: `Bearer ${token}` }),
    "2026-07-28",
  );
  expect((await caller.request("tools/list")).status).toBe(200);
  await issuing.revoke(token);
  expect((await caller.request("tools/list", {}, { echoed: null })).status).toBe(401);
});
