/** How often callers may ask: by whom they are, over limiters in memory, Redis and PostgreSQL. */
import { createServer, type LogEntry, type RateLimitOptions, type Server } from "anyrev/node";
import { Redis } from "ioredis";
import pg from "pg";
import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRedis } from "rate-limiter-flexible";
import { describe, expect, it } from "vitest";
import { as, openGuarded } from "../support/as-principal.ts";
import { openBridge } from "../support/bridges.ts";
import { Conversant, type Reply } from "../support/conversant.ts";
import { rows } from "../support/matrix.ts";
import { headersFor, request } from "../support/messages.ts";
import { sharedPostgres, sharedRedis } from "../support/servers.ts";
import { modern, tried } from "../support/shop.ts";
import { assertReply, isObject, type JsonObject, type Revision } from "../support/wire.ts";

interface Counting {
  readonly server: Server;
  readonly runs: string[];
  readonly logged: LogEntry[];
}

function createCounting(): Counting {
  const [runs, logged]: [string[], LogEntry[]] = [[], []];
  const server = createServer({ name: "counting", version: "1", log: (one) => logged.push(one) });
  for (const name of ["cheap", "dear", "constructor"]) {
    server.tool(name, {}, () => {
      runs.push(name);
      return name;
    });
  }
  return { server, runs, logged };
}

const memory = (points: number) => new RateLimiterMemory({ points, duration: 60 });
const call = (peer: Conversant, name: string) => peer.ask("tools/call", { name, arguments: {} });

function expectLimited({ message, origin }: Reply, atMostMs = 60_000): void {
  const error = isObject(message["error"]) ? message["error"] : {};
  expect(error).toMatchObject({ code: -32603, message: expect.stringContaining("too many") });
  const { retryAfterMs } = error["data"] as JsonObject;
  expect(retryAfterMs).toBeGreaterThan(0);
  expect(retryAfterMs).toBeLessThanOrEqual(atMostMs);
  if (origin.status === undefined) return;
  expect(origin.status).toBe(429);
  const seconds = Number(origin.headers?.get("retry-after"));
  expect(seconds).toBe(Math.ceil(Number(retryAfterMs) / 1_000));
}

describe.each(tried)("in %s over %s", (revision: Revision, wire) => {
  const handshake = revision === modern ? 0 : 1;
  const open = (server: Server, rateLimits: RateLimitOptions) =>
    Conversant.open(wire, revision, server, { endpoint: { rateLimits } });

  it("what is too often is refused before any handler, with when to come back", async () => {
    const { server, runs } = createCounting();
    await using peer = await open(server, { limiter: memory(2 + handshake) });
    await call(peer, "cheap");
    await peer.ask("tools/list");
    expectLimited(await call(peer, "cheap"));
    expectLimited(await peer.ask("tools/list"));
    expect(runs).toEqual(["cheap"]);
  });

  it("tools weigh what the operator says, and may have a limiter of their own", async () => {
    const { server, runs } = createCounting();
    await using peer = await open(server, {
      limiter: memory(8 + handshake),
      weights: { dear: 5, constructor: 0 },
      tools: { cheap: memory(1) },
    });
    await call(peer, "dear");
    await call(peer, "cheap");
    expectLimited(await call(peer, "cheap"));
    for (let times = 0; times < 12; times++) await call(peer, "constructor");
    expectLimited(await call(peer, "dear"));
    expect(runs.filter((name) => name !== "constructor")).toEqual(["dear", "cheap"]);
    expect(runs).toHaveLength(14);
  });

  it("a limiter that fails refuses, or serves where the operator says so", async () => {
    const limiter = { consume: () => Promise.reject(new Error("redis://:secret@away")) };
    const { server, runs, logged } = createCounting();
    let isAway = false;
    const failing = {
      consume: (key: string) => (isAway ? limiter.consume() : memory(9).consume(key)),
    };
    await using refusing = await open(server, { limiter: failing });
    isAway = true;
    const { message, origin } = await call(refusing, "cheap");
    expect(message["error"]).toMatchObject({ code: -32603, data: { retryAfterMs: 1_000 } });
    expect(JSON.stringify(message)).not.toContain("secret");
    if (origin.status !== undefined) expect(origin.status).toBe(503);
    expect(runs).toEqual([]);
    expect(logged).toMatchObject([{ message: "a rate limiter failed" }]);
    await using serving = await open(server, { limiter, onFailure: "serve" });
    expect((await call(serving, "cheap")).message).toHaveProperty("result");
  });
});

