/** Serving over a pipe: lines in, lines out, whatever their pieces and whatever is between them. */
import { PassThrough, Writable } from "node:stream";
import { type Selection, serveStdio } from "anyrev/node";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { envelope, initializeParams, request } from "../support/messages.ts";
import { openPipe } from "../support/pipe.ts";
import { type Revision, revisions } from "../support/wire.ts";

const handshakes = revisions.filter((revision) => revision !== "2026-07-28");
const quiet = () => createFixture({ log: () => undefined });
const line = (message: object) => `${JSON.stringify(message)}\n`;
const sum = { structuredContent: { sum: 3 } };

describe.each(revisions)("over stdio in %s", (revision) => {
  test("everything can be listed, called, read and got", async () => {
    await using pipe = openPipe(quiet());
    const { end } = pipe;
    await end.open(revision);
    const { result: tools } = await end.ask(revision, "tools/list");
    expect(tools?.["tools"]).toContainEqual(expect.objectContaining({ name: "add" }));
    const added = await end.ask(revision, "tools/call", {
      name: "add",
      arguments: { a: 1, b: 2 },
    });
    expect(added.result).toMatchObject({ content: [{ type: "text", text: '{"sum":3}' }] });
    const read = await end.ask(revision, "resources/read", { uri: "test://static-text" });
    expect(read.result).toMatchObject({ contents: [{ uri: "test://static-text" }] });
    const got = await end.ask(revision, "prompts/get", { name: "test_simple_prompt" });
    expect(got.result).toMatchObject({ messages: [{ role: "user" }] });
    expect((await end.ask(revision, "no/such")).error).toMatchObject({ code: -32601 });
    expect((await end.ask(revision, "tools/call", { name: "no_such_tool" })).error).toMatchObject({
      code: -32602,
    });
    expect(end.problems).toEqual([]);
  });

  test("many calls at once are each answered, whoever is done first", async () => {
    await using pipe = openPipe(quiet());
    const { end } = pipe;
    await end.open(revision);
    const ids = Array.from({ length: 50 }, (_, index) =>
      end.start(revision, "tools/call", {
        name: "echo",
        arguments: { text: `${index}`, delayMs: index === 0 ? 500 : 0 },
      }),
    );
    const replies = await Promise.all(ids.map((id) => end.reply(id)));
    expect(replies.map(({ result }) => result)).toMatchObject(
      ids.map((_, index) => ({ content: [{ text: `{"text":"${index}"}` }] })),
    );
    expect(end.received.at(-1)?.["id"]).toBe(ids[0]);
    expect(end.problems).toEqual([]);
  });
});

