/** What a client mirrors into headers is what the server reads out of them. */
import { allRevisions, createServer } from "anyrev";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readParamHeaders } from "../../src/core/param-header.ts";
import { readHeader, writeHeader } from "../../src/revisions/mirror.ts";
import { headersFor, headerValue, initializeParams, request } from "../support/messages.ts";
import { bridges, openLine } from "../support/peer.ts";
import {
  assertClientMessage,
  assertReply,
  isObject,
  type Revision,
  revisions,
} from "../support/wire.ts";

/** Anything that UTF-8 can write, and the strings that look like a header's own notation. */
const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.string({ unit: "grapheme-ascii", maxLength: 40 }),
  fc.constantFrom("", " ", "\t", " a", "a\t", "a\tb", "=?base64?=", "=?base64??=", "\ufeffa"),
  fc.string({ unit: "binary" }).map((inner) => `=?base64?${inner}?=`),
);

const client = { name: "raw-driver", version: "1.0.0" };

describe("a mirrored value", () => {
  it("comes back as it was, through characters that every header may hold", () => {
    fc.assert(
      fc.property(anyText, (value) => {
        const header = writeHeader(value);
        expect(header).toMatch(/^[\t\x20-\x7e]*$/);
        expect(header.trim()).toBe(header);
        expect(readHeader(header)).toBe(value);
        expect(readHeader(headerValue(value))).toBe(value);
      }),
      { numRuns: 3000 },
    );
  });

  it("comes back through the Fetch standard's own handling of headers", () => {
    fc.assert(
      fc.property(anyText, (value) => {
        const headers = new Headers({ "mcp-name": writeHeader(value) });
        expect(readHeader(headers.get("mcp-name") ?? "")).toBe(value);
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ["=?base64?4pi6?=", "☺"],
    ["  plain  ", "plain"],
    ["=?base64??=", ""],
    ["=?BASE64?4pi6?=", "=?BASE64?4pi6?="],
    ["=?base64?4pi6?= ", "☺"],
    ["=?base64?4pi?=", "=?base64?4pi?="],
    ["=?base64?QR==?=x", "=?base64?QR==?=x"],
    ["=?base64?4p i6?=", "=?base64?4p i6?="],
    ["=?base64?/w==?=", "=?base64?/w==?="],
    ["=?base64?=", "=?base64?="],
    ["caf\u00e9", undefined],
    ["a\u0000b", undefined],
  ])("written %j is read as %j", (header, value) => {
    expect(readHeader(header)).toBe(value);
  });
});

const inputSchema = {
  type: "object",
  properties: {
    words: { type: "string", "x-mcp-header": "Words" },
    deep: {
      type: "object",
      properties: { count: { type: "integer", "x-mcp-header": "Count" } },
    },
    flag: { type: "boolean", "x-mcp-header": "Flag" },
  },
} as const;

const mirrored = readParamHeaders(inputSchema);
if ("message" in mirrored) throw new Error(mirrored.message);
const paramHeaders = mirrored;

const absent = { nil: undefined };
const anyArguments = fc.record({
  words: fc.option(anyText, absent),
  deep: fc.option(fc.record({ count: fc.option(fc.maxSafeInteger(), absent) }), absent),
  flag: fc.option(fc.boolean(), absent),
});

describe.each(revisions)("the client's half of %s", (revision) => {
  const adapter = allRevisions.find(revision);
  if (adapter === undefined) throw new Error(`no adapter for ${revision}`);

  it("writes what a driver by hand writes", () => {
    const methods = [
      "tools/call",
      "prompts/get",
      "resources/read",
      "tools/list",
      "completion/complete",
    ];
    const anyId = fc.oneof(fc.maxSafeInteger(), fc.string());
    fc.assert(
      fc.property(fc.constantFrom(...methods), anyText, anyId, (method, name, id) => {
        const params = { ...paramsOf(method, name), _meta: { "example.com/a": 1 } };
        const written = adapter.client.write({
          id,
          method,
          params,
          client,
          capabilities: { roots: {} },
          paramHeaders: [],
        });
        const message = request(revision, id, method, params, { capabilities: { roots: {} } });
        expect(written.message).toEqual(message);
        const { "content-type": _, accept: __, ...headers } = headersFor(revision, message);
        const read = (all: Readonly<Record<string, string>>) =>
          Object.entries(all).map(([header, value]) => [header, readHeader(value)]);
        expect(read(written.headers)).toEqual(read(headers));
      }),
      { numRuns: 500 },
    );
  });

  it.each(bridges)(
    "is accepted by the server over %s, whatever a tool and its arguments are called",
    async (bridge) => {
      const server = createServer({ name: "mirrors", version: "1" });
      const line = await openLine(bridge, server);
      const anyName = anyText.filter((name) => name !== "");
      try {
        await fc.assert(
          fc.asyncProperty(anyName, anyArguments, async (name, args) => {
            const declared = server.tool(name, { input: inputSchema }, () => "called");
            const { message, headers } = adapter.client.write({
              id: 1,
              method: "tools/call",
              params: { name, arguments: args },
              client,
              capabilities: {},
              paramHeaders,
            });
            const reply = await line.send({
              query: revision < "2025-06-18" ? `?mcp=${revision}` : "",
              headers: { ...headersFor(revision, undefined), ...headers },
              body: JSON.stringify(message),
            });
            declared.remove();
            const value: unknown = JSON.parse(reply.text);
            assertReply(revision, { method: "tools/call", id: 1 }, value);
            expect(isObject(value) && value["result"]).toMatchObject({
              content: [{ text: "called" }],
            });
          }),
          { numRuns: bridge === "fetch" ? 150 : 50 },
        );
      } finally {
        await line.close();
      }
    },
  );
});

function paramsOf(method: string, name: string): Record<string, unknown> {
  return method === "completion/complete"
    ? { ref: { type: "ref/prompt", name }, argument: { name, value: name } }
    : { name, uri: name };
}

describe.each(allRevisions.handshakes as readonly Revision[])("a client of %s", (revision) => {
  it("opens with its own handshake", () => {
    const adapter = allRevisions.find(revision);
    const written = adapter?.client.write({
      id: 1,
      method: "initialize",
      params: {},
      client: { ...client, icons: [{ src: "https://example.com/a.png" }] },
      capabilities: {},
      paramHeaders: [],
    });
    assertClientMessage(revision, written?.message);
    expect(written?.headers).toEqual({});
    expect(written?.message).toMatchObject({ params: initializeParams(revision) });
  });
});
