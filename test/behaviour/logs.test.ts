/** What an operator reads: one line of JSON for each call and refusal, and no secret in any. */
import { createHash } from "node:crypto";
import { checkTokens } from "anyrev/auth";
import { createServer, jsonLogs, type Logger, type ServeOptions, type Server } from "anyrev/node";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { openBridge } from "../support/bridges.ts";
import { Client } from "../support/client.ts";
import { openWay, wayRows } from "../support/client-ways.ts";
import { connect } from "../support/connecting.ts";
import { rows } from "../support/matrix.ts";
import { headersFor, request } from "../support/messages.ts";
import { Recording } from "../support/recording.ts";

const argument = "canary-argument";
const token = "canary-token-0123456789abcdef";
const cause = "canary-cause";

type Line = Readonly<Record<string, unknown>>;

class Lines {
  readonly written: string[] = [];

  write(line: string): boolean {
    this.written.push(line);
    return true;
  }

  get text(): string {
    return this.written.join("");
  }

  /** Each is one line, and JSON. */
  get parsed(): readonly Line[] {
    return this.written.map((line) => {
      expect(line).toMatch(/^[^\n\r]*\n$/);
      return JSON.parse(line) as Line;
    });
  }

  of(msg: string): readonly Line[] {
    return this.parsed.filter((line) => line["msg"] === msg);
  }
}

function declare(logger: Logger | undefined): Server {
  const server = createServer({ name: "logged", version: "1.0.0", logger });
  server.tool("work", {}, (_args, ex) => ex.text(`done ${argument}`));
  server.tool("fail", {}, (_args, ex) => ex.failed(argument));
  server.prompt("greet", {}, () => "hello");
  server.resource("note://broken", { name: "broken" }, () => {
    throw new Error(cause);
  });
  return server;
}

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex").slice(0, 32);
}

describe.each(wayRows())("the log of a server in $revision over $way", ({ revision, way }) => {
  test("has a line for each call, with what it came to, and without what was in it", async () => {
    const lines = new Lines();
    await using opened = await openWay(way, declare(jsonLogs({ level: "info", stream: lines })));
    const record = new Recording(revision);
    await using client = await connect(record.target(opened.target), { revisions: revision });
    await client.call("work", { canary: argument });
    await client.call("fail", { canary: argument });
    await client.get("greet");
    await expect(client.call(`none-${argument}`)).rejects.toThrow();
    await expect(client.read("note://broken")).rejects.toThrow();
    const calls = lines.of("tools/call");
    expect(calls).toHaveLength(3);
    expect(calls[0]).toMatchObject({
      level: "info",
      direction: "received",
      method: "tools/call",
      name: "work",
      revision,
      outcome: "ok",
      selected: expect.stringMatching(/^(?:body|header|session|assumed)$/),
    });
    expect(Date.parse(String(calls[0]?.["time"]))).toBeGreaterThan(0);
    expect(calls[0]?.["durationMs"]).toBeTypeOf("number");
    expect(calls[1]).toMatchObject({ name: "fail", outcome: "tool_error" });
    expect(calls[2]).toMatchObject({ outcome: "refused", reason: "invalid-params", code: -32602 });
    expect(lines.of("prompts/get")[0]).toMatchObject({ name: "greet", outcome: "ok" });
    expect(lines.text).not.toContain(argument);
    const session = record.transports.map((each) => each.session).find((id) => id !== undefined);
    if (session !== undefined) {
      expect(lines.text).not.toContain(session);
      expect(calls[0]?.["session"]).toBe(hashOf(session));
    }
    // The cause and its stack are for the log alone.
    const failed = lines.of("read-resource failed");
    expect(failed).toHaveLength(1);
    expect(failed[0]).toMatchObject({ level: "error", err: { type: "Error", message: cause } });
    expect(JSON.stringify(record.heard)).not.toContain(cause);
    expect(record.problems).toEqual([]);
  });
});

