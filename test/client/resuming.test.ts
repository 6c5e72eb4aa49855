/** A reply whose stream broke, gone on with over other connections. */
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { StreamableHttpOptions } from "../../src/client/streamable-http.ts";
import {
  event,
  FakeHttp,
  type FakeRequest,
  note,
  openStream,
  type Respond,
  refusal,
  result,
  sendJson,
  sendStream,
} from "../support/fake-http.ts";
import { failureOf, Link, senderKinds } from "../support/http-client.ts";

const resumed = { resumption: "primed" } as const;
const call = { name: "x", arguments: {} };

function lastIds(fake: FakeHttp): (string | undefined)[] {
  return fake.having("GET").map(({ headers }) => headers["last-event-id"] as string | undefined);
}

/** How long after the request before it each one came. */
function gaps(requests: readonly FakeRequest[]): number[] {
  return requests.slice(1).map(({ at }, index) => at - (requests[index]?.at ?? 0));
}

describe.each(senderKinds)("over %s,", (sender) => {
  async function asking(
    respond: Respond,
    ask: (link: Link, fake: FakeHttp) => Promise<void>,
    options: StreamableHttpOptions = {},
  ): Promise<void> {
    await using fake = await FakeHttp.open(respond);
    await using link = new Link(sender, fake.url, "2025-11-25", options);
    await ask(link, fake);
  }

  it("a stream that ends before its reply is resumed from its newest event, again and again", () =>
    asking(
      ({ method, id, headers }, response) => {
        if (method === "POST") {
          return sendStream(response, `retry: 20\nid: a-1\ndata:\n\n${event(note("n/1"), "a-2")}`);
        }
        const from = headers["last-event-id"];
        if (from === "a-2") return sendStream(response, event(note("n/2"), "a-3"));
        // The id comes in an event without data, too.
        if (from === "a-3") return sendStream(response, "id: a-4\n\n");
        if (from === "a-4") return sendStream(response, ":\n\n");
        return sendJson(response, refusal(id, -1), 400);
      },
      async (link, fake) => {
        const asked = link.ask("tools/call", call, resumed);
        while (fake.having("GET").length < 4) await delay(2);
        expect(lastIds(fake).slice(0, 4)).toEqual(["a-2", "a-3", "a-4", "a-4"]);
        expect(link.recorder.methods).toEqual(["n/1", "n/2"]);
        expect(link.recorder.heard.map(({ during }) => during)).toEqual([1, 1]);
        await link.transport.close();
        expect((await failureOf(asked)).kind).toBe("closed");
      },
    ));

  it("the reply may come on any of the connections", () =>
    asking(
      ({ method }, response) =>
        method === "POST"
          ? sendStream(response, `retry: 5\n${event("", "1")}`)
          : sendStream(response, event(result(1), "2")),
      async (link, fake) => {
        const { reply, status } = await link.ask("tools/call", call, resumed);
        expect(reply.result).toEqual({ done: true });
        expect(status).toBeUndefined();
        const [get] = fake.having("GET");
        expect(get?.headers).toMatchObject({
          accept: "text/event-stream",
          "mcp-protocol-version": "2025-11-25",
          "last-event-id": "1",
        });
        expect(get?.body).toBe("");
      },
    ));

  it("a connection that breaks off is resumed like one that ends", () =>
    asking(
      ({ method }, response) => {
        if (method === "GET") return sendStream(response, event(result(1)));
        openStream(response).write(`retry: 5\n${event("", "1")}id: 2\ndata: {"half`, () =>
          response.destroy(),
        );
      },
      async (link, fake) => {
        expect((await link.ask("tools/call", call, resumed)).reply.id).toBe(1);
        // An event that was cut off has not come.
        expect(lastIds(fake)).toEqual(["1"]);
      },
    ));

  it("the server's retry is waited for, and the newest counts", () =>
    asking(
      ({ method, headers }, response) => {
        if (method === "POST") return sendStream(response, `retry: 120\n${event("", "1")}`);
        if (headers["last-event-id"] === "1") {
          return sendStream(response, `retry: 240\n${event("", "2")}`);
        }
        return sendStream(response, event(result(1)));
      },
      async (link, fake) => {
        await link.ask("tools/call", call, resumed);
        const [first = 0, second = 0] = gaps(fake.requests);
        expect(first).toBeGreaterThanOrEqual(120);
        expect(second).toBeGreaterThanOrEqual(240);
      },
    ));

  it("without a retry a second is waited", () =>
    asking(
      ({ method }, response) =>
        sendStream(response, event(method === "POST" ? "" : result(1), "1")),
      async (link, fake) => {
        await link.ask("tools/call", call, resumed);
        const [gap = 0] = gaps(fake.requests);
        expect(gap).toBeGreaterThanOrEqual(1_000);
        expect(gap).toBeLessThan(2_500);
      },
    ));

  it.each([
    ["without an event id", event(note("n/x")), "primed"],
    ["with an id that was taken back", `${event("", "1")}id:\ndata:\n\n`, "primed"],
    ["with an id that no header can carry", event("", "a\u0001b"), "primed"],
    ["with an id without end", event("", "x".repeat(5_000)), "primed"],
    ["in a revision without resumption", event("", "1"), "none"],
  ] as const)("a stream %s is not resumed", (_what, text, resumption) =>
    asking(
      ({ method }, response) =>
        method === "POST" ? sendStream(response, text) : sendStream(response, event(result(1))),
      async (link, fake) => {
        const failure = await failureOf(link.ask("tools/call", call, { resumption }));
        expect(failure.kind).toBe("interrupted");
        expect(fake.requests).toHaveLength(1);
      },
    ),
  );

  it("an id goes out as its UTF-8, byte for byte", () =>
    asking(
      ({ method }, response) =>
        method === "POST"
          ? sendStream(response, `retry: 1\n${event("", "ü ☕")}`)
          : sendStream(response, event(result(1))),
      async (link, fake) => {
        await link.ask("tools/call", call, resumed);
        const [id = ""] = lastIds(fake);
        expect(Buffer.from(id, "latin1").toString("utf8")).toBe("ü ☕");
      },
    ));

  it.each([400, 404, 405, 410])("HTTP %i to the resumption ends it", (status) =>
    asking(
      ({ method }, response) =>
        method === "POST"
          ? sendStream(response, `retry: 1\n${event("", "1")}`)
          : sendJson(response, refusal(undefined, -32_000), status),
      async (link, fake) => {
        const failure = await failureOf(link.ask("tools/call", call, resumed));
        expect(failure.kind).toBe("interrupted");
        expect(failure.cause).toMatchObject({ kind: "http", status });
        expect(fake.requests).toHaveLength(2);
      },
    ),
  );

  it("a session that is gone ends it, and is no reason to call again: it may have been done", () =>
    asking(
      ({ method, rpcMethod, id }, response) => {
        if (rpcMethod === "initialize") {
          return sendJson(response, result(id), 200, { "mcp-session-id": "s" });
        }
        if (method === "POST") return sendStream(response, `retry: 1\n${event("", "1")}`);
        return sendJson(response, refusal(null, -32_001), 404);
      },
      async (link, fake) => {
        await link.ask("initialize");
        const failure = await failureOf(link.ask("tools/call", call, resumed));
        expect(failure.kind).toBe("interrupted");
        expect(failure.cause).toMatchObject({ kind: "session-lost" });
        expect(fake.having("GET")[0]?.headers["mcp-session-id"]).toBe("s");
      },
    ));

  it("credentials that ran out are said to be that", () =>
    asking(
      ({ method }, response) =>
        method === "POST"
          ? sendStream(response, `retry: 1\n${event("", "1")}`)
          : response.writeHead(401, { "www-authenticate": "Bearer" }).end(),
      async (link) => {
        const failure = await failureOf(link.ask("tools/call", call, resumed));
        expect(failure).toMatchObject({ kind: "unauthorized", challenge: "Bearer" });
      },
    ));

  it("a server in trouble is tried again, and then again no more", () =>
    asking(
      ({ method }, response) => {
        if (method === "POST") return sendStream(response, `retry: 1\n${event("", "1")}`);
        return response.writeHead(502).end();
      },
      async (link, fake) => {
        const failure = await failureOf(link.ask("tools/call", call, resumed));
        expect(failure.kind).toBe("interrupted");
        expect(failure.cause).toMatchObject({ kind: "http", status: 502 });
        expect(fake.having("GET")).toHaveLength(2);
        const [, gap = 0] = gaps(fake.requests);
        expect(gap).toBeGreaterThanOrEqual(1_000);
      },
      { resumeAttempts: 1 },
    ));

  it("Retry-After of a server in trouble is heeded", () =>
    asking(
      ({ method }, response) => {
        if (method === "POST") return sendStream(response, `retry: 1\n${event("", "1")}`);
        response.writeHead(503, { "retry-after": "600" });
        return response.end();
      },
      async (link, fake) => {
        const failure = await failureOf(link.ask("tools/call", call, resumed));
        expect(failure.message).toContain("too long");
        expect(fake.having("GET")).toHaveLength(1);
      },
    ));

  it.each(["3600000", "99999999999999999999", "9".repeat(400)])(
    "a retry of %s ms is no reason to hang",
    (retry) =>
      asking(
        ({ method }, response) =>
          method === "POST"
            ? sendStream(response, `retry: ${retry}\n${event("", "1")}`)
            : sendStream(response, event(result(1))),
        async (link, fake) => {
          const failure = await failureOf(link.ask("tools/call", call, resumed));
          expect(failure.message).toContain("too long");
          expect(fake.requests).toHaveLength(1);
        },
      ),
  );

  it("a server that never has anything new is asked for so long, and ever more slowly", () =>
    asking(
      ({ method }, response) =>
        method === "POST"
          ? sendStream(response, `retry: 0\n${event("", "1")}`)
          : sendStream(response, ":\n\n"),
      async (link, fake) => {
        const failure = await failureOf(link.ask("tools/call", call, resumed));
        expect(failure.kind).toBe("interrupted");
        // 0, 200, 400 and the next would be 800.
        expect(fake.having("GET").length).toBeLessThan(5);
      },
      { resumeWithinMs: 1_000 },
    ));

  it("giving the call up ends the wait, and the connection", () =>
    asking(
      ({ method }, response) => {
        if (method === "POST") return sendStream(response, `retry: 30\n${event("", "1")}`);
        return openStream(response);
      },
      async (link, fake) => {
        for (const gets of [0, 1]) {
          const own = new AbortController();
          const asked = link.ask("tools/call", call, { ...resumed, signal: own.signal });
          while (fake.having("POST").length <= gets) await delay(1);
          while (fake.having("GET").length < gets) await delay(1);
          await delay(5);
          own.abort(new Error("enough"));
          await expect(asked).rejects.toThrow("enough");
          expect(link.sender.underWay).toBe(0);
        }
      },
    ));

  it("streams of several calls are resumed each from its own events", () =>
    asking(
      async ({ method, id, headers }, response) => {
        if (method === "POST") {
          await delay(Number(id) % 3);
          return sendStream(response, `retry: ${3 * Number(id)}\n${event("", `s${id}-1`)}`);
        }
        const [, of, at] = /^s(\d+)-(\d)$/.exec(String(headers["last-event-id"])) ?? [];
        if (at === "1") return sendStream(response, event(note("n/x", { of }), `s${of}-2`));
        // A stranger's reply first.
        const stranger = event(result(Number(of) + 1, { of: "a stranger" }));
        return sendStream(response, stranger + event(result(Number(of), { of })));
      },
      async (link, fake) => {
        const replies = await Promise.all(
          Array.from({ length: 12 }, () => link.ask("tools/call", call, resumed)),
        );
        expect(replies.map(({ reply }) => reply.result)).toEqual(
          Array.from({ length: 12 }, (_, at) => ({ of: String(at + 1) })),
        );
        for (const { message, during } of link.recorder.heard) {
          expect(message.params).toEqual({ of: String(during) });
        }
        expect(lastIds(fake)).toHaveLength(24);
        expect(new Set(lastIds(fake)).size).toBe(24);
      },
    ));

  it("a handshake that is resumed opens its session", () =>
    asking(
      ({ method }, response) =>
        method === "POST"
          ? sendStream(response, `retry: 1\n${event("", "1")}`, { "mcp-session-id": "s-1" })
          : sendStream(response, event(result(1))),
      async (link, fake) => {
        await link.ask("initialize", {}, resumed);
        expect(link.transport.session).toBe("s-1");
        expect(fake.having("GET")[0]?.headers["mcp-session-id"]).toBe("s-1");
      },
    ));
});
