/** Trace contexts that strangers make up: passed over where malformed, and never sent back. */
import { context, propagation, trace } from "@opentelemetry/api";
import { createServer, type Server } from "anyrev/node";
import { beforeAll, describe, expect, test } from "vitest";
import { type Bridge, openBridge } from "../support/bridges.ts";
import { Client } from "../support/client.ts";
import { rows } from "../support/matrix.ts";
import { Observatory, setUpGlobals } from "../support/telemetry.ts";

beforeAll(setUpGlobals);

const traceId = "ab".repeat(16);
const spanId = "cd".repeat(8);
const good = `00-${traceId}-${spanId}-01`;
const mark = "reflected-mark";

/** What the handler found around it. */
interface Found {
  readonly traceState: string | undefined;
  readonly baggage: readonly string[];
}

function declare(found: Found[]): Server {
  const server = createServer({ name: "traced", version: "1.0.0" });
  server.tool("work", {}, (_args, ex) => {
    const entries = propagation.getBaggage(context.active())?.getAllEntries() ?? [];
    const baggage = entries.map(([key, { value }]) => `${key}=${value}`);
    const traceState = trace.getSpanContext(context.active())?.traceState?.serialize();
    found.push({ traceState, baggage });
    return ex.text("done");
  });
  return server;
}

function overBridge(bridge: Bridge, texts: string[]) {
  return async (headers: Readonly<Record<string, string>>, body: string) => {
    const answer = await bridge.send({ headers, body });
    texts.push(answer.text, JSON.stringify([...answer.headers]));
    return answer;
  };
}

const malformed: readonly (readonly [what: string, meta: Readonly<Record<string, unknown>>])[] = [
  ["no hexadecimal digits", { traceparent: `00-${mark}-${spanId}-01` }],
  ["upper case", { traceparent: good.toUpperCase() }],
  ["version ff", { traceparent: `ff-${traceId}-${spanId}-01` }],
  ["a trace of zeros", { traceparent: `00-${"0".repeat(32)}-${spanId}-01` }],
  ["a span of zeros", { traceparent: `00-${traceId}-${"0".repeat(16)}-01` }],
  ["too long", { traceparent: `${good}-${mark.repeat(1_000)}` }],
  ["a line break", { traceparent: `${good}\r\nx: ${mark}` }],
  ["a NUL", { traceparent: `${good}\u0000` }],
  ["a list", { traceparent: [good] }],
  ["an object", { traceparent: { toString: mark } }],
  ["a number", { traceparent: 7 }],
  ["null", { traceparent: null }],
  ["an empty text", { traceparent: "" }],
  ["a state alone", { tracestate: `a=${mark}` }],
];

const spoilt: readonly (readonly [what: string, meta: Readonly<Record<string, unknown>>])[] = [
  ["a state that is too long", { tracestate: `a=${mark.repeat(100)}` }],
  ["a state with a line break", { tracestate: `a=b\r\n${mark}` }],
  ["a state that is no text", { tracestate: { a: mark } }],
  ["baggage that is too long", { baggage: `user=${mark.repeat(1_000)}` }],
  ["baggage with a line break", { baggage: `user=a\r\n${mark}: 1` }],
  ["baggage beyond ASCII", { baggage: `user=${mark}é` }],
  ["baggage that is no text", { baggage: [`user=${mark}`] }],
  ["baggage of no pairs", { baggage: ";;;,,,===" }],
];

describe.each(rows())("a trace context in $revision over $bridge", ({ revision, bridge: name }) => {
  test("begins a trace of its own where the caller's is malformed", async () => {
    await using seen = new Observatory();
    const found: Found[] = [];
    const texts: string[] = [];
    await using bridge = await openBridge(name, declare(found), { telemetry: seen.telemetry() });
    const client = await Client.open(overBridge(bridge, texts), revision);
    for (const [what, meta] of malformed) {
      const answer = await client.ask("tools/call", { name: "work", arguments: {}, _meta: meta });
      expect([what, answer.result?.["isError"] ?? false]).toEqual([what, false]);
    }
    const spans = seen.servers("tools/call work");
    expect(spans).toHaveLength(malformed.length);
    for (const span of spans) {
      expect(span.parentSpanContext).toBeUndefined();
      expect(span.spanContext().traceId).not.toBe(traceId);
    }
    expect(found.map(({ traceState }) => traceState ?? "")).toEqual(malformed.map(() => ""));
    expect(texts.join("")).not.toContain(mark);
    expect(JSON.stringify(spans.map(({ attributes }) => attributes))).not.toContain(mark);
  });

  test("passes over a malformed state or baggage beside it, and goes on with the rest", async () => {
    await using seen = new Observatory();
    const found: Found[] = [];
    const texts: string[] = [];
    await using bridge = await openBridge(name, declare(found), { telemetry: seen.telemetry() });
    const client = await Client.open(overBridge(bridge, texts), revision);
    for (const [, meta] of spoilt) {
      const carried = { traceparent: good, ...meta };
      await client.ask("tools/call", { name: "work", arguments: {}, _meta: carried });
    }
    const spans = seen.servers("tools/call work");
    expect(spans.map((span) => span.parentSpanContext?.spanId)).toEqual(spoilt.map(() => spanId));
    expect(found).toEqual(spoilt.map(() => ({ traceState: undefined, baggage: [] })));
    expect(texts.join("")).not.toContain(mark);
  });

  test("is the parent, a link, or nothing, as the server has it", async () => {
    const _meta = { traceparent: good, tracestate: "a=b", baggage: "user=ann" };
    for (const callers of ["parent", "link", "ignore"] as const) {
      await using seen = new Observatory();
      const found: Found[] = [];
      const telemetry = seen.telemetry({ callers });
      await using bridge = await openBridge(name, declare(found), { telemetry });
      const client = await Client.open(overBridge(bridge, []), revision);
      await seen.within("http", () =>
        client.ask("tools/call", { name: "work", arguments: {}, _meta }),
      );
      const [span] = seen.servers("tools/call work");
      const [http] = seen.spans.filter((each) => each.name === "http");
      // Over a socket, nothing of the program's own spans reaches the other side.
      const ambient = name === "fetch" ? http?.spanContext().spanId : undefined;
      const parent = callers === "parent" ? spanId : ambient;
      expect(span?.parentSpanContext?.spanId).toBe(parent);
      const linked = { parent: ambient, link: spanId, ignore: undefined }[callers];
      expect(span?.links.map((link) => link.context.spanId)).toEqual(linked ? [linked] : []);
      expect(found[0]?.baggage).toEqual(callers === "parent" ? ["user=ann"] : []);
    }
  });
});

test("methods and names that strangers make up do not add to what is measured", async () => {
  await using seen = new Observatory();
  await using bridge = await openBridge("fetch", declare([]), { telemetry: seen.telemetry() });
  const client = await Client.open(overBridge(bridge, []), "2025-11-25");
  await client.call("work");
  const before = (await seen.measured("mcp.server.operation.duration")).length;
  for (let at = 0; at < 100; at++) {
    await client.ask("prompts/get", { name: `none-${at}` });
    await client.call(`none-${at}`);
    await bridge.send({
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: "x".repeat(9_000), method: `made/up-${at}` }),
    });
  }
  const measured = await seen.measured("mcp.server.operation.duration");
  expect(measured.length - before).toBeLessThanOrEqual(3);
  const madeUp = seen.servers("_OTHER");
  expect(madeUp).toHaveLength(100);
  expect(String(madeUp[0]?.attributes["jsonrpc.request.id"]).length).toBe(100);
});