describe.each(rows())(
  "the log of an endpoint in $revision over $bridge",
  ({ revision, bridge }) => {
    const options: ServeOptions = {
      auth: {
        authenticators: [checkTokens([{ token, subject: "ann" }])],
        resource: "http://localhost/mcp",
      },
    };
    const message = request(revision, 1, "tools/list");

    test("tells why something was turned away, and neither tokens nor queries", async () => {
      const lines = new Lines();
      const server = declare(jsonLogs({ level: "info", stream: lines }));
      await using opened = await openBridge(bridge, server, options);
      const headers = { ...headersFor(revision, message), host: "localhost" };
      const body = JSON.stringify(message);
      const statuses = [
        await opened.send({ headers, body }),
        await opened.send({ headers: { ...headers, authorization: `Bearer x${token}` }, body }),
        await opened.send({ headers, body, target: `/mcp?access_token=${token}` }),
        await opened.send({ headers: { ...headers, origin: "https://evil.example" }, body }),
        await opened.send({ headers: { ...headers, authorization: `Bearer ${token}` }, body: "{" }),
      ].map(({ status }) => status);
      const refused = lines.of("refused");
      expect(refused.map(({ status }) => status)).toEqual(statuses);
      expect(refused.map(({ http, path }) => `${http} ${path}`)).toEqual(
        Array(5).fill("POST /mcp"),
      );
      expect(refused[0]).toMatchObject({ reason: "unauthorized", outcome: "refused" });
      expect(refused[3]).toMatchObject({ reason: "forbidden" });
      expect(refused[4]).toMatchObject({ reason: "parse-error" });
      expect(lines.text).not.toContain(token);
    });

    test("names whose call it was by a hash", async () => {
      const lines = new Lines();
      const server = declare(jsonLogs({ level: "info", stream: lines }));
      await using opened = await openBridge(bridge, server, options);
      const client = await Client.open(
        (headers, body) =>
          opened.send({
            headers: { ...headers, host: "localhost", authorization: `Bearer ${token}` },
            body,
          }),
        revision,
      );
      await client.call("work");
      const [line] = lines.of("tools/call");
      expect(line?.["principal"]).toMatch(/^[0-9a-f]{32}$/);
      expect(lines.text).not.toMatch(/ann|canary/);
    });
  },
);

test("by default only what went wrong is written, on standard error", async ({
  onTestFinished,
}) => {
  const written: string[] = [];
  const original = console.error;
  console.error = (line: string) => void written.push(line);
  onTestFinished(() => {
    console.error = original;
  });
  await using opened = await openBridge("fetch", declare(undefined));
  const client = await Client.open((headers, body) => opened.send({ headers, body }), "2025-11-25");
  await client.call("work");
  await client.ask("resources/read", { uri: "note://broken" });
  expect(written).toHaveLength(1);
  expect(JSON.parse(written[0] ?? "")).toMatchObject({
    level: "error",
    msg: "read-resource failed",
    target: "note://broken",
    err: { message: cause, stack: expect.stringContaining("logs.test.ts") },
  });
});

test("the program's own pino takes what the built-in logger takes", async () => {
  const lines = new Lines();
  const logger = pino({ level: "info" }, lines);
  await using opened = await openBridge("fetch", declare(logger));
  const client = await Client.open((headers, body) => opened.send({ headers, body }), "2026-07-28");
  await client.call("work");
  await client.ask("resources/read", { uri: "note://broken" });
  expect(lines.of("tools/call")[0]).toMatchObject({ level: 30, name: "work", outcome: "ok" });
  expect(lines.of("read-resource failed")[0]).toMatchObject({
    level: 50,
    err: { type: "Error", message: cause },
  });
  logger.level = "error";
  const before = lines.written.length;
  await client.call("work");
  expect(lines.written).toHaveLength(before);
});

