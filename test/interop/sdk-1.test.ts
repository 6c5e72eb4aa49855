import { type Serving, serve } from "anyrev/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { connectSdk1, listening } from "../support/official.ts";
import { tour } from "../support/official-tour.ts";
import type { Revision } from "../support/wire.ts";

const handshakes: readonly Revision[] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

const streamsOnly = "text/event-stream";

describe.each([true, false])("the 1.x client, sessions %s", (sessions) => {
  let serving: Serving;
  beforeAll(async () => {
    serving = await serve(createFixture({ extra: true }), { port: 0, sessions });
  });
  afterAll(() => serving.close());

  test.each(handshakes)("uses all of the server in %s", async (revision) => {
    const client = await connectSdk1(serving.url, { offer: revision });
    await tour(client, { revision, sessions, stride: sessions ? 1 : 20 });
    await client.ping();
    await client.endSession();
    await client.close();
    expect(client.recorder.of("DELETE").map(({ status }) => status)).toEqual(sessions ? [204] : []);
    expect(client.recorder.problems(revision)).toEqual([]);
  });
});

describe("the 1.x client", () => {
  test("reads event streams where it takes nothing else", async () => {
    await using serving = await serve(createFixture({ extra: true }), { port: 0 });
    const client = await connectSdk1(serving.url, { accept: streamsOnly });
    await tour(client, { revision: "2025-11-25", sessions: true, stride: 20 });
    await client.close();
    expect(client.recorder.of("tools/call").map(({ type }) => type)).toContain("text/event-stream");
  });

  test("is answered in the newest handshake revision when it asks for one before the first", async () => {
    await using serving = await serve(createFixture(), { port: 0 });
    const client = await connectSdk1(serving.url, { offer: "2024-10-07" });
    expect(client.negotiated()).toBe("2025-11-25");
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({
      structuredContent: { sum: 3 },
    });
    await client.close();
    expect(client.recorder.problems("2025-11-25")).toEqual([]);
  });

  test.each(handshakes)("uses an endpoint that serves %s alone", async (revision) => {
    await using serving = await serve(createFixture(), { port: 0, revisions: [revision] });
    const client = await connectSdk1(serving.url);
    expect(client.negotiated()).toBe(revision);
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({
      content: [{ type: "text", text: '{"sum":3}' }],
    });
    await client.close();
    expect(client.recorder.problems(revision, revision)).toEqual([]);
  });

  test("learns from an endpoint without a handshake what would work", async () => {
    await using serving = await serve(createFixture(), { port: 0, revisions: ["2026-07-28"] });
    const connecting = connectSdk1(serving.url);
    await expect(connecting).rejects.toThrow(/server\/discover/);
    await expect(connecting).rejects.toThrow(/2026-07-28/);
    await expect(connecting).rejects.toMatchObject({ code: 404 });
  });

  test("hears of changes of the lists while it works", async () => {
    await using serving = await serve(createFixture(), { port: 0 });
    const { onChanged, heard } = listening();
    const client = await connectSdk1(
      serving.url,
      {},
      {
        listChanged: { tools: { onChanged } },
      },
    );
    await client.ping();
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({
      structuredContent: { sum: 3 },
    });
    await client.callTool("toggle", { name: "newcomer" });
    expect(await heard).toContain("newcomer");
    await client.close();
    expect(client.recorder.problems("2025-11-25")).toEqual([]);
  });

  test("is told that its session has ended", async () => {
    await using serving = await serve(createFixture(), { port: 0 });
    const client = await connectSdk1(serving.url);
    const other = new Headers({ "mcp-session-id": client.sessionId() ?? "" });
    expect((await fetch(serving.url, { method: "DELETE", headers: other })).status).toBe(204);
    await expect(client.callTool("add", { a: 1, b: 2 })).rejects.toMatchObject({ code: 404 });
    await client.close();
    expect(client.recorder.problems("2025-11-25")).toEqual([]);
  });
});
