/** A client whose session is gone: it goes on in another one, as if nothing had happened. */
import type { Client, ClientOptions, ServerLog } from "anyrev/client";
import { MemorySessions } from "anyrev/node";
import { describe, expect, test } from "vitest";
import { refusal } from "../support/channel-client.ts";
import { openWay } from "../support/client-ways.ts";
import { connect } from "../support/connecting.ts";
import { FakeHttp, openStream, type Respond, result, sendJson } from "../support/fake-http.ts";
import { initializeResult } from "../support/fake-peer.ts";
import { type SenderKind, senderKinds } from "../support/http-client.ts";
import { handshakes } from "../support/matrix.ts";
import { Recording } from "../support/recording.ts";
import { createTourServer, type TourServer } from "../support/tour-server.ts";
import { until } from "../support/visit.ts";
import type { Revision } from "../support/wire.ts";

interface Losing {
  readonly client: Client;
  readonly tour: TourServer;
  readonly record: Recording;
  readonly warnings: readonly string[];
  /** The server forgets every session, as one that was started anew. */
  lose(): void;
}

async function losing(
  { way, revision }: { readonly way: SenderKind; readonly revision: Revision },
  options: ClientOptions,
  run: (losing: Losing) => Promise<void>,
): Promise<void> {
  const tour = createTourServer();
  const store = new MemorySessions();
  await using opened = await openWay(way, tour.server, { sessionStore: store });
  const record = new Recording(revision);
  const warnings: string[] = [];
  const onWarning = (warning: string) => warnings.push(warning);
  const target = record.target(opened.target);
  const client = await connect(target, { revisions: revision, onWarning, ...options });
  const lose = () => {
    const { session } = record.transports.at(-1)!;
    expect(store.delete(session!)).toBe(true);
  };
  try {
    await run({ client, tour, record, warnings, lose });
  } finally {
    await client.close();
  }
  expect(record.problems).toEqual([]);
}

const rows = senderKinds.flatMap((way) => handshakes.map((revision) => ({ way, revision })));

describe.each(rows)("a session lost in $revision over $way", (row) => {
  test("R043: is opened anew, and the request is repeated once", () =>
    losing(row, {}, async ({ client, record, lose }) => {
      await client.call("echo", { text: "before" });
      const [transport] = record.transports;
      const { session } = transport!;
      lose();
      expect((await client.call("echo", { text: "after" })).text).toBe("after");
      expect(transport!.session).not.toBe(session);
      expect(record.count("initialize")).toBe(2);
      expect(record.count("notifications/initialized")).toBe(2);
      expect(record.count("tools/call")).toBe(3);
      expect(record.transports).toHaveLength(1);
    }));

  test("is opened anew once for all calls that find out", () =>
    losing(row, {}, async ({ client, record, lose }) => {
      for (let round = 1; round <= 3; round++) {
        lose();
        const texts = Array.from({ length: 20 }, (_, index) => `${round} ${index}`);
        const results = await Promise.all(texts.map((text) => client.call("echo", { text })));
        expect(results.map(({ text }) => text)).toEqual(texts);
        expect(record.count("initialize")).toBe(1 + round);
        expect(record.count("tools/call")).toBeLessThanOrEqual(40 * round);
      }
    }));

  test("is told again what the one before was told, and what was missed is reported", () => {
    const entries: ServerLog[] = [];
    const options: ClientOptions = { logLevel: "warning", onLog: (entry) => entries.push(entry) };
    return losing(row, options, async ({ client, record, lose }) => {
      const heard: unknown[] = [];
      const interests = { lists: ["tools"], uris: ["note://a", "note://b"] } as const;
      const listening = await client.listen(interests, (change) => heard.push(change));
      await client.call("touch", { uri: "note://a" });
      await until(
        () => heard,
        ({ length }) => length === 1,
      );
      lose();
      await client.call("log");
      expect(heard.slice(1)).toEqual([
        { kind: "list-changed", list: "tools" },
        { kind: "resource-updated", uri: "note://a" },
        { kind: "resource-updated", uri: "note://b" },
      ]);
      await client.call("touch", { uri: "note://b" });
      await client.call("add_tool");
      await until(
        () => heard,
        ({ length }) => length === 6,
      );
      expect(entries).toMatchObject([{ level: "warning" }, { level: "error" }]);
      expect(record.count("logging/setLevel")).toBe(2);
      expect(record.count("resources/subscribe")).toBe(4);
      await listening.close();
      expect(record.count("resources/unsubscribe")).toBe(2);
    });
  });
});

/** A server of the handshake that is asked in sessions, and knows those that `knows` says. */
async function inSessions(
  knows: (session: unknown, opened: number) => boolean,
  answer: Respond,
  shaken: () => Promise<void> | undefined = () => undefined,
): Promise<FakeHttp> {
  let opened = 0;
  return FakeHttp.open(async (request, response) => {
    const session = request.headers["mcp-session-id"];
    if (request.rpcMethod === "initialize") {
      await shaken();
      const headers = { "mcp-session-id": `S${++opened}` };
      return sendJson(response, result(request.id, initializeResult("2025-11-25")), 200, headers);
    }
    if (!knows(session, opened)) return response.writeHead(404).end();
    if (request.method === "POST" && request.id === undefined) return response.writeHead(202).end();
    if (request.method === "DELETE") return response.writeHead(204).end();
    return answer(request, response);
  });
}

const opening: ClientOptions = { revisions: "2025-11-25" };
const newest = (session: unknown, opened: number) => session === `S${opened}`;
const done: Respond = ({ id }, response) => sendJson(response, result(id, { content: [] }));

