/** "Sessions" of SELECTION.md, over both bridges. */
import { type EndpointOptions, MemorySessions } from "anyrev/node";
import { afterEach, describe, expect, test } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { type Bridge, bridgeKinds, type Got, openBridge } from "../support/bridge.ts";
import { type Answered, ask, initialize, naming, open, send, sendBare } from "../support/caller.ts";
import { initializeParams, notification, request } from "../support/messages.ts";
import { type JsonObject, type Revision, revisions } from "../support/schemas.ts";
import { assertReply } from "../support/wire.ts";

const server = createFixture();
const handshakes = revisions.slice(1);
const whoami = { name: "whoami", arguments: {} };

/** Every revision states itself here, so that a session is not what selects it. */
function stating(revision: Revision, id?: string): { headers: Record<string, string> } {
  return { headers: { "mcp-protocol-version": revision, ...naming(id) } };
}

/** What the server knows of its caller. */
async function identity(bridge: Bridge, revision: Revision, id?: string): Promise<JsonObject> {
  const { status, result } = await ask(
    bridge,
    revision,
    "tools/call",
    whoami,
    stating(revision, id),
  );
  expect(status).toBe(200);
  const [block] = (result?.["content"] ?? []) as readonly { text: string }[];
  return JSON.parse(block?.text ?? "null") as JsonObject;
}

/** The reply to a request that no message came with is written in the newest revision. */
function expectRefusal(got: Got, status: number, code: number, revision = revisions[0]!): void {
  expect(got.status).toBe(status);
  assertReply(revision, { method: "none" }, got.json);
  expect(got.json).toMatchObject({ error: { code } });
}

function expectUnknown({ status, error, headers }: Answered): void {
  expect(status).toBe(404);
  expect(error?.["code"]).toBe(-32001);
  expect(error?.["message"]).toContain("initialize");
  expect(headers.get("mcp-session-id")).toBeNull();
}

