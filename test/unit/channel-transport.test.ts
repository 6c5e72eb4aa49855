/** What comes over a duplex finds its request, is handed up, or is passed over. */
import { createServer, openMemoryChannel } from "anyrev";
import { describe, expect, it } from "vitest";
import { type Duplex, type DuplexReader, memoryDuplex } from "../../src/client/duplex.ts";
import { ClientError } from "../../src/client/errors.ts";
import { ChannelClient, refusal } from "../support/channel-client.ts";
import { initializeParams } from "../support/messages.ts";
import type { JsonObject } from "../support/schemas.ts";
import { until } from "../support/signals.ts";

/** A duplex whose other end is the test. */
class Wire implements Duplex {
  readonly sent: JsonObject[] = [];
  /** What the next message fails to be sent for. */
  refusal: Error | undefined;
  closes = 0;
  #reader: DuplexReader | undefined;

  async open(reader: DuplexReader): Promise<void> {
    this.#reader = reader;
  }

  send(message: JsonObject): void {
    if (this.refusal !== undefined) throw this.refusal;
    this.sent.push(message);
  }

  async close(): Promise<void> {
    this.closes++;
  }

  get reader(): DuplexReader {
    if (this.#reader === undefined) throw new Error("it is not open");
    return this.#reader;
  }

  sentInAll(count: number): Promise<void> {
    return until("it is sent", () => this.sent.length === count);
  }

  say(message: unknown): void {
    this.reader.text(JSON.stringify(message));
  }

  reply(id: unknown, result: unknown = {}): void {
    this.say({ jsonrpc: "2.0", id, result });
  }

  fail(id: unknown, message = "no"): void {
    this.say({ jsonrpc: "2.0", id, error: { code: -32600, message } });
  }
}

function open(options = {}): { readonly wire: Wire; readonly client: ChannelClient } {
  const wire = new Wire();
  return { wire, client: new ChannelClient(wire, options) };
}

const nobody = "passed over a reply to a request that nobody made";

describe("A reply", () => {
  it("finds its request by an id of the same type", async () => {
    const { wire, client } = open();
    const asked = client.ask(1);
    await wire.sentInAll(1);
    wire.reply("1", { wrong: true });
    wire.reply(1, { right: true });
    expect(await asked).toMatchObject({ result: { right: true } });
    expect(client.warnings).toEqual([nobody]);
  });

  it("comes once: a second one is passed over", async () => {
    const { wire, client } = open();
    const asked = client.ask(1);
    await wire.sentInAll(1);
    wire.reply(1, { first: true });
    wire.reply(1, { second: true });
    expect(await asked).toMatchObject({ result: { first: true } });
    expect(client.warnings).toEqual([nobody]);
  });

  it("may come within the call that sends its request", async () => {
    const { wire, client } = open();
    await client.start();
    wire.send = (message) => wire.reply(message["id"], { near: true });
    expect(await client.ask(1)).toMatchObject({ result: { near: true } });
    expect(client.warnings).toEqual([]);
  });

  it("to a request that was given up is expected by nobody and surprises nobody", async () => {
    const { wire, client } = open();
    const abort = new AbortController();
    const asked = refusal(client.ask(1, {}, abort.signal));
    await wire.sentInAll(1);
    abort.abort(new Error("enough"));
    expect((await asked).message).toBe("enough");
    wire.reply(1);
    expect(client.warnings).toEqual([]);
    wire.reply(1);
    expect(client.warnings).toEqual([nobody]);
  });

  it("is remembered to be unwanted for the last thousand requests only", async () => {
    const { wire, client } = open();
    const abort = new AbortController();
    const asked = Array.from({ length: 1_200 }, (_, id) =>
      refusal(client.ask(id, {}, abort.signal)),
    );
    await wire.sentInAll(1_200);
    abort.abort(new Error("enough"));
    await Promise.all(asked);
    for (let id = 0; id < 1_200; id++) wire.reply(id);
    expect(client.warnings).toHaveLength(200);
  });

  it.each([
    ["has neither result nor error", { jsonrpc: "2.0", id: 1 }],
    ["does not say its version", { id: 1, result: {} }],
    ["says another version", { jsonrpc: "1.0", id: 1, result: {} }],
  ])("that %s rejects its request at once", async (_, reply) => {
    const { wire, client } = open();
    const asked = refusal(client.ask(1));
    await wire.sentInAll(1);
    wire.say(reply);
    expect((await asked).kind).toBe("invalid-answer");
  });

  it("that nests too deep, or names its id twice, rejects its request", async () => {
    const { wire, client } = open({ maxDepth: 10 });
    const [deep, twice] = [refusal(client.ask(1)), refusal(client.ask(2))];
    await wire.sentInAll(2);
    wire.reader.text(`{"jsonrpc":"2.0","id":1,"result":${"[".repeat(10)}${"]".repeat(10)}}`);
    wire.reader.text('{"jsonrpc":"2.0","id":1,"id":2,"result":{}}');
    expect(await deep).toMatchObject({
      kind: "invalid-answer",
      message: "the reply is no message: the message nests deeper than 10 levels",
    });
    expect((await twice).kind).toBe("invalid-answer");
    wire.reader.text("[".repeat(1_000_000));
    expect(client.warnings).toHaveLength(1);
  });
});

describe("An error without an id", () => {
  it.each([[null], [undefined]])("is about the only message there was (id %s)", async (id) => {
    const { wire, client } = open();
    const asked = client.ask(1);
    await wire.sentInAll(1);
    wire.fail(id, "what?");
    expect(await asked).toMatchObject({ id: null, error: { message: "what?" } });
  });

  it("is about no request while there are two", async () => {
    const { wire, client } = open();
    const asked = [client.ask(1), client.ask(2)];
    await wire.sentInAll(2);
    wire.fail(null, "what?");
    wire.reply(1);
    wire.reply(2);
    expect(await Promise.all(asked)).toMatchObject([{ id: 1 }, { id: 2 }]);
    expect(client.warnings).toEqual(["the server reports an error without an id: what?"]);
  });

  it("may be about a notification, until a later request is answered", async () => {
    const { wire, client } = open();
    await client.start();
    await client.say({ method: "notifications/initialized" });
    const second = client.ask(2);
    await wire.sentInAll(2);
    wire.fail(null, "unknown notification");
    wire.reply(2);
    expect(await second).toMatchObject({ id: 2 });
    expect(client.warnings).toHaveLength(1);
    const third = client.ask(3);
    await wire.sentInAll(3);
    wire.fail(null, "cannot read that");
    expect(await third).toMatchObject({ error: { message: "cannot read that" } });
  });

  it("may be about a request that was given up", async () => {
    const { wire, client } = open();
    const abort = new AbortController();
    const first = refusal(client.ask(1, {}, abort.signal));
    const second = client.ask(2);
    await wire.sentInAll(2);
    abort.abort(new Error("enough"));
    await first;
    wire.fail(null);
    wire.reply(2);
    expect(await second).toMatchObject({ id: 2, result: {} });
  });
});

describe("What a server says on its own", () => {
  it("is handed up as it comes, and no reply to it is taken for one of its own", async () => {
    const { wire, client } = open();
    const asked = client.ask(5);
    await wire.sentInAll(1);
    wire.say({ jsonrpc: "2.0", method: "notifications/message", params: { a: 1 } });
    wire.say({ jsonrpc: "2.0", id: 5, method: "ping" });
    wire.say({ jsonrpc: "2.0", id: 5, method: 5 });
    expect(client.received).toMatchObject([
      { kind: "notification", method: "notifications/message", params: { a: 1 } },
      { kind: "request", id: 5, method: "ping" },
    ]);
    wire.reply(5);
    expect(await asked).toMatchObject({ id: 5 });
  });

  it("warns of what is passed over in short, plain text", async () => {
    const { wire, client } = open();
    await client.start();
    wire.reader.text(`\u001b]0;title\u0007\u001b[31m${"x".repeat(10_000)}\u0000`);
    expect(client.warnings).toEqual([`passed over a line that is no message: ${"x".repeat(200)}…`]);
  });
});

describe("A channel that is gone", () => {
  it("rejects what is under way once, and tells so once", async () => {
    const { wire, client } = open();
    const asked = [refusal(client.ask(1)), refusal(client.ask(2))];
    await wire.sentInAll(2);
    wire.reader.closed(new Error("reset"));
    wire.reader.closed(new Error("again"));
    wire.reply(1);
    const errors = await Promise.all(asked);
    for (const error of errors) {
      expect(error).toBeInstanceOf(ClientError);
      expect(error).toMatchObject({
        kind: "interrupted",
        message: "the connection to the server broke",
        cause: new Error("reset"),
      });
    }
    expect(await client.gone).toBe(errors[0]);
    expect((await refusal(client.ask(3))).kind).toBe("closed");
    expect(wire.sent).toHaveLength(2);
  });

  it("is closed all the same, and once closed says nothing more", async () => {
    const { wire, client } = open();
    const asked = refusal(client.ask(1));
    await wire.sentInAll(1);
    await client.close();
    expect((await asked).kind).toBe("closed");
    wire.reader.closed(new Error("late"));
    wire.say({ jsonrpc: "2.0", method: "notifications/late" });
    wire.reader.text("late");
    expect(client.received).toEqual([]);
    expect(client.warnings).toEqual([]);
    expect(wire.closes).toBe(1);
  });

  it("breaks within the call that sends", async () => {
    const { wire, client } = open();
    await client.start();
    wire.send = () => {
      wire.reader.closed(new Error("reset"));
      throw new ClientError("unreachable", "not sent");
    };
    expect((await refusal(client.ask(1))).message).toBe("not sent");
    expect((await client.gone).kind).toBe("interrupted");
  });
});

describe("A request that cannot be sent", () => {
  it("is forgotten, and the next one is sent", async () => {
    const { wire, client } = open();
    await client.start();
    wire.refusal = new ClientError("unreachable", "full");
    expect((await refusal(client.ask(1))).message).toBe("full");
    wire.refusal = undefined;
    const asked = client.ask(2);
    await wire.sentInAll(1);
    wire.fail(null, "about the second");
    expect(await asked).toMatchObject({ error: { message: "about the second" } });
  });

  it("is not sent when it is given up before", async () => {
    const { wire, client } = open();
    const signal = AbortSignal.abort(new Error("enough"));
    expect((await refusal(client.ask(1, {}, signal))).message).toBe("enough");
    expect(wire.sent).toEqual([]);
  });
});

describe("A server in memory", () => {
  it("is spoken with as any other", async () => {
    const server = createServer({ name: "near", version: "1.0.0" });
    server.tool("hello", { description: "Greets." }, () => "hello");
    await using client = new ChannelClient(
      memoryDuplex((onMessage) => openMemoryChannel(server, onMessage)),
    );
    await client.start();
    const { signal } = new AbortController();
    const ask = (message: JsonObject) =>
      client.transport.request(
        { message: { jsonrpc: "2.0", ...message }, headers: {} },
        { signal, resumption: "none" },
      );
    const opened = await ask({
      id: 1,
      method: "initialize",
      params: initializeParams("2025-11-25"),
    });
    expect(opened.reply.result).toMatchObject({ protocolVersion: "2025-11-25" });
    await client.say({ method: "notifications/initialized" });
    const { reply } = await ask({ id: 2, method: "tools/call", params: { name: "hello" } });
    expect(reply.result).toMatchObject({ content: [{ type: "text", text: "hello" }] });
    expect(client.warnings).toEqual([]);
  });
});
