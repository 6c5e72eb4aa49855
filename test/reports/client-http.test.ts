/** REPORTS.md, client side: how servers over HTTP are found out, and which headers they get. */

import { MemoryVerdicts } from "anyrev/client";
import { describe, expect, test } from "vitest";
import { refusal } from "../support/channel-client.ts";
import { connect } from "../support/connecting.ts";
import { last, methods, modern, none, older, reply, using } from "../support/fake-endpoints.ts";
import {
  event,
  FakeHttp,
  type FakeRequest,
  type Respond,
  refusal as refusalText,
  result,
  sendJson,
  sendStream,
} from "../support/fake-http.ts";
import { complete, discovery, initializeResult } from "../support/fake-peer.ts";

describe("the era of a server", () => {
  test("R015: without handshake is sent no ping, no level and no subscription", async () => {
    await using fake = await modern(
      ({ id, rpcMethod }, response) =>
        rpcMethod === "subscriptions/listen"
          ? sendJson(response, result(id, complete({})))
          : reply({ id } as FakeRequest, response),
      { logging: {}, resources: { subscribe: true } },
    );
    await using(
      fake.url,
      async (client) => {
        await client.ping();
        await client.call("do");
        const meta = JSON.parse(last(fake).body).params._meta;
        expect(meta["io.modelcontextprotocol/logLevel"]).toBe("debug");
        await (await client.listen({ uris: ["note://a"] }, () => undefined)).over;
        await client.rootsChanged();
      },
      { logLevel: "debug", onRoots: [] },
    );
    const known = ["server/discover", "tools/call", "subscriptions/listen"];
    expect([...new Set(methods(fake))].filter((each) => !known.includes(String(each)))).toEqual([]);
  });

  const refusals: readonly (readonly [string, Respond])[] = [
    [
      "400 and an error without an id",
      (_, response) =>
        sendJson(
          response,
          '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Missing session ID"}}',
          400,
        ),
    ],
    ["400 and plain text", (_, response) => response.writeHead(400).end("Bad Request")],
    ["400 and nothing", (_, response) => response.writeHead(400).end()],
    [
      "404 and HTML",
      (_, response) =>
        response.writeHead(404, { "content-type": "text/html" }).end("<h1>Not Found</h1>"),
    ],
    ["405", (_, response) => response.writeHead(405).end()],
    ["406", (_, response) => response.writeHead(406).end("Not Acceptable")],
    ["415", (_, response) => response.writeHead(415).end()],
    ["422", (_, response) => sendJson(response, '{"detail":[]}', 422)],
    ["200 and -32602", ({ id }, response) => sendJson(response, refusalText(id, -32602))],
    ["200 and the code 0", ({ id }, response) => sendJson(response, refusalText(id, 0))],
    [
      "200 and a stream",
      ({ id }, response) => sendStream(response, event(refusalText(id, -32601))),
    ],
    ["200 and HTML", (_, response) => response.end("<html></html>")],
    ["202 and nothing", (_, response) => response.writeHead(202).end()],
    [
      "a session that there is not",
      ({ id }, response) => sendJson(response, refusalText(id, -32001), 404),
    ],
  ];

  test.each(refusals)(
    "R018: that says %s to the probe is that of a handshake",
    async (_, discover) => {
      await using fake = await older("2025-11-25", reply, discover);
      await using(fake.url, async (client) => {
        expect(client.server.revision).toBe("2025-11-25");
        await client.call("do");
      });
      const [, hello] = fake.requests;
      expect(hello?.rpcMethod).toBe("initialize");
      const modernHeaders = Object.keys(hello?.headers ?? {}).filter((name) =>
        name.startsWith("mcp-"),
      );
      expect(modernHeaders).toEqual([]);
    },
  );

  test.each([
    [401, "unauthorized"],
    [403, "unauthorized"],
    [429, "http"],
    [500, "http"],
    [502, "http"],
    [503, "http"],
  ])("R018: is not told by HTTP %d", async (status, kind) => {
    await using fake = await older("2025-11-25", reply, (_, response) =>
      response.writeHead(status, { "www-authenticate": "Bearer" }).end("No."),
    );
    expect(await refusal(connect(fake.url))).toMatchObject({ kind, status });
    expect(methods(fake)).not.toContain("initialize");
  });

  test.each([-32020, -32021])(
    "R024: is without handshake where the probe gets 400 and %d",
    async (code) => {
      await using fake = await older("2025-11-25", reply, ({ id }, response) =>
        sendJson(response, refusalText(id, code), 400),
      );
      expect(await refusal(connect(fake.url))).toMatchObject({
        kind: "refused",
        code,
        status: 400,
      });
      expect(methods(fake)).toEqual(["server/discover"]);
    },
  );

  test("R024: is told with all the headers that a server may ask for", async () => {
    await using fake = await modern(reply);
    await using(fake.url, async (client) => client.call("do"));
    const [first, second] = fake.requests;
    expect(first?.headers).toMatchObject({
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "server/discover",
      accept: "application/json, text/event-stream",
    });
    expect(second?.headers).toMatchObject({ "mcp-method": "tools/call", "mcp-name": "do" });
  });

  test("R024: 400 with a reply is an answer to that call, and the next one is served", async () => {
    let isWrong = true;
    await using fake = await modern((request, response) =>
      isWrong
        ? sendJson(response, refusalText(request.id, -32602, "No such tool."), 400)
        : reply(request, response),
    );
    await using(fake.url, async (client) => {
      expect(await refusal(client.call("do"))).toMatchObject({ kind: "refused", code: -32602 });
      isWrong = false;
      expect((await client.call("do")).text).toBe("done");
    });
  });

  test("R027: is found out anew when a handshake that was remembered fails", async () => {
    let isOlder = true;
    const known = { verdicts: new MemoryVerdicts() };
    await using fake = await FakeHttp.open((request, response) => {
      const { rpcMethod, id } = request;
      if (rpcMethod === "initialize") {
        return isOlder
          ? sendJson(response, result(id, initializeResult("2025-11-25")))
          : sendJson(response, refusalText(id, -32601), 404);
      }
      if (rpcMethod === "server/discover") {
        return isOlder
          ? sendJson(response, refusalText(id, -32601))
          : sendJson(response, result(id, discovery(["2026-07-28"])));
      }
      if (id === undefined) return response.writeHead(isOlder ? 202 : 405).end();
      return reply(request, response);
    });
    await using(
      fake.url,
      async (client) => expect(client.server.revision).toBe("2025-11-25"),
      known,
    );
    await using(
      fake.url,
      async (client) => expect(client.server.revision).toBe("2025-11-25"),
      known,
    );
    expect(methods(fake).filter((method) => method === "server/discover")).toHaveLength(1);
    isOlder = false;
    await using(
      fake.url,
      async (client) => {
        expect(client.server.revision).toBe("2026-07-28");
        await client.call("do");
      },
      known,
    );
  });
});

