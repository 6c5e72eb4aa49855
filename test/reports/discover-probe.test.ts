/** server/discover as the first thing that a client of any age says. */
import { allRevisions } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { bridges, openBridge } from "../support/bridges.ts";
import { handshakes, rows } from "../support/matrix.ts";
import { request } from "../support/messages.ts";
import { openCaller } from "../support/raw-caller.ts";
import { type Revision, revisions } from "../support/wire.ts";

const modern: Revision = "2026-07-28";

describe.each(rows())("in $revision over $bridge", ({ revision, bridge: name }) => {
  it("R022: discovery lists every revision that is served, the newest first", async () => {
    for (const set of [revisions, [modern, "2025-06-18"], [modern, "2024-11-05", revision]]) {
      await using bridge = await openBridge(name, createFixture(), { revisions: [...set] });
      const served = allRevisions.narrow(set).supported;
      if (!served.includes(revision)) continue;
      const caller = await openCaller(bridge, revision);
      const found = await caller.send(request(revision, 1, "server/discover"), {
        headers: { "mcp-protocol-version": revision },
      });
      expect(found.status).toBe(200);
      expect(found.result["supportedVersions"]).toEqual(served);
      expect(served[0]).toBe(modern);
    }
  });

  it("R025: what streams nothing is answered as one JSON body, with a string id as it came", async () => {
    await using bridge = await openBridge(name, createFixture());
    const caller = await openCaller(bridge, revision);
    const found = await caller.send(request(revision, "openai-mcp-discover", "server/discover"));
    expect(found.headers.get("content-type")).toBe("application/json");
    expect(found.message).toMatchObject({ id: "openai-mcp-discover" });
  });
});

describe.each(rows(handshakes))("of $revision over $bridge", ({ revision, bridge: name }) => {
  it("R022: an endpoint without a modern revision answers no discovery", async () => {
    await using bridge = await openBridge(name, createFixture(), { revisions: handshakes });
    const caller = await openCaller(bridge, revision);
    const refused = await caller.send(request(revision, 1, "server/discover"));
    expect([refused.status, refused.error.code]).toEqual([200, -32601]);
  });

  it("R028: a session and modern calls live on one endpoint", async () => {
    await using bridge = await openBridge(name, createFixture());
    const old = await openCaller(bridge, revision);
    const listed = await (await openCaller(bridge, modern)).request("tools/list");
    expect(listed.status).toBe(200);
    expect(listed.headers.has("mcp-session-id")).toBe(false);
    const asked = await old.request("tools/call", { name: "whoami", arguments: {} });
    expect(asked.text).toContain(String(old.session));
  });
});

describe.each(bridges)("over the %s bridge", (name) => {
  it("R022: a modern probe of an endpoint without a modern revision is told what is served", async () => {
    await using bridge = await openBridge(name, createFixture(), { revisions: handshakes });
    const caller = await openCaller(bridge, modern);
    const refused = await caller.request("server/discover", {}, { answeredBy: "2025-11-25" });
    expect([refused.status, refused.error.code]).toEqual([400, -32022]);
    expect(refused.error.data).toEqual({ supported: handshakes, requested: modern });
  });

  it("R024: a probe whose headers a bridge dropped is answered in JSON under its own id", async () => {
    await using bridge = await openBridge(name, createFixture());
    const caller = await openCaller(bridge, modern);
    const probe = request(modern, 0, "server/discover");
    const headers = { "mcp-protocol-version": undefined, "mcp-method": undefined };
    const refused = await caller.send(probe, { headers });
    expect([refused.status, refused.error.code]).toEqual([400, -32020]);
    expect(refused.headers.get("content-type")).toBe("application/json");
    expect(refused.message).toMatchObject({ id: 0 });
    expect((await caller.send(probe)).status).toBe(200);
  });

  it("R024: a pin in the URL serves such a probe in the pinned revision", async () => {
    await using bridge = await openBridge(name, createFixture());
    const caller = await openCaller(bridge, modern);
    const headers = { "mcp-protocol-version": undefined, "mcp-method": undefined };
    for (const revision of handshakes) {
      const found = await caller.send(request(modern, 0, "server/discover"), {
        headers,
        target: `/mcp?mcp=${revision}`,
        answeredBy: revision,
      });
      expect(found.result["supportedVersions"]).toEqual(revisions);
    }
  });

  it.each([true, false])(
    "R028: a revision switched off is refused in JSON with the list (sessions %s)",
    async (sessions) => {
      const kept = revisions.filter((revision) => revision !== "2025-06-18");
      await using bridge = await openBridge(name, createFixture(), { revisions: kept, sessions });
      const caller = await openCaller(bridge, "2025-06-18", { session: false });
      const refused = await caller.request("tools/list", {}, { answeredBy: modern });
      expect([refused.status, refused.error.code]).toEqual([400, -32022]);
      expect(refused.error.data).toEqual({ supported: kept, requested: "2025-06-18" });
      const listed = await (await openCaller(bridge, modern)).request("tools/list");
      expect(listed.status).toBe(200);
    },
  );
});
