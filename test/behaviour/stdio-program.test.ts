/** Programs that serve over their own standard input and output. */
import { once } from "node:events";
import { beforeAll, describe, expect, test } from "vitest";
import { initializeParams, request } from "../support/messages.ts";
import { PipeEnd } from "../support/pipe.ts";
import { Program, patience, startFixture } from "../support/program.ts";
import { revisions } from "../support/wire.ts";

const noisy = "test/support/programs/noisy.mjs";
const line = (message: object) => `${JSON.stringify(message)}\n`;
const call = (id: number, name: string) => request("2025-03-26", id, "tools/call", { name });

/** The fixture as a client starts it, after it was built. */
const fixture = (...args: readonly string[]) =>
  new Program("build/fixture/server.js", "--stdio", ...args);

const endOf = ({ child }: Program) => new PipeEnd(child.stdin, child.stdout);

async function took(ending: Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await ending;
  return performance.now() - startedAt;
}

beforeAll(async () => {
  const building = startFixture("--stdio");
  building.child.stdin.end();
  expect(await building.ended, building.stderr).toEqual({ code: 0, signal: null });
  expect(building.stdout).toBe("");
}, patience);

describe("the fixture over stdio", () => {
  test("serves every revision on one pipe, and ends with its input", async () => {
    await using program = fixture();
    const end = endOf(program);
    for (const revision of revisions) {
      await end.open(revision);
      const { result } = await end.ask(revision, "tools/call", {
        name: "add",
        arguments: { a: 1, b: 2 },
      });
      expect(result).toMatchObject({ content: [{ text: '{"sum":3}' }] });
    }
    end.end();
    expect(await took(program.ended)).toBeLessThan(1_900);
    expect(await program.ended).toEqual({ code: 0, signal: null });
    expect(program.stderr).toBe("");
    expect(end.problems).toEqual([]);
  });

  test("R021: answers discovery and a handshake that were sent before it was there", async () => {
    await using program = fixture();
    const end = endOf(program);
    const discover = request("2026-07-28", 0, "server/discover");
    const initialize = request("2025-11-25", 1, "initialize", initializeParams("2025-11-25"));
    end.expect("2026-07-28", { ...discover });
    end.expect("2025-11-25", { ...initialize });
    end.write(line(discover) + line(initialize));
    expect((await end.reply(0)).result).toMatchObject({ supportedVersions: revisions });
    expect((await end.reply(1)).result).toMatchObject({ protocolVersion: "2025-11-25" });
    expect(end.problems).toEqual([]);
  });

  test("R020: lives through a first message of any kind", async () => {
    await using program = fixture();
    const end = endOf(program);
    end.write("what is this?\n");
    end.notify("2025-03-26", "notifications/no_such");
    expect((await end.ask("2025-03-26", "no/such")).error).toMatchObject({ code: -32601 });
    expect(await end.open("2025-06-18")).toHaveProperty("serverInfo");
    expect(program.child.exitCode).toBeNull();
    expect(end.problems).toEqual([]);
  });

  test("serves the revisions that it is told to, and more tools", async () => {
    await using program = fixture("--extra", "--revisions", "2025-06-18,2024-11-05");
    const end = endOf(program);
    const discover = await end.ask("2025-06-18", "initialize", initializeParams("2025-06-18"));
    expect(discover.result).toMatchObject({ protocolVersion: "2025-06-18" });
    const { result } = await end.ask("2025-06-18", "tools/call", { name: "generated_199" });
    expect(result).toMatchObject({ content: [{ text: "tool 199" }] });
    const modern = await end.ask("2026-07-28", "tools/list");
    expect(modern.message).toMatchObject({
      error: { code: -32022, data: { supported: ["2025-06-18", "2024-11-05"] } },
    });
  });

  test.each(["SIGTERM", "SIGINT"] as const)(
    "finishes a call in flight at %s, and exits with 0",
    async (signal) => {
      await using program = fixture();
      const end = endOf(program);
      await end.ask("2025-03-26", "ping");
      const args = { name: "echo", arguments: { text: "late", delayMs: 200 } };
      const id = end.start("2025-03-26", "tools/call", args);
      await end.ask("2025-03-26", "ping");
      program.child.kill(signal);
      expect((await end.reply(id)).result).toMatchObject({ content: [{ type: "text" }] });
      expect(await program.ended).toEqual({ code: 0, signal: null });
      expect(end.problems).toEqual([]);
    },
  );
});

