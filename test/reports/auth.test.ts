/** How clients find out who vouches for them, and what pages may read of a refusal. */
import { checkTokens, nameResource } from "anyrev/auth";
import { createEndpoint, createServer, type EndpointOptions } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { fixtureAuth, fixtureTokens } from "../../fixture/auth.ts";
import { createFixture } from "../../fixture/declare.ts";
import { as, openGuarded } from "../support/as-principal.ts";
import { bridges, openBridge } from "../support/bridges.ts";
import { readEvents } from "../support/live.ts";
import { handshakes, rows } from "../support/matrix.ts";
import { openCaller, toExchanged } from "../support/raw-caller.ts";
import { openAllRoutes, Person } from "../support/seen.ts";

const wellKnown = "/.well-known/oauth-protected-resource";
const authorization = `Bearer ${fixtureTokens.alice}`;

function guarded(options: EndpointOptions) {
  const { resource } = options.auth ?? {};
  return openBridge("node", createFixture({ log: () => undefined }), {
    path: "/a/mcp",
    allowedHosts: ["h.test"],
    ...options,
    auth: { ...fixtureAuth, resource },
  });
}

describe.each([
  // resource, where its metadata is
  ["https://h.test/a/mcp", "/a/mcp"],
  ["https://h.test/a/mcp/", "/a/mcp/"],
  ["https://h.test/a/mcp?tenant=1", "/a/mcp?tenant=1"],
  ["https://h.test", ""],
  ["https://h.test/", ""],
  ["https://h.test?tenant=1", "?tenant=1"],
  ["https://h.test:8443/A/%7Euser", "/A/%7Euser"],
])("R108: the metadata of %s", (resource, suffix) => {
  const headers = { host: "h.test" };

  it("is where RFC 9728 puts it, names the resource verbatim, and needs no token", async () => {
    await using bridge = await guarded({ auth: { resource } });
    const target = `${wellKnown}${suffix}`;
    const { status, text, headers: got } = await bridge.send({ method: "GET", target, headers });
    expect(status).toBe(200);
    expect(got.get("content-type")).toBe("application/json");
    expect(JSON.parse(text)).toEqual({
      resource,
      authorization_servers: ["https://auth.example.com"],
      scopes_supported: ["read", "write", "admin"],
      bearer_methods_supported: ["header"],
      resource_name: "Fixture",
    });
    const head = await bridge.send({ method: "HEAD", target, headers });
    expect([head.status, head.text]).toEqual([200, ""]);
    for (const method of ["POST", "DELETE", "OPTIONS"]) {
      const refused = await bridge.send({ method, target, headers, body: "{}" });
      expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    }
  });

  it("is nowhere else", async () => {
    await using bridge = await guarded({ auth: { resource } });
    const all = ["", "/a/mcp", "/mcp", "/a", "/a/mcp/x", "/a/mcp?tenant=2", "//a/mcp"];
    const path = suffix.split("?")[0];
    const elsewhere = all.filter((each) =>
      suffix.includes("?") ? each !== suffix : each.split("?")[0] !== path,
    );
    for (const each of elsewhere) {
      const target = `${wellKnown}${each}`;
      const { status, text } = await bridge.send({ method: "GET", target, headers });
      expect([each, status]).toEqual([each, 404]);
      expect(text).not.toContain("h.test");
    }
  });

  it("is what a 401 points to", async () => {
    await using bridge = await guarded({ auth: { resource } });
    const refused = await bridge.send({ target: "/a/mcp", headers });
    expect(refused.status).toBe(401);
    const url = /resource_metadata="([^"]+)"/.exec(refused.headers.get("www-authenticate") ?? "");
    expect(url?.[1]).toBe(nameResource(resource).metadataUrl);
    const parsed = new URL(url?.[1] ?? "");
    expect(parsed.origin).toBe(new URL(resource).origin);
    expect(`${parsed.pathname}${parsed.search}`).toBe(`${wellKnown}${suffix}`);
  });
});

