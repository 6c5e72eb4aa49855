/** How exchanges are carried out: connections, redirects, headers, and letting go. */
import { Agent, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createNetServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { StreamableHttp } from "../../src/client/streamable-http.ts";
import { NodeHttpSender } from "../../src/node/http-sender.ts";
import {
  event,
  FakeHttp,
  note,
  openStream,
  result,
  sendJson,
  sendStream,
} from "../support/fake-http.ts";
import {
  createSender,
  failureOf,
  Link,
  Recorder,
  type SenderKind,
  senderKinds,
} from "../support/http-client.ts";
import { until } from "../support/signals.ts";

const call = { name: "x", arguments: {} };

describe.each(senderKinds)("over %s,", (sender) => {
  it.each([
    ["before the headers", () => undefined],
    ["within the body", (response) => response.writeHead(200).write("{")],
    ["within a stream", (response) => openStream(response).write(event(note("n/x")))],
  ] satisfies [string, (response: ServerResponse) => unknown][])(
    "giving a call up %s ends its connection at once",
    async (_when, respond) => {
      await using fake = await FakeHttp.open((_request, response) => respond(response));
      await using link = new Link(sender, fake.url, "2025-11-25");
      const own = new AbortController();
      const asked = link.ask("tools/call", call, { signal: own.signal });
      await until("it was asked", () => fake.requests.length === 1);
      await delay(20);
      own.abort(new Error("enough"));
      await expect(asked).rejects.toThrow("enough");
      await until("the server sees it", () => fake.requests[0]?.isGone() === true);
      expect(link.sender.underWay).toBe(0);
    },
  );

  it("a call that was given up before is never sent", async () => {
    await using fake = await FakeHttp.open(({ id }, response) => sendJson(response, result(id)));
    await using link = new Link(sender, fake.url, "2025-11-25");
    const signal = AbortSignal.abort(new Error("too late"));
    await expect(link.ask("tools/list", {}, { signal })).rejects.toThrow("too late");
    expect(fake.connections).toBe(0);
  });

  it("closing ends all that is under way, and nothing is sent any more", async () => {
    await using fake = await FakeHttp.open(({ rpcMethod, id }, response) => {
      if (rpcMethod === "stream") openStream(response).write(":\n\n");
      else if (rpcMethod === "half") response.writeHead(200).write("{");
      else if (rpcMethod === "resumed") sendStream(response, event("", "1"));
      else if (rpcMethod === "quick") sendJson(response, result(id));
    });
    const link = new Link(sender, fake.url, "2025-11-25");
    await link.ask("quick");
    const asked = ["silent", "stream", "half", "resumed"].map((method) =>
      failureOf(link.ask(method, {}, { resumption: "primed" })),
    );
    await until("all are asked", () => fake.requests.length === 5);
    await delay(20);
    await link.transport.close();
    expect((await Promise.all(asked)).map(({ kind }) => kind)).toEqual(Array(4).fill("closed"));
    expect(link.sender.underWay).toBe(0);
    expect((await failureOf(link.ask("quick"))).kind).toBe("closed");
    expect((await failureOf(link.tell("quick"))).kind).toBe("closed");
    expect(fake.requests).toHaveLength(5);
    await link.transport.close();
  });

  it.each([307, 308])("HTTP %i within the origin is followed, as it was sent", async (status) => {
    await using fake = await FakeHttp.open(({ path, id }, response) => {
      if (path === "/mcp/") sendJson(response, result(id));
      else response.writeHead(status, { location: path === "/mcp" ? "mcp2" : "/mcp/" }).end();
    });
    await using link = new Link(sender, fake.url, "2025-11-25", {
      headers: { authorization: "B x" },
    });
    expect((await link.ask("tools/list")).reply.id).toBe(1);
    expect(fake.requests.map(({ path }) => path)).toEqual(["/mcp", "/mcp2", "/mcp/"]);
    expect(new Set(fake.requests.map(({ body }) => body)).size).toBe(1);
    expect(fake.requests.at(-1)?.headers["authorization"]).toBe("B x");
  });

  it("a redirect to another origin is never followed, and its target is named", async () => {
    await using elsewhere = await FakeHttp.open(({ id }, response) =>
      sendJson(response, result(id)),
    );
    for (const status of [301, 302, 303, 307, 308]) {
      await using fake = await FakeHttp.open((_request, response) =>
        response.writeHead(status, { location: elsewhere.url }).end(),
      );
      await using link = new Link(sender, fake.url, "2025-11-25");
      for (const failing of [link.ask("tools/list"), link.tell("notifications/x")]) {
        const failure = await failureOf(failing);
        expect(failure).toMatchObject({ kind: "http", status });
        expect(failure.message).toContain(new URL(elsewhere.url).origin);
      }
    }
    expect(elsewhere.requests).toEqual([]);
  });

  it.each([
    ["/mcp", "3 times"],
    [undefined, "nowhere"],
    ["http://[", "nowhere"],
  ])("a redirect to %s is not followed for ever", async (location, why) => {
    await using fake = await FakeHttp.open((_request, response) =>
      response.writeHead(307, location === undefined ? {} : { location }).end(),
    );
    await using link = new Link(sender, fake.url, "2025-11-25");
    expect((await failureOf(link.ask("tools/list"))).message).toContain(why);
    expect(fake.requests.length).toBeLessThanOrEqual(4);
  });

  it("the user's headers go out with everything, and those of the protocol win", async () => {
    await using fake = await FakeHttp.open(({ method, id, rpcMethod }, response) => {
      if (method === "POST" && rpcMethod === "tools/call")
        sendStream(response, `retry: 1\n${event("", "1")}`);
      else if (method === "POST") sendJson(response, result(id), 200, { "mcp-session-id": "S" });
      else if (method === "GET") sendStream(response, event(result(2)));
      else response.writeHead(204).end();
    });
    let asked = 0;
    const made = { Authorization: "Bearer t", ACCEPT: "text/html", "Mcp-Session-Id": "mine" };
    const sources = [made, () => made, async () => ({ ...made, "X-Count": String(++asked) })];
    for (const headers of sources) {
      const link = new Link(sender, fake.url, "2025-11-25", { headers });
      await link.ask("initialize");
      await link.ask("tools/call", call, { resumption: "plain" });
      await link.transport.close();
      const sent = fake.requests.splice(0);
      expect(sent.map(({ method }) => method)).toEqual(["POST", "POST", "GET", "DELETE"]);
      for (const { headers: got, method } of sent) {
        expect(got["authorization"]).toBe("Bearer t");
        if (method !== "DELETE") expect(got["accept"]).not.toContain("html");
      }
      expect(sent[1]?.headers["mcp-session-id"]).toBe("S");
    }
    expect(asked).toBe(4);
  });

  it("headers that cannot be made are no request", async () => {
    await using fake = await FakeHttp.open(({ id }, response) => sendJson(response, result(id)));
    const headers = (): never => {
      throw new Error("no token");
    };
    await using link = new Link(sender, fake.url, "2025-11-25", { headers });
    const failure = await failureOf(link.ask("tools/list"));
    expect(failure).toMatchObject({ kind: "unreachable", cause: { message: "no token" } });
    const bad = { "x-y": "a\nb" };
    await using broken = new Link(sender, fake.url, "2025-11-25", { headers: () => bad });
    expect((await failureOf(broken.ask("tools/list"))).kind).toBe("unreachable");
    expect(() => new Link(sender, fake.url, "2025-11-25", { headers: bad })).toThrow(TypeError);
    expect(fake.requests).toEqual([]);
  });

  it("headers that are never made hold nothing up", async () => {
    const headers = () => new Promise<Record<string, string>>(() => undefined);
    const link = new Link(sender, "http://127.0.0.1:1/mcp", "2025-11-25", { headers });
    const own = new AbortController();
    const asked = link.ask("tools/list", {}, { signal: own.signal });
    own.abort(new Error("enough"));
    await expect(asked).rejects.toThrow("enough");
    const other = failureOf(link.ask("tools/list"));
    await link.transport.close();
    expect((await other).kind).toBe("closed");
  });

  it.each([
    ["ftp://127.0.0.1/x", /http/],
    ["http://me:secret@127.0.0.1/mcp", /headers option/],
    ["nonsense", /URL/],
  ])("a server at %s is refused at once", (url, why) => {
    expect(() => new StreamableHttp(url, createSender(sender))).toThrow(why);
  });

  it("answers that nobody reads do not use connections up", async () => {
    await using fake = await FakeHttp.open((_request, response) =>
      response.writeHead(200, { "content-type": "text/plain" }).end("thanks for telling"),
    );
    await using link = new Link(sender, fake.url, "2025-11-25");
    for (let told = 0; told < 20; told++) {
      await link.tell("notifications/x");
      await until("it is read through", () => link.sender.underWay === 0);
    }
    expect(fake.connections).toBeLessThan(5);
  });

  it("an answer without end that nobody wants is cut off", async () => {
    await using fake = await FakeHttp.open((_request, response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      const more = setInterval(() => response.write("x".repeat(20_000)), 5);
      response.once("close", () => clearInterval(more));
    });
    await using link = new Link(sender, fake.url, "2025-11-25");
    await link.tell("notifications/x");
    await until("it is let go of", () => fake.requests[0]?.isGone() === true);
    expect(link.sender.underWay).toBe(0);
  });
});

describe("over node,", () => {
  it("connections are kept, and those that are idle are closed by the client first", async () => {
    await using fake = await FakeHttp.open(({ id }, response) => sendJson(response, result(id)));
    const sender = new NodeHttpSender({ idleMs: 50 });
    const transport = new StreamableHttp(fake.url, sender);
    const ask = (id: number) =>
      transport.request(
        { message: { jsonrpc: "2.0", id, method: "ping" }, headers: {} },
        { signal: new AbortController().signal, resumption: "none" },
      );
    for (let id = 0; id < 10; id++) await ask(id);
    expect(fake.connections).toBe(1);
    await until("it is closed", () => fake.openSockets === 0);
    await Promise.all(Array.from({ length: 5 }, (_, id) => ask(id)));
    expect(fake.connections).toBe(6);
    await transport.close();
    await until("all are closed", () => fake.openSockets === 0);
  });

  /** Answers once on each connection, and breaks it at the second request. */
  async function openFickle(): Promise<{ url: string; posts: string[]; close(): void }> {
    const posts: string[] = [];
    const net = createNetServer((socket) => {
      let count = 0;
      socket.on("error", () => undefined);
      socket.on("data", (chunk) => {
        const message = JSON.parse(chunk.toString().split("\r\n\r\n")[1] ?? "");
        posts.push(message.method);
        if (++count > 1) return socket.destroy();
        const body = result(message.id);
        return socket.write(
          `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
        );
      });
    });
    await new Promise<void>((resolve) => net.listen(0, "127.0.0.1", resolve));
    const { port } = net.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}/mcp`, posts, close: () => net.close() };
  }

  it("what does no harm is sent again when a kept connection is dead, and a call is not", async () => {
    const fickle = await openFickle();
    await using link = new Link("node", fickle.url, "2025-11-25");
    await link.ask("tools/list");
    expect((await link.ask("tools/list")).reply.id).toBe(2);
    await link.ask("ping");
    expect((await failureOf(link.ask("tools/call", call))).kind).toBe("interrupted");
    expect(fickle.posts.filter((method) => method === "tools/call")).toHaveLength(1);
    fickle.close();
  });

  it("what was sent once may have got there, though it cannot be sent again", async () => {
    const fickle = await openFickle();
    await using link = new Link("node", fickle.url, "2025-11-25");
    await link.ask("tools/list");
    fickle.close();
    expect((await failureOf(link.ask("tools/list"))).kind).toBe("interrupted");
  });

  it("headers without end are too large", async () => {
    await using fake = await FakeHttp.open((_request, response) => {
      response.socket?.write(`HTTP/1.1 200 OK\r\nx: ${"y".repeat(200_000)}\r\n\r\n`);
    });
    await using link = new Link("node", fake.url, "2025-11-25");
    expect((await failureOf(link.ask("ping"))).kind).toBe("too-large");
  });

  it("an answer that comes before the request was read whole is an answer", async () => {
    const net = createNetServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => {
        socket.end("HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 2\r\n\r\nno");
      });
    });
    await new Promise<void>((resolve) => net.listen(0, "127.0.0.1", resolve));
    const { port } = net.address() as AddressInfo;
    await using link = new Link("node", `http://127.0.0.1:${port}/mcp`, "2025-11-25");
    const failure = await failureOf(link.ask("tools/call", { a: "x".repeat(3_000_000) }));
    // The rest of the request may break the connection before the answer is read.
    expect([413, undefined]).toContain(failure.status);
    net.close();
  });

  it("an agent of the user's is used, and left open", async () => {
    await using fake = await FakeHttp.open(({ id }, response) => sendJson(response, result(id)));
    const agent = new Agent({ keepAlive: true });
    const transport = new StreamableHttp(fake.url, new NodeHttpSender({ agent }));
    await transport.start(new Recorder());
    const ask = () =>
      transport.request(
        { message: { jsonrpc: "2.0", id: 1, method: "ping" }, headers: {} },
        { signal: new AbortController().signal, resumption: "none" },
      );
    await ask();
    await until("it is kept", () => Object.keys(agent.freeSockets).length === 1);
    await transport.close();
    expect(Object.keys(agent.freeSockets)).toHaveLength(1);
    agent.destroy();
  });
});

/** What keeps a program alive; the connections of `fetch` are the runtime's own. */
function handles(kind: SenderKind): number {
  const sockets = ["TCPSocketWrap", "TCPConnectWrap", "GetAddrInfoReqWrap"];
  const kinds = kind === "node" ? [...sockets, "Timeout"] : ["Timeout"];
  return process.getActiveResourcesInfo().filter((each) => kinds.includes(each)).length;
}

describe.each(senderKinds)("over %s, when a client was closed,", (kind) => {
  it("nothing keeps the program alive, whatever it was in the middle of", async () => {
    await using fake = await FakeHttp.open(({ method, rpcMethod, id }, response) => {
      if (method === "GET") openStream(response).write(":\n\n");
      else if (rpcMethod === "stream") openStream(response).write(event(note("n/x")));
      else if (rpcMethod === "replied") openStream(response).write(event(result(id)));
      else if (rpcMethod === "resumed") sendStream(response, event("", "1"));
      else if (rpcMethod === "spoilt")
        openStream(response).write(event(`{"jsonrpc":"2.0","id":${id}}`));
      else if (rpcMethod === "told") response.writeHead(202).write("x");
      else if (rpcMethod !== "silent") {
        sendJson(response, result(id), 200, { "mcp-session-id": "S" });
      }
    });
    await delay(50);
    const before = handles(kind);
    for (let round = 0; round < 5; round++) {
      const link = new Link(kind, fake.url, "2025-11-25", { idleTimeoutMs: 60_000 });
      await link.ask("initialize");
      const { signal } = new AbortController();
      const over = [
        link.transport.follow({ headers: {}, signal, resumption: "primed" }),
        ...["silent", "stream", "resumed"].map((method) =>
          link.ask(method, {}, { resumption: "primed" }),
        ),
      ];
      for (const each of over) each.catch(() => undefined);
      await link.ask("replied");
      expect((await failureOf(link.ask("spoilt"))).kind).toBe("invalid-answer");
      await link.tell("told");
      await delay(30);
      await link.transport.close();
      await Promise.allSettled(over);
      expect(link.sender.underWay).toBe(0);
    }
    await until("all is let go of", () => handles(kind) <= before);
  });
});
