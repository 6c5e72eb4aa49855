/** What a caller was allowed: refused with what is missing, hidden, or shared with nobody else. */
import { createServer, type Server, type ServerOptions } from "anyrev";
import { checkTokens } from "anyrev/auth";
import { Channel, createEndpoint } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { fixtureAuth } from "../../fixture/auth.ts";
import { createFixture } from "../../fixture/declare.ts";
import { as, type Holder, openGuarded } from "../support/as-principal.ts";
import { openBridge } from "../support/bridges.ts";
import { readEvents } from "../support/live.ts";
import { handshakes, rows } from "../support/matrix.ts";
import { request } from "../support/messages.ts";
import { type Caller, openCaller, textOf } from "../support/raw-caller.ts";
import { openAllRoutes, Person } from "../support/seen.ts";
import { isObject, type JsonObject } from "../support/wire.ts";

const challengeFor = (scope: string): RegExp =>
  new RegExp(
    `^Bearer resource_metadata="http://[^"]+/.well-known/oauth-protected-resource/mcp", scope="${scope}", error="insufficient_scope", error_description="[^"]+"$`,
  );

const restricted = [
  ["tools/call", { name: "write_note", arguments: {} }],
  ["resources/read", { uri: "test://restricted" }],
  ["resources/read", { uri: "test://restricted/7" }],
  ["prompts/get", { name: "restricted" }],
] as const;

async function namesOf(caller: Caller, method: string): Promise<string[]> {
  const { result } = await caller.request(method);
  const [list] = Object.values(result).filter(Array.isArray);
  return (list ?? []).map((each: JsonObject) => String(each["name"]));
}

describe.each(rows())("in $revision over $bridge", ({ revision, bridge: name }) => {
  it("who lacks a scope gets 403 with its name; who has it, or one above, is served", async () => {
    await using bridge = await openGuarded(name);
    const [alice, bob, mallory] = await Promise.all(
      (["alice", "bob", "mallory"] as const).map((who) => openCaller(as(bridge, who), revision)),
    );
    for (const [method, params] of restricted) {
      const refused = await bob!.request(method, params, { id: 5 });
      expect(refused.status).toBe(403);
      expect(refused.headers.get("www-authenticate")).toMatch(challengeFor("write"));
      expect(refused.message).toMatchObject({
        id: 5,
        error: { data: { requiredScopes: ["write"] } },
      });
      for (const allowed of [alice, mallory]) {
        const served = await allowed!.request(method, params);
        expect([served.status, served.text]).toEqual([200, expect.stringContaining('"result"')]);
      }
    }
    // All that is needed at once, also what the caller has.
    const both = await alice!.request("tools/call", { name: "needs_two", arguments: {} });
    expect(both.headers.get("www-authenticate")).toMatch(challengeFor("write admin"));
    expect(await namesOf(bob!, "tools/list")).toContain("write_note");
  });

  it("whoami tells the principal", async () => {
    await using bridge = await openGuarded(name);
    for (const [holder, subject] of [
      ["alice", "alice"],
      ["aliceAgain", "alice"],
      ["bob", "bob"],
    ] as const) {
      const caller = await openCaller(as(bridge, holder), revision);
      const { principal } = JSON.parse(
        textOf(await caller.request("tools/call", { name: "whoami", arguments: {} })),
      );
      expect(principal).toMatchObject({ issuer: "static", subject, client: "fixture-client" });
    }
  });

  it("what is there for one is in no other's listing", async () => {
    await using bridge = await openGuarded(name);
    for (const method of ["tools/list", "prompts/list"]) {
      const seen = async (who: Holder) =>
        namesOf(await openCaller(as(bridge, who), revision), method);
      expect(await seen("alice")).toContain("hers");
      expect(await seen("bob")).not.toContain("hers");
      expect(await seen("aliceAgain")).toContain("hers");
    }
  });

  it("a scope may depend on the arguments", async () => {
    const server = createServer({ name: "n", version: "1", log: () => undefined });
    const input = { type: "object", properties: { all: { type: "boolean" } } } as const;
    server.tool("wipe", { input }, ({ all }, ex) => {
      if (all === true) ex.requireScopes("write", "admin");
      return "wiped";
    });
    await using bridge = await openBridge(name, server, { path: "/mcp", auth: fixtureAuth });
    const alice = await openCaller(as(bridge, "alice"), revision);
    const wipe = (all: boolean) =>
      alice.request("tools/call", { name: "wipe", arguments: { all } });
    expect((await wipe(false)).status).toBe(200);
    const refused = await wipe(true);
    expect(refused.status).toBe(403);
    expect(refused.headers.get("www-authenticate")).toMatch(challengeFor("write admin"));
  });

  it("without auth nobody has a scope, and nobody is told how to get one", async () => {
    const server = createFixture({ restricted: true, log: () => undefined });
    await using bridge = await openBridge(name, server);
    const caller = await openCaller(bridge, revision);
    for (const [method, params] of restricted) {
      const refused = await caller.request(method, params);
      expect(refused.status).toBe(403);
      expect(refused.headers.has("www-authenticate")).toBe(false);
    }
    expect(await namesOf(caller, "tools/list")).not.toContain("hers");
  });
});

