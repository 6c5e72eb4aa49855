/** A request's own stream: what is read from it, and what is passed over. */
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import {
  event,
  FakeHttp,
  note,
  openStream,
  type Respond,
  refusal,
  result,
  sendStream,
} from "../support/fake-http.ts";
import { failureOf, Link, senderKinds } from "../support/http-client.ts";
import { until } from "../support/signals.ts";

describe.each(senderKinds)("over %s,", (sender) => {
  async function asking(respond: Respond, ask: (link: Link, fake: FakeHttp) => Promise<void>) {
    await using fake = await FakeHttp.open(respond);
    await using link = new Link(sender, fake.url, "2025-11-25", { maxMessageBytes: 5_000 });
    await ask(link, fake);
  }

  it.each([
    ["CRLF", (text: string) => text.replaceAll("\n", "\r\n")],
    ["CR", (text: string) => text.replaceAll("\n", "\r")],
    ["a byte order mark", (text: string) => `\ufeff${text}`],
    ["comments", (text: string) => `: hello\n\n:\n${text}`],
    ["unknown fields", (text: string) => `x: 1\ny\n${text}`],
    ["unknown events", (text: string) => `event: ping\ndata: {}\n\nevent: ping\ndata:\n\n${text}`],
    ["empty data", (text: string) => `id: 1\ndata: \n\nretry: 3000\n\n${text}`],
    ["blank lines", (text: string) => `\n\n\n${text}\n\n`],
    ["named events", (text: string) => `event: message\n${text}`],
  ])("a reply is read from a stream with %s", (_what, spoil) =>
    asking(
      ({ id }, response) => sendStream(response, spoil(event(result(id)))),
      async (link) => {
        const { reply, status } = await link.ask("tools/list");
        expect(reply).toMatchObject({ id: 1, result: { done: true } });
        expect(status).toBeUndefined();
        expect(link.recorder.warnings).toEqual([]);
      },
    ),
  );

  it("the reply ends the wait, however long the stream stays open", () =>
    asking(
      ({ id }, response) => openStream(response).write(event(result(id))),
      async (link, fake) => {
        await link.ask("tools/list");
        // Nobody reads on for ever.
        await until("the connection is let go of", () => fake.requests[0]?.isGone() === true);
        expect(link.sender.underWay).toBe(0);
      },
    ));

  it("what follows the reply in time is still handed up", () =>
    asking(
      ({ id }, response) => {
        openStream(response).write(event(result(id)));
        setTimeout(() => response.end(event(note("notifications/late"))), 30);
      },
      async (link) => {
        await link.ask("tools/list");
        await until("it came", () => link.recorder.methods.includes("notifications/late"));
        expect(link.recorder.heard[0]?.during).toBe(1);
      },
    ));

  it("requests and notifications are handed up as they come, with the request they belong to", () =>
    asking(
      ({ id }, response) => {
        openStream(response).write(event(note("notifications/message", { n: 1 })));
        setTimeout(() => {
          response.write(event('{"jsonrpc":"2.0","id":"q","method":"roots/list"}'));
          response.write(event(`[${note("notifications/a")},${note("notifications/b")}]`));
        }, 20);
        setTimeout(() => response.end(event(result(id))), 60);
      },
      async (link) => {
        const asked = link.ask("tools/call", { name: "x", arguments: {} });
        await until("the first came", () => link.recorder.heard.length === 1);
        await asked;
        expect(link.recorder.methods).toEqual([
          "notifications/message",
          "roots/list",
          "notifications/a",
          "notifications/b",
        ]);
        expect(link.recorder.heard.map(({ during }) => during)).toEqual([1, 1, 1, 1]);
        expect(link.recorder.heard[1]?.message).toMatchObject({ kind: "request", id: "q" });
      },
    ));

  it("garbage and replies to others are passed over with a warning", () =>
    asking(
      ({ id }, response) =>
        sendStream(
          response,
          [
            "not json",
            "{",
            "7",
            '{"jsonrpc":"2.0"}',
            result("1"),
            result(2),
            '{"jsonrpc":"2.0","id":null,"result":{}}',
            result(id),
          ]
            .map((data) => event(data))
            .join(""),
        ),
      async (link) => {
        const { reply } = await link.ask("tools/list");
        expect(reply.result).toEqual({ done: true });
        expect(link.recorder.warnings).toHaveLength(7);
        expect(link.recorder.heard).toEqual([]);
      },
    ));

  it("an error without an id on a request's own stream is its reply", () =>
    asking(
      (_request, response) => sendStream(response, event(refusal(null, -32_603))),
      async (link) => {
        const { reply } = await link.ask("tools/list");
        expect(reply).toMatchObject({ id: null, error: { code: -32_603 } });
      },
    ));

  it("a reply that is malformed is invalid, and not waited for any longer", () =>
    asking(
      ({ id }, response) => openStream(response).write(event(`{"jsonrpc":"2.0","id":${id}}`)),
      async (link) => {
        expect((await failureOf(link.ask("tools/list"))).kind).toBe("invalid-answer");
        expect(link.sender.underWay).toBe(0);
      },
    ));

  it("calls that share a server never get one another's replies", () =>
    asking(
      async ({ id }, response) => {
        openStream(response);
        // Every stream carries the replies of all, with a stranger's last but one.
        for (let other = 1; other <= 8; other++) {
          if (other !== id) response.write(event(result(other, { of: other, on: id })));
        }
        await delay(5 * (8 - Number(id)));
        response.end(event(result(id, { of: id, on: id })));
      },
      async (link) => {
        const replies = await Promise.all(
          Array.from({ length: 8 }, () => link.ask("tools/call", { name: "x", arguments: {} })),
        );
        expect(replies.map(({ reply }) => reply.result)).toEqual(
          Array.from({ length: 8 }, (_, at) => ({ of: at + 1, on: at + 1 })),
        );
      },
    ));

  it.each([
    ["at once", 5_000],
    ["in pieces", 100],
  ])("an event of more than the cap that comes %s is too large", (_how, length) =>
    asking(
      async ({ id }, response) => {
        openStream(response).on("error", () => undefined);
        const text = event(result(id, "x".repeat(6_000)));
        for (let at = 0; at < text.length && !response.destroyed; at += length) {
          response.write(text.slice(at, at + length));
          if (length < 1_000) await delay(1);
        }
        response.end();
      },
      async (link) => {
        const failure = await failureOf(link.ask("tools/list"));
        expect(failure.kind).toBe("too-large");
        expect(link.sender.underWay).toBe(0);
      },
    ),
  );

  it("many events are no large one", () =>
    asking(
      ({ id }, response) => {
        const notes = event(note("notifications/x", "x".repeat(900))).repeat(50);
        sendStream(response, notes + event(result(id)));
      },
      async (link) => {
        await link.ask("tools/list");
        expect(link.recorder.heard).toHaveLength(50);
      },
    ));

  it("a silent stream is broken after the idle time, and one with signs of life is not", async () => {
    let keepsAlive = false;
    await using fake = await FakeHttp.open(async ({ id }, response) => {
      openStream(response);
      for (let left = 6; left > 0 && !response.destroyed; left--) {
        if (keepsAlive) response.write(":\n\n");
        await delay(50);
      }
      response.end(event(result(id)));
    });
    await using link = new Link(sender, fake.url, "2025-11-25", { idleTimeoutMs: 150 });
    expect((await failureOf(link.ask("tools/list"))).kind).toBe("interrupted");
    keepsAlive = true;
    expect((await link.ask("tools/list")).reply.result).toEqual({ done: true });
  });
});
