import { type Serving, serve } from "anyrev/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { connectSdk2, listening } from "../support/official.ts";
import { tour } from "../support/official-tour.ts";
import type { Revision } from "../support/wire.ts";

const handshakes: readonly Revision[] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

const streamsOnly = "text/event-stream";

describe.each([true, false])("the 2.x client, sessions %s", (sessions) => {
  let serving: Serving;
  beforeAll(async () => {
    serving = await serve(createFixture({ extra: true }), { port: 0, sessions });
  });
  afterAll(() => serving.close());

  test.each(handshakes)(
    "uses all of the server in %s as a client of that time",
    async (revision) => {
      const client = await connectSdk2(serving.url, {
        versionNegotiation: { mode: "legacy" },
        supportedProtocolVersions: [revision],
      });
      await tour(client, { revision, sessions, stride: sessions ? 1 : 20 });
      await client.ping();
      await client.endSession();
      await client.close();
      expect(client.recorder.of("DELETE").map(({ status }) => status)).toEqual(
        sessions ? [204] : [],
      );
      expect(client.recorder.problems(revision)).toEqual([]);
    },
  );

  test.each([{ mode: "auto" }, { mode: { pin: "2026-07-28" } }] as const)(
    "uses all of the server in 2026-07-28 with $mode",
    async ({ mode }) => {
      const client = await connectSdk2(serving.url, { versionNegotiation: { mode } });
      await tour(client, { revision: "2026-07-28", sessions, stride: sessions ? 1 : 20 });
      await client.endSession();
      await client.close();
      expect(client.recorder.of("initialize")).toEqual([]);
      expect(client.recorder.problems("2026-07-28")).toEqual([]);
    },
  );
});

describe("the 2.x client", () => {
  test.each([
    ["auto", "2026-07-28"],
    ["legacy", "2025-11-25"],
  ] as const)(
    "in mode %s reads event streams where it takes nothing else",
    async (mode, revision) => {
      await using serving = await serve(createFixture({ extra: true }), { port: 0 });
      const options = { versionNegotiation: { mode } };
      const client = await connectSdk2(serving.url, options, { accept: streamsOnly });
      await tour(client, { revision, sessions: true, stride: 20 });
      await client.close();
      expect(client.recorder.of("tools/call").map(({ type }) => type)).toContain(
        "text/event-stream",
      );
    },
  );

  test("finds by probing that only a handshake works, and makes it", async () => {
    await using serving = await serve(createFixture({ extra: true }), {
      port: 0,
      revisions: ["2025-11-25"],
    });
    const client = await connectSdk2(serving.url, { versionNegotiation: { mode: "auto" } });
    expect(client.recorder.of("server/discover")).toHaveLength(1);
    expect(client.recorder.of("initialize")).toHaveLength(1);
    await tour(client, { revision: "2025-11-25", sessions: true, stride: 20 });
    await client.close();
  });

  test.each(handshakes.slice(0, 3))("falls back to %s alone as well", async (revision) => {
    await using serving = await serve(createFixture(), { port: 0, revisions: [revision] });
    const client = await connectSdk2(serving.url, { versionNegotiation: { mode: "auto" } });
    expect(client.negotiated()).toBe(revision);
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({
      content: [{ type: "text", text: '{"sum":3}' }],
    });
    await client.close();
    expect(client.recorder.problems(revision, revision)).toEqual([]);
  });

  test("probes an endpoint of 2026-07-28 alone and uses it without a handshake", async () => {
    await using serving = await serve(createFixture({ extra: true }), {
      port: 0,
      revisions: ["2026-07-28"],
    });
    const client = await connectSdk2(serving.url, { versionNegotiation: { mode: "auto" } });
    await tour(client, { revision: "2026-07-28", sessions: true, stride: 20 });
    await client.close();
    expect(client.recorder.of("initialize")).toEqual([]);
  });

  test("learns from an endpoint without a handshake what would work", async () => {
    await using serving = await serve(createFixture(), { port: 0, revisions: ["2026-07-28"] });
    const connecting = connectSdk2(serving.url, { versionNegotiation: { mode: "legacy" } });
    await expect(connecting).rejects.toThrow(/server\/discover/);
    await expect(connecting).rejects.toThrow(/2026-07-28/);
  });

  test("is refused a pinned revision that the endpoint does not serve", async () => {
    await using serving = await serve(createFixture(), { port: 0, revisions: ["2025-11-25"] });
    const pinned = { mode: { pin: "2026-07-28" } };
    await expect(connectSdk2(serving.url, { versionNegotiation: pinned })).rejects.toMatchObject({
      code: -32022,
    });
  });

  test.each([
    ["auto", "2026-07-28"],
    ["legacy", "2025-11-25"],
  ] as const)("in mode %s hears of changes of the lists while it works", async (mode, revision) => {
    await using serving = await serve(createFixture(), { port: 0 });
    const { onChanged, heard } = listening();
    const client = await connectSdk2(serving.url, {
      versionNegotiation: { mode },
      listChanged: { tools: { onChanged } },
    });
    expect(client.negotiated()).toBe(revision);
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({
      structuredContent: { sum: 3 },
    });
    await client.callTool("toggle", { name: "newcomer" });
    expect(await heard).toContain("newcomer");
    await client.close();
    expect(client.recorder.problems(revision)).toEqual([]);
  });
});