describe.each(handshakes)("in %s", (revision) => {
  it("who may not read a resource may not watch it either", async () => {
    await using bridge = await openGuarded("fetch");
    const [bob, alice] = await Promise.all([
      openCaller(as(bridge, "bob"), revision),
      openCaller(as(bridge, "alice"), revision),
    ]);
    for (const uri of ["test://restricted", "test://restricted/9"]) {
      const refused = await bob.request("resources/subscribe", { uri });
      expect(refused.status).toBe(403);
      expect((await alice.request("resources/subscribe", { uri })).status).toBe(200);
    }
  });

  it("changes of what a caller cannot see are not told to it", async () => {
    const server = createFixture({ restricted: true, log: () => undefined });
    await using worker = await openAllRoutes("fetch", server, { auth: fixtureAuth });
    const bob = await new Person(worker, "bob", revision).open();
    for (const uri of ["test://hers", "test://seen"]) {
      const watched = await bob.see({ message: bob.request("resources/subscribe", { uri }) });
      expect(watched.status).toBe(200);
    }
    const begun = bob.begin({ method: "GET", headers: { accept: "text/event-stream" } });
    const events = readEvents((await begun.live).chunks);
    await events.next();
    server.changed("test://hers");
    server.changed("test://seen");
    for await (const { data = "" } of events) {
      expect(data).not.toContain("test://hers");
      if (data.includes("test://seen")) break;
    }
    begun.drop();
  });
});

it("in 2026-07-28 a listener hears of what it may read alone", async () => {
  const server = createFixture({ restricted: true, log: () => undefined });
  await using worker = await openAllRoutes("fetch", server, { auth: fixtureAuth });
  const uris = ["test://hers", "test://restricted", "test://seen"];
  const heard = async (holder: Holder) => {
    const person = new Person(worker, holder, "2026-07-28");
    const filter = { notifications: { resourceSubscriptions: uris } };
    const acknowledged = await person.until(
      person.request("subscriptions/listen", filter),
      ({ method }) => method === "notifications/subscriptions/acknowledged",
    );
    acknowledged.begun.drop();
    return JSON.stringify(acknowledged.said["params"]);
  };
  expect(await heard("alice")).toContain(JSON.stringify(uris));
  expect(await heard("bob")).toContain(JSON.stringify(["test://seen"]));
  expect(await heard("mallory")).toContain(JSON.stringify(uris.slice(1)));
});

it("a mirrored header is asked for by no tool that its caller cannot see", async () => {
  await using bridge = await openGuarded("fetch");
  const call = { name: "hers", arguments: { region: "north" } };
  const [alice, bob] = await Promise.all([
    openCaller(as(bridge, "alice"), "2026-07-28"),
    openCaller(as(bridge, "bob"), "2026-07-28"),
  ]);
  expect((await alice.request("tools/call", call)).error.code).toBe(-32020);
  expect((await bob.request("tools/call", call)).error.code).toBe(-32602);
});

describe("how long an answer may be shared", () => {
  const scopeOf = async (bridge: Parameters<typeof as>[0], method: string, params = {}) => {
    const caller = await openCaller(bridge, "2026-07-28");
    return (await caller.request(method, params)).result["cacheScope"];
  };
  const open = (declare: (server: Server) => unknown, options: Partial<ServerOptions> = {}) => {
    const server = createServer({ name: "n", version: "1", log: () => undefined, ...options });
    server.tool("all", {}, () => "all");
    server.prompt("all", {}, () => "all");
    declare(server);
    return server;
  };
  const lists = { ttlMs: 1_000, scope: "public" } as const;

  it("a listing is private as soon as not everybody has the same", async () => {
    const some = open(
      (server) => server.tool("some", { visibleTo: (who) => who !== undefined }, () => "some"),
      { cache: { lists } },
    );
    await using bridge = await openBridge("fetch", some);
    expect(await scopeOf(bridge, "tools/list")).toBe("private");
    expect(await scopeOf(bridge, "prompts/list")).toBe("public");
  });

  it("scopes alone change no listing, unless what lacks them is left out", async () => {
    const declare = (server: Server) => server.tool("some", { scopes: ["write"] }, () => "some");
    await using shown = await openBridge("fetch", open(declare, { cache: { lists } }));
    expect(await scopeOf(shown, "tools/list")).toBe("public");
    const hiding = open(declare, { cache: { lists }, hideLackingScopes: true });
    await using hidden = await openBridge("fetch", hiding, { path: "/mcp", auth: fixtureAuth });
    expect(await scopeOf(as(hidden, "bob"), "tools/list")).toBe("private");
    const namesFor = async (who: Holder) =>
      namesOf(await openCaller(as(hidden, who), "2026-07-28"), "tools/list");
    expect(await namesFor("bob")).toEqual(["all"]);
    expect(await namesFor("mallory")).toEqual(["all", "some"]);
    const bob = await openCaller(as(hidden, "bob"), "2026-07-28");
    expect((await bob.request("tools/call", { name: "some", arguments: {} })).status).toBe(403);
  });

  it("a reading of what not everybody may read is private, whatever was declared", async () => {
    const cache = { ttlMs: 1_000, scope: "public" } as const;
    const server = open((each) => {
      each.resource("x://all", { cache }, () => "all");
      each.resource("x://some", { cache, scopes: ["write"] }, () => "some");
    });
    await using bridge = await openBridge("fetch", server, { path: "/mcp", auth: fixtureAuth });
    const alice = as(bridge, "alice");
    expect(await scopeOf(alice, "resources/read", { uri: "x://all" })).toBe("public");
    expect(await scopeOf(alice, "resources/read", { uri: "x://some" })).toBe("private");
  });

  it("where callers say who they are, only what an author calls public is", async () => {
    const plain = open(() => undefined);
    await using asked = await openBridge("fetch", plain, { path: "/mcp", auth: fixtureAuth });
    await using open_ = await openBridge("fetch", plain);
    await using said = await openBridge(
      "fetch",
      open(() => undefined, { cache: { lists } }),
      {
        path: "/mcp",
        auth: fixtureAuth,
      },
    );
    for (const method of ["tools/list", "server/discover"]) {
      expect(await scopeOf(as(asked, "bob"), method)).toBe("private");
      expect(await scopeOf(open_, method)).toBe("public");
      expect(await scopeOf(as(said, "bob"), method)).toBe("public");
    }
  });
});