describe("what a line on stdio is taken to be written in", () => {
  test.each(handshakes)(
    "R021: discovery before the handshake of %s selects nothing, and both eras go on",
    async (revision) => {
      await using pipe = openPipe(quiet());
      const { end } = pipe;
      const discover = request("2026-07-28", "d", "server/discover");
      const initialize = request(revision, "i", "initialize", initializeParams(revision));
      end.expect("2026-07-28", { ...discover });
      end.expect(revision, { ...initialize });
      end.write(line(discover) + line(initialize));
      expect((await end.reply("d")).result).toMatchObject({ resultType: "complete" });
      expect((await end.reply("i")).result).toMatchObject({ protocolVersion: revision });
      end.notify(revision, "notifications/initialized");
      for (const era of [revision, "2026-07-28", revision] as const) {
        const { result } = await end.ask(era, "tools/call", {
          name: "add",
          arguments: { a: 1, b: 2 },
        });
        expect(result).toMatchObject(era < "2025-06-18" ? {} : sum);
        expect(result !== undefined && "resultType" in result).toBe(era === "2026-07-28");
      }
      const old = await end.ask(revision, "server/discover");
      expect(old.result).toMatchObject({ supportedVersions: revisions });
      expect(end.problems).toEqual([]);
    },
  );

  test("R020: whatever comes before a handshake is answered, and the server lives", async () => {
    await using pipe = openPipe(quiet());
    const { end } = pipe;
    const early: Revision = "2025-03-26";
    expect((await end.ask(early, "tools/list")).result).toHaveProperty("tools");
    expect((await end.ask(early, "ping")).result).toEqual({});
    expect((await end.ask(early, "no/such")).error).toMatchObject({ code: -32601 });
    expect((await end.ask(early, "tools/call")).error).toMatchObject({ code: -32602 });
    expect((await end.ask(early, "server/discover")).result).toHaveProperty("supportedVersions");
    expect((await end.ask(early, "subscriptions/listen")).error).toMatchObject({ code: -32601 });
    end.notify(early, "notifications/initialized");
    end.notify(early, "notifications/no_such");
    end.write(line({ jsonrpc: "2.0", id: "never-asked", result: {} }));
    const before = end.lines;
    expect(await end.open("2025-11-25")).toHaveProperty("serverInfo");
    expect(end.lines).toBe(before + 1);
    expect(end.problems).toEqual([]);
  });

  test("each message is selected for by itself, with its reason", async () => {
    const heard: (readonly [string, string])[] = [];
    const onSelection = ({ revision, reason }: Selection) => void heard.push([revision, reason]);
    await using pipe = openPipe(quiet(), { onSelection });
    const { end } = pipe;
    await end.ask("2025-03-26", "ping");
    await end.ask("2026-07-28", "tools/list");
    await end.ask("2025-06-18", "initialize", initializeParams("2025-06-18"));
    await end.ask("2025-06-18", "ping");
    await end.ask("2026-07-28", "tools/list");
    await end.ask("2024-11-05", "initialize", initializeParams("2024-11-05"));
    await end.ask("2024-11-05", "ping");
    end.write("nonsense\n");
    await end.next((message) => "error" in message);
    expect(heard).toEqual([
      ["2025-03-26", "assumed"],
      ["2026-07-28", "body"],
      ["2025-11-25", "initialize"],
      ["2025-06-18", "session"],
      ["2026-07-28", "body"],
      ["2025-11-25", "initialize"],
      ["2024-11-05", "session"],
      ["2026-07-28", "unparseable"],
    ]);
    expect(end.problems).toEqual([]);
  });

  test("a version that is not served, or is none, is refused with what is served", async () => {
    await using pipe = openPipe(quiet());
    const { end } = pipe;
    const stating = (version: unknown) => ({
      _meta: {
        ...envelope("2026-07-28"),
        "io.modelcontextprotocol/protocolVersion": version,
      },
    });
    const unknown = await end.ask("2026-07-28", "tools/list", stating("v999.0.0"));
    expect(unknown.error).toMatchObject({
      code: -32022,
      data: { requested: "v999.0.0", supported: revisions },
    });
    const none = await end.ask("2026-07-28", "tools/list", stating(7));
    expect(none.error).toMatchObject({ code: -32602 });
    const lost = await end.ask("2026-07-28", "initialize", initializeParams("2026-07-28"));
    expect(lost.error).toMatchObject({
      code: -32601,
      message: expect.stringContaining("server/discover"),
    });
    expect(end.problems).toEqual([]);
  });

  test.each([
    ["2025-03-26", { batch: true }, true],
    ["2025-03-26", { batch: false }, false],
    ["2024-11-05", {}, false],
    ["2025-06-18", {}, false],
    ["2025-11-25", {}, false],
  ] as const)(
    "in %s with %o an array of messages is answered: %s",
    async (revision, options, served) => {
      await using pipe = openPipe(quiet(), options);
      const { end } = pipe;
      await end.open(revision);
      const pings = ["a", "b"].map((id) => ({ ...request(revision, id, "ping") }));
      if (served) for (const ping of pings) end.expect(revision, ping);
      const before = end.lines;
      end.write(line([...pings, { jsonrpc: "2.0", method: "notifications/no_such" }]));
      if (served) await Promise.all([end.reply("a"), end.reply("b")]);
      else
        expect(await end.next((each) => "error" in each)).toMatchObject({
          error: { code: -32600 },
        });
      expect((await end.ask(revision, "ping")).result).toEqual({});
      expect(end.lines).toBe(before + 2);
      expect(end.problems).toEqual([]);
    },
  );
});

