/** What a fetch for URLs that strangers name reaches, and what it does not. */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createTcp, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { oauth } from "../../src/node/client-auth.ts";
import {
  type GuardedFetchError,
  type GuardedFetchOptions,
  guardedFetch,
} from "../../src/node/guarded-fetch.ts";
import { until } from "../support/signals.ts";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function serve(listener: RequestListener, host = "127.0.0.1"): Promise<string> {
  const server = createServer(listener);
  server.listen(0, host);
  await once(server, "listening");
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://localhost:${(server.address() as AddressInfo).port}`;
}

/** Answers every connection's first bytes with the same, and leaves it open. */
async function serveRaw(answer: string): Promise<{ url: string; sockets: readonly Socket[] }> {
  const sockets: Socket[] = [];
  const server = createTcp((socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined);
    socket.once("data", () => socket.write(answer));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { url: `http://localhost:${(server.address() as AddressInfo).port}`, sockets };
}

const local: GuardedFetchOptions = { allowLoopback: true, resolve: async () => ["127.0.0.1"] };

const get = (url: string, options: GuardedFetchOptions = local, init: RequestInit = {}) =>
  guardedFetch(options)(new URL(url), init);

async function failureOf(fetched: Promise<unknown>): Promise<GuardedFetchError> {
  return fetched.then(
    () => expect.fail("it was fetched"),
    (cause) => cause,
  );
}

describe("before anything is connected to", () => {
  test.each([
    "https://127.0.0.1/",
    "https://127.1/",
    "https://2130706433/",
    "https://0x7f.0.0.1/",
    "https://0177.0.0.1/",
    "https://0/",
    "https://[::1]/",
    "https://[::ffff:7f00:1]/",
    "https://[64:ff9b::a9fe:a9fe]/",
    "https://169.254.169.254/latest/meta-data/",
    "https://10.0.0.1:8443/",
    "https://①②⑦.0.0.1/",
    "https://192.168.1.1./",
  ])("refuses the address in %s", async (url) => {
    expect((await failureOf(get(url, {}))).kind).toBe("address");
  });

  test.each([
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "http://[::ffff:127.0.0.1]/",
    "https://localhost./",
    "https://0.0.0.0/",
    "https://10.0.0.1/",
  ])("takes %s for no name of this machine, where that may be asked", async (url) => {
    expect((await failureOf(get(url))).kind).toBe(url.startsWith("http:") ? "url" : "address");
  });

  test.each([
    ["an address of a private network", ["10.1.2.3"]],
    ["this machine", ["127.0.0.1"]],
    ["a private one beside a public one", ["8.8.8.8", "192.168.0.1"]],
    ["a public one beside a private one", ["fd00::1", "2606:4700::1111"]],
    ["none", []],
  ])("refuses a name that leads to %s", async (_, addresses) => {
    const options = { allowLoopback: true, resolve: async () => addresses };
    const failure = await failureOf(get("https://example.com/", options));
    expect([failure.name, failure.kind]).toEqual(["GuardedFetchError", "address"]);
  });

  test.each([
    ["http://example.com/", "http: is not fetched"],
    ["ftp://example.com/", "ftp: is not fetched"],
    ["file:///etc/passwd", "file: is not fetched"],
    ["data:text/plain,x", "data: is not fetched"],
    ["https://me:secret@example.com/", "credentials"],
  ])("refuses %s", async (url, why) => {
    const failure = await failureOf(get(url, { resolve: async () => ["8.8.8.8"] }));
    expect([failure.kind, failure.message]).toEqual(["url", expect.stringContaining(why)]);
    expect(failure.message).not.toContain("secret");
  });

  test("refuses this machine where it is not allowed, and over http every other", async () => {
    const url = await serve((_, response) => response.end("here"));
    expect((await failureOf(get(url, { resolve: async () => ["127.0.0.1"] }))).kind).toBe("url");
    expect((await failureOf(get(url.replace("localhost", "local.test")))).kind).toBe("url");
  });

  test("says so where a name has no address", async () => {
    const resolve = () => Promise.reject(new Error("ENOTFOUND"));
    expect((await failureOf(get("https://none.test/", { resolve }))).kind).toBe("unreachable");
  });
});

describe("what is connected to", () => {
  test("is what was judged, however the name is resolved later", async () => {
    const url = await serve((request, response) => response.end(request.headers.host), "127.0.0.2");
    let asked = 0;
    const resolve = async () => [asked++ === 0 ? "127.0.0.2" : "10.0.0.1"];
    const response = await get(url, { allowLoopback: true, resolve });
    expect(await response.text()).toBe(new URL(url).host);
    expect(asked).toBe(1);
    expect((await failureOf(get(url, { allowLoopback: true, resolve }))).kind).toBe("address");
  });

  test("gets what it is sent, and is heard as it answers", async () => {
    const url = await serve((request, response) => {
      let body = "";
      request.on("data", (chunk) => {
        body += chunk;
      });
      request.on("end", () => {
        response.writeHead(201, { "x-told": "yes", "set-cookie": ["a=1", "b=2"] });
        const { method, headers } = request;
        const { "content-type": type, "accept-encoding": encoding } = headers;
        response.end(JSON.stringify([method, type, encoding, headers["x-mine"], body]));
      });
    });
    const body = new URLSearchParams({ grant: "a b" });
    const response = await get(url, local, { method: "post", body, headers: { "x-mine": "1" } });
    const type = "application/x-www-form-urlencoded;charset=UTF-8";
    expect(await response.json()).toEqual(["POST", type, "identity", "1", "grant=a+b"]);
    expect([response.status, response.headers.get("x-told")]).toEqual([201, "yes"]);
    expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
  });
});

describe("redirects", () => {
  const leading = (location: string, status = 302) =>
    serve((_, response) => response.writeHead(status, { location }).end());

  test.each([
    ["https://10.0.0.1/", "address"],
    ["https://169.254.169.254/latest/", "address"],
    ["https://[fd00::1]/", "address"],
    ["https://internal.test/", "address"],
    ["http://10.0.0.1/", "url"],
    ["http://internal.test/", "url"],
    ["file:///etc/passwd", "url"],
    ["gopher://localhost/", "url"],
    ["http://[", "redirect"],
  ])("to %s are not followed", async (location, kind) => {
    const url = await leading(location);
    const resolve = async (host: string) => [host === "localhost" ? "127.0.0.1" : "10.0.0.1"];
    expect((await failureOf(get(url, { allowLoopback: true, resolve }))).kind).toBe(kind);
  });

  test("are shown where they are not to be followed, or end it", async () => {
    const url = await leading("https://10.0.0.1/");
    const shown = await get(url, local, { redirect: "manual" });
    expect([shown.status, shown.headers.get("location")]).toEqual([302, "https://10.0.0.1/"]);
    expect((await failureOf(get(url, local, { redirect: "error" }))).kind).toBe("redirect");
  });

  test("take nothing personal to another origin, and the method as browsers do", async () => {
    const seen: unknown[] = [];
    const other = await serve(({ method, headers }, response) => {
      seen.push([
        method,
        headers.authorization,
        headers.cookie,
        headers["content-type"],
        headers["x-a"],
      ]);
      response.end();
    });
    for (const [status, method] of [
      [303, "POST"],
      [307, "GET"],
    ] as const) {
      const url = await leading(`${other}/x`, status);
      const headers = {
        authorization: "Bearer s",
        cookie: "s=1",
        "x-a": "1",
        "content-type": "text/plain",
      };
      await get(url, local, { method, headers });
    }
    expect(seen).toEqual([
      ["GET", undefined, undefined, undefined, "1"],
      ["GET", undefined, undefined, "text/plain", "1"],
    ]);
  });

  test("within an origin keep what is personal, up to so many", async () => {
    let led = 0;
    const url = await serve((request, response) => {
      if (request.url === "/end") response.end(request.headers.authorization);
      else response.writeHead(302, { location: ++led < 3 ? "/again" : "/end" }).end();
    });
    const headers = { authorization: "Bearer s" };
    expect(await (await get(url, local, { headers })).text()).toBe("Bearer s");
    led = -1;
    expect((await failureOf(get(url, local, { headers }))).kind).toBe("redirect");
  });
});

describe("an answer", () => {
  const capped = { ...local, maxBytes: 1_000 };

  test.each([
    ["that says so", { "content-length": "1001" }],
    ["that does not say so", {}],
  ])("of too many bytes %s is refused", async (_, headers) => {
    const url = await serve((__, response) => {
      response.writeHead(200, headers);
      response.end("x".repeat(1_001));
    });
    expect((await failureOf(get(url, capped))).kind).toBe("too-large");
  });

  test("of just as many is taken", async () => {
    const url = await serve((_, response) => response.end("x".repeat(1_000)));
    expect((await (await get(url, capped)).text()).length).toBe(1_000);
  });

  test("that is compressed is refused, whatever it would be", async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("x".repeat(1_000_000)));
    });
    expect((await failureOf(get(url, capped))).kind).toBe("answer");
  });

  test.each(["before its headers", "between two bytes of its body", "byte by byte"])(
    "that dawdles %s is not waited for",
    async (where) => {
      const url = await serve((_, response) => {
        if (where.startsWith("between")) response.write("x");
        if (!where.startsWith("byte")) return;
        const dripping = setInterval(() => response.write("x"), 10);
        response.once("close", () => clearInterval(dripping));
      });
      expect((await failureOf(get(url, { ...local, timeoutMs: 100 }))).kind).toBe("timeout");
    },
  );

  test("that breaks off, or is none, is told of", async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, { "content-length": "10" });
      response.write("x", () => response.destroy());
    });
    expect((await failureOf(get(url))).kind).toBe("unreachable");
    const { url: none } = await serveRaw("no HTTP at all\r\n\r\n");
    expect((await failureOf(get(none))).kind).toBe("answer");
  });

  test.each([
    ["another protocol", "101 Other\r\nupgrade: x\r\nconnection: upgrade", "answer"],
    ["a status below all others", "001 Odd\r\ncontent-length: 0", "answer"],
    ["a status above all others", "600 Odd\r\ncontent-length: 0", "answer"],
    ["a place that is no URL", "302 Found\r\nlocation: http://[", "redirect"],
    ["a place, once too often", "302 Found\r\nlocation: /", "redirect"],
    ["more than is read", "200 OK\r\ncontent-length: 9999999", "too-large"],
    ["what is compressed", "200 OK\r\ncontent-encoding: br", "answer"],
  ])("of %s is refused at once, and its connection is closed", async (_, head, kind) => {
    const { url, sockets } = await serveRaw(`HTTP/1.1 ${head}\r\n\r\n`);
    expect((await failureOf(get(url, { ...capped, maxRedirects: 0 }))).kind).toBe(kind);
    await until("the connection is closed", () => sockets.every((socket) => socket.closed));
    expect(sockets.length).toBe(1);
  });

  test("without a body may say how long one would be", async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, { "content-length": "9999999" }).end();
    });
    const response = await get(url, capped, { method: "HEAD" });
    expect([response.status, await response.text()]).toEqual([200, ""]);
  });
});

