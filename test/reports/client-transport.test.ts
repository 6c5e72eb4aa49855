/** Reports about clients over HTTP, as far as their transport decides them. */
import { createServer, serve } from "anyrev/node";
import { describe, expect, it } from "vitest";
import {
  event,
  FakeHttp,
  openStream,
  refusal,
  result,
  sendJson,
  sendStream,
} from "../support/fake-http.ts";
import { failureOf, Link, senderKinds } from "../support/http-client.ts";
import { createGate, until } from "../support/signals.ts";

describe.each(senderKinds)("over %s,", (sender) => {
  it.each([
    [
      400,
      "application/json",
      '{"jsonrpc":"2.0","error":{"code":-32600,"message":"Missing session ID"},"id":null}',
      "reply",
      -32_600,
    ],
    [400, "text/plain", "Bad Request", "http", undefined],
    [400, "text/plain", "", "http", undefined],
    [404, "text/html", "<html></html>", "http", undefined],
    [405, "text/plain", "", "http", undefined],
    [406, "text/plain", "", "http", undefined],
    [422, "application/json", '{"detail":"x"}', "http", undefined],
    [200, "application/json", refusal(1, -32_602), "reply", -32_602],
    [200, "application/json", refusal(1, 0), "reply", 0],
    [401, "text/plain", "", "unauthorized", undefined],
    [403, "text/plain", "", "unauthorized", undefined],
    [500, "text/plain", "", "http", undefined],
  ])(
    "R018: a probe that is answered with %i %s %j says what it is",
    async (status, type, body, outcome, code) => {
      await using fake = await FakeHttp.open((_request, response) => {
        response.writeHead(status, { "content-type": type });
        response.end(body);
      });
      await using link = new Link(sender, fake.url, "2026-07-28");
      const asked = link.ask("server/discover");
      if (outcome === "reply") {
        expect(await asked).toMatchObject({ status, reply: { error: { code } } });
      } else {
        expect(await failureOf(asked)).toMatchObject({ kind: outcome, status });
      }
    },
  );

  it("R024: a refusal over mirrored headers is a reply, and the way stays open", async () => {
    const server = createServer({ name: "s", version: "1" });
    await using serving = await serve(server, { port: 0, drainMs: 100 });
    await using link = new Link(sender, serving.url, "2026-07-28");
    const meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const bare = await link.transport.request(
      {
        message: { jsonrpc: "2.0", id: 0, method: "server/discover", params: { _meta: meta } },
        headers: {},
      },
      { signal: new AbortController().signal, resumption: "none" },
    );
    expect(bare).toMatchObject({ status: 400, reply: { id: 0, error: { code: -32_020 } } });
    const { reply } = await link.ask("server/discover");
    expect(reply.result).toMatchObject({
      supportedVersions: expect.arrayContaining(["2026-07-28"]),
    });
  });

  it("R043: a session that is gone is told as that, and its id is dropped for the next", async () => {
    let sessions = 0;
    await using fake = await FakeHttp.open(({ rpcMethod, id, headers }, response) => {
      if (rpcMethod === "initialize") {
        sendJson(response, result(id), 200, { "mcp-session-id": `S${++sessions}` });
      } else if (headers["mcp-session-id"] === "S1") {
        sendJson(response, refusal(null, -32_001, "Session not found"), 404);
      } else sendJson(response, result(id));
    });
    await using link = new Link(sender, fake.url, "2025-11-25");
    await link.ask("initialize");
    expect((await failureOf(link.ask("tools/list"))).kind).toBe("session-lost");
    const following = link.transport.follow({
      headers: {},
      signal: new AbortController().signal,
      resumption: "primed",
    });
    expect((await failureOf(following)).kind).toBe("session-lost");
    link.transport.forgetSession();
    await link.ask("initialize");
    expect(fake.requests.at(-1)?.headers["mcp-session-id"]).toBeUndefined();
    expect((await link.ask("tools/list")).reply.result).toBeDefined();
    expect(fake.requests.at(-1)?.headers["mcp-session-id"]).toBe("S2");
  });

  it("R058: a character that two chunks share, and JSON over several data lines, are read", async () => {
    await using fake = await FakeHttp.open(async ({ id }, response) => {
      openStream(response);
      const text = `\ufeffdata: {\ndata: "jsonrpc":"2.0",\ndata:  "id":${id},"result":{"t":"日"}\ndata: }\n\n`;
      const bytes = Buffer.from(text);
      const at = bytes.indexOf("日") + 1;
      response.write(bytes.subarray(0, at));
      await new Promise((resolve) => setTimeout(resolve, 20));
      response.end(bytes.subarray(at));
    });
    await using link = new Link(sender, fake.url, "2025-11-25");
    expect((await link.ask("tools/list")).reply.result).toEqual({ t: "日" });
    expect(link.recorder.warnings).toEqual([]);
  });

  it("R059: what primes, a bare retry, a ping and a comment are no messages, and are remembered", async () => {
    await using fake = await FakeHttp.open(({ method }, response) =>
      method === "POST"
        ? sendStream(
            response,
            "id: 1\ndata: \n\nretry: 30\n\nevent: ping\ndata:\n\n: keepalive\n\n",
          )
        : sendStream(response, event(result(1))),
    );
    await using link = new Link(sender, fake.url, "2025-11-25");
    await link.ask("tools/list", {}, { resumption: "primed" });
    const [post, get] = fake.requests;
    expect(get?.headers["last-event-id"]).toBe("1");
    expect(Number(get?.at) - Number(post?.at)).toBeGreaterThanOrEqual(30);
    expect(link.recorder.warnings).toEqual([]);
  });

  it("R080: letting go of a call closes its response, also before the headers, and our server sees it", async () => {
    for (const says of [false, true]) {
      const started = createGate();
      const stopped = createGate();
      const server = createServer({ name: "s", version: "1" });
      server.tool("slow", {}, async (_args, ex) => {
        if (says) await ex.progress(1, 2);
        ex.signal.addEventListener("abort", () => stopped.open());
        started.open();
        await stopped.opened;
        return {};
      });
      await using serving = await serve(server, { port: 0, drainMs: 100 });
      await using link = new Link(sender, serving.url, "2026-07-28");
      const own = new AbortController();
      const asked = link.ask(
        "tools/call",
        { name: "slow", arguments: {}, _meta: { progressToken: 1 } },
        { signal: own.signal },
      );
      await started.opened;
      if (says) await until("it began", () => link.recorder.heard.length === 1);
      own.abort(new Error("enough"));
      await expect(asked).rejects.toThrow("enough");
      await stopped.opened;
    }
  });

  it("R107: a reply of 12 MiB is read whole, and one over the cap is let go of", async () => {
    const text = "é".repeat(6 * 1_024 * 1_024);
    await using fake = await FakeHttp.open(({ id, rpcMethod }, response) => {
      const body = result(id, text);
      if (rpcMethod === "stream") sendStream(response, event(body));
      else sendJson(response, body);
    });
    await using link = new Link(sender, fake.url, "2025-11-25");
    for (const method of ["json", "stream"]) {
      const { reply } = await link.ask(method);
      expect((reply.result as string).length).toBe(text.length);
    }
    await using small = new Link(sender, fake.url, "2025-11-25", { maxMessageBytes: 1_000_000 });
    for (const method of ["json", "stream"]) {
      expect((await failureOf(small.ask(method))).kind).toBe("too-large");
    }
  });
});