describe("listings", () => {
  const view = { offers: () => true };
  const access = (subject: string) => ({
    owner: subject,
    principal: { issuer: "i", subject, scopes: [] },
    scopes: new Set<string>(),
  });

  it("are the same object for all who see the same, and not kept for every caller", () => {
    const server = createServer({ name: "n", version: "1" });
    for (let at = 0; at < 200; at++) {
      server.tool(`t${at}`, { visibleTo: (who) => who?.subject === `user${at}` }, () => "");
    }
    const page = (subject: string) =>
      server.registry.page("tools", undefined, view, access(subject));
    const first = page("user0");
    expect(page("nobody")).toBe(page("somebody"));
    expect(page("user0")).toBe(first);
    for (let at = 1; at < 200; at++) expect(page(`user${at}`)?.entries).toHaveLength(1);
    // So many others came between that it was let go.
    expect(page("user0")).not.toBe(first);
    expect(page("user0")).toEqual(first);
  });

  it("follow what is declared and taken back", () => {
    const server = createServer({ name: "n", version: "1" });
    const hers = server.tool("hers", { visibleTo: (who) => who?.subject === "ada" }, () => "");
    const count = (who: string) =>
      server.registry.page("tools", undefined, view, access(who))?.entries.length;
    expect([count("ada"), count("bob")]).toEqual([1, 0]);
    hers.remove();
    expect([count("ada"), count("bob")]).toEqual([0, 0]);
  });
});

it("a peer that started the server may do everything, one that is anybody may not", async () => {
  const { anyone } = await import("anyrev");
  const said: string[] = [];
  const server = createFixture({ restricted: true, log: () => undefined });
  const call = JSON.stringify(
    request("2026-07-28", 1, "tools/call", { name: "write_note", arguments: {} }),
  );
  for (const options of [{}, { access: anyone }]) {
    const channel = new Channel(server, (text) => said.push(text), options);
    channel.receive(new TextEncoder().encode(call));
    await channel.settled();
    await channel.close();
  }
  expect(said[0]).toContain("kept");
  expect(JSON.parse(said[1] ?? "")).toMatchObject({
    error: { data: { requiredScopes: ["write"] } },
  });
});

it("in an array each call is judged for itself", async () => {
  await using bridge = await openGuarded("fetch");
  const bob = await openCaller(as(bridge, "bob"), "2025-03-26");
  const call = (id: number, name: string) => ({
    ...request("2025-03-26", id, "tools/call", { name, arguments: { a: 1, b: 2 } }),
  });
  const { status, message } = await bob.send([call(1, "add"), call(2, "write_note")]);
  expect(status).toBe(200);
  const [sum, refused] = Array.isArray(message) ? message : [];
  expect(isObject(sum) && "result" in sum).toBe(true);
  expect(refused).toMatchObject({ id: 2, error: { data: { requiredScopes: ["write"] } } });
});

it.each(["two words", 'a"quote', "back\\slash", "caf\u00e9", ""])(
  "%j is no scope, and said so at once",
  (bad) => {
    const server = createServer({ name: "n", version: "1" });
    expect(() => server.tool("t", { scopes: [bad] }, () => "")).toThrow(/is no scope/);
    const authenticators = [checkTokens([])];
    const auth = { resource: "https://h.test/mcp", scopes: [bad], authenticators };
    expect(() => createEndpoint(server, { auth })).toThrow(/is no scope/);
    const holder = { token: "a".repeat(16), subject: "s", scopes: [bad] };
    expect(() => checkTokens([holder])).toThrow(/is no scope/);
  },
);