test("a server elsewhere cannot have a client that signs in ask this machine", async () => {
  const { url, sockets } = await serveRaw("");
  const { port } = new URL(url);
  const server = new URL("https://mcp.example.com/mcp");
  const auth = oauth({
    redirectUri: "https://app.test/back",
    authorize: () => expect.fail("the user was asked"),
  });
  const exchange = { server, url: server, method: "POST" } as const;
  for (const host of ["[::ffff:127.0.0.1]", "[::1]", "127.1", "localhost", "0.0.0.0"]) {
    const challenge = `Bearer resource_metadata="https://${host}:${port}/"`;
    const header = (name: string) => (name === "www-authenticate" ? challenge : undefined);
    const answer = { ...exchange, status: 401, repeats: 0, credentials: {}, header };
    const failure = await failureOf(
      Promise.resolve(auth.answered(answer, AbortSignal.timeout(5_000))),
    );
    expect([failure.name, failure.kind]).toEqual(["ClientError", "unauthorized"]);
  }
  expect(sockets.length).toBe(0);
});

test("the caller's own signal ends it, with its own reason", async () => {
  const url = await serve(() => undefined);
  const ended = new AbortController();
  const fetched = get(url, local, { signal: ended.signal });
  setTimeout(() => ended.abort(new Error("mine")), 20);
  await expect(fetched).rejects.toThrow("mine");
  const resolve = () => new Promise<never>(() => undefined);
  const stuck = get("https://slow.test/", { resolve }, { signal: AbortSignal.timeout(20) });
  await expect(stuck).rejects.toThrow(/timeout/);
});
