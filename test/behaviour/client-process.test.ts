/** A client of servers that are real processes. */
import { fileURLToPath } from "node:url";
import { type ClientOptions, connect, MemoryVerdicts } from "anyrev/client";
import { beforeAll, describe, expect, test } from "vitest";
import { refusal } from "../support/channel-client.ts";
import { patience, root, startFixture } from "../support/program.ts";
import { until } from "../support/visit.ts";
import { revisions } from "../support/wire.ts";

const old = fileURLToPath(new URL("../support/programs/old-server.mjs", import.meta.url));
const ofOld = (manner: string) => ({ command: process.execPath, args: [old, manner] });
const node = process.execPath;
const fixture = { command: node, args: ["build/fixture/server.js", "--stdio"], cwd: root };

beforeAll(async () => {
  const building = startFixture("--stdio");
  building.child.stdin.end();
  expect((await building.ended).code, building.stderr).toBe(0);
}, patience);

function isThere(pid: string): boolean {
  try {
    return process.kill(Number(pid), 0);
  } catch {
    return false;
  }
}

describe("the fixture as a process", () => {
  test.each(["auto", ...revisions])("is used in the revision %s", async (revision) => {
    const warnings: string[] = [];
    const client = await connect(fixture, {
      revisions: revision,
      verdicts: new MemoryVerdicts(),
      onAsk: ({ message }) => ({ action: "accept", content: { answer: message } }),
      onWarning: (warning) => warnings.push(warning),
    });
    expect(client.server.revision).toBe(revision === "auto" ? "2026-07-28" : revision);
    expect((await client.list("tools")).length).toBeGreaterThan(10);
    expect((await client.call("add", { a: 1, b: 2 })).text).toBe('{"sum":3}');
    const rounds = await client.call("ask_twice", { first: "one", second: "two" });
    expect(JSON.parse(rounds.text)).toMatchObject({ first: "one", second: "two" });
    let steps = 0;
    const onProgress = () => steps++;
    await client.call("count_to", { n: 3, delayMs: 30 }, { onProgress });
    expect(steps).toBe(3);
    const uris = ["test://last-cancelled"];
    const heard: unknown[] = [];
    const listening = await client.listen({ uris }, (change) => heard.push(change));
    const late = client.call("count_to", { n: 100, delayMs: 1_000 }, { timeoutMs: 50 });
    expect((await refusal(late)).kind).toBe("timeout");
    await until(
      () => heard,
      ({ length }) => length === 1,
    );
    await listening.close();
    await client.close();
    expect(warnings).toEqual([]);
  });
});

describe("a process that knows only the handshake", () => {
  const connectTo = (manner: string, options: ClientOptions = {}) =>
    connect(ofOld(manner), { verdicts: new MemoryVerdicts(), probeTimeoutMs: 300, ...options });

  test.each([
    ["R018: that refuses", "refuses"],
    ["R019: that is silent to", "silent"],
    ["R020: that ends at", "exits"],
  ])("%s any other first message is spoken to", async (_, manner) => {
    const client = await connectTo(manner);
    expect(client.server.revision).toBe("2024-11-05");
    const { text: pid } = await client.call("pid");
    expect(isThere(pid)).toBe(true);
    await client.close();
    expect(isThere(pid)).toBe(false);
  });

  test("R106: that logs to its output is spoken to, with a warning", async () => {
    const warnings: string[] = [];
    const client = await connectTo("logs", {
      probeTimeoutMs: 10_000,
      onWarning: (warning) => warnings.push(warning),
    });
    await client.call("pid");
    await client.close();
    expect(warnings).toEqual([expect.stringContaining("[db] connected")]);
  });

  test("is started once where it is remembered", async () => {
    const verdicts = new MemoryVerdicts();
    await (await connectTo("exits", { verdicts })).close();
    const startedAt = performance.now();
    const client = await connectTo("silent", { verdicts });
    expect(performance.now() - startedAt).toBeGreaterThan(290);
    await client.close();
    const again = performance.now();
    await (await connectTo("silent", { verdicts, probeTimeoutMs: 20_000 })).close();
    expect(performance.now() - again).toBeLessThan(10_000);
  });

  test("and ends within a call is started again by the next", async () => {
    const client = await connectTo("refuses");
    const { text: before } = await client.call("pid");
    const failed = await refusal(client.call("end"));
    expect(failed.kind).toBe("interrupted");
    expect(failed.message).toMatch(/exited with code 7/);
    const { text: after } = await client.call("pid");
    expect(after).not.toBe(before);
    await client.close();
    expect(isThere(after)).toBe(false);
  });

  test("and is killed between calls is started again by the next", async () => {
    const client = await connectTo("refuses");
    const { text: before } = await client.call("pid");
    process.kill(Number(before), "SIGKILL");
    await until(
      () => isThere(before),
      (there) => !there,
    );
    // Its end may be heard of only after the next call was sent to it.
    const after = await client.call("pid").catch(() => client.call("pid"));
    expect(after.text).not.toBe(before);
    await client.close();
  });

  test("that does not exist is unreachable", async () => {
    const failed = await refusal(connect({ command: "/no/such/program" }));
    expect(failed.kind).toBe("unreachable");
  });
});
