/** Sessions of Streamable HTTP: which id goes out, when it is lost, and how it is ended. */
import { createServer, serve } from "anyrev/node";
import { describe, expect, it } from "vitest";
import {
  event,
  FakeHttp,
  type FakeRequest,
  openStream,
  type Respond,
  refusal,
  result,
  sendJson,
  sendStream,
} from "../support/fake-http.ts";
import { failureOf, Link, senderKinds } from "../support/http-client.ts";
import { handshakes } from "../support/matrix.ts";

function sessionsOf(requests: readonly FakeRequest[]): unknown[] {
  return requests.map(({ method, headers }) => [method, headers["mcp-session-id"]]);
}

describe.each(senderKinds)("over %s,", (sender) => {
  async function asking(
    respond: Respond,
    ask: (link: Link, fake: FakeHttp) => Promise<void>,
  ): Promise<void> {
    await using fake = await FakeHttp.open(respond);
    await using link = new Link(sender, fake.url, "2025-11-25", { closeTimeoutMs: 100 });
    await ask(link, fake);
  }

  const giving =
    (session: string, then: Respond = () => undefined): Respond =>
    (request, response) =>
      request.rpcMethod === "initialize"
        ? sendJson(response, result(request.id), 200, { "mcp-session-id": session })
        : then(request, response);

  it.each(["json", "stream"])(
    "the id that a handshake got as %s goes out from then on, and ends with the client",
    (how) =>
      asking(
        ({ method, rpcMethod, id }, response) => {
          const headers = rpcMethod === "initialize" ? { "mcp-session-id": "S!~1" } : {};
          if (method === "DELETE") return response.writeHead(204).end();
          if (how === "json") return sendJson(response, result(id), 200, headers);
          return sendStream(response, event(result(id)), headers);
        },
        async (link, fake) => {
          await link.open();
          await link.ask("tools/list");
          expect(link.transport.session).toBe("S!~1");
          await link.transport.close();
          expect(link.transport.session).toBeUndefined();
          expect(sessionsOf(fake.requests)).toEqual([
            ["POST", undefined],
            ["POST", "S!~1"],
            ["POST", "S!~1"],
            ["DELETE", "S!~1"],
          ]);
          expect(fake.requests.at(-1)?.headers["mcp-protocol-version"]).toBe("2025-11-25");
        },
      ),
  );

  it("no other reply gives one", () =>
    asking(
      ({ id }, response) => sendJson(response, result(id), 200, { "mcp-session-id": "S" }),
      async (link) => {
        await link.ask("tools/list");
        await link.tell("notifications/x");
        expect(link.transport.session).toBeUndefined();
      },
    ));

  it("a handshake that was refused gives none", () =>
    asking(
      ({ id }, response) =>
        sendJson(response, refusal(id, -32_602), 400, { "mcp-session-id": "S" }),
      async (link, fake) => {
        await link.ask("initialize");
        expect(link.transport.session).toBeUndefined();
        await link.transport.close();
        expect(fake.having("DELETE")).toEqual([]);
      },
    ));

  it.each(["a b", "é", "a\tb", "a, a"])("an id that is %j is no id", (session) =>
    asking(giving(session), async (link) => {
      const failure = await failureOf(link.ask("initialize"));
      expect(failure.kind).toBe("invalid-answer");
      expect(link.transport.session).toBeUndefined();
    }),
  );

  it.each([
    ["404 without a body", 404, ""],
    ["404 as a page", 404, "<html>"],
    ["404 with an error that has no id", 404, refusal(null, -32_001, "Session not found")],
    ["404 with an error that has the id", 404, refusal(2, -32_001, "unknown session")],
    [
      "400, as older servers of the official SDK",
      400,
      refusal(null, -32_000, "Bad Request: No valid session ID provided"),
    ],
    [
      "400, as servers that started again",
      400,
      refusal(null, -32_000, "Bad Request: Server not initialized"),
    ],
  ])("%s says that the session is gone", (_what, status, body) =>
    asking(
      giving("S1", (_request, response) => sendJson(response, body, status)),
      async (link) => {
        await link.ask("initialize");
        const failure = await failureOf(link.ask("tools/list"));
        expect([failure.kind, failure.status]).toEqual(["session-lost", status]);
        expect((await failureOf(link.tell("notifications/x"))).kind).toBe("session-lost");
        // Which session to go on with is decided by whoever opens the next.
        expect(link.transport.session).toBe("S1");
      },
    ),
  );

  it.each([
    ["404 for a method that is unknown", 404, refusal(2, -32_601)],
    ["400 for a request that is wrong", 400, refusal(2, -32_000, "no such session variable")],
    [
      "400 for a version that is not spoken",
      400,
      refusal(null, -32_000, "Bad Request: Unsupported protocol version"),
    ],
  ])("%s says nothing of the session", (_what, status, body) =>
    asking(
      giving("S1", (_request, response) => sendJson(response, body, status)),
      async (link) => {
        await link.ask("initialize");
        const { reply, status: got } = await link.ask("tools/list");
        expect(got).toBe(status);
        expect(reply.error).toBeDefined();
      },
    ),
  );

  it("404 without a session is no loss of one", () =>
    asking(
      (_request, response) => sendJson(response, "", 404),
      async (link) => expect((await failureOf(link.ask("tools/list"))).kind).toBe("http"),
    ));

  it("a session that was forgotten is not mentioned, nor when the next is opened", () => {
    let opened = 0;
    return asking(
      ({ rpcMethod, id, headers }, response) => {
        if (rpcMethod === "initialize") {
          return sendJson(response, result(id), 200, { "mcp-session-id": `S${++opened}` });
        }
        return sendJson(response, result(id, headers["mcp-session-id"] ?? "none"));
      },
      async (link, fake) => {
        await link.ask("initialize");
        expect((await link.ask("ping")).reply.result).toBe("S1");
        link.transport.forgetSession();
        expect((await link.ask("ping")).reply.result).toBe("none");
        await link.ask("initialize");
        expect((await link.ask("ping")).reply.result).toBe("S2");
        // A handshake continues none, even where one is open.
        await link.ask("initialize");
        expect(fake.requests.at(-1)?.headers["mcp-session-id"]).toBeUndefined();
        expect(link.transport.session).toBe("S3");
      },
    );
  });

  it.each([
    ["405", (_request: FakeRequest, response) => response.writeHead(405).end()],
    ["a broken connection", (_request: FakeRequest, response) => response.destroy()],
    ["silence", () => undefined],
    [
      "a stream without end",
      (_request: FakeRequest, response) => openStream(response).write(":\n"),
    ],
  ] satisfies [string, Respond][])("closing is not held up by %s", (_what, then) =>
    asking(giving("S", then), async (link, fake) => {
      await link.ask("initialize");
      const start = performance.now();
      await link.transport.close();
      expect(performance.now() - start).toBeLessThan(1_500);
      expect(fake.having("DELETE").length).toBeGreaterThan(0);
      expect(link.sender.underWay).toBe(0);
    }),
  );

  it.each(handshakes)("a session of our own server lives and ends, in %s", async (revision) => {
    const server = createServer({ name: "s", version: "1" });
    await using serving = await serve(server, { port: 0, drainMs: 100 });
    await using link = new Link(sender, serving.url, revision);
    await link.open();
    await using other = new Link(sender, serving.url, revision);
    await other.open();
    const { session } = link.transport;
    await link.ask("tools/list");
    await link.transport.close();
    expect(session).not.toBe(other.transport.session);
    await other.ask("tools/list");
    // Over a transport of its own, for one that was closed stays closed.
    const gone = await fetch(serving.url, {
      method: "POST",
      headers: { "content-type": "application/json", "mcp-session-id": String(session) },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
    });
    expect(gone.status).toBe(404);
    expect((await failureOf(link.ask("tools/list"))).kind).toBe("closed");
  });
});
