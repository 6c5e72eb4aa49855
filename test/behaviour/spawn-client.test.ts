/** A client that starts its server as a process, and starts it again where it must. */
import { fileURLToPath } from "node:url";
import { type Client, connect } from "anyrev/client";
import { describe, expect, test } from "vitest";
import { until } from "../support/signals.ts";

const program = fileURLToPath(new URL("../support/programs/fake-server.mjs", import.meta.url));

function start(argument: string): Promise<Client> {
  const command = { command: process.execPath, args: [program, "handshake", argument] };
  return connect(command, { probeTimeoutMs: 1_000 });
}

/** The server's only tool is named by its process id. */
async function processOf(client: Client): Promise<number> {
  const [tool] = await client.list("tools");
  return Number(tool?.name);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("A server that needs a handshake, as a process", () => {
  test.each([
    ["R019", "says nothing to anything before", "hangs"],
    ["R020", "exits on anything before", "exits"],
    ["R020", "dies of anything before", "dies"],
  ])("%s: is started anew where it %s", async (_id, _how, argument) => {
    await using client = await start(argument);
    expect(client.server.revision).toBe("2025-06-18");
    const pid = await processOf(client);
    expect(isAlive(pid)).toBe(true);
    await client.close();
    expect(isAlive(pid)).toBe(false);
  });

  test("is started anew by the next call when it has ended", async () => {
    await using client = await start("exits");
    const first = await processOf(client);
    process.kill(first, "SIGKILL");
    await until("it is gone", () => !isAlive(first));
    await until("another is there", async () => {
      const next = await processOf(client).catch(() => first);
      return next !== first && isAlive(next);
    });
  });

  test("that cannot be started is no server", async () => {
    const connecting = connect({ command: "no-such-program-here" });
    await expect(connecting).rejects.toMatchObject({ kind: "unreachable" });
  });

  test("that ends whatever is said to it says why", async () => {
    const connecting = connect({
      command: process.execPath,
      args: ["-e", "console.error('no database'); process.exitCode = 2"],
    });
    await expect(connecting).rejects.toMatchObject({
      message:
        "the server exited with code 2; the last that it wrote to standard error:\n  no database",
    });
  });
});
