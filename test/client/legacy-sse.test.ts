/** The client's HTTP+SSE transport of 2024-11-05, against our own server and a made-up one. */

import type { ServerResponse } from "node:http";
import { createServer, serve } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { LegacySseTransport, type LegacySseTransportOptions } from "../../src/client/legacy-sse.ts";
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
import { createSender, failureOf, Recorder, senderKinds } from "../support/http-client.ts";
import { initializeParams, request } from "../support/messages.ts";
import { createGate, until } from "../support/signals.ts";

const endpoint = (url: string): string => `event: endpoint\ndata: ${url}\n\n`;

describe.each(senderKinds)("over %s,", (kind) => {
  function createTransport(url: string, options: LegacySseTransportOptions = {}) {
    const sender = createSender(kind);
    const transport = new LegacySseTransport(url, sender, options);
    const recorder = new Recorder();
    let id = 0;
    const ask = (method: string, params = {}, signal = new AbortController().signal) =>
      transport.request(
        { message: { ...request("2024-11-05", ++id, method, params) }, headers: {} },
        { signal, resumption: "none" },
      );
    const tell = (method: string) =>
      transport.send({ jsonrpc: "2.0", method }, {}, new AbortController().signal);
    return { transport, sender, recorder, ask, tell };
  }

  interface Opened extends ReturnType<typeof createTransport> {
    readonly fake: FakeHttp;
    /** The stream that is open. */
    readonly stream: ServerResponse;
  }

  /** A server whose stream is written by the test. */
  async function opened(
    respond: (request: FakeRequest, response: ServerResponse, stream: ServerResponse) => unknown,
    check: (opened: Opened) => Promise<void>,
    options: LegacySseTransportOptions = {},
  ): Promise<void> {
    let stream: ServerResponse | undefined;
    await using fake = await FakeHttp.open((asked, response) => {
      if (asked.method === "GET") {
        stream = openStream(response);
        stream.write(endpoint("/messages?sessionId=1"));
      } else if (stream !== undefined) respond(asked, response, stream);
    });
    const made = createTransport(fake.url, options);
    try {
      await made.transport.start(made.recorder);
      if (stream === undefined) throw new Error("nothing was opened");
      await check({ ...made, fake, stream });
    } finally {
      await made.transport.close();
    }
  }

  const accept = (response: ServerResponse): void => void response.writeHead(202).end("Accepted");

  it("our own server is spoken to: handshake, calls, notifications", async () => {
    const server = createServer({ name: "old", version: "1" });
    server.tool("count", {}, async (_args, ex) => {
      await ex.progress(1, 2);
      return { counted: 2 };
    });
    await using serving = await serve(server, { port: 0, legacySse: true, drainMs: 100 });
    const url = new URL("/sse", serving.url);
    const { transport, recorder, ask, tell, sender } = createTransport(url.href);
    await transport.start(recorder);
    const hello = await ask("initialize", initializeParams("2024-11-05"));
    expect(hello.reply.result).toMatchObject({ protocolVersion: "2024-11-05" });
    await tell("notifications/initialized");
    const called = await ask("tools/call", {
      name: "count",
      arguments: {},
      _meta: { progressToken: 7 },
    });
    expect(called).toMatchObject({ status: undefined, reply: { id: 2 } });
    expect(recorder.methods).toEqual(["notifications/progress"]);
    expect(recorder.warnings).toEqual([]);
    await transport.close();
    expect(recorder.closings).toEqual([]);
    expect(sender.underWay).toBe(0);
    expect((await failureOf(ask("ping"))).kind).toBe("closed");
  });

  it("messages are posted where the stream says, and replies find their calls", () =>
    opened(
      ({ id }, response, stream) => {
        accept(response);
        setTimeout(() => stream.write(event(result(id, { of: id }))), 30 - 10 * Number(id));
      },
      async ({ fake, ask, recorder }) => {
        const replies = await Promise.all([ask("a"), ask("b"), ask("c")]);
        expect(replies.map(({ reply }) => reply.result)).toEqual([{ of: 1 }, { of: 2 }, { of: 3 }]);
        expect(fake.having("POST").map(({ path }) => path)).toEqual(
          Array.from({ length: 3 }, () => "/messages?sessionId=1"),
        );
        expect(fake.having("POST")[0]?.headers["content-type"]).toBe("application/json");
        expect(recorder.warnings).toEqual([]);
      },
    ));

  it("a reply may overtake the answer to its POST", () =>
    opened(
      ({ id }, response, stream) => {
        stream.write(event(result(id)));
        setTimeout(() => accept(response), 20);
      },
      async ({ ask, sender }) => {
        expect((await ask("a")).reply.id).toBe(1);
        await until("the POST is over", () => sender.underWay === 1);
      },
    ));

  it("what is no message, and what is nobody's, is passed over", () =>
    opened(
      ({ id }, response, stream) => {
        accept(response);
        stream.write(
          [
            ": hello\n\n",
            "event: ping\ndata: {}\n\n",
            "event: endpoint\ndata: http://evil.test/\n\n",
            "id: 1\ndata:\n\n",
            event("garbage"),
            event(result(99)),
            event(note("notifications/x")),
            `event: message\r\ndata: ${result(id)}\r\n\r\n`,
          ].join(""),
        );
      },
      async ({ ask, recorder, fake }) => {
        await ask("a");
        expect(recorder.warnings).toHaveLength(2);
        expect(recorder.methods).toEqual(["notifications/x"]);
        await ask("b");
        expect(fake.having("POST")).toHaveLength(2);
      },
    ));

  it.each([
    ["absolute", (url: string) => new URL("/post?s=1", url).href, "/post?s=1"],
    ["a path", () => "/post", "/post"],
    ["relative", () => "messages?s=1", "/messages?s=1"],
    ["a query", () => "?s=1", "/mcp?s=1"],
  ])("the endpoint may be %s", async (_what, name, path) => {
    await using fake = await FakeHttp.open(({ method, id }, response) => {
      if (method === "GET") openStream(response).write(endpoint(name(fake.url)));
      else sendJson(response, refusal(id, 5), 400);
    });
    const { transport, recorder, ask } = createTransport(fake.url);
    await transport.start(recorder);
    await ask("a");
    expect(fake.having("POST")[0]?.path).toBe(path);
    await transport.close();
  });

  it.each([
    "http://evil.test/post",
    "//evil.test/post",
    "https://127.0.0.1/post",
    "http://127.0.0.1:1/post",
    "javascript:alert(1)",
    "file:///etc/passwd",
    "http://[",
  ])("an endpoint elsewhere, %s, is never posted to", async (url) => {
    await using fake = await FakeHttp.open((_request, response) =>
      openStream(response).write(endpoint(url)),
    );
    const { transport, recorder, ask, sender } = createTransport(fake.url);
    expect((await failureOf(transport.start(recorder))).kind).toBe("invalid-answer");
    expect(sender.underWay).toBe(0);
    await expect(ask("a")).rejects.toThrow();
    expect(fake.requests).toHaveLength(1);
    await transport.close();
  });

  it.each([
    ["404", (_request, response) => response.writeHead(404).end("nothing"), "http"],
    ["401", (_request, response) => response.writeHead(401).end(), "unauthorized"],
    ["405", (_request, response) => response.writeHead(405).end(), "http"],
    ["a page", (_request, response) => sendJson(response, "{}"), "http"],
    ["a stream that ends", (_request, response) => sendStream(response, ":\n\n"), "interrupted"],
    [
      "a stream that breaks",
      (_request, response) => openStream(response).write(":\n\n", () => response.destroy()),
      "interrupted",
    ],
    ["a stream that says nothing", (_request, response) => openStream(response), "timeout"],
    ["silence", () => undefined, "timeout"],
  ] satisfies [string, Respond, string][])(
    "a server that answers with %s has no such transport",
    async (_what, respond, kindOfFailure) => {
      await using fake = await FakeHttp.open(respond);
      const { transport, recorder, sender } = createTransport(fake.url, {
        openTimeoutMs: kindOfFailure === "timeout" ? 100 : 10_000,
      });
      expect((await failureOf(transport.start(recorder))).kind).toBe(kindOfFailure);
      await transport.close();
      expect(sender.underWay).toBe(0);
      expect(recorder.closings).toEqual([]);
    },
  );

  it.each(["ends", "breaks"])("a stream that %s takes what is under way with it", (how) =>
    opened(
      (_request, response, stream) => {
        accept(response);
        setTimeout(() => (how === "ends" ? stream.end() : stream.destroy()), 20);
      },
      async ({ ask, recorder }) => {
        expect((await failureOf(ask("a"))).kind).toBe("interrupted");
        await until("it is said", () => recorder.closings.length === 1);
        expect(recorder.closings).toMatchObject([{ kind: "interrupted" }]);
        expect((await failureOf(ask("b"))).kind).toBe("closed");
      },
    ),
  );

  it.each([
    [401, "unauthorized"],
    [404, "http"],
    [413, "http"],
    [503, "http"],
  ])("a message that is refused with HTTP %i fails alone", (status, kindOfFailure) =>
    opened(
      ({ rpcMethod, id }, response, stream) => {
        if (rpcMethod === "bad")
          return response.writeHead(status, { "retry-after": "3" }).end("no");
        accept(response);
        return stream.write(event(result(id)));
      },
      async ({ ask, tell }) => {
        const [bad, good] = await Promise.allSettled([ask("bad"), ask("good")]);
        expect(bad).toMatchObject({ reason: { kind: kindOfFailure, status } });
        expect(good.status).toBe("fulfilled");
        expect((await failureOf(tell("bad"))).status).toBe(status);
      },
    ),
  );

  it.each([1, null, undefined])("a refusal that is JSON-RPC with the id %j is the reply", (id) =>
    opened(
      (_request, response) => sendJson(response, refusal(id, -32_600), 400),
      async ({ ask }) => {
        expect((await ask("a")).reply).toMatchObject({ id: 1, error: { code: -32_600 } });
      },
    ),
  );

  it("a POST whose connection breaks is interrupted: it may have been taken", () =>
    opened(
      (_request, response) => response.destroy(),
      async ({ ask }) => expect((await failureOf(ask("a"))).kind).toBe("interrupted"),
    ));

  it("giving a call up ends its POST, and its late reply surprises nobody", () => {
    const gate = createGate();
    return opened(
      ({ id, rpcMethod }, response, stream) => {
        if (rpcMethod === "slow") {
          void gate.opened.then(() => stream.write(event(result(id))));
          return;
        }
        accept(response);
        stream.write(event(result(id)));
      },
      async ({ ask, recorder, fake }) => {
        const own = new AbortController();
        const asked = ask("slow", {}, own.signal);
        await until("it is posted", () => fake.having("POST").length === 1);
        own.abort(new Error("enough"));
        await expect(asked).rejects.toThrow("enough");
        await until("the POST is gone", () => fake.having("POST")[0]?.isGone() === true);
        gate.open();
        await ask("quick");
        expect(recorder.warnings).toEqual([]);
      },
    );
  });

  it("a message that is too large is passed over, and the next one is heard", () =>
    opened(
      ({ id }, response, stream) => {
        accept(response);
        stream.write(event(note("n/large", "x".repeat(2_000))) + event(result(id)));
      },
      async ({ ask, recorder }) => {
        await ask("a");
        expect(recorder.methods).toEqual([]);
        expect(recorder.warnings).toHaveLength(1);
      },
      { maxMessageBytes: 1_000 },
    ));
});
