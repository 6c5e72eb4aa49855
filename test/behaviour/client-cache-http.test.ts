/** Over HTTP, what a server says of itself is kept too, and no longer believed once it is wrong. */

import { setTimeout as sleep } from "node:timers/promises";
import { connect as connectOnNode, MemoryVerdicts, ResponseCache } from "anyrev/client";
import { createEndpoint, createServer, type Endpoint, type Server, serve } from "anyrev/node";
import { describe, expect, test } from "vitest";
import { connect, type FetchConnectOptions } from "../../src/client/connect.ts";
import { refusal } from "../support/channel-client.ts";

const url = "http://localhost/mcp";
const minute = 60_000;

function createLibrary(): Server {
  const server = createServer({
    name: "library",
    version: "1.0.0",
    cache: {
      lists: { ttlMs: minute, scope: "public" },
      reads: { ttlMs: minute, scope: "private" },
    },
    log: () => undefined,
  });
  server.tool("lend", {}, () => "lent");
  server.resource("page://1", { name: "A page" }, () => "a page");
  return server;
}

/** A server behind a URL, which may become another between two requests. */
class Site {
  readonly methods: string[] = [];
  readonly cache: ResponseCache;
  now = 0;
  answer: (request: Request) => Response | Promise<Response>;

  constructor(answer: Endpoint["fetch"]) {
    this.answer = answer;
    this.cache = new ResponseCache({ now: () => this.now });
  }

  async fetch(input: URL, init: RequestInit): Promise<Response> {
    const request = new Request(input, init);
    const { method } = JSON.parse((await request.clone().text()) || "{}");
    this.methods.push(method ?? request.method);
    return this.answer(request);
  }

  /** Without a cache; what is learnt of one site is not what another is. */
  readonly plain: FetchConnectOptions = {
    fetch: (input, init) => this.fetch(input, init),
    verdicts: new MemoryVerdicts(),
  };

  get options(): FetchConnectOptions {
    return { ...this.plain, cache: this.cache };
  }
}

const modern = (): Endpoint["fetch"] => createEndpoint(createLibrary()).fetch;
const old = (): Endpoint["fetch"] =>
  createEndpoint(createLibrary(), { revisions: ["2025-11-25"] }).fetch;

/** What servers of the official SDK say to a request without a session. */
function refuseStranger(request: Request): Response | undefined {
  if (request.headers.get("mcp-protocol-version") !== "2026-07-28") return undefined;
  const error = { code: -32000, message: "Bad Request: Server not initialized" };
  return Response.json({ jsonrpc: "2.0", id: null, error }, { status: 400 });
}

describe("a client that caches, over HTTP", () => {
  test("connects without a request while it is known what the server says of itself", async () => {
    const site = new Site(modern());
    await using first = await connect(url, site.options);
    expect(site.methods).toEqual(["server/discover"]);
    await using second = await connect(url, site.options);
    expect(second.server).toEqual(first.server);
    expect(site.methods).toHaveLength(1);
    site.now = minute;
    await using third = await connect(url, site.options);
    expect(third.server).toEqual(first.server);
    expect(site.methods).toHaveLength(2);
  });

  test("asks whether the server is there each time", async () => {
    const site = new Site(modern());
    await using client = await connect(url, site.options);
    await client.ping();
    await client.ping();
    expect(site.methods).toEqual(Array(3).fill("server/discover"));
  });

  test("takes URLs with another query for other servers", async () => {
    const site = new Site(modern());
    for (const tenant of ["a", "b", "a"]) {
      await using client = await connect(`${url}?tenant=${tenant}`, site.options);
      await client.list("tools");
    }
    const once = ["server/discover", "tools/list"];
    expect(site.methods).toEqual([...once, ...once]);
  });

  test("does not share what is kept with a client of other capabilities", async () => {
    const site = new Site(modern());
    await using plain = await connect(url, site.options);
    await plain.list("tools");
    await using asked = await connect(url, { ...site.options, onRoots: [] });
    await asked.list("tools");
    expect(site.methods.filter((method) => method === "tools/list")).toHaveLength(2);
  });

  test.each([
    ["nothing private where a function makes its credentials", {}, 3],
    ["it where somebody says whose they are", { authContext: "ann" }, 1],
  ])("keeps %s", async (_, options, reads) => {
    const site = new Site(modern());
    const headers = (): Record<string, string> => ({ authorization: "Bearer ann's" });
    await using client = await connect(url, { ...site.options, headers, ...options });
    for (let times = 0; times < 3; times++) {
      await client.read("page://1");
      await client.list("tools");
    }
    const count = (method: string): number => site.methods.filter((it) => it === method).length;
    expect(count("resources/read")).toBe(reads);
    expect(count("tools/list")).toBe(1);
  });

  test("keeps what it heard over node:http", async () => {
    await using serving = await serve(createLibrary(), { port: 0 });
    const cache = new ResponseCache();
    for (let times = 0; times < 2; times++) {
      await using client = await connectOnNode(serving.url, { cache });
      expect(await client.list("tools")).toHaveLength(1);
    }
    expect(cache.size).toBe(2);
  });
});

describe("a server that has become another", () => {
  test.each([
    ["names its revisions", () => undefined],
    ["does not say what it wants", refuseStranger],
  ])("and %s is found out anew by the first calls", async (_, refuse) => {
    const site = new Site(modern());
    await (await connect(url, site.options)).close();
    await using client = await connect(url, site.options);
    const endpoint = old();
    site.answer = async (request) => {
      // The last of the calls is still under way when the others have started over.
      if (site.methods.length === 4) await sleep(50);
      return refuse(request) ?? endpoint(request);
    };
    expect(client.server.revision).toBe("2026-07-28");
    const calls = await Promise.all([1, 2, 3].map(() => client.call("lend")));
    expect(calls.map(({ text }) => text)).toEqual(["lent", "lent", "lent"]);
    expect(client.server.revision).toBe("2025-11-25");
    expect(site.methods.filter((method) => method === "initialize")).toHaveLength(1);
  });

  test("and names its revisions is found out anew by a client without a cache too", async () => {
    const site = new Site(modern());
    await using client = await connect(url, site.plain);
    await client.call("lend");
    site.answer = old();
    expect((await client.call("lend")).text).toBe("lent");
    expect(client.server.revision).toBe("2025-11-25");
  });

  test("is believed to have refused one call, where it has answered one before", async () => {
    const site = new Site(modern());
    await using client = await connect(url, site.plain);
    await client.call("lend");
    const { length } = site.methods;
    const endpoint = old();
    site.answer = (request) => refuseStranger(request) ?? endpoint(request);
    expect(await refusal(client.call("lend"))).toMatchObject({ kind: "refused", code: -32000 });
    expect(site.methods.slice(length)).toEqual(["tools/call"]);
  });

  test("and refuses the version that it says it serves is asked about it once", async () => {
    const site = new Site(modern());
    await using client = await connect(url, site.plain);
    const endpoint = modern();
    site.answer = async (request) => {
      if (request.headers.get("mcp-method") !== "tools/call") return endpoint(request);
      const { id } = JSON.parse(await request.text());
      const data = { supported: ["2026-07-28"], requested: "2026-07-28" };
      const error = { code: -32022, message: "Unsupported protocol version", data };
      return Response.json({ jsonrpc: "2.0", id, error }, { status: 400 });
    };
    expect(await refusal(client.call("lend"))).toMatchObject({ kind: "refused", code: -32022 });
    const once = ["tools/call", "server/discover", "tools/call"];
    expect(site.methods).toEqual(["server/discover", ...once]);
  });
});