describe.each(rows())("in $revision over $bridge", ({ revision, bridge: name }) => {
  it("each principal has a budget of its own, whatever its address", async () => {
    const limiter = memory(3);
    await using bridge = await openGuarded(name, { rateLimits: { limiter } });
    const ask = async (who: "alice" | "bob") => {
      const answer = await as(bridge, who).send(listing(revision));
      return answer.status;
    };
    // Without a handshake every list is answered alike: what is counted is the asking.
    const asked = [await ask("alice"), await ask("alice"), await ask("alice"), await ask("alice")];
    expect(asked).toEqual([200, 200, 200, 429]);
    expect(await ask("bob")).toBe(200);
  });

  it("nobody becomes somebody else by a header, unless the operator reads it", async () => {
    const send = async (clientAddress?: (ip: string | undefined) => string | undefined) => {
      const { server } = createCounting();
      await using bridge = await openBridge(name, server, {
        rateLimits: { limiter: memory(1) },
        ...(clientAddress && {
          clientAddress: ({ headers }) => clientAddress(headers("x-forwarded-for")),
        }),
      });
      const statuses: number[] = [];
      for (const address of ["2001:db8:0:1::1", "2001:db8:0:1:ffff::2", "2001:db8:0:2::1"]) {
        const { headers, ...message } = listing(revision);
        const more = { "x-forwarded-for": address, forwarded: `for="[${address}]"` };
        statuses.push((await bridge.send({ ...message, headers: { ...headers, ...more } })).status);
      }
      return statuses;
    };
    expect(await send()).toEqual([200, 429, 429]);
    // Everyone with an IPv6 network of their own is one caller.
    expect(await send((address) => address)).toEqual([200, 429, 200]);
    expect(await send(() => undefined)).toEqual([200, 429, 429]);
  });
});

/** A request that every revision answers without a session. */
function listing(revision: Revision) {
  const message = request(revision, 1, "tools/list");
  return {
    target: revision === modern ? "/mcp" : `/mcp?mcp=${revision}`,
    headers: headersFor(revision, message),
    body: JSON.stringify(message),
  };
}

describe("a limiter that workers share", () => {
  const limited = async (limiter: RateLimitOptions["limiter"]): Promise<void> => {
    const workers = [createCounting(), createCounting()];
    const endpoint = { rateLimits: { limiter }, clientAddress: () => "192.0.2.1" };
    const open = (counting: Counting) =>
      Conversant.open("socket", modern, counting.server, { endpoint });
    const [first, second] = workers;
    if (first === undefined || second === undefined) throw new Error("there are two");
    await using one = await open(first);
    await using other = await open(second);
    await call(one, "cheap");
    await call(other, "cheap");
    expectLimited(await call(one, "cheap"));
    expectLimited(await call(other, "cheap"));
    expect([first.runs, second.runs]).toEqual([["cheap"], ["cheap"]]);
  };

  it("counts in Redis what is asked of either", async () => {
    const client = new Redis(await sharedRedis());
    const keyPrefix = `rates-${crypto.randomUUID()}`;
    await limited(
      new RateLimiterRedis({ storeClient: client, points: 2, duration: 60, keyPrefix }),
    );
    client.disconnect();
  });

  it("is given up where its driver waits for a Redis that is away", async () => {
    // Nothing listens at this port, and this driver keeps what it is asked meanwhile.
    const client = new Redis({ host: "127.0.0.1", port: 1 });
    client.on("error", () => {});
    const limiter = new RateLimiterRedis({ storeClient: client, points: 2, duration: 60 });
    for (const onFailure of ["refuse", "serve"] as const) {
      const { server, runs, logged } = createCounting();
      const endpoint = { rateLimits: { limiter, onFailure } };
      await using peer = await Conversant.open("socket", modern, server, { endpoint });
      const { message, origin } = await call(peer, "cheap");
      expect(origin.status).toBe(onFailure === "serve" ? 200 : 503);
      if (onFailure === "refuse") {
        expect(message["error"]).toMatchObject({ code: -32603, data: { retryAfterMs: 1_000 } });
      }
      expect(runs).toEqual(onFailure === "serve" ? ["cheap"] : []);
      expect(logged).toMatchObject([{ message: "a rate limiter failed" }]);
    }
    client.disconnect();
  });

  it("counts in PostgreSQL what is asked of either", async () => {
    const pool = new pg.Pool({ connectionString: await sharedPostgres() });
    const tableName = `rates_${crypto.randomUUID().replaceAll("-", "")}`;
    const options = { storeClient: pool, points: 2, duration: 60, tableName };
    const limiter = await new Promise<RateLimiterPostgres>((resolve, reject) => {
      const made = new RateLimiterPostgres(options, (cause?: Error) => {
        if (cause === undefined) resolve(made);
        else reject(cause);
      });
    });
    await limited(limiter);
    await pool.query(`DROP TABLE "${tableName}"`);
    await pool.end();
  });
});

it("each message of an array is counted, and answered by itself", async () => {
  const { server, runs } = createCounting();
  await using bridge = await openBridge("node", server, { rateLimits: { limiter: memory(2) } });
  const revision: Revision = "2025-03-26";
  const messages = [1, 2, 3].map((id) =>
    request(revision, id, "tools/call", { name: "cheap", arguments: {} }),
  );
  const { status, text } = await bridge.send({
    headers: headersFor(revision, messages[0]),
    body: JSON.stringify(messages),
  });
  const replies: JsonObject[] = JSON.parse(text);
  for (const [index, reply] of replies.entries()) {
    assertReply(revision, messages[index] ?? { method: "" }, reply);
  }
  expect(status).toBe(200);
  expect(replies.map((reply) => "error" in reply)).toEqual([false, false, true]);
  expect(runs).toHaveLength(2);
});

it("a weight that is no whole number of points is refused at the start", async () => {
  const rateLimits = { limiter: memory(1), weights: { cheap: 0.5 } };
  const { server } = createCounting();
  await expect(openBridge("node", server, { rateLimits })).rejects.toThrow("cheap");
});