describe("a session that is lost", () => {
  test("before it was of any use is an error of connecting", async () => {
    await using fake = await inSessions(() => false, done);
    const failed = await refusal(connect(fake.url, opening));
    expect(failed.kind).toBe("session-lost");
    expect(fake.having("POST")).toHaveLength(2);
  });

  test("R043: again after one renewal is an error, and the call is not sent a third time", async () => {
    let isLost = false;
    await using fake = await inSessions(
      () => true,
      (request, response) =>
        isLost && request.rpcMethod === "tools/call"
          ? response.writeHead(404).end()
          : done(request, response),
    );
    const client = await connect(fake.url, opening);
    await client.call("do");
    isLost = true;
    expect((await refusal(client.call("do"))).kind).toBe("session-lost");
    const calls = () => fake.requests.filter(({ rpcMethod }) => rpcMethod === "tools/call");
    expect(calls().map(({ headers }) => headers["mcp-session-id"])).toEqual(["S1", "S1", "S2"]);
    isLost = false;
    await client.call("do");
    expect(calls().at(-1)?.headers["mcp-session-id"]).toBe("S2");
    await client.close();
  });

  test("while a new one is opened keeps every call waiting for that", async () => {
    let known = "S1";
    let letGo: () => void = () => undefined;
    let isHeld = false;
    const held = () => (isHeld ? new Promise<void>((resolve) => (letGo = resolve)) : undefined);
    await using fake = await inSessions((session) => session === known, done, held);
    const client = await connect(fake.url, opening);
    known = "S2";
    isHeld = true;
    const first = client.call("first");
    await until(
      () => fake.requests.filter(({ rpcMethod }) => rpcMethod === "initialize"),
      ({ length }) => length === 2,
    );
    const others = [client.call("second"), client.call("third"), client.ping()];
    await new Promise((resolve) => setTimeout(resolve, 20));
    letGo();
    await first;
    await Promise.all(others);
    const posted = fake.having("POST").filter(({ id }) => id !== undefined);
    const outside = posted.filter(
      ({ rpcMethod, headers }) =>
        rpcMethod !== "initialize" && headers["mcp-session-id"] === undefined,
    );
    expect(outside).toEqual([]);
    expect(posted.filter(({ rpcMethod }) => rpcMethod === "initialize")).toHaveLength(2);
    await client.close();
  });

  test("and cannot be opened anew fails the call, and the next call tries again", async () => {
    let isDown = false;
    await using fake = await inSessions(
      newest,
      (request, response) => (isDown ? response.writeHead(404).end() : done(request, response)),
      () => (isDown ? Promise.reject(new Error("down")) : undefined),
    );
    const client = await connect(fake.url, opening);
    isDown = true;
    expect((await refusal(client.call("do"))).kind).toBe("interrupted");
    isDown = false;
    await client.call("do");
    const sessions = fake.having("POST").map(({ headers }) => headers["mcp-session-id"]);
    expect(sessions.at(-1)).toBe("S2");
    await client.close();
  });

  test("R043: is found out by the stream that listens, and renewed with what it heard", async () => {
    let isLost = false;
    const streams: { end(): void; write(text: string): void }[] = [];
    await using fake = await inSessions(
      (session, opened) => !isLost || (session === `S${opened}` && opened > 1),
      ({ method, id }, response) => {
        if (method === "GET") return streams.push(openStream(response));
        return sendJson(response, result(id, {}));
      },
    );
    const heard: unknown[] = [];
    const client = await connect(fake.url, opening);
    const listening = await client.listen({ uris: ["note://a"] }, (change) => heard.push(change));
    isLost = true;
    streams[0]?.end();
    await until(
      () => streams,
      ({ length }) => length === 2,
    );
    await until(
      () => heard,
      ({ length }) => length === 1,
    );
    const subscribed = fake.requests.filter(({ rpcMethod }) => rpcMethod === "resources/subscribe");
    expect(subscribed.map(({ headers }) => headers["mcp-session-id"])).toEqual(["S1", "S2"]);
    const params = { uri: "note://a" };
    const note = JSON.stringify({
      jsonrpc: "2.0",
      method: "notifications/resources/updated",
      params,
    });
    streams[1]?.write(`data: ${note}\n\n`);
    await until(
      () => heard,
      ({ length }) => length === 2,
    );
    await listening.close();
    await client.close();
  });

  test("and cannot be subscribed in again is opened all the same", async () => {
    let opened = 0;
    await using fake = await FakeHttp.open(({ rpcMethod, id, headers, method }, response) => {
      const session = headers["mcp-session-id"];
      if (rpcMethod === "initialize") {
        const capabilities = { logging: {}, resources: { subscribe: true } };
        const text = result(id, initializeResult("2025-11-25", capabilities));
        return sendJson(response, text, 200, { "mcp-session-id": `S${++opened}` });
      }
      if (method === "GET") return response.writeHead(405).end();
      if (id === undefined) return response.writeHead(202).end();
      if (session !== `S${opened}`) return response.writeHead(404).end();
      const error = { code: -32602, message: "No such resource." };
      if (opened > 1 && rpcMethod !== "tools/call") {
        return sendJson(response, JSON.stringify({ jsonrpc: "2.0", id, error }));
      }
      return sendJson(response, result(id, { content: [] }));
    });
    const warnings: string[] = [];
    const onWarning = (warning: string) => warnings.push(warning);
    const client = await connect(fake.url, { ...opening, logLevel: "info", onWarning });
    const listening = await client.listen({ uris: ["note://gone"] }, () => undefined);
    opened = 1;
    await client.call("do");
    opened++;
    warnings.length = 0;
    await client.call("do");
    expect(warnings).toEqual([
      expect.stringContaining("No such resource."),
      expect.stringContaining("note://gone"),
    ]);
    await listening.close();
    await client.close();
  });
});
