/** What every kind of HTTP answer is to a request of the client's. */
import { describe, expect, it } from "vitest";
import {
  FakeHttp,
  openStream,
  type Respond,
  refusal,
  result,
  sendJson,
} from "../support/fake-http.ts";
import { failureOf, Link, senderKinds } from "../support/http-client.ts";

describe.each(senderKinds)("over %s,", (sender) => {
  async function asking(respond: Respond, ask: (link: Link, fake: FakeHttp) => Promise<void>) {
    await using fake = await FakeHttp.open(respond);
    await using link = new Link(sender, fake.url, "2025-11-25");
    await ask(link, fake);
  }

  it.each([400, 404, 405, 406, 422, 500, 502])(
    "a JSON-RPC error on HTTP %i is a reply to the request",
    (status) =>
      asking(
        ({ id }, response) => sendJson(response, refusal(id, -32_601), status),
        async (link) => {
          const { reply, status: got } = await link.ask("tools/list");
          expect(reply).toMatchObject({ id: link.lastId, error: { code: -32_601 } });
          expect(got).toBe(status);
          expect(link.recorder.warnings).toEqual([]);
        },
      ),
  );

  it.each([null, undefined])("an error with the id %j is about the one request", (id) =>
    asking(
      (_request, response) => sendJson(response, refusal(id, -32_600, "Missing session ID"), 400),
      async (link) => {
        const { reply } = await link.ask("server/discover");
        expect(reply).toMatchObject({ id: null, error: { message: "Missing session ID" } });
      },
    ),
  );

  it.each([
    [400, "text/plain", "no session"],
    [400, "text/plain", ""],
    [404, "text/html", "<html>nothing here</html>"],
    [405, "application/json", "{}"],
    [422, "application/json", '{"detail":[]}'],
    [500, "application/json", "{"],
    [200, "text/html", "<html>sign in</html>"],
    [202, "text/plain", ""],
    [204, "", ""],
    [302, "text/html", ""],
  ])("HTTP %i with %s %j is no reply", (status, type, body) =>
    asking(
      (_request, response) => {
        response.writeHead(status, type === "" ? {} : { "content-type": type });
        response.end(body);
      },
      async (link) => {
        const failure = await failureOf(link.ask("tools/list"));
        expect([failure.kind, failure.status]).toEqual(["http", status]);
        expect(failure.message).toContain(`HTTP ${status}`);
        expect(failure.message).toContain(
          body.startsWith("<") || body === "" ? body : body.slice(0, 5),
        );
      },
    ),
  );

  it.each([401, 403])("HTTP %i is a matter of credentials, whatever its body", (status) =>
    asking(
      ({ id }, response) =>
        sendJson(response, refusal(id, -32_000), status, {
          "www-authenticate": 'Bearer resource_metadata="http://h.test/x"',
        }),
      async (link) => {
        for (const failing of [link.ask("tools/list"), link.tell("notifications/x")]) {
          const failure = await failureOf(failing);
          expect([failure.kind, failure.status]).toEqual(["unauthorized", status]);
          expect(failure.challenge).toBe('Bearer resource_metadata="http://h.test/x"');
        }
      },
    ),
  );

  it.each([
    [429, "2", 2_000],
    [503, "0", 0],
    [503, " 7 ", 7_000],
    [429, "999999999999", 86_400_000],
    [503, "soon", undefined],
    [429, undefined, undefined],
  ])("HTTP %i says with Retry-After: %j when to come back", (status, after, retryAfterMs) =>
    asking(
      ({ id }, response) =>
        sendJson(
          response,
          refusal(id, -32_000, "busy"),
          status,
          after === undefined ? {} : { "retry-after": after },
        ),
      async (link) => {
        for (const failing of [link.ask("tools/list"), link.tell("notifications/x")]) {
          const failure = await failureOf(failing);
          expect(failure).toMatchObject({ kind: "http", status, retryAfterMs, code: -32_000 });
          expect(failure.message).toBe(`HTTP ${status}: busy`);
        }
      },
    ),
  );

  it("a date in Retry-After is a wait from now", () =>
    asking(
      (_request, response) => {
        response.writeHead(503, { "retry-after": new Date(Date.now() + 60_000).toUTCString() });
        response.end();
      },
      async (link) => {
        const { retryAfterMs } = await failureOf(link.ask("tools/list"));
        expect(retryAfterMs).toBeGreaterThan(55_000);
        expect(retryAfterMs).toBeLessThanOrEqual(60_000);
      },
    ));

  it.each([
    ["not JSON", "{"],
    ["binary", "\u0000\u0001�"],
    ["no message", "{}"],
    ["an empty array", "[]"],
    ["a number", "7"],
    ["a reply to another request", result(999)],
    ["a result without an id", '{"jsonrpc":"2.0","id":null,"result":{}}'],
    ["a reply whose id is of another type", result("1")],
    ["a reply without a result", '{"jsonrpc":"2.0","id":1}'],
    ["a reply of another version", '{"jsonrpc":"1.0","id":1,"result":{}}'],
    ["a reply nested without end", result(1, JSON.parse(`${"[".repeat(999)}${"]".repeat(999)}`))],
  ])("a successful answer that is %s is invalid", (_what, body) =>
    asking(
      (_request, response) => sendJson(response, body),
      async (link) => {
        const failure = await failureOf(link.ask("tools/list"));
        expect(failure.kind).toBe("invalid-answer");
      },
    ),
  );

  it("a reply is found in an array, among what else the server says", () =>
    asking(
      ({ id }, response) =>
        sendJson(
          response,
          `[${[result(77), '{"jsonrpc":"2.0","method":"notifications/x"}', "5", result(id), refusal(id, 1)].join(",")}]`,
        ),
      async (link) => {
        const { reply } = await link.ask("tools/list");
        expect(reply).toMatchObject({ id: 1, result: { done: true } });
        expect(link.recorder.heard).toMatchObject([
          { message: { kind: "notification", method: "notifications/x" }, during: 1 },
        ]);
        // The reply to another, the number, and the second reply.
        expect(link.recorder.warnings).toHaveLength(3);
      },
    ));

  it.each(["\ufeff", "  \n"])("a reply after %j is a reply", (before) =>
    asking(
      ({ id }, response) => sendJson(response, before + result(id)),
      async (link) => expect((await link.ask("ping")).reply.id).toBe(1),
    ),
  );

  it.each(["application/json; charset=utf-8", "APPLICATION/JSON", "text/plain", undefined])(
    "a reply of the type %s is a reply",
    (type) =>
      asking(
        ({ id }, response) => {
          response.writeHead(200, type === undefined ? {} : { "content-type": type });
          response.end(result(id));
        },
        async (link) => expect((await link.ask("ping")).reply.id).toBe(1),
      ),
  );

  it.each([200, 202, 204])("HTTP %i takes a notification, whatever its body", (status) =>
    asking(
      (_request, response) => {
        response.writeHead(status, { "content-type": "text/plain" });
        response.end(status === 200 ? "thanks" : undefined);
      },
      async (link, fake) => {
        await link.tell("notifications/initialized");
        expect(fake.requests[0]?.rpcMethod).toBe("notifications/initialized");
      },
    ),
  );

  it("a notification that was refused says why", () =>
    asking(
      (_request, response) => sendJson(response, refusal(undefined, -32_600, "not now"), 400),
      async (link) => {
        const failure = await failureOf(link.tell("notifications/x"));
        expect(failure).toMatchObject({ kind: "http", status: 400, code: -32_600 });
        expect(failure.message).toBe("HTTP 400: not now");
      },
    ));

  it("a stream that a refusal comes on is not waited for", () =>
    asking(
      (_request, response) => {
        response.writeHead(400, { "content-type": "text/event-stream" });
        response.write(":\n\n");
      },
      async (link) => {
        const failure = await failureOf(link.ask("tools/list"));
        expect([failure.kind, failure.status]).toEqual(["http", 400]);
      },
    ));

  it("what is sent is a POST that takes both kinds of answer", () =>
    asking(
      ({ id }, response) => sendJson(response, result(id)),
      async (link, fake) => {
        await link.ask("tools/list", { cursor: "ü" });
        const [sent] = fake.requests;
        expect(sent?.method).toBe("POST");
        expect(sent?.headers).toMatchObject({
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": "2025-11-25",
        });
        expect(JSON.parse(sent?.body ?? "")).toMatchObject({ id: 1, params: { cursor: "ü" } });
      },
    ));

  it("nobody who listens is unreachable", async () => {
    const fake = await FakeHttp.open(() => undefined);
    await fake[Symbol.asyncDispose]();
    await using link = new Link(sender, fake.url, "2025-11-25");
    expect((await failureOf(link.ask("ping"))).kind).toBe("unreachable");
    await using lost = new Link(sender, "http://nowhere.invalid/mcp", "2025-11-25");
    expect((await failureOf(lost.ask("ping"))).kind).toBe("unreachable");
  });

  it("a connection that breaks before the answer, or within it, is interrupted", async () => {
    const endings: Respond[] = [
      (_request, response) => response.destroy(),
      (_request, response) => {
        response.writeHead(200, { "content-type": "application/json", "content-length": "99" });
        response.write('{"jsonrpc"', () => response.destroy());
      },
      (_request, response) => {
        response.writeHead(200, { "content-type": "application/json" });
        response.write('{"jsonrpc"', () => response.destroy());
      },
      (_request, response) => openStream(response).write(":\n\n", () => response.destroy()),
      (_request, response) => openStream(response).end("data: 1"),
    ];
    for (const ending of endings) {
      await asking(ending, async (link) => {
        const failure = await failureOf(link.ask("tools/call", { name: "x", arguments: {} }));
        expect(failure.kind).toBe("interrupted");
      });
    }
  });

  it("an answer of more bytes than the cap is too large, and one at the cap is not", async () => {
    const maxMessageBytes = 2_000;
    const fill = (id: unknown, bytes: number): string => {
      const room = bytes - result(id, "").length;
      return result(id, "é".repeat(room >> 1) + "x".repeat(room & 1));
    };
    await using fake = await FakeHttp.open(({ id, headers }, response) => {
      const bytes = Number(headers["x-bytes"]);
      if (headers["x-chunked"] === undefined) sendJson(response, fill(id, bytes));
      else {
        response.writeHead(200, { "content-type": "application/json" });
        for (const piece of fill(id, bytes).match(/.{1,99}/g) ?? []) response.write(piece);
        response.end();
      }
    });
    for (const more of [{}, { "x-chunked": "1" }]) {
      const link = (bytes: number): Link =>
        new Link(sender, fake.url, "2025-11-25", {
          maxMessageBytes,
          headers: { "X-Bytes": String(bytes), ...more },
        });
      await using fits = link(maxMessageBytes);
      expect((await fits.ask("ping")).reply.id).toBe(1);
      await using large = link(maxMessageBytes + 1);
      expect((await failureOf(large.ask("ping"))).kind).toBe("too-large");
      expect(large.sender.underWay).toBe(0);
    }
  });
});
