/** Spans and durations of both sides, in every revision over every way. */
import { createHash } from "node:crypto";
import { context, propagation, SpanStatusCode } from "@opentelemetry/api";
import { type ConnectOptions, type DuplexReader, duplexTarget } from "anyrev/client";
import { createServer, type Server } from "anyrev/node";
import { beforeAll, describe, expect, test } from "vitest";
import { openWay, pipeDuplex, type WayRow, wayRows } from "../support/client-ways.ts";
import { connect } from "../support/connecting.ts";
import { Recording } from "../support/recording.ts";
import { Observatory, setUpGlobals } from "../support/telemetry.ts";

beforeAll(setUpGlobals);

const secret = "canary-argument";
const bounds = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

function declare(seen: Observatory): Server {
  const server = createServer({ name: "observed", version: "1.0.0", log: () => undefined });
  server.tool("work", {}, async (_args, ex) => {
    await new Promise((resolve) => setImmediate(resolve));
    seen.tracer.startSpan("query").end();
    const baggage = propagation.getBaggage(context.active());
    return ex.text(`user ${baggage?.getEntry("user")?.value}`);
  });
  server.tool("fail", {}, (_args, ex) => ex.failed("not today"));
  server.resource("note://broken", { name: "broken" }, () => {
    throw new Error(secret);
  });
  server.tool("wait", {}, async (_args, ex) => {
    await new Promise((resolve) => ex.signal.addEventListener("abort", resolve));
    throw ex.signal.reason;
  });
  server.prompt("greet", {}, () => "hello");
  server.resource("note://a", { name: "a" }, () => "text");
  server.tool("ask", { asks: true }, async (_args, ex) => {
    const { accepted } = await ex.ask("sure", { message: "Sure?" });
    return accepted ? "yes" : "no";
  });
  return server;
}

async function observe(
  { way, revision }: WayRow,
  work: (
    client: Awaited<ReturnType<typeof connect>>,
    seen: Observatory,
    record: Recording,
  ) => Promise<void>,
  options: ConnectOptions = {},
): Promise<void> {
  await using seen = new Observatory();
  const telemetry = seen.telemetry();
  await using opened = await openWay(way, declare(seen), { telemetry });
  const record = new Recording(revision);
  await using client = await connect(record.target(opened.target), {
    revisions: revision,
    telemetry,
    ...options,
  });
  await work(client, seen, record);
  expect(record.problems).toEqual([]);
}

const watchedRows = wayRows().filter(({ way }) => way !== "memory");

test("a session that its server ends is told apart from one that was closed", async () => {
  await using seen = new Observatory();
  let reader: DuplexReader | undefined;
  const inner = pipeDuplex(declare(seen));
  const target = duplexTarget(() => ({
    ...inner,
    open: (given) => {
      reader = given;
      return inner.open(given);
    },
  }));
  await using client = await connect(target, {
    revisions: "2025-11-25",
    telemetry: seen.telemetry(),
  });
  reader?.closed(new Error("the process is gone"));
  await client.close();
  const [session] = await seen.measured("mcp.client.session.duration");
  expect(session?.attributes).toMatchObject({
    "error.type": "closed",
    "network.transport": "pipe",
  });
});

