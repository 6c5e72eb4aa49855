/** What a server writes to its standard output finds its request, is handed up, or is passed over. */
import { describe, expect, it } from "vitest";
import { fakeServer, refusal } from "../support/channel-client.ts";
import { until } from "../support/signals.ts";

const mebibyte = 1_048_576;

describe("Over the standard output of a server", () => {
  it("R106: logs are passed over with a warning each, and every reply is read", async () => {
    await using client = fakeServer("logs");
    expect(await client.ask(1, { a: 1 })).toMatchObject({ result: { echoed: { a: 1 } } });
    expect(await client.ask(2)).toMatchObject({ id: 2 });
    await until("the last warning", () => client.warnings.length === 12);
    expect(client.warnings.slice(0, 7)).toEqual([
      "passed over a line that is no message: [db] connected",
      "passed over a line that is no message: INFO {not json}",
      'passed over what is no message: jsonrpc must be the string "2.0"',
      "passed over what is no message: a message is a JSON object, not an integer",
      "passed over what is no message: a message is a JSON object, not null",
      "passed over a line that is not UTF-8",
      "passed over a line that is no message: done",
    ]);
  });

  it.each([["crlf"], ["bom"], ["pieces"], ["unterminated"]])(
    "R107: a reply is read that comes as %s",
    async (mode) => {
      await using client = fakeServer(mode);
      expect(await client.ask(1, {})).toMatchObject({ id: 1 });
      expect(client.warnings).toEqual([]);
    },
  );

  it("R107: one line of 20 MiB is read", async () => {
    await using client = fakeServer("large", { argument: 20 * mebibyte });
    const { result } = await client.ask(1);
    expect((result as { text: string }).text).toHaveLength(20 * mebibyte);
  });

  it.each([[true], [false]])(
    "R107: a line over the cap rejects what it answers and spares the rest (id first: %s)",
    async (idFirst) => {
      await using client = fakeServer("large", {
        argument: 2 * mebibyte,
        maxMessageBytes: mebibyte,
      });
      const [large, error] = [refusal(client.ask(7, { idFirst })), refusal(client.ask("7"))];
      expect((await large).kind).toBe("too-large");
      expect((await large).message).toBe("the reply is larger than 1048576 bytes");
      expect((await error).kind).toBe("too-large");
      expect(client.warnings).toEqual(
        Array.from({ length: 2 }, () => "passed over a message of more than 1048576 bytes"),
      );
    },
  );

  it("R107: two hundred thousand notifications at once come in order, before the reply", async () => {
    await using client = fakeServer("floods", { argument: 200_000 });
    await client.ask(1);
    expect(client.received).toHaveLength(200_000);
    expect(client.received.every(({ params }, at) => (params as { at: number }).at === at)).toBe(
      true,
    );
  });

  it("a server that reads nothing is not sent more than the cap", async () => {
    await using client = fakeServer("deaf", {
      spawn: { maxQueuedBytes: mebibyte, exitMs: 50 },
    });
    const abort = new AbortController();
    const text = "x".repeat(100_000);
    const asked = Array.from({ length: 40 }, (_, id) =>
      refusal(client.ask(id, { text }, abort.signal)),
    );
    const first = await Promise.race(asked);
    expect(first.kind).toBe("unreachable");
    expect(first.message).toBe("the server has left more than 1048576 bytes unread");
    abort.abort(new Error("enough"));
    const errors = await Promise.all(asked);
    const refused = errors.filter(({ kind }) => kind === "unreachable");
    expect(refused.length).toBeGreaterThan(25);
    expect(refused.length).toBeLessThan(40);
  });

  it("replies that cross find their requests", async () => {
    await using client = fakeServer("crosses");
    const replies = await Promise.all([client.ask(1, { a: 1 }), client.ask("1", { a: "1" })]);
    expect(replies).toMatchObject([
      { id: 1, result: { echoed: { a: 1 } } },
      { id: "1", result: { echoed: { a: "1" } } },
    ]);
  });

  it("an array is taken as the messages in it, and an array within as none", async () => {
    await using client = fakeServer("array");
    expect(await client.ask(1, { a: 1 })).toMatchObject({ result: { echoed: { a: 1 } } });
    expect(client.received).toMatchObject([{ kind: "notification", method: "notifications/x" }]);
    await until("a warning", () => client.warnings.length > 0);
    expect(client.warnings).toEqual([
      "passed over what is no message: a message is a JSON object, not an array",
    ]);
  });

  it("a request of the server's is no reply, though it has the id of one", async () => {
    await using client = fakeServer("asks");
    const asked = client.ask(1);
    await until("a question", () => client.received.length > 0);
    expect(client.received).toMatchObject([{ kind: "request", id: 1, method: "roots/list" }]);
    await client.say({ id: 1, result: { roots: [] } });
    expect(await asked).toMatchObject({ result: { answered: { roots: [] } } });
  });
});
