/** Every row of the tables of `docs/limits.md`: its default is the code's, and it is reached. */
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { PassThrough } from "node:stream";
import { createServer, MemorySessions, type ServeOptions, serve, serveStdio } from "anyrev/node";
import { RateLimiterMemory } from "rate-limiter-flexible";
import { describe, expect, it } from "vitest";
import { toHttpLimits } from "../../src/node/http-limits.ts";
import { toLimits } from "../../src/server/load.ts";
import { openBridge, sendBytes } from "../support/bridges.ts";
import { Conversant } from "../support/conversant.ts";
import { answerAll, createConversing } from "../support/conversing.ts";
import { keeping, type Limit } from "../support/limits-kept.ts";
import { headersFor, initializeParams, request } from "../support/messages.ts";
import { createShop, modern } from "../support/shop.ts";
import type { JsonObject, Revision } from "../support/wire.ts";

const text = readFileSync(new URL("../../docs/limits.md", import.meta.url), "utf8");
/** The tables that have a column for what a caller sees: name and default of each row. */
const rows = text
  .split("\n")
  .filter((line) => /^\| .*\|$/.test(line) && line.split("|").length === 7)
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .filter(([, name]) => name !== "limit" && !/^-+$/.test(name ?? ""))
  .map(([, name = "", value = ""]) => ({ name: name.replaceAll("`", ""), value }));

const [load, http] = [toLimits(), toHttpLimits({})];

async function post(body: string, revision: Revision = modern): Promise<number> {
  await using bridge = await openBridge("node", createShop());
  const message: unknown = body.startsWith("{") ? JSON.parse(body) : undefined;
  const headers = headersFor(revision, message ?? request(revision, 1, "tools/list"));
  return (await bridge.send({ headers, body })).status;
}

const list = (meta: JsonObject = {}): JsonObject => {
  const message = request(modern, 1, "tools/list");
  return { ...message, params: { ...message.params, ...meta } };
};
const padded = (message: object, length: number): string => {
  const bare = JSON.stringify(message);
  return bare + " ".repeat(length - bare.length);
};
const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);

/** The status of what a server with these options answers to bytes. */
async function raw(options: ServeOptions, bytes: string): Promise<number> {
  await using serving = await serve(createShop(), { ...options, port: 0, drainMs: 10 });
  return (await sendBytes(serving.port, bytes)).status;
}
const head = "GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
const filler = (count: number) =>
  Array.from({ length: count }, (_, index) => `x-${index}: 1\r\n`).join("");

async function refusal(
  method: string,
  params: JsonObject,
  options: Parameters<typeof Conversant.open>[3] = {},
  revision: Revision = modern,
): Promise<unknown> {
  const { server } = createConversing();
  await using peer = await Conversant.open("socket", revision, server, options);
  return (await peer.finish(method, params)).message["error"];
}

