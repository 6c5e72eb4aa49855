/** HTTP at its edges: bodies without end, lying lengths, odd targets, methods and preflights. */
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { bridges, openBridge, sendBytes } from "../support/bridges.ts";
import { rows } from "../support/matrix.ts";
import { headersFor, request } from "../support/messages.ts";
import { openCaller, toExchanged } from "../support/raw-caller.ts";
import { assertReply } from "../support/wire.ts";

const cap = 4096;
const json = { "content-type": "application/json" };

/** Chunks without end; says when whoever read them has stopped for good. */
function endless(): { readonly body: AsyncIterable<Uint8Array>; readonly stopped: () => boolean } {
  let stopped = false;
  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield Buffer.alloc(512, 0x20);
    } finally {
      stopped = true;
    }
  }
  return { body: chunks(), stopped: () => stopped };
}

/** The bytes of a request that no client library would write. */
function raw(head: readonly string[], body = ""): string {
  return `${[...head, "Connection: close"].join("\r\n")}\r\n\r\n${body}`;
}

describe.each(bridges)("the %s bridge", (name) => {
  it("stops reading a body without end at the cap", async () => {
    await using bridge = await openBridge(name, createFixture(), { maxBodyBytes: cap });
    const { body, stopped } = endless();
    const refused = toExchanged(await bridge.send({ headers: json, body }));
    expect(refused.status).toBe(413);
    assertReply("2026-07-28", { method: "nothing" }, refused.message);
    await expect.poll(stopped).toBe(true);
  });

  it("answers or drops a body that breaks off, and serves the next", async () => {
    await using bridge = await openBridge(name, createFixture());
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('{"jsonrpc":"2.0",');
      throw new Error("the line went dead");
    }
    if (name === "fetch") {
      const refused = toExchanged(await bridge.send({ headers: json, body: broken() }));
      expect([refused.status, refused.error.code]).toEqual([400, -32700]);
    }
    const caller = await openCaller(bridge, "2026-07-28");
    expect((await caller.request("tools/list")).status).toBe(200);
  });

  it("takes a length it was told for no more than a claim", async () => {
    await using bridge = await openBridge(name, createFixture(), { maxBodyBytes: cap });
    for (const length of [`${cap + 1}`, "99999999999999999999"]) {
      const headers = { ...json, "content-length": length };
      if (name === "fetch") {
        expect((await bridge.send({ headers, body: "{}" })).status).toBe(413);
      } else {
        const head = ["POST /mcp HTTP/1.1", "Host: localhost", "Content-Type: application/json"];
        const answer = await sendBytes(bridge.port, raw([...head, `Content-Length: ${length}`]));
        expect([400, 413]).toContain(answer.status);
      }
    }
  });

  it("answers a preflight of an allowed page and of no other", async () => {
    const origin = "https://app.example.com";
    await using bridge = await openBridge(name, createFixture(), { allowedOrigins: [origin] });
    const asked = "content-type, mcp-protocol-version, mcp-session-id, authorization";
    const headers = {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": asked,
    };
    const allowed = await bridge.send({ method: "OPTIONS", headers });
    expect([allowed.status, allowed.text]).toEqual([204, ""]);
    expect(allowed.headers.get("access-control-allow-origin")).toBe(origin);
    expect(allowed.headers.get("access-control-allow-methods")?.split(", ")).toContain("POST");
    expect(allowed.headers.get("access-control-allow-headers")).toBe(asked);
    const stranger = { ...headers, origin: "https://evil.test" };
    const refused = await bridge.send({ method: "OPTIONS", headers: stranger });
    expect(refused.status).toBe(403);
    expect(refused.headers.has("access-control-allow-origin")).toBe(false);
  });

  it("echoes no preflight header that is no list of names", async () => {
    const origin = "https://app.example.com";
    await using bridge = await openBridge(name, createFixture(), { allowedOrigins: [origin] });
    for (const asked of ["a b", "x: y", "a,,b", '"', ""]) {
      const headers = {
        origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": asked,
      };
      const allowed = await bridge.send({ method: "OPTIONS", headers });
      expect(allowed.status).toBe(204);
      expect(allowed.headers.has("access-control-allow-headers")).toBe(false);
    }
  });

  it("answers OPTIONS that is no preflight with what is allowed", async () => {
    await using bridge = await openBridge(name, createFixture());
    const refused = await bridge.send({ method: "OPTIONS" });
    expect(refused.status).toBe(405);
    expect(refused.headers.get("allow")).toContain("POST");
  });

  it("serves one path, with any query, and says which", async () => {
    await using bridge = await openBridge(name, createFixture());
    const caller = await openCaller(bridge, "2026-07-28");
    const listed = await caller.request("tools/list", {}, { target: "/mcp?a=b&c" });
    expect(listed.status).toBe(200);
    for (const target of ["/", "/mcp/", "/mcp2", "/MCP", "//mcp", "/%6dcp", "/mcp%3f"]) {
      const options = { target, echoed: null };
      const refused = await caller.request("tools/list", {}, options);
      expect(refused.status).toBe(404);
      expect(refused.error.message).toContain("/mcp");
    }
  });
});

it.each([
  ["never stops", () => new Promise<never>(() => undefined)],
  ["fails to stop", () => Promise.reject(new Error("cannot stop"))],
])("a web stream without end from a sender that %s is refused all the same", async (_, stop) => {
  await using bridge = await openBridge("fetch", createFixture(), { maxBodyBytes: cap });
  const next = () => Promise.resolve({ done: false as const, value: Buffer.alloc(512, 0x20) });
  const body = { [Symbol.asyncIterator]: () => ({ next, return: stop }) };
  expect((await bridge.send({ headers: json, body })).status).toBe(413);
});