describe("headers that mirror", () => {
  test.each([
    ["=?base64?=", "=?base64?="],
    ["=?base64??=", "=?base64?PT9iYXNlNjQ/Pz0=?="],
    ["=?base64?ZWNobw==?=", "=?base64?PT9iYXNlNjQ/WldOb2J3PT0/PQ==?="],
    ["é", "=?base64?w6k=?="],
    [" padded ", "=?base64?IHBhZGRlZCA=?="],
    ["a\r\nx-evil: 1", "=?base64?YQ0KeC1ldmlsOiAx?="],
    ["", ""],
  ])("R030: carry the name %j as %j", async (name, header) => {
    await using fake = await modern(reply);
    await using(fake.url, (client) => client.call(name));
    expect(last(fake).headers["mcp-name"]).toBe(header);
    expect(last(fake).headers["x-evil"]).toBeUndefined();
  });

  test("R038: are sent in older revisions by whoever asks for it, of tools that say so", async () => {
    const inputSchema = {
      type: "object",
      properties: { region: { type: "string", "x-mcp-header": "Region" } },
    };
    await using fake = await older("2025-11-25", (request, response) =>
      request.rpcMethod === "tools/list"
        ? sendJson(response, result(request.id, { tools: [{ name: "do", inputSchema }] }))
        : request.method === "GET"
          ? none(request, response)
          : reply(request, response),
    );
    for (const mirrors of ["as-specified", "always"] as const) {
      await using(
        fake.url,
        async (client) => {
          expect(await client.list("tools")).toHaveLength(1);
          await client.call("do", { region: "eu" });
        },
        { revisions: "2025-11-25", mirrors },
      );
      const calls = fake.requests.filter(({ rpcMethod }) => rpcMethod === "tools/call");
      const { headers } = calls.at(-1)!;
      const isSent = mirrors === "always";
      expect(headers["mcp-param-region"]).toBe(isSent ? "eu" : undefined);
      expect(headers["mcp-method"]).toBe(isSent ? "tools/call" : undefined);
    }
  });
});
