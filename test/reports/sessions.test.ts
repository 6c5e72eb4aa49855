/** Sessions of the handshake revisions: named, unknown, ended, or kept nowhere at all. */
import { MemorySessions } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { openBridge } from "../support/bridges.ts";
import { handshakes, rows } from "../support/matrix.ts";
import { initializeParams, notification, request } from "../support/messages.ts";
import { openCaller, shakeHands, textOf } from "../support/raw-caller.ts";

describe.each(rows(handshakes))("in $revision over $bridge", ({ revision, bridge: name }) => {
  // Without the header the session alone would say which revision answers.
  const stated = { "mcp-protocol-version": revision };

  it.each([
    "00000000-dead",
    "x".repeat(129),
    "x".repeat(8000),
    "two words",
    "caf\u00e9",
    "__proto__",
    "",
  ])(
    "R042: the session id %j was never given out, so it is 404 under the request's id",
    async (id) => {
      await using bridge = await openBridge(name, createFixture());
      const caller = await openCaller(bridge, revision, { session: false });
      const headers = { ...stated, "mcp-session-id": id };
      const refused = await caller.request("tools/list", {}, { headers, id: "asked" });
      expect(refused.status).toBe(404);
      expect(refused.message).toMatchObject({ id: "asked", error: { code: expect.any(Number) } });
      const params = { name: "toggle", arguments: { name: "planted" } };
      expect((await caller.request("tools/call", params, { headers })).status).toBe(404);
      expect((await caller.request("tools/list")).text).not.toContain("planted");
    },
  );

  it("R042: an expired and an ended session are 404, and a new handshake is not", async () => {
    let now = 0;
    const sessionStore = new MemorySessions({ ttlMs: 1000, now: () => now });
    await using bridge = await openBridge(name, createFixture(), { sessionStore });
    const caller = await openCaller(bridge, revision);
    const list = () => caller.request("tools/list", {}, { headers: stated });
    now += 999;
    expect((await list()).status).toBe(200);
    now += 999;
    expect((await list()).status).toBe(200);
    now += 1001;
    expect((await list()).status).toBe(404);
    const other = await openCaller(bridge, revision);
    const end = { method: "DELETE", headers: { ...stated, "mcp-session-id": other.session } };
    expect((await bridge.send(end)).status).toBe(204);
    expect((await bridge.send(end)).status).toBe(404);
    expect((await other.request("tools/list", {}, { headers: stated })).status).toBe(404);
    expect((await shakeHands(bridge, revision)).session).toBeDefined();
  });

  it("R044: an endpoint without sessions ignores an id that arrives, and echoes none", async () => {
    await using bridge = await openBridge(name, createFixture(), { sessions: false });
    const caller = await openCaller(bridge, revision, { session: false });
    const headers = { ...stated, "mcp-session-id": "left-over-from-old-deploy" };
    const listed = await caller.request("tools/list", {}, { headers });
    expect(listed.status).toBe(200);
    expect(listed.headers.has("mcp-session-id")).toBe(false);
    const opened = await caller.request("initialize", initializeParams(revision), { headers });
    expect(opened.status).toBe(200);
    expect(opened.headers.has("mcp-session-id")).toBe(false);
    const asked = await caller.request(
      "tools/call",
      { name: "whoami", arguments: {} },
      { headers },
    );
    expect(JSON.parse(textOf(asked))).toMatchObject({ session: null });
  });

  it("R046: every handshake is a fresh peer, also of one client and at once", async () => {
    await using bridge = await openBridge(name, createFixture());
    const opened = await Promise.all(
      Array.from({ length: 20 }, () => shakeHands(bridge, revision)),
    );
    const ids = new Set(opened.map(({ session }) => session));
    expect(ids.size).toBe(20);
    expect(ids.has(undefined)).toBe(false);
  });

  it("R050: the handshake's closing notification is 202 though no session was given out", async () => {
    await using bridge = await openBridge(name, createFixture(), { sessions: false });
    expect((await shakeHands(bridge, revision)).session).toBeUndefined();
    const caller = await openCaller(bridge, revision, { session: false });
    for (const headers of [{}, { "mcp-protocol-version": undefined }]) {
      const message = notification("notifications/initialized");
      const accepted = await caller.send(message, { headers });
      expect([accepted.status, accepted.text]).toEqual([202, ""]);
    }
    expect((await caller.send(request(revision, 1, "tools/list"))).status).toBe(200);
  });
});