describe.each(rows())("in $revision over $bridge", ({ revision, bridge: name }) => {
  it("gives one event, unbuffered, to a caller that takes only a stream", async () => {
    await using bridge = await openBridge(name, createFixture());
    const caller = await openCaller(bridge, revision);
    const headers = { accept: "text/event-stream" };
    const params = { name: "echo", arguments: { text: "line\r\nline\u2028\u0000 \ud83d\ude00" } };
    const called = await caller.request("tools/call", params, { headers });
    expect(called.headers.get("content-type")).toBe("text/event-stream");
    expect(called.headers.get("cache-control")).toContain("no-cache");
    expect(called.headers.get("x-accel-buffering")).toBe("no");
    expect(called.text.match(/\n/g)).toHaveLength(3);
    const refused = await caller.send(request(revision, 1, "no/such"), { headers });
    expect(refused.error.code).toBe(-32601);
  });

  it("has no body in the answer to HEAD on a socket", async () => {
    await using bridge = await openBridge("node", createFixture());
    const headers = { "mcp-protocol-version": revision };
    const refused = await bridge.send({ method: "HEAD", headers });
    expect([refused.status, refused.text]).toEqual([405, ""]);
  });
});

describe("a socket", () => {
  const message = request("2026-07-28", 1, "tools/list");
  const body = JSON.stringify(message);
  const fields = Object.entries(headersFor("2026-07-28", message)).map(
    ([field, value]) => `${field}: ${value}`,
  );
  const length = `Content-Length: ${Buffer.byteLength(body)}`;

  it("serves what these tests spoil", async () => {
    await using bridge = await openBridge("node", createFixture());
    const head = ["POST /mcp HTTP/1.1", "Host: localhost", ...fields, length];
    const served = toExchanged(await sendBytes(bridge.port, raw(head, body)));
    expect(served.status).toBe(200);
    assertReply("2026-07-28", message, served.message);
  });

  it.each([
    ["an absolute target", ["POST http://localhost/mcp HTTP/1.1", "Host: localhost"]],
    ["another host in the target", ["POST http://evil.test/mcp HTTP/1.1", "Host: localhost"]],
    ["a target that is no path", ["OPTIONS * HTTP/1.1", "Host: localhost"]],
    ["two hosts", ["POST /mcp HTTP/1.1", "Host: localhost", "Host: evil.test"]],
    ["one host twice", ["POST /mcp HTTP/1.1", "Host: localhost", "host: localhost"]],
    ["two hosts in one field", ["POST /mcp HTTP/1.1", "Host: localhost, evil.test"]],
    ["no host", ["POST /mcp HTTP/1.1"]],
    ["no host in HTTP/1.0", ["POST /mcp HTTP/1.0"]],
    ["an empty host", ["POST /mcp HTTP/1.1", "Host:"]],
    ["a host with a path", ["POST /mcp HTTP/1.1", "Host: localhost/evil"]],
    ["a host with a user", ["POST /mcp HTTP/1.1", "Host: evil@localhost"]],
    ["a host with a port that is none", ["POST /mcp HTTP/1.1", "Host: localhost:http"]],
    ["two lengths", ["POST /mcp HTTP/1.1", "Host: localhost", "Content-Length: 5"]],
    [
      "a length and chunks",
      ["POST /mcp HTTP/1.1", "Host: localhost", "Transfer-Encoding: chunked"],
    ],
  ])("answers %s with 400", async (_, head) => {
    await using bridge = await openBridge("node", createFixture());
    const refused = await sendBytes(bridge.port, raw([...head, ...fields, length], body));
    expect(refused.status).toBe(400);
  });

  it("outlives callers that hang up in the middle of a request", async () => {
    await using bridge = await openBridge("node", createFixture());
    const head = ["POST /mcp HTTP/1.1", "Host: localhost", ...fields];
    const starts = [
      "POST /m",
      raw([...head, length], body.slice(0, 20)),
      raw([...head, "Transfer-Encoding: chunked"], "5\r\n{"),
      raw([...head, "Transfer-Encoding: chunked"], "zz\r\n"),
    ];
    for (const start of starts) {
      await new Promise<void>((resolve) => {
        const socket = connect(bridge.port, "127.0.0.1", () => {
          socket.write(start, () => setTimeout(() => socket.destroy(), 5));
        });
        socket.once("error", () => undefined);
        socket.once("close", () => resolve());
      });
    }
    const caller = await openCaller(bridge, "2026-07-28");
    expect((await caller.request("tools/list")).status).toBe(200);
  });

  it("takes the bytes after a request it refused for nothing of its own", async () => {
    await using bridge = await openBridge("node", createFixture(), { maxBodyBytes: cap });
    const planted = raw(["POST /mcp HTTP/1.1", "Host: localhost", ...fields, length], body);
    const head = ["POST /mcp HTTP/1.1", "Host: localhost", "Content-Type: text/plain"];
    const sent = `${[...head, `Content-Length: ${Buffer.byteLength(planted)}`].join("\r\n")}\r\n\r\n${planted}`;
    const answer = await sendBytes(bridge.port, sent);
    expect(answer.status).toBe(415);
    expect(answer.text.match(/HTTP\/1\.1/g)).toBeNull();
  });
});
