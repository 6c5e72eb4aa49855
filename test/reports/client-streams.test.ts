/** REPORTS.md, client side: streams, and how a call is given up. */
import { describe, expect, test } from "vitest";
import { refusal } from "../support/channel-client.ts";
import { overSender } from "../support/client-ways.ts";
import { last, methods, modern, none, older, using } from "../support/fake-endpoints.ts";
import { event, note, openStream, result, sendJson, sendStream } from "../support/fake-http.ts";
import { complete, textResult } from "../support/fake-peer.ts";
import { senderKinds } from "../support/http-client.ts";
import { until } from "../support/visit.ts";

describe("streams", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);

  test.each([
    [
      "cut within a character",
      (data: string) => [...bytes(`data: ${data}\n\n`)].map((byte) => new Uint8Array([byte])),
    ],
    [
      "of several lines of data",
      (data: string) => {
        const lines = JSON.stringify(JSON.parse(data), undefined, 1).split("\n");
        return [bytes(`${lines.map((line) => `data: ${line}\n`).join("")}\n`)];
      },
    ],
    ["after a byte order mark", (data: string) => [bytes(`\ufeffdata:${data}\n\n`)]],
    ["with CRLF", (data: string) => [bytes(`data: ${data}\r`), bytes("\n\r"), bytes("\n")]],
  ])("R058: carry a reply %s", async (_, pieces) => {
    await using fake = await modern(async ({ id }, response) => {
      openStream(response);
      for (const piece of pieces(result(id, textResult("日 {a, b}")))) {
        response.write(piece);
        await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
    });
    await using(fake.url, async (client) => {
      expect((await client.call("do")).text).toBe("日 {a, b}");
    });
  });

  test.each([
    ["an event that primes", "id: 1\ndata: \n\n"],
    ["a time to wait alone", "retry: 3000\n\n"],
    ["a ping", "event: ping\ndata:\n\n"],
    ["a ping with data", "event: ping\ndata: now\n\n"],
    ["a comment", ": keepalive\n\n"],
    ["garbage", "data: not json\n\n"],
  ])("R059: go on after %s", async (_, before) => {
    await using fake = await modern(({ id }, response) =>
      sendStream(response, before + event(result(id, textResult("done")))),
    );
    await using(fake.url, async (client) => {
      expect((await client.call("do")).text).toBe("done");
    });
  });

  test("R064: of listening that are answered at once end it, and are not asked for again", async () => {
    await using fake = await modern(({ id }, response) =>
      sendJson(response, result(id, complete({}))),
    );
    await using(fake.url, async (client) => {
      const listening = await client.listen({ lists: ["tools"] }, () => undefined);
      await listening.over;
      await new Promise((resolve) => setTimeout(resolve, 50));
    });
    expect(methods(fake)).toEqual(["server/discover", "subscriptions/listen"]);
  });

  test("R064: of listening that break are asked for again, at greater and greater distance", async () => {
    const times: number[] = [];
    await using fake = await modern(({ id, at }, response) => {
      times.push(at);
      const _meta = { "io.modelcontextprotocol/subscriptionId": id };
      const params = { _meta, notifications: { toolsListChanged: true } };
      openStream(response).write(event(note("notifications/subscriptions/acknowledged", params)));
      setTimeout(() => response.destroy(), 5);
    });
    await using(fake.url, async (client) => {
      const listening = await client.listen({ lists: ["tools"] }, () => undefined);
      await until(
        () => times,
        ({ length }) => length === 4,
      );
      await listening.close();
    });
    const [first, second, third] = times.slice(1).map((at, index) => at - times[index]!);
    expect(first).toBeGreaterThan(100);
    expect(second! + third!).toBeGreaterThan(2 * first! * 0.9);
  });
});

describe.each(senderKinds)("giving up over %s", (kind) => {
  test("R080: hangs up where that cancels, and says nothing", async () => {
    await using fake = await modern((_, response) => void openStream(response));
    const target = overSender(kind, fake.url);
    await using(target, async (client) => {
      const giveUp = new AbortController();
      const call = refusal(client.call("do", {}, { signal: giveUp.signal }));
      await until(
        () => methods(fake),
        (all) => all.includes("tools/call"),
      );
      giveUp.abort();
      expect((await call).kind).toBe("aborted");
      await until(
        () => last(fake).isGone(),
        (isGone) => isGone,
      );
    });
    expect(methods(fake)).toEqual(["server/discover", "tools/call"]);
  });

  test("R080: says so where hanging up does not cancel", async () => {
    await using fake = await older("2025-11-25", (request, response) =>
      request.method === "GET" ? none(request, response) : void openStream(response),
    );
    await using(
      overSender(kind, fake.url),
      async (client) => {
        const giveUp = new AbortController();
        const call = refusal(client.call("do", {}, { signal: giveUp.signal }));
        await until(
          () => methods(fake),
          (all) => all.includes("tools/call"),
        );
        giveUp.abort();
        expect((await call).kind).toBe("aborted");
        await until(
          () => methods(fake),
          (all) => all.includes("notifications/cancelled"),
        );
      },
      { revisions: "2025-11-25" },
    );
    const { id } = fake.requests.find(({ rpcMethod }) => rpcMethod === "tools/call")!;
    expect(JSON.parse(last(fake).body).params.requestId).toBe(id);
  });

  test("R080: a stream that broke in an older revision is taken up where it broke", async () => {
    await using fake = await older("2025-11-25", ({ method, id, headers }, response) => {
      if (method === "GET") {
        if (headers["last-event-id"] !== "7") return response.writeHead(405).end();
        const [call] = fake.requests.filter(({ rpcMethod }) => rpcMethod === "tools/call");
        return sendStream(response, event(result(call?.id, textResult("taken up")), "8"));
      }
      openStream(response).write(`id: 7\nretry: 10\ndata: \n\n`);
      expect(id).toBeDefined();
      return setTimeout(() => response.destroy(), 5);
    });
    await using(
      overSender(kind, fake.url),
      async (client) => expect((await client.call("do")).text).toBe("taken up"),
      { revisions: "2025-11-25" },
    );
    expect(methods(fake).filter((method) => method === "tools/call")).toHaveLength(1);
    expect(methods(fake)).not.toContain("notifications/cancelled");
  });
});