describe.each(bridges)("over the %s bridge", (name) => {
  it("R108: the pin of a URL is no part of the resource that its metadata names", async () => {
    await using bridge = await openGuarded(name);
    const target = `${wellKnown}/mcp?mcp=2025-11-25`;
    const { status, text } = await bridge.send({ method: "GET", target });
    expect(status).toBe(200);
    expect(JSON.parse(text).resource).toMatch(/^http:\/\/(localhost|127\.0\.0\.1:\d+)\/mcp$/);
  });

  it("R108: on this machine the resource is named as the request names it", async () => {
    await using bridge = await openGuarded(name);
    const target = `${wellKnown}/mcp`;
    for (const host of ["localhost:3000", "127.0.0.1", "[::1]:8080", "LOCALHOST:3000"]) {
      const { text } = await bridge.send({ method: "GET", target, headers: { host } });
      expect(JSON.parse(text).resource).toBe(`http://${host.toLowerCase()}/mcp`);
    }
    const evil = await bridge.send({ method: "GET", target, headers: { host: "evil.test" } });
    expect(evil.status).toBe(403);
  });
});

it("R108: under a prefix that a router takes away, the public URL counts", async () => {
  const resource = "https://h.test/tools/mcp";
  const { fetch, metadataPath } = createEndpoint(createServer({ name: "n", version: "1" }), {
    path: "/mcp",
    allowedHosts: ["h.test"],
    auth: { resource, authenticators: [] },
  });
  expect(metadataPath).toBe(`${wellKnown}/tools/mcp`);
  const document = await fetch(new Request(`https://h.test${metadataPath}`));
  expect(await document.json()).toEqual({ resource, bearer_methods_supported: ["header"] });
  const refused = await fetch(new Request("https://h.test/mcp", { method: "POST" }));
  expect(refused.headers.get("www-authenticate")).toContain(`https://h.test${metadataPath}"`);
});

it("R109: a resource that is an origin alone stays without a slash, and one with it keeps it", () => {
  for (const resource of ["https://h.test", "https://h.test/"]) {
    expect(nameResource(resource)).toEqual({
      resource,
      metadataUrl: `https://h.test${wellKnown}`,
      metadataTarget: wellKnown,
    });
  }
});

it("R109: a token for the one spelling is not for the other", async () => {
  const resource = "https://h.test";
  const seen: string[] = [];
  const authenticate = ({ resource: asked }: { readonly resource: string }) => {
    seen.push(asked);
    return undefined;
  };
  const { fetch } = createEndpoint(createServer({ name: "n", version: "1" }), {
    allowedHosts: ["h.test"],
    auth: { resource, authenticators: [{ authenticate }] },
  });
  await fetch(new Request("https://h.test/", { method: "POST" }));
  expect(seen).toEqual([resource]);
});

it.each([
  "h.test/mcp",
  "/mcp",
  "ftp://h.test/mcp",
  "https://h.test/mcp#part",
  "https://user:secret@h.test/mcp",
  "https:///mcp",
  "https://h.test/a b",
])("R109: %j names no resource", (resource) => {
  const server = createServer({ name: "n", version: "1" });
  const auth = { resource, authenticators: [] };
  expect(() => createEndpoint(server, { auth })).toThrow(TypeError);
});

it("R108: what tokens are issued for is never left to the host of a request from outside", () => {
  const server = createServer({ name: "n", version: "1" });
  const auth = { authenticators: [checkTokens([])] };
  for (const allowedHosts of [["mcp.example.com"], ["*"], ["localhost", "mcp.example.com:8443"]]) {
    expect(() => createEndpoint(server, { path: "/mcp", auth, allowedHosts })).toThrow(/resource/);
  }
  expect(() => createEndpoint(server, { auth })).toThrow(/resource/);
  expect(() =>
    createEndpoint(server, { path: "/mcp", auth, allowedHosts: ["localhost:3000", "[::1]"] }),
  ).not.toThrow();
});