describe("lines on stdio", () => {
  const ping = (id: number) => line(request("2025-03-26", id, "ping"));

  test("R107: two hundred messages of one chunk are answered in order, in one write", async () => {
    const input = new PassThrough();
    const written: string[] = [];
    const output = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        written.push(chunk.toString());
        done();
      },
    });
    const served = serveStdio(quiet(), { input, output });
    const ids = Array.from({ length: 200 }, (_, index) => index);
    input.end(ids.map(ping).join(""));
    await served;
    expect(written).toHaveLength(1);
    const replies = written.join("").trimEnd().split("\n");
    expect(replies.map((reply) => JSON.parse(reply).id)).toEqual(ids);
  });

  test("R107: carriage returns and blank lines are no matter, nor is a missing last newline", async () => {
    const pipe = openPipe(quiet());
    const { end } = pipe;
    for (const id of [1, 2, 3]) end.expect("2025-03-26", { ...request("2025-03-26", id, "ping") });
    end.write(`\r\n\n  \n${ping(1).trimEnd()}\r\n \t\r\n\n${ping(2)}\n${ping(3).trimEnd()}`);
    end.end();
    await pipe.served;
    expect(end.received.map(({ id }) => id)).toEqual([1, 2, 3]);
    expect(end.lines).toBe(3);
    expect(end.problems).toEqual([]);
  });

  test.each([1_000, undefined])(
    "R107: a line of 20 MiB is refused in time at a cap of %s, and the next one is served",
    async (maxLineBytes) => {
      await using pipe = openPipe(quiet(), { maxLineBytes });
      const { end } = pipe;
      const piece = "x".repeat(65_536);
      const startedAt = performance.now();
      for (let index = 0; index < 320; index++) end.write(piece);
      end.write("\n");
      expect((await end.ask("2025-03-26", "ping")).result).toEqual({});
      expect(performance.now() - startedAt).toBeLessThan(3_000);
      expect(end.received).toHaveLength(2);
      expect(end.received[0]).toMatchObject({ error: { code: -32700 } });
      expect(end.problems).toEqual([]);
    },
  );

  test("R107: a line of 20 MiB is served where the cap allows it", async () => {
    await using pipe = openPipe(quiet(), { maxLineBytes: 21 * 1_048_576 });
    const { end } = pipe;
    const text = "é".repeat(10 * 1_048_576);
    const startedAt = performance.now();
    const { result } = await end.ask("2025-03-26", "tools/call", {
      name: "echo",
      arguments: { text },
    });
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    const [block] = (result?.["content"] ?? []) as { readonly text: string }[];
    expect(block?.text.length).toBe(JSON.stringify({ text }).length);
  });

  const garbage: readonly (readonly [string, string | Uint8Array])[] = [
    ["words", "[db] connected"],
    ["half an object", '{"jsonrpc":"2.0","id":1,'],
    ["a number", "42"],
    ["null", "null"],
    ["a string", '"tools/list"'],
    ["an empty array", "[]"],
    ["an object that is no message", "{}"],
    ["another protocol", '{"jsonrpc":"1.0","id":"old","method":"ping"}'],
    ["an HTTP request", "GET /mcp HTTP/1.1"],
    ["a bracket too deep", "[".repeat(10_000)],
    [
      "nesting",
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":${"[".repeat(100)}${"]".repeat(100)}}`,
    ],
    ["two messages", `${ping(1).trimEnd()} ${ping(2).trimEnd()}`],
    ["bytes that are not UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d])],
    [
      "a message with a byte that is not UTF-8",
      Buffer.concat([
        Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"'),
        Buffer.from([0xc3]),
        Buffer.from('"}}'),
      ]),
    ],
    ["zeros", Buffer.alloc(64)],
  ];
  test.each(garbage)("a line of %s is answered with one error, and survived", async (_, bytes) => {
    await using pipe = openPipe(quiet());
    const { end } = pipe;
    end.write(Buffer.concat([Buffer.from(bytes), Buffer.from("\n")]));
    const { result } = await end.ask("2025-03-26", "tools/list");
    expect(result).toHaveProperty("tools");
    expect(end.received).toHaveLength(2);
    const { code, message } = (end.received[0]?.["error"] ?? {}) as Record<string, unknown>;
    expect([-32700, -32600]).toContain(code);
    expect(message).toMatch(/\w/);
    expect(end.problems).toEqual([]);
  });

  test("input is decoded alike in whatever pieces it comes", async () => {
    const script = Buffer.concat([
      Buffer.from(line(request("2025-11-25", 1, "initialize", initializeParams("2025-11-25")))),
      Buffer.from(`${ping(2).trimEnd()}\r\n\r\n`),
      Buffer.from(line(request("2025-11-25", 3, "tools/call", { name: "größe ☕ 漢字 😀" }))),
      Buffer.from([0x22, 0xe2, 0x98, 0x0a, 0x95, 0x22, 0x0a]),
      Buffer.from(`nonsense\n\n${line(request("2026-07-28", "ü", "no/such"))}`),
      Buffer.from(ping(4).trimEnd()),
    ]);
    const whole = await transcript([script]);
    expect(whole.trimEnd().split("\n")).toHaveLength(8);
    const cuts = fc.uniqueArray(fc.integer({ min: 1, max: script.length - 1 }), { maxLength: 40 });
    const check = fc.asyncProperty(cuts, async (at) => {
      expect(await transcript(cut(script, at))).toBe(whole);
    });
    await fc.assert(check, { numRuns: 2_000 });
    const bytes = Array.from(script, (_, index) => script.subarray(index, index + 1));
    expect(await transcript(bytes)).toBe(whole);
  });

  const small = quiet();
  async function transcript(pieces: readonly Uint8Array[]): Promise<string> {
    const input = new PassThrough();
    let written = "";
    const output = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        written += chunk.toString();
        done();
      },
    });
    const served = serveStdio(small, { input, output });
    for (const piece of pieces) input.write(piece);
    input.end();
    await served;
    return written;
  }
});

function cut(bytes: Uint8Array, at: readonly number[]): Uint8Array[] {
  const ends = [...at.toSorted((one, other) => one - other), bytes.length];
  return ends.map((stop, index) => bytes.subarray(ends[index - 1] ?? 0, stop));
}