async function lines(input: string, maxLineBytes?: number): Promise<JsonObject[]> {
  const [from, to] = [new PassThrough(), new PassThrough()];
  const served = serveStdio(createShop(), { input: from, output: to, maxLineBytes });
  from.end(input);
  await served;
  return String(to.read())
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

const requests: Record<string, Limit> = {
  maxBodyBytes: {
    value: 4_194_304,
    reach: async () => {
      const statuses = [
        await post(padded(list(), 4_194_304)),
        await post(padded(list(), 4_194_305)),
      ];
      expect(statuses).toEqual([200, 413]);
    },
  },
  "maxLineBytes of serveStdio": {
    value: 4_194_304,
    reach: async () => {
      const told = await lines(`${padded(list(), 4_194_304)}\n${padded(list(), 4_194_305)}\n`);
      expect(told).toMatchObject([{ result: {} }, { error: { code: -32700 } }]);
    },
  },
  maxDepth: {
    value: 64,
    reach: async () => {
      // The message, its params and the member are levels too.
      const deep = (levels: number) => post(JSON.stringify(list({ more: nested(levels - 2) })));
      expect([await deep(64), await deep(65)]).toEqual([200, 400]);
    },
  },
  "messages of an array": {
    value: 50,
    reach: async () => {
      const array = (count: number) =>
        post(
          JSON.stringify(
            Array.from({ length: count }, (_, id) => request("2025-03-26", id, "ping")),
          ),
          "2025-03-26",
        );
      expect([await array(50), await array(51)]).toEqual([200, 400]);
    },
  },
  "checking a value": {
    value: 1_000_000,
    reach: async () => {
      const server = createServer({ name: "s", version: "1" });
      const input = { type: "object", properties: { a: { pattern: "^.*-.*x$" } } } as const;
      server.tool("match", { input }, () => "matched");
      await using peer = await Conversant.open("socket", modern, server);
      const answers = [9_900, 10_100].map(async (length) => {
        const a = `${"-".repeat(length - 1)}x`;
        return (await peer.finish("tools/call", { name: "match", arguments: { a } })).message;
      });
      const [one, other] = await Promise.all(answers);
      expect(one).not.toHaveProperty("result.isError");
      expect(other).toMatchObject({ result: { isError: true } });
      expect(JSON.stringify(other)).toContain("too long to check a text of 10100 characters");
    },
  },
  initialize: {
    value: 65_536,
    reach: async () => {
      const message = request("2025-11-25", 1, "initialize", initializeParams("2025-11-25"));
      await using bridge = await openBridge("node", createShop());
      const send = async (length: number): Promise<unknown> =>
        JSON.parse(
          (
            await bridge.send({
              headers: headersFor("2025-11-25", message),
              body: padded(message, length),
            })
          ).text,
        );
      expect(await send(65_536)).toHaveProperty("result");
      expect(await send(65_537)).toMatchObject({ error: { code: -32602 } });
    },
  },
  "maxHeaders of serve": {
    value: http.maxHeaders,
    reach: async () => {
      const send = (count: number) => raw({}, `${head}${filler(count - 2)}\r\n`);
      expect([await send(100), await send(101)]).toEqual([400, 431]);
    },
  },
  "maxHeaderBytes of serve": {
    value: http.maxHeaderBytes,
    reach: async () => {
      const send = (length: number) => raw({}, `${head}x: ${"y".repeat(length)}\r\n\r\n`);
      expect([await send(16_000), await send(16_400)]).toEqual([400, 431]);
    },
  },
  "headersTimeoutMs of serve": {
    value: http.headersTimeoutMs,
    reach: async () => expect(await raw({ headersTimeoutMs: 50 }, head)).toBe(408),
  },
  "requestTimeoutMs of serve": {
    value: http.requestTimeoutMs,
    reach: async () => {
      const begun = `${head.replace("GET", "POST")}content-type: application/json\r\ncontent-length: 9\r\n\r\n{`;
      expect(await raw({ requestTimeoutMs: 50 }, begun)).toBe(408);
    },
  },
  "maxConnections of serve": {
    value: http.maxConnections,
    reach: async () => {
      await using serving = await serve(createShop(), { port: 0, drainMs: 10, maxConnections: 1 });
      const first = connect(serving.port, "127.0.0.1");
      await new Promise((resolve) => first.once("connect", resolve));
      const second = connect(serving.port, "127.0.0.1").on("error", () => {});
      await new Promise((resolve) => second.once("close", resolve));
      expect(first.destroyed).toBe(false);
      first.destroy();
    },
  },
};

/** `load.test.ts` and `rate-limits.test.ts` hit these in every revision. */
const hold = { name: "wait", arguments: {} };
const full = async (
  endpoint: ServeOptions,
  method: string,
  params: JsonObject,
  revision: Revision,
) => {
  const { server } = createConversing();
  await using peer = await Conversant.open("socket", revision, server, { endpoint });
  const { sending } = peer.start(method, params);
  await new Promise((resolve) => setTimeout(resolve, 40));
  const { message, origin } = await peer.ask(method, params);
  sending.disconnect();
  expect(message["error"]).toMatchObject({ data: { retryAfterMs: 1_000 } });
  return origin.status;
};
const listening = { notifications: { toolsListChanged: true } };
const watch = (count: number) => ({
  notifications: {
    resourceSubscriptions: Array.from({ length: count }, (_, at) => `note://${at}`),
  },
});

const work: Record<string, Limit> = {
  maxCalls: {
    value: load.maxCalls,
    reach: async () => expect(await full({ maxCalls: 1 }, "tools/call", hold, modern)).toBe(503),
  },
  maxCallsPerCaller: {
    value: load.maxCallsPerCaller,
    reach: async () =>
      expect(await full({ maxCallsPerCaller: 1 }, "tools/call", hold, "2025-11-25")).toBe(429),
  },
  maxStreams: {
    value: load.maxStreams,
    reach: async () =>
      expect(await full({ maxStreams: 1 }, "subscriptions/listen", listening, modern)).toBe(503),
  },
  maxStreamsPerCaller: {
    value: load.maxStreamsPerCaller,
    reach: async () => {
      const { server } = createConversing();
      const endpoint = { maxStreamsPerCaller: 1 };
      await using peer = await Conversant.open("stdio", modern, server, { endpoint });
      peer.start("subscriptions/listen", listening);
      const { message } = await peer.ask("subscriptions/listen", listening);
      expect(message["error"]).toMatchObject({ message: expect.stringContaining("you have") });
    },
  },
  callTimeoutMs: {
    value: load.callTimeoutMs,
    reach: async () =>
      expect(await refusal("tools/call", hold, { endpoint: { callTimeoutMs: 20 } })).toMatchObject({
        code: -32603,
      }),
  },
  "rounds of a call": {
    value: 10,
    reach: async () => {
      const params = { name: "insatiable_forms", arguments: {} };
      expect(await refusal("tools/call", params, { answer: answerAll() })).toMatchObject({
        message: expect.stringContaining("asked 10 times"),
      });
      expect(
        await refusal("tools/call", { ...params, name: "ten_forms" }, { answer: answerAll() }),
      ).toBeUndefined();
    },
  },
  "resources of a subscriptions/listen": {
    value: 1_000,
    reach: async () =>
      expect(await refusal("subscriptions/listen", watch(1_001))).toMatchObject({
        code: -32602,
        message: expect.stringContaining("at most 1000"),
      }),
  },
  "resources that a session watches": {
    value: 1_000,
    reach: async () => {
      const store = new MemorySessions({ maxLength: 1_000_000 });
      const { server } = createConversing();
      server.template("many://{id}", { name: "many" }, ({ id }) => String(id));
      const endpoint = { sessionStore: store };
      await using peer = await Conversant.open("fetch", "2025-11-25", server, { endpoint });
      for (let at = 0; at <= 1_000; at++) {
        await peer.ask("resources/subscribe", { uri: `many://${at}` });
      }
      const watched = store.get(peer.sessionId ?? "")?.subscriptions;
      expect([watched?.length, watched?.[0], watched?.at(-1)]).toEqual([
        1_000,
        "many://1",
        "many://1000",
      ]);
    },
  },
  "log entries of a call": {
    value: 1_000,
    reach: async () => {
      const server = createServer({ name: "loud", version: "1" });
      server.tool("loud", {}, (_, ex) => {
        for (let at = 0; at < 1_001; at++) ex.log("error", at);
        return '"done"';
      });
      await using peer = await Conversant.open("fetch", "2025-11-25", server);
      await peer.call("loud");
      expect(peer.told("notifications/message")).toHaveLength(1_000);
    },
  },
  rateLimits: {
    value: "none",
    reach: async () => {
      const limiter = new RateLimiterMemory({ points: 1, duration: 9 });
      const endpoint = { rateLimits: { limiter } };
      const { server } = createConversing();
      await using peer = await Conversant.open("socket", modern, server, { endpoint });
      await peer.ask("tools/list");
      expect((await peer.ask("tools/list")).origin.status).toBe(429);
    },
  },
};

const limits = { ...requests, ...work, ...keeping };

it("the tables name every limit, with the default that the code has", () => {
  const expected = Object.entries(limits).map(([name, { value }]) => ({ name, value: `${value}` }));
  expect(rows).toEqual(expected);
  const options = Object.keys({ ...load, ...http });
  const named = rows.map(({ name }) => name.split(" ")[0]);
  expect(options.filter((option) => !named.includes(option))).toEqual([]);
});

describe("what the tables say is reached, and no sooner:", () => {
  it.each(Object.entries(limits))("%s", async (_, { reach }) => {
    await reach();
  });
});