describe.each(watchedRows)("telemetry in $revision over $way", (row) => {
  const { revision, way } = row;
  const network =
    way === "stdio"
      ? { "network.transport": "pipe" }
      : { "network.transport": "tcp", "network.protocol.name": "http" };

  test("is one trace from the program's own span to what a handler does", () =>
    observe(row, async (client, seen) => {
      await seen.within("agent", () => client.call("work", { canary: secret }));
      const [agent] = seen.spans.filter(({ name }) => name === "agent");
      const [query] = seen.spans.filter(({ name }) => name === "query");
      const [sent] = seen.clients("tools/call work");
      const [received] = seen.servers("tools/call work");
      expect(sent?.parentSpanContext?.spanId).toBe(agent?.spanContext().spanId);
      expect(received?.parentSpanContext).toMatchObject({
        spanId: sent?.spanContext().spanId,
        isRemote: true,
      });
      expect(query?.parentSpanContext?.spanId).toBe(received?.spanContext().spanId);
      expect(query?.spanContext().traceId).toBe(agent?.spanContext().traceId);
      expect(received?.attributes).toMatchObject({
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": revision,
        "gen_ai.tool.name": "work",
        "gen_ai.operation.name": "execute_tool",
        "jsonrpc.request.id": sent?.attributes["jsonrpc.request.id"],
        ...network,
      });
      expect(received?.attributes["anyrev.selection.reason"]).toMatch(/^(?:body|header|session)$/);
      expect(received?.status.code).toBe(SpanStatusCode.UNSET);
      expect(JSON.stringify(seen.spans.map(({ attributes }) => attributes))).not.toContain(secret);
    }));

  test("tells the revision that a handshake settled on", () =>
    observe(row, async (_client, seen) => {
      const opening = revision === "2026-07-28" ? "server/discover" : "initialize";
      for (const span of [...seen.servers(opening), ...seen.clients(opening)]) {
        expect(span.attributes["mcp.protocol.version"]).toBe(revision);
      }
      expect(seen.servers(opening).length).toBeGreaterThan(0);
    }));

  test("carries baggage, and leaves alone what the caller wrote into _meta itself", () =>
    observe(row, async (client, seen) => {
      const baggage = propagation.createBaggage({ user: { value: "ann" } });
      const withBaggage = propagation.setBaggage(context.active(), baggage);
      const { text } = await context.with(withBaggage, () => client.call("work"));
      expect(text).toBe("user ann");
      const traceparent = `00-${"ab".repeat(16)}-${"cd".repeat(8)}-01`;
      await client.call("work", {}, { meta: { traceparent, "example.com/x": 1 } });
      const received = seen.servers("tools/call work")[1];
      expect(received?.parentSpanContext?.spanId).toBe("cd".repeat(8));
    }));

  test("tells failures apart: of a tool, of the caller, of the server", () =>
    observe(row, async (client, seen) => {
      await client.call("fail");
      await client.get("greet");
      await client.read("note://a");
      await expect(client.call(`nowhere-${secret}`)).rejects.toThrow();
      const [sentFail] = seen.clients("tools/call fail");
      const [failed] = seen.servers("tools/call fail");
      for (const span of [sentFail, failed]) {
        expect(span?.attributes["error.type"]).toBe("tool_error");
        expect(span?.status.code).toBe(SpanStatusCode.ERROR);
      }
      expect(seen.servers("prompts/get greet")[0]?.attributes).toMatchObject({
        "gen_ai.prompt.name": "greet",
      });
      expect(seen.servers("resources/read")[0]?.attributes).toMatchObject({
        "mcp.resource.uri": "note://a",
      });
      const unknown = seen.servers("tools/call")[0];
      expect(unknown?.attributes).toMatchObject({
        "rpc.response.status_code": "-32602",
        "anyrev.refusal": "invalid-params",
      });
      await expect(client.read("note://broken")).rejects.toThrow();
      const broken = seen.servers("resources/read")[1];
      expect(broken?.attributes["error.type"]).toBe("-32603");
      expect(broken?.status).toMatchObject({ code: SpanStatusCode.ERROR });
      expect(broken?.status.message).not.toContain(secret);
      // The fault is the caller's, and its name is one of endlessly many.
      expect(unknown?.attributes["error.type"]).toBeUndefined();
      expect(unknown?.attributes["gen_ai.tool.name"]).toBeUndefined();
      expect(unknown?.status.code).toBe(SpanStatusCode.UNSET);
      const refused = seen.clients(`tools/call nowhere-${secret}`)[0];
      expect(refused?.attributes["error.type"]).toBe("-32602");
      expect(refused?.status.code).toBe(SpanStatusCode.ERROR);
    }));

  test("takes a call that was cancelled for no fault of the server", () =>
    observe(row, async (client, seen) => {
      const gone = new AbortController();
      const call = client.call("wait", {}, { signal: gone.signal });
      setTimeout(() => gone.abort(), 50);
      await expect(call).rejects.toThrow();
      await expect.poll(() => seen.servers("tools/call wait").length).toBe(1);
      const [received] = seen.servers("tools/call wait");
      const [sent] = seen.clients("tools/call wait");
      expect(sent?.attributes["error.type"]).toBe("aborted");
      expect(received?.attributes["anyrev.refusal"]).toBe("cancelled");
      expect(received?.attributes["error.type"]).toBeUndefined();
      expect(received?.status.code).toBe(SpanStatusCode.UNSET);
    }));

  test("measures durations in seconds, by the bounds of the conventions", () =>
    observe(row, async (client, seen) => {
      await client.call("work");
      await client.call("work");
      await client.call("fail");
      for (const side of ["server", "client"]) {
        const measured = await seen.measured(`mcp.${side}.operation.duration`);
        const calls = measured.filter(
          ({ attributes }) => attributes["gen_ai.tool.name"] === "work",
        );
        expect(calls).toHaveLength(1);
        expect(calls[0]).toMatchObject({ unit: "s", count: 2, boundaries: bounds });
        expect(calls[0]?.sum).toBeLessThan(10);
        expect(calls[0]?.attributes).toMatchObject({
          "mcp.method.name": "tools/call",
          "mcp.protocol.version": revision,
          ...network,
        });
        const named = measured.flatMap(({ attributes }) => Object.keys(attributes));
        expect(named).not.toContain("mcp.session.id");
        expect(named).not.toContain("jsonrpc.request.id");
        expect(
          measured.find(({ attributes }) => attributes["error.type"] === "tool_error")?.count,
        ).toBe(1);
      }
    }));

  test("joins the two ends of a notification", () =>
    observe(row, async (_client, seen) => {
      const name = "notifications/initialized";
      const count = revision === "2026-07-28" ? 0 : 1;
      await expect.poll(() => seen.servers(name).length).toBe(count);
      await expect.poll(() => seen.clients(name).length).toBe(count);
      const sent = seen.clients(name);
      expect(seen.servers(name).map((span) => span.parentSpanContext?.spanId)).toEqual(
        sent.map((span) => span.spanContext().spanId),
      );
      for (const { attributes } of sent) expect(attributes["jsonrpc.request.id"]).toBeUndefined();
    }));

  test("measures how long a session lasts that a handshake opened", () =>
    observe(row, async (client, seen) => {
      await client.call("work");
      await client.close();
      const count = revision === "2026-07-28" ? 0 : 1;
      for (const side of ["server", "client"]) {
        const measured = () => seen.measured(`mcp.${side}.session.duration`);
        await expect.poll(async () => (await measured()).length).toBe(count);
        for (const session of await measured()) {
          expect(session).toMatchObject({ count: 1, unit: "s", boundaries: bounds });
          expect(session.attributes).toMatchObject({
            "mcp.protocol.version": revision,
            ...network,
          });
          expect(session.attributes["error.type"]).toBeUndefined();
        }
      }
    }));

  test("names a session by a hash, the same on both sides", () =>
    observe(row, async (client, seen, record) => {
      await client.call("work");
      const session = record.transports.map((each) => each.session).find((id) => id !== undefined);
      const told = JSON.stringify(seen.spans.map(({ attributes }) => attributes));
      const names = ["initialize", "tools/call work"].flatMap((name) =>
        seen.servers(name).map(({ attributes }) => attributes["mcp.session.id"]),
      );
      if (session === undefined) {
        // A connection is its own session, which only the server has a name for.
        expect(new Set(names).size).toBe(revision === "2026-07-28" ? Math.sign(names.length) : 1);
        return;
      }
      const hash = createHash("sha256").update(session).digest("hex").slice(0, 32);
      expect(names).toEqual([hash, hash]);
      expect(seen.clients("tools/call work")[0]?.attributes["mcp.session.id"]).toBe(hash);
      expect(told).not.toContain(session);
    }));

  test("sees each request of a call that asks", () =>
    observe(
      row,
      async (client, seen) => {
        const { text } = await client.call("ask");
        expect(text).toBe("yes");
        const isPushed = revision === "2025-06-18" || revision === "2025-11-25";
        expect(seen.servers("tools/call ask")).toHaveLength(isPushed ? 1 : 2);
        expect(seen.clients("tools/call ask")).toHaveLength(isPushed ? 1 : 2);
        const asked = seen.clients("elicitation/create");
        expect(asked).toHaveLength(isPushed ? 1 : 0);
        const call = seen.servers("tools/call ask")[0]?.spanContext().spanId;
        for (const span of asked) expect(span.parentSpanContext?.spanId).toBe(call);
        const answered = seen.servers("elicitation/create");
        expect(answered.map((span) => span.parentSpanContext?.spanId)).toEqual(
          asked.map((span) => span.spanContext().spanId),
        );
      },
      { onAsk: () => ({ action: "accept", content: {} }) },
    ));
});
