/** A server as a child process: how it starts, what it is given, and how it ends. */
import { realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { childEnvironment } from "../../src/node/child-environment.ts";
import { spawnServer } from "../../src/node/spawn.ts";
import { ChannelClient, fakeServer, refusal } from "../support/channel-client.ts";
import { until } from "../support/signals.ts";

const quick = { exitMs: 300, termMs: 300, killMs: 2_000 };

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function gone(pid: number): Promise<void> {
  for (let tries = 0; isAlive(pid) && tries < 100; tries++) await sleep(20);
  expect(isAlive(pid), `process ${pid} lives`).toBe(false);
}

/** What keeps this process alive on behalf of children. */
function held(): readonly string[] {
  return process
    .getActiveResourcesInfo()
    .filter((name) => name === "ProcessWrap" || name === "PipeWrap")
    .sort();
}

/** What a program says first on its standard error. */
function firstLine(): { readonly stderr: (line: string) => void; readonly line: Promise<string> } {
  let stderr: (line: string) => void = () => undefined;
  const line = new Promise<string>((resolve) => {
    stderr = resolve;
  });
  return { stderr, line };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

describe("A server that is spawned", () => {
  it("is spoken with over its standard input and output", async () => {
    await using client = fakeServer("echo");
    expect(await client.ask(1, { a: "☕" })).toMatchObject({
      id: 1,
      result: { echoed: { a: "☕" } },
    });
    expect(client.warnings).toEqual([]);
  });

  it("has no shell: what is in its arguments is not expanded", async () => {
    await using client = new ChannelClient(
      spawnServer({
        command: process.execPath,
        args: [
          "-e",
          "process.stdout.write(JSON.stringify({jsonrpc:'2.0',method:'m',params:{args:process.argv.slice(1)}})+'\\n')",
          "$HOME",
          "`id`; exit",
          "*",
          "",
        ],
      }),
    );
    await client.start();
    await client.gone;
    expect(client.received).toMatchObject([{ params: { args: ["$HOME", "`id`; exit", "*", ""] } }]);
  });

  it("works in the folder that is given", async () => {
    const folder = await realpath(tmpdir());
    await using client = fakeServer("folder", { spawn: { cwd: folder } });
    expect(await client.ask(1)).toMatchObject({ result: { folder } });
  });

  it("is told the few variables that programs need, and those that are given", async () => {
    process.env["ANYREV_TEST_SECRET"] = "secret";
    try {
      const given = { GREETING: "hello $HOME", HOME: undefined };
      await using client = fakeServer("environment", { spawn: { env: given } });
      const { result } = await client.ask(1);
      expect(result).toMatchObject({ GREETING: "hello $HOME", PATH: process.env["PATH"] });
      expect(result).not.toHaveProperty("HOME");
      expect(result).not.toHaveProperty("ANYREV_TEST_SECRET");
    } finally {
      delete process.env["ANYREV_TEST_SECRET"];
    }
  });

  it("cannot be reached when there is no such program", async () => {
    const command = "no-such-program-here";
    await using client = new ChannelClient(spawnServer({ command, args: ["secret"] }));
    const { kind, message } = await refusal(client.ask(1));
    expect({ kind, message }).toEqual({
      kind: "unreachable",
      message: "cannot start no-such-program-here: there is no such program",
    });
  });

  it.each([
    ["a folder that is none", { command: process.execPath, cwd: "/no/such/folder" }],
    ["a program that is a folder", { command: tmpdir() }],
    ["a name that cannot be one", { command: "a\0b" }],
    ["arguments that are too long", { command: process.execPath, args: ["x".repeat(5_000_000)] }],
  ])("cannot be reached with %s", async (_, options) => {
    await using client = new ChannelClient(spawnServer(options));
    const error = await refusal(client.start());
    expect(error.kind).toBe("unreachable");
    expect(error.message).toMatch(/^cannot start /);
    expect(error.message.length).toBeLessThan(200);
  });
});

describe("A server that goes by itself", () => {
  it("rejects what is under way, and says how it went with its last words", async () => {
    await using client = fakeServer("exits-on-first-line");
    const errors = await Promise.all([refusal(client.ask(1)), refusal(client.ask(2))]);
    const [{ kind, message }] = errors;
    expect({ kind, message }).toEqual({
      kind: "interrupted",
      message:
        "the server exited with code 3; the last that it wrote to standard error:\n" +
        "  ExpectedInitializeRequest\n  ExpectedInitializeRequest",
    });
    expect(errors.map((error) => error.kind)).toEqual(["interrupted", "interrupted"]);
    expect((await client.gone).kind).toBe("interrupted");
  });

  it("refuses what is asked later", async () => {
    await using client = fakeServer("exits-on-first-line");
    await refusal(client.ask(1));
    const { kind, message } = await refusal(client.ask(2));
    expect(kind).toBe("closed");
    expect(message).toMatch(/^the server exited with code 3/);
    expect((await refusal(client.say({ method: "notifications/x" }))).kind).toBe("closed");
  });

  it("says the signal that ended it", async () => {
    await using client = fakeServer("killed-on-first-line");
    expect((await refusal(client.ask(1))).message).toBe("the server was ended by SIGKILL");
  });

  it("is quoted with its last ten lines, cut short", async () => {
    await using client = fakeServer("exits-at-once");
    await client.start();
    const { message } = await client.gone;
    const [first, ...lines] = message.split("\n");
    expect(first).toMatch(/^the server exited with code 1; /);
    expect(lines.map((line) => line.slice(0, 10))).toEqual(
      Array.from({ length: 10 }, (_, at) => `  line ${at + 21} `),
    );
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(310);
  });

  it("is gone when it closes its output, and is ended", async () => {
    await using client = fakeServer("closes-output", { spawn: quick });
    const error = await refusal(client.ask(1));
    expect(error.kind).toBe("interrupted");
    expect(error.message).toBe("the server closed its standard input or output");
  });

  it("is gone when it reads no more, and a broken pipe harms nobody", async () => {
    const { stderr, line } = firstLine();
    await using client = fakeServer("closes-input", {
      spawn: { ...quick, stderr },
    });
    await client.start();
    expect(await line).toBe("closed");
    for (let id = 1; id <= 3; id++) {
      const error = await refusal(client.ask(id, { text: "x".repeat(200_000) }));
      expect(error.kind).toBe(id === 1 ? "interrupted" : "closed");
    }
  });

  it("takes a wrapper and its child with it", async () => {
    const { stderr, line } = firstLine();
    await using client = fakeServer("wraps", {
      argument: "stubborn",
      spawn: { ...quick, stderr },
    });
    await client.ask(1);
    const pid = Number(await line);
    process.kill(pid, "SIGKILL");
    await gone(pid);
    await client.close();
  });
});

describe("A server that is closed", () => {
  it("ends with its input, after it has read what was sent last", async () => {
    const lines: string[] = [];
    const client = fakeServer("at-end", { spawn: { stderr: (line) => lines.push(line) } });
    await client.start();
    void client.say({ method: "notifications/one" });
    void client.say({ method: "notifications/two", params: { text: "x".repeat(1_000) } });
    expect(await timed(() => client.close())).toBeLessThan(1_500);
    expect(JSON.parse(lines.join(""))).toMatchObject([
      { method: "notifications/one" },
      { method: "notifications/two" },
    ]);
  });

  it("rejects what is under way", async () => {
    const client = fakeServer("hangs");
    await client.start();
    const error = refusal(client.ask(1));
    await Promise.resolve();
    await client.close();
    expect((await error).kind).toBe("closed");
    expect((await refusal(client.ask(2))).kind).toBe("closed");
  });

  it("is told to end when it does not end with its input", async () => {
    const client = fakeServer("ends-on-term", { spawn: { ...quick, termMs: 5_000 } });
    await client.ask(1);
    const ms = await timed(() => client.close());
    expect(ms).toBeGreaterThan(290);
    expect(ms).toBeLessThan(2_000);
  });

  it("is made to end when it does not do as it is told", async () => {
    const lines: string[] = [];
    const client = fakeServer("stubborn", {
      spawn: { ...quick, stderr: (line) => lines.push(line) },
    });
    const { result } = await client.ask(1);
    expect(result).toBeDefined();
    const ms = await timed(() => client.close());
    expect(ms).toBeGreaterThan(590);
    expect(ms).toBeLessThan(3_000);
    expect(lines).toEqual(["no"]);
  });

  it("ends though it still writes without end", async () => {
    const client = fakeServer("floods", { argument: 200_000, spawn: quick });
    const flooded = client.ask(1).catch(() => undefined);
    await until("a flood", () => client.received.length > 0);
    expect(await timed(() => client.close())).toBeLessThan(3_000);
    await flooded;
  });

  it.each([["echo"], ["stubborn"]])(
    "takes a wrapper's child with it, one that behaves as %s",
    async (argument) => {
      const { stderr, line } = firstLine();
      const client = fakeServer("wraps", {
        argument,
        spawn: { ...quick, stderr },
      });
      await client.ask(1);
      const pid = Number(await line);
      expect(isAlive(pid)).toBe(true);
      await client.close();
      await gone(pid);
    },
  );

  it("may be closed before it is started, while it starts, and often", async () => {
    const never = fakeServer("echo");
    await never.close();
    expect((await refusal(never.ask(1))).kind).toBe("closed");

    const early = fakeServer("hangs", { spawn: quick });
    const starting = early.start();
    await early.close();
    await starting;
    expect((await refusal(early.ask(1))).kind).toBe("closed");
    await Promise.all([early.close(), early.close()]);
  });

  it("leaves no process, no zombie and no handle", async () => {
    // What other tests have closed takes a moment to be let go of.
    await sleep(300);
    const before = held();
    const pids: number[] = [];
    for (const mode of ["echo", "stubborn", "closes-output", "exits-on-first-line", "deaf"]) {
      const { stderr, line } = firstLine();
      const client = fakeServer(mode, {
        spawn: { ...quick, env: { TELL_PID: "1" }, stderr },
      });
      await client.start();
      pids.push(Number(await line));
      void client.ask(1).catch(() => undefined);
      await client.close();
    }
    for (const pid of pids) expect(isAlive(pid)).toBe(false);
    await until("handles are let go of", () => held().length <= before.length);
    expect(held()).toEqual(before);
  });
});

describe("What a server writes to standard error", () => {
  it("is heard line by line, however long a line is", async () => {
    const lines: string[] = [];
    await using client = new ChannelClient(
      spawnServer({
        command: process.execPath,
        args: [
          "-e",
          "process.stderr.write('a\\r\\n\\n☕'+'x'.repeat(1e6)+'\\nb\\n'+'y'.repeat(1e6)); process.exitCode=0",
        ],
        stderr: (line) => lines.push(line),
      }),
    );
    await client.start();
    await client.gone;
    expect(lines.map((line) => `${line.slice(0, 2)} ${line.length}`)).toEqual([
      "a 1",
      " 0",
      "☕x 8193",
      "b 1",
      "yy 8193",
    ]);
  });
});

describe("The environment of a child", () => {
  const own = {
    PATH: "/bin",
    HOME: "/home/me",
    LANG: "C.UTF-8",
    LC_ALL: "C",
    TMPDIR: "/tmp",
    SHELL: "() { evil; }",
    API_KEY: "secret",
    NODE_OPTIONS: "--inspect",
  };

  it("has no keys, no functions, and nothing that changes how programs run", () => {
    expect(childEnvironment({}, own, "linux")).toEqual({
      PATH: "/bin",
      HOME: "/home/me",
      LANG: "C.UTF-8",
      LC_ALL: "C",
      TMPDIR: "/tmp",
    });
  });

  it("has what is given, and lacks what is taken away", () => {
    const given = { API_KEY: "mine", HOME: undefined };
    expect(childEnvironment(given, { PATH: "/bin", HOME: "/" }, "linux")).toEqual({
      PATH: "/bin",
      API_KEY: "mine",
    });
  });

  it("takes names of any case for one variable on Windows", () => {
    const windows = { Path: "C:\\bin", SystemRoot: "C:\\Windows", HOME: "no", Secret: "no" };
    expect(childEnvironment({ PATH: "D:\\bin" }, windows, "win32")).toEqual({
      PATH: "D:\\bin",
      SystemRoot: "C:\\Windows",
    });
    expect(childEnvironment({ path: "a" }, { path: "b", PATH: "c" }, "linux")).toEqual({
      path: "a",
      PATH: "c",
    });
  });
});