describe.each(bridgeKinds)("Over the %s bridge", (kind) => {
  const opened: Bridge[] = [];

  async function serving(options: EndpointOptions = {}): Promise<Bridge> {
    const bridge = await openBridge(kind, server, options);
    opened.push(bridge);
    return bridge;
  }

  afterEach(async () => {
    for (const bridge of opened.splice(0)) await bridge[Symbol.asyncDispose]();
  });

  describe.each(handshakes)("with sessions in %s", (revision) => {
    test("initialize mints an id of its own each time, and nothing else does", async () => {
      const store = new MemorySessions();
      const bridge = await serving({ sessionStore: store });
      const ids = [await open(bridge, revision), await open(bridge, revision)];
      expect(new Set(ids).size).toBe(2);
      for (const id of ids) expect(id).toMatch(/^[\x21-\x7e]{16,128}$/);
      for (const method of ["tools/list", "ping", "server/discover"]) {
        for (const named of [undefined, ids[0]]) {
          const { status, headers } = await ask(
            bridge,
            revision,
            method,
            undefined,
            stating(revision, named),
          );
          expect(status).toBe(200);
          expect(headers.get("mcp-session-id")).toBeNull();
        }
      }
      expect(store.size).toBe(2);
    });

    test("a request that names no session is served without one", async () => {
      const bridge = await serving();
      await open(bridge, revision);
      expect(await identity(bridge, revision)).toMatchObject({ session: null, client: null });
    });

    test("a session remembers who opened it, and in which revision", async () => {
      const bridge = await serving();
      const capabilities = { roots: { listChanged: true } };
      const clientInfo = { name: "remembered", version: "2.0.0" };
      const params = initializeParams(revision, { capabilities, clientInfo });
      const { headers } = await ask(bridge, revision, "initialize", params);
      const id = headers.get("mcp-session-id")!;
      expect(await identity(bridge, revision, id)).toMatchObject({
        session: id,
        client: clientInfo,
        capabilities: ["roots"],
      });
      const message = request(revision, 1, "tools/list");
      const plain = { headers: { "mcp-protocol-version": undefined, ...naming(id) } };
      const { selections } = await send(bridge, revision, message, plain);
      expect(selections[0]).toMatchObject({ revision, reason: "session" });
    });

    test("blanks around an id are no part of it", async () => {
      const bridge = await serving();
      const id = await open(bridge, revision);
      expect(await identity(bridge, revision, `  ${id}\t`)).toMatchObject({ session: id });
    });

    test("one that names an unknown session gets 404 and an error, whatever it carries", async () => {
      const bridge = await serving();
      for (const id of ["made-up", "", "a b", "x".repeat(4_000), "__proto__"]) {
        const how = stating(revision, id);
        expectUnknown(await ask(bridge, revision, "tools/list", undefined, how));
        expectUnknown(await ask(bridge, revision, "server/discover", undefined, how));
        expectUnknown(await initialize(bridge, revision, how));
        const sent = [
          notification("notifications/initialized"),
          { jsonrpc: "2.0", id: 1, result: {} },
        ];
        for (const message of sent) {
          const got = await bridge.send({ headers: how.headers, body: message });
          expect(got.status).toBe(404);
          // Neither of them asked anything, so the error refers to no request.
          assertReply(revision, { method: "none" }, got.json);
        }
      }
    });

    test("DELETE with a live session ends that one alone", async () => {
      const bridge = await serving();
      const id = (await open(bridge, revision))!;
      const other = (await open(bridge, revision))!;
      const got = await sendBare(bridge, "DELETE", stating(revision, id).headers);
      expect({ status: got.status, text: got.text }).toEqual({ status: 204, text: "" });
      expectUnknown(await ask(bridge, revision, "tools/list", undefined, stating(revision, id)));
      expectRefusal(await sendBare(bridge, "DELETE", naming(id)), 404, -32001);
      expect(await identity(bridge, revision, other)).toMatchObject({ session: other });
      expect((await sendBare(bridge, "DELETE", naming(other))).status).toBe(204);
    });

    test("DELETE that names no live session is refused in the revision it states", async () => {
      const bridge = await serving();
      const { headers } = stating(revision);
      expectRefusal(await sendBare(bridge, "DELETE", headers), 400, -32600, revision);
      const named = { ...headers, ...naming("made-up") };
      expectRefusal(await sendBare(bridge, "DELETE", named), 404, -32001, revision);
      const pinned = await sendBare(bridge, "DELETE", naming("made-up"), `mcp=${revision}`);
      expectRefusal(pinned, 404, -32001, revision);
    });

    test("a session outlives a discovery and another handshake", async () => {
      const store = new MemorySessions();
      const bridge = await serving({ sessionStore: store });
      const discover = async (id?: string) => {
        const how = stating(revision, id);
        const { status, result } = await ask(bridge, revision, "server/discover", undefined, how);
        expect({ status, versions: result?.["supportedVersions"] }).toEqual({
          status: 200,
          versions: revisions,
        });
        const modern = await ask(bridge, "2026-07-28", "server/discover");
        expect(modern.result?.["supportedVersions"]).toEqual(revisions);
      };
      await discover();
      expect(store.size).toBe(0);
      const params = initializeParams(revision);
      const first = await ask(bridge, revision, "initialize", params);
      const id = first.headers.get("mcp-session-id")!;
      await discover(id);
      await send(
        bridge,
        revision,
        notification("notifications/initialized"),
        stating(revision, id),
      );
      await discover(id);
      const again = await ask(bridge, revision, "initialize", params, { headers: naming(id) });
      expect(again.status).toBe(200);
      expect(again.headers.get("mcp-session-id")).not.toBe(id);
      await discover();
      expect(await identity(bridge, revision, id)).toMatchObject({ session: id });
      expect(store.size).toBe(2);
    });

    test("an idle session expires, and every use puts that off", async () => {
      let now = 0;
      const bridge = await serving({
        sessionStore: new MemorySessions({ now: () => now, ttlMs: 1_000 }),
      });
      const used = await open(bridge, revision);
      const idle = await open(bridge, revision);
      now = 999;
      expect(await identity(bridge, revision, used)).toMatchObject({ session: used });
      now = 1_500;
      expectUnknown(await ask(bridge, revision, "ping", undefined, stating(revision, idle)));
      expectRefusal(await sendBare(bridge, "DELETE", naming(idle)), 404, -32001);
      expect(await identity(bridge, revision, used)).toMatchObject({ session: used });
      now = 2_500;
      expectUnknown(await ask(bridge, revision, "ping", undefined, stating(revision, used)));
    });

    test("past the cap the session that was longest idle ends", async () => {
      const bridge = await serving({ sessionStore: new MemorySessions({ maxSessions: 2 }) });
      const first = await open(bridge, revision);
      const second = await open(bridge, revision);
      await identity(bridge, revision, first);
      const third = await open(bridge, revision);
      expectUnknown(await ask(bridge, revision, "ping", undefined, stating(revision, second)));
      for (const id of [first, third]) {
        expect(await identity(bridge, revision, id)).toMatchObject({ session: id });
      }
    });
  });

  test("two endpoints over one store know each other's sessions", async () => {
    const sessionStore = new MemorySessions();
    const [one, other] = [await serving({ sessionStore }), await serving({ sessionStore })];
    const id = await open(one, "2025-06-18");
    expect(await identity(other, "2025-06-18", id)).toMatchObject({ session: id });
    expect((await sendBare(other, "DELETE", naming(id))).status).toBe(204);
    expectUnknown(await ask(one, "2025-06-18", "ping", undefined, stating("2025-06-18", id)));
  });

  test("2026-07-28 has no session: an id is ignored, GET and DELETE are 405", async () => {
    const bridge = await serving();
    const live = (await open(bridge, "2025-06-18"))!;
    for (const id of [live, "made-up"]) {
      const { headers } = await ask(bridge, "2026-07-28", "tools/list", undefined, {
        headers: naming(id),
      });
      expect(headers.get("mcp-session-id")).toBeNull();
      expect(await identity(bridge, "2026-07-28", id)).toMatchObject({ session: null });
      for (const method of ["GET", "DELETE"]) {
        const declared = await sendBare(bridge, method, stating("2026-07-28", id).headers);
        expectRefusal(declared, 405, -32600);
        expect(declared.headers.get("allow")).toMatch(/\bPOST\b/);
        const pinned = await sendBare(bridge, method, naming(id), "mcp=2026-07-28");
        expectRefusal(pinned, 405, -32600);
      }
    }
    expect(await identity(bridge, "2025-06-18", live)).toMatchObject({ session: live });
  });

  test("a request of 2026-07-28 does not keep the session alive that it names", async () => {
    let now = 0;
    const sessionStore = new MemorySessions({ now: () => now, ttlMs: 1_000 });
    const bridge = await serving({ sessionStore });
    const id = await open(bridge, "2025-06-18");
    now = 900;
    const { status } = await ask(bridge, "2026-07-28", "tools/list", undefined, {
      headers: naming(id),
    });
    expect(status).toBe(200);
    now = 1_000;
    expectUnknown(await ask(bridge, "2025-06-18", "ping", undefined, stating("2025-06-18", id)));
  });

  test("DELETE that states a version nobody serves is refused for that", async () => {
    const bridge = await serving();
    const id = (await open(bridge, "2025-06-18"))!;
    const unknown = { ...naming(id), "mcp-protocol-version": "1999-01-01" };
    expectRefusal(await sendBare(bridge, "DELETE", unknown), 400, -32022);
    const torn = { ...naming(id), "mcp-protocol-version": "2025-06-18, 2025-11-25" };
    expectRefusal(await sendBare(bridge, "DELETE", torn), 400, -32020);
    expect(await identity(bridge, "2025-06-18", id)).toMatchObject({ session: id });
  });

  describe("stateless", () => {
    test.each(handshakes)(
      "%s never gets an id, and one that arrives means nothing",
      async (revision) => {
        const sessionStore = new MemorySessions();
        const id = (await open(await serving({ sessionStore }), revision))!;
        const bridge = await serving({ sessionStore, sessions: false });
        expect(await open(bridge, revision)).toBeUndefined();
        for (const named of [undefined, id, "made-up"]) {
          expect(await identity(bridge, revision, named)).toMatchObject({ session: null });
          const how = stating(revision, named);
          const answers = [
            await initialize(bridge, revision, how),
            await ask(bridge, revision, "tools/list", undefined, how),
            await send(bridge, revision, notification("notifications/initialized"), how),
          ];
          expect(answers.map(({ status }) => status)).toEqual([200, 200, 202]);
          for (const { headers } of answers) expect(headers.get("mcp-session-id")).toBeNull();
        }
        expect(sessionStore.size).toBe(1);
      },
    );

    test("GET and DELETE are 405 in every era, and POST is what is allowed", async () => {
      const bridges = [
        await serving({ sessions: false }),
        await serving({ revisions: ["2026-07-28"] }),
      ];
      for (const bridge of bridges) {
        for (const method of ["GET", "DELETE", "PUT"]) {
          for (const headers of [
            {},
            naming("made-up"),
            ...revisions.map((date) => stating(date).headers),
          ]) {
            const got = await sendBare(bridge, method, headers);
            expectRefusal(got, 405, -32600);
            expect(got.headers.get("allow")).toBe("POST");
          }
        }
      }
    });

    test("a request is not taken for the revision of a session it names", async () => {
      const sessionStore = new MemorySessions();
      const id = await open(await serving({ sessionStore }), "2025-06-18");
      const bridge = await serving({ sessionStore, sessions: false });
      const message = request("2025-03-26", 1, "tools/list");
      const { selections } = await send(bridge, "2025-03-26", message, { headers: naming(id) });
      expect(selections[0]).toMatchObject({ revision: "2025-03-26", reason: "assumed" });
    });
  });
});