describe.each(rows())("in $revision over $bridge", ({ revision, bridge: name }) => {
  const origin = "https://app.example.com";

  it("R115: a page can read every refusal, and asks first without a token", async () => {
    await using bridge = await openGuarded(name, { allowedOrigins: [origin] });
    const preflight = await bridge.send({
      method: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, mcp-protocol-version, mcp-param-region",
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-headers")).toBe(
      "authorization, mcp-protocol-version, mcp-param-region",
    );
    expect(preflight.headers.has("www-authenticate")).toBe(false);
    const bob = await openCaller(as(bridge, "bob"), revision);
    const headers = { origin };
    const call = { name: "write_note", arguments: {} };
    const answers = [
      await bridge.send({ headers }),
      await bridge.send({ method: "GET", headers }),
      await bridge.send({ headers: { origin, authorization: "Bearer wrong" } }),
      await bob.request("tools/call", call, { headers }),
      await bridge.send({ method: "GET", target: `${wellKnown}/mcp`, headers }),
      await bob.request("tools/list", {}, { headers }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 403, 200, 200]);
    for (const answer of answers) {
      expect(answer.headers.get("access-control-allow-origin")).toBe(origin);
      const exposed = answer.headers.get("access-control-expose-headers");
      expect(exposed).toContain("mcp-session-id");
      expect(exposed).toContain("www-authenticate");
    }
  });

  it("R115: the metadata may be asked for with a header, so its preflight passes", async () => {
    await using bridge = await openGuarded(name, { allowedOrigins: [origin] });
    const target = `${wellKnown}/mcp`;
    const headers = {
      origin,
      "access-control-request-method": "GET",
      "access-control-request-headers": "mcp-protocol-version",
    };
    const allowed = await bridge.send({ method: "OPTIONS", target, headers });
    expect(allowed.status).toBe(204);
    expect(allowed.headers.get("access-control-allow-methods")).toBe("GET");
  });

  it("R112: a foreign host or page is refused before anybody asks who is calling", async () => {
    await using bridge = await openGuarded(name);
    const sent = [{ host: "evil.test" }, { origin: "http://evil.test" }];
    for (const spoiled of sent) {
      for (const target of ["/mcp", `${wellKnown}/mcp`]) {
        for (const method of ["GET", "POST", "DELETE", "OPTIONS"]) {
          const headers = { ...spoiled, authorization };
          const refused = toExchanged(await bridge.send({ method, target, headers }));
          expect(refused.status).toBe(403);
          expect(refused.headers.has("www-authenticate")).toBe(false);
        }
      }
    }
  });
});

describe.each(bridges)("credentials that run out, over the %s bridge", (name) => {
  const expiring = (leftMs: number) => ({
    ...fixtureAuth,
    authenticators: [
      {
        authenticate: () => ({
          issuer: "i",
          subject: "s",
          scopes: ["read"],
          expiresAt: Date.now() + leftMs,
        }),
      },
    ],
  });
  const server = () => createFixture({ log: () => undefined });

  it.each(handshakes)(
    "end the stream of a session, and not the session, in %s",
    async (revision) => {
      await using worker = await openAllRoutes(name, server(), { auth: expiring(200) });
      const person = await new Person(worker, "alice", revision).open();
      const begun = person.begin({ method: "GET", headers: { accept: "text/event-stream" } });
      const { status, chunks } = await begun.live;
      expect(status).toBe(200);
      const events = readEvents(chunks);
      for (let next = await events.next(); !next.done; next = await events.next());
      expect((await person.see({ message: person.request("tools/list") })).status).toBe(200);
    },
  );

  it("end listening with its result, and a stream of HTTP+SSE", async () => {
    await using worker = await openAllRoutes(name, server(), { auth: expiring(200) });
    const person = new Person(worker, "alice", "2026-07-28");
    const filter = { notifications: { toolsListChanged: true } };
    const ended = await person.until(
      person.request("subscriptions/listen", filter),
      (said) => "result" in said,
    );
    expect(ended.said).toMatchObject({ id: "asked", result: { resultType: "complete" } });
    const sse = person.begin({ method: "GET", path: "/sse" });
    const { chunks } = await sse.live;
    const events = readEvents(chunks);
    for (let next = await events.next(); !next.done; next = await events.next());
  });
});