test("console is a logger, and so is one that throws", async () => {
  const told: unknown[] = [];
  const note = (...parts: unknown[]) => void told.push(parts);
  const server = declare({ debug: note, info: note, warn: note, error: note });
  await using opened = await openBridge("fetch", server);
  const client = await Client.open((headers, body) => opened.send({ headers, body }), "2025-06-18");
  await client.call("work");
  expect(told).toContainEqual([expect.objectContaining({ name: "work" }), "tools/call"]);
  const logger: Logger = console;
  expect(logger.info).toBeTypeOf("function");
  const broken = (): never => {
    throw new Error("no space left");
  };
  const failing = declare({ debug: broken, info: broken, warn: broken, error: broken });
  await using second = await openBridge("fetch", failing);
  const caller = await Client.open((headers, body) => second.send({ headers, body }), "2025-06-18");
  expect((await caller.call("work")).result).toMatchObject({ content: [{ type: "text" }] });
  const { error } = await caller.ask("resources/read", { uri: "note://broken" });
  expect(error).toMatchObject({ code: -32603, message: expect.not.stringContaining("space") });
});

test("nobody who is logged can write lines of their own, or hide what is written", () => {
  const lines = new Lines();
  const logger = jsonLogs({ level: "debug", stream: lines });
  const hostile = 'a\n{"level":"error"}\r\u0000\u001b[2K\u007f\u0085\u2028\u202e\ufeff"';
  logger.info({ id: hostile, level: "error", time: 0, msg: "other" }, hostile);
  const [line] = lines.parsed;
  expect(line).toMatchObject({ level: "info", msg: hostile, id: hostile });
  expect(lines.text.slice(0, -1)).toMatch(/^[\x20-\x7e]*$/);
});

test("what cannot be JSON is still one line, and what is long is cut", () => {
  const lines = new Lines();
  const logger = jsonLogs({ level: "debug", stream: lines });
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  logger.warn({ circle }, "round");
  logger.warn({ big: 2n ** 70n, text: "x".repeat(100_000) }, "large");
  const error = new Error("outer", { cause: new Error("inner") });
  error.cause = error;
  logger.warn({ err: error }, "endless");
  const [round, large, endless] = lines.parsed;
  expect(round).toMatchObject({ level: "warn", msg: "round" });
  expect(large).toMatchObject({ big: String(2n ** 70n) });
  expect(String(large?.["text"]).length).toBeLessThan(9_000);
  expect(endless).toMatchObject({ err: { message: "outer", cause: { message: "outer" } } });
});

test("what cannot be JSON takes nothing with it that it stands beside", () => {
  const lines = new Lines();
  const logger = jsonLogs({ level: "debug", stream: lines });
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  const throwing = {
    toJSON: () => {
      throw new Error("not this one");
    },
  };
  const inner = new Error("inner", { cause: circle });
  logger.error({ tool: "pay", err: new Error("outer", { cause: inner }) }, "tool pay threw");
  logger.error({ tool: "pay", err: new Error("outer"), throwing }, "tool pay threw");
  const [chained, beside] = lines.parsed;
  expect(chained).toMatchObject({
    tool: "pay",
    msg: "tool pay threw",
    err: {
      message: "outer",
      stack: expect.stringContaining("logs.test.ts"),
      cause: { message: "inner", cause: "(no JSON)" },
    },
  });
  expect(beside).toMatchObject({
    tool: "pay",
    err: { message: "outer", stack: expect.stringContaining("logs.test.ts") },
    throwing: "(no JSON)",
  });
});

test("a logger writes from its level on", () => {
  for (const [level, count] of [
    ["debug", 4],
    ["info", 3],
    ["warn", 2],
    ["error", 1],
    ["silent", 0],
  ] as const) {
    const lines = new Lines();
    const logger = jsonLogs({ level, stream: lines });
    logger.debug({}, "d");
    logger.info({}, "i");
    logger.warn({}, "w");
    logger.error({}, "e");
    expect(lines.parsed).toHaveLength(count);
    expect(logger.isLevelEnabled?.("debug")).toBe(level === "debug");
  }
});