describe("a program over stdio that was written carelessly", () => {
  test("R105: exits with 0 when it has no input at all", async () => {
    await using program = new Program(noisy, "exit");
    program.child.stdin.end();
    expect(await program.ended).toEqual({ code: 0, signal: null });
    expect(program.stdout).toBe("");
  });

  test.each(["exit", "return"])(
    "R105: ends within two seconds of its input (%s), with a call and timers pending",
    async (ending) => {
      await using program = new Program(noisy, ending);
      const end = endOf(program);
      await end.open("2025-11-25");
      const id = end.start("2025-11-25", "tools/call", { name: "hang" });
      await end.ask("2025-11-25", "ping");
      end.end();
      expect(await took(program.ended)).toBeLessThan(2_000);
      expect(await program.ended, program.stderr).toEqual({ code: 0, signal: null });
      expect((await end.reply(id)).error).toMatchObject({ code: -32800 });
      expect(end.problems).toEqual([]);
    },
  );

  test.each(["exit", "return"])(
    "R105: ends when nobody reads its output any more (%s)",
    async (ending) => {
      await using program = new Program(noisy, ending);
      const { stdin, stdout } = program.child;
      stdin.write(line(call(1, "shout")));
      await once(stdout, "data");
      stdin.write(line(call(2, "hang")));
      stdout.destroy();
      const writing = setInterval(() => stdin.write(line(call(3, "large"))), 5);
      try {
        expect(await took(once(program.child, "exit"))).toBeLessThan(2_000);
        expect(program.child.exitCode, program.stderr).toBe(0);
        expect(program.stderr).not.toContain("EPIPE");
      } finally {
        clearInterval(writing);
      }
    },
  );

  test("R105: writes all that it answered before it exits, however slowly that is read", async () => {
    await using program = new Program(noisy, "exit");
    const end = endOf(program);
    await end.ask("2025-03-26", "ping");
    program.child.stdout.pause();
    const ids = Array.from({ length: 8 }, () =>
      end.start("2025-03-26", "tools/call", { name: "large" }),
    );
    end.end();
    setTimeout(() => program.child.stdout.resume(), 300);
    expect(await program.ended).toEqual({ code: 0, signal: null });
    expect(end.received.slice(1).map(({ id }) => id)).toEqual(ids);
    expect(end.problems).toEqual([]);
  });

  test("R106: writes nothing but protocol to its output, whatever it says on the console", async () => {
    await using program = new Program(noisy, "exit");
    const end = endOf(program);
    await end.open("2025-11-25");
    const { result } = await end.ask("2025-11-25", "tools/call", { name: "shout" });
    expect(result).toMatchObject({ content: [{ text: "shouted" }] });
    end.end();
    await program.ended;
    expect(end.problems).toEqual([]);
    expect(end.lines).toBe(2);
    const said = ["log", "info", "debug", "warn", "error", "dir", "dirxml", "trace"];
    for (const by of [...said, "table", "group", "count", "time", "assert"]) {
      expect(program.stderr).toContain(by);
    }
  });

  test("R107: takes a line of 20 MiB for what it is, and goes on", async () => {
    await using program = new Program(noisy, "exit");
    const end = endOf(program);
    const startedAt = performance.now();
    end.write(`${"x".repeat(20 * 1_048_576)}\n`);
    expect((await end.ask("2025-03-26", "ping")).result).toEqual({});
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect(end.received[0]).toMatchObject({ error: { code: -32700 } });
    expect(end.problems).toEqual([]);
  });
});
