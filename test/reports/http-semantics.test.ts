/** Statuses, media types and methods, as clients in wide use expect them. */
import { describe, expect, it } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { openBridge } from "../support/bridges.ts";
import { rows, sessionRows } from "../support/matrix.ts";
import { openCaller } from "../support/raw-caller.ts";

describe.each(sessionRows())(
  "in $revision over $bridge with sessions $session",
  ({ revision, bridge: name, session }) => {
    it("R051: a notification draws 202 and not one byte", async () => {
      await using bridge = await openBridge(name, createFixture(), { sessions: session });
      const caller = await openCaller(bridge, revision, { session });
      for (const method of ["notifications/initialized", "notifications/unheard-of"]) {
        const accepted = await caller.notify(method);
        expect([accepted.status, accepted.text]).toEqual([202, ""]);
        expect(accepted.headers.has("content-type")).toBe(false);
      }
    });
  },
);

describe.each(rows())("in $revision over $bridge", ({ revision, bridge: name }) => {
  it.each([
    "*/*",
    "application/json",
    "application/*",
    "APPLICATION/JSON",
    "application/json;charset=utf-8",
    "application/*;q=0.9, text/*",
    "text/event-stream, application/json",
    "text/html, */*;q=0.1",
    undefined,
    "",
  ])("R053: Accept %j is answered in JSON", async (accept) => {
    await using bridge = await openBridge(name, createFixture());
    const caller = await openCaller(bridge, revision);
    const listed = await caller.request("tools/list", {}, { headers: { accept } });
    expect(listed.status).toBe(200);
    expect(listed.headers.get("content-type")).toBe("application/json");
  });

  it.each([
    "text/event-stream",
    "Text/Event-Stream; q=1",
    "text/*",
    "text/html, text/event-stream",
  ])("R053: Accept %j is answered with a stream of one event", async (accept) => {
    await using bridge = await openBridge(name, createFixture());
    const caller = await openCaller(bridge, revision);
    const listed = await caller.request("tools/list", {}, { headers: { accept } });
    expect(listed.status).toBe(200);
    expect(listed.headers.get("content-type")).toBe("text/event-stream");
    expect(listed.result["tools"]).toBeInstanceOf(Array);
  });

  it.each(["text/html", "image/*", "application/xml, text/plain", "application/json;q=0"])(
    "R053: Accept %j admits neither form, so it is 406",
    async (accept) => {
      await using bridge = await openBridge(name, createFixture());
      const caller = await openCaller(bridge, revision);
      const refused = await caller.request(
        "tools/list",
        {},
        {
          headers: { accept },
          answeredBy: "2026-07-28",
          echoed: null,
        },
      );
      expect(refused.status).toBe(406);
    },
  );

  it.each([
    "application/json; charset=utf-8",
    "application/json;charset=UTF-8",
    "Application/JSON",
    "application/JSON ; x=y",
  ])("R054: Content-Type %j is JSON", async (type) => {
    await using bridge = await openBridge(name, createFixture());
    const caller = await openCaller(bridge, revision);
    const params = { name: "add", arguments: { a: 1, b: 2 } };
    const called = await caller.request("tools/call", params, {
      headers: { "content-type": type },
    });
    expect(called.text).toContain("3");
  });

  it.each(["text/plain", "application/json-rpc", "application/jsonx", "text/json", "json", ","])(
    "R054: Content-Type %j is 415, whatever the body",
    async (type) => {
      await using bridge = await openBridge(name, createFixture());
      const caller = await openCaller(bridge, revision);
      const params = { name: "toggle", arguments: { name: "planted" } };
      const refused = await caller.request("tools/call", params, {
        headers: { "content-type": type },
        answeredBy: "2026-07-28",
        echoed: null,
      });
      expect(refused.status).toBe(415);
      expect((await caller.request("tools/list")).text).not.toContain("planted");
    },
  );

  it("R054: a POST without a Content-Type is 415", async () => {
    await using bridge = await openBridge(name, createFixture());
    const caller = await openCaller(bridge, revision);
    const headers = { "mcp-protocol-version": revision };
    const body = new TextEncoder().encode('{"jsonrpc":"2.0","id":1,"method":"tools/list"}');
    expect((await caller.bridge.send({ headers, body })).status).toBe(415);
  });

  it.each(["GET", "DELETE", "PUT", "PATCH", "HEAD"])(
    "R055: without sessions %s is 405 and says what is allowed",
    async (method) => {
      await using bridge = await openBridge(name, createFixture(), { sessions: false });
      const headers = { accept: "text/event-stream", "mcp-protocol-version": revision };
      const refused = await bridge.send({ method, headers });
      expect(refused.status).toBe(405);
      expect(refused.headers.get("allow")).toBe("POST");
    },
  );

  it.each(["PUT", "PATCH", "HEAD"])(
    "R055: with sessions %s is 405 all the same",
    async (method) => {
      await using bridge = await openBridge(name, createFixture());
      const refused = await bridge.send({ method, headers: { "mcp-protocol-version": revision } });
      expect(refused.status).toBe(405);
      expect(refused.headers.get("allow")?.split(", ")).toEqual(
        expect.arrayContaining(["POST", "DELETE"]),
      );
    },
  );

  it("R055: DELETE that names no session is 405 where there are none, and 400 where there are", async () => {
    await using bridge = await openBridge(name, createFixture());
    const headers = { "mcp-protocol-version": revision };
    const refused = await bridge.send({ method: "DELETE", headers });
    expect(refused.status).toBe(revision === "2026-07-28" ? 405 : 400);
    expect(refused.headers.get("content-type")).toBe("application/json");
  });
});
