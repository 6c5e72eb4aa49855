/** The stream on which a server speaks of its own, kept open through whatever ends it. */
import { setTimeout as delay } from "node:timers/promises";
import { createServer, serve } from "anyrev/node";
import { describe, expect, it } from "vitest";
import type { StreamableHttpOptions } from "../../src/client/streamable-http.ts";
import type { FollowOptions } from "../../src/client/transport.ts";
import {
  event,
  FakeHttp,
  note,
  openStream,
  type Respond,
  refusal,
  result,
  sendJson,
  sendStream,
} from "../support/fake-http.ts";
import { failureOf, Link, senderKinds } from "../support/http-client.ts";
import { until } from "../support/signals.ts";

interface Followed {
  readonly link: Link;
  readonly fake: FakeHttp;
  readonly following: Promise<void>;
  readonly opened: () => number;
  readonly leave: () => void;
}

describe.each(senderKinds)("over %s,", (sender) => {
  async function following(
    respond: Respond,
    check: (followed: Followed) => Promise<void>,
    options: StreamableHttpOptions & Partial<FollowOptions> = {},
  ): Promise<void> {
    await using fake = await FakeHttp.open((request, response) =>
      request.rpcMethod === "initialize"
        ? sendJson(response, result(request.id), 200, { "mcp-session-id": "S" })
        : respond(request, response),
    );
    await using link = new Link(sender, fake.url, "2025-11-25", { closeTimeoutMs: 50, ...options });
    await link.ask("initialize");
    const leaving = new AbortController();
    let opened = 0;
    const follow = link.transport.follow({
      headers: { "mcp-protocol-version": "2025-11-25" },
      signal: leaving.signal,
      resumption: options.resumption ?? "primed",
      onOpen: () => opened++,
    });
    follow.catch(() => undefined);
    try {
      await check({
        link,
        fake,
        following: follow,
        opened: () => opened,
        leave: () => leaving.abort(),
      });
    } finally {
      leaving.abort();
      await follow.catch(() => undefined);
    }
  }

  const lastIds = (fake: FakeHttp) =>
    fake.having("GET").map(({ headers }) => headers["last-event-id"]);

  it("what the server says is heard, outside of any request", () =>
    following(
      (_request, response) =>
        openStream(response).write(
          event(note("notifications/tools/list_changed")) +
            event('{"jsonrpc":"2.0","id":1,"method":"roots/list"}') +
            event(result(1)) +
            event("garbage"),
        ),
      async ({ link, fake, opened, leave, following }) => {
        await until("it was heard", () => link.recorder.warnings.length === 2);
        expect(link.recorder.methods).toEqual(["notifications/tools/list_changed", "roots/list"]);
        expect(link.recorder.heard.map(({ during }) => during)).toEqual([undefined, undefined]);
        expect(opened()).toBe(1);
        expect(fake.having("GET")[0]?.headers).toMatchObject({
          accept: "text/event-stream",
          "mcp-session-id": "S",
          "mcp-protocol-version": "2025-11-25",
        });
        leave();
        await following;
        expect(link.sender.underWay).toBe(0);
      },
    ));

  it.each([405, 400, 406, 501])("HTTP %d offers no such stream, and that is all", (status) =>
    following(
      (_request, response) => sendJson(response, refusal(null, -1), status),
      async ({ link, fake, opened, following }) => {
        await following;
        expect([opened(), fake.having("GET").length]).toEqual([0, 1]);
        expect(link.recorder.warnings).toHaveLength(status === 405 ? 0 : 1);
      },
    ),
  );

  it("404 is about the session that was named", () =>
    following(
      (_request, response) => sendJson(response, refusal(null, -1), 404),
      async ({ following }) => expect((await failureOf(following)).kind).toBe("session-lost"),
    ));

  it("an answer that is no stream is none either", () =>
    following(
      (_request, response) => sendJson(response, "{}"),
      async ({ link, following }) => {
        await following;
        expect(link.recorder.warnings).toHaveLength(1);
      },
    ));

  it("it is opened again where it left off, each time it ends or breaks", () => {
    let gets = 0;
    return following(
      (_request, response) => {
        gets++;
        if (gets === 1) return sendStream(response, `retry: 40\n${event(note("n/1"), "g1")}`);
        if (gets === 2) {
          return openStream(response).write(event(note("n/2"), "g2"), () => response.destroy());
        }
        return openStream(response).write(event(note("n/3"), "g3"));
      },
      async ({ link, fake, opened }) => {
        await until("all was heard", () => link.recorder.methods.length === 3);
        expect(link.recorder.methods).toEqual(["n/1", "n/2", "n/3"]);
        expect(lastIds(fake)).toEqual([undefined, "g1", "g2"]);
        expect(opened()).toBe(3);
        const [first, second, third] = fake.having("GET").map(({ at }) => at);
        expect(Number(second) - Number(first)).toBeGreaterThanOrEqual(40);
        expect(Number(third) - Number(second)).toBeGreaterThanOrEqual(40);
      },
    );
  });

  it("a revision without resumption opens it anew", () =>
    following(
      (_request, response) => sendStream(response, `retry: 1\n${event(note("n/1"), "g1")}`),
      async ({ fake }) => {
        await until("it was opened again", () => fake.having("GET").length >= 3);
        expect(new Set(lastIds(fake))).toEqual(new Set([undefined]));
      },
      { resumption: "none" },
    ));

  it("an event that is too old to go on from costs what was missed, and no more", () => {
    let gets = 0;
    return following(
      ({ headers }, response) => {
        gets++;
        if (gets === 1) return sendStream(response, `retry: 1\n${event("", "old")}`);
        if (headers["last-event-id"] !== undefined) {
          return sendJson(response, refusal(undefined, -32_600), 400);
        }
        return openStream(response).write(event(note("n/new")));
      },
      async ({ link, fake }) => {
        await until("it is heard again", () => link.recorder.methods.includes("n/new"));
        expect(lastIds(fake)).toEqual([undefined, "old", undefined]);
      },
    );
  });

  it("an event that is too large is passed over", () =>
    following(
      (_request, response) =>
        openStream(response).write(
          event(note("n/large", "x".repeat(3_000))) + event(note("n/small")),
        ),
      async ({ link, opened }) => {
        await until("the next was heard", () => link.recorder.methods.includes("n/small"));
        expect(link.recorder.methods).toEqual(["n/small"]);
        expect(link.recorder.warnings).toHaveLength(1);
        expect(opened()).toBe(1);
      },
      { maxMessageBytes: 1_000 },
    ));

  it("404 while it is reopened says that the session is gone", () => {
    let gets = 0;
    return following(
      (_request, response) =>
        ++gets === 1
          ? sendStream(response, `retry: 1\n${event("", "1")}`)
          : sendJson(response, "", 404),
      async ({ following }) => expect((await failureOf(following)).kind).toBe("session-lost"),
    );
  });

  it("credentials that ran out are said to be that", () =>
    following(
      (_request, response) => response.writeHead(401, { "www-authenticate": "Bearer x" }).end(),
      async ({ following }) =>
        expect(await failureOf(following)).toMatchObject({
          kind: "unauthorized",
          challenge: "Bearer x",
        }),
    ));

  it("a server in trouble is asked again, with ever longer waits, and then no more", () =>
    following(
      (_request, response) => response.writeHead(500).end(),
      async ({ fake, following }) => {
        const failure = await failureOf(following);
        expect(failure.kind).toBe("interrupted");
        expect(failure.cause).toMatchObject({ kind: "http", status: 500 });
        expect(fake.having("GET")).toHaveLength(2);
      },
      { resumeAttempts: 1 },
    ));

  it("a server that ends each stream at once is not called without pause", () =>
    following(
      (_request, response) => sendStream(response, "retry: 0\n\n"),
      async ({ fake, opened }) => {
        await delay(1_100);
        // 200, 400, 800 ms apart.
        expect(fake.having("GET").length).toBeLessThanOrEqual(4);
        expect(opened()).toBe(fake.having("GET").length);
      },
    ));

  it("closing the transport ends it in peace", () =>
    following(
      (_request, response) => openStream(response),
      async ({ link, following, opened }) => {
        await until("it is open", () => opened() === 1);
        await link.transport.close();
        await following;
      },
    ));

  it("our own server tells of changes on it", async () => {
    const server = createServer({ name: "s", version: "1" });
    await using serving = await serve(server, { port: 0, drainMs: 100 });
    await using link = new Link(sender, serving.url, "2025-11-25");
    await link.open();
    const leaving = new AbortController();
    await new Promise<void>((resolve) => {
      void link.transport.follow({
        headers: { "mcp-protocol-version": "2025-11-25" },
        signal: leaving.signal,
        resumption: "primed",
        onOpen: resolve,
      });
    });
    server.tool("new", {}, () => ({}));
    await until("the change is told", () => link.recorder.heard.length > 0);
    expect(link.recorder.methods).toEqual(["notifications/tools/list_changed"]);
    leaving.abort();
  });
});
