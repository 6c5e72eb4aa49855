/** The fixture as outside checks start it: its one line, its options, and its end. */
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { beforeAll, describe, expect, test } from "vitest";
import { fixtureTokens } from "../../fixture/auth.ts";
import { Client, overSocket } from "../support/client.ts";
import { overSocket as workerAt } from "../support/live.ts";
import { Program, patience, root, startFixture } from "../support/program.ts";
import { openSse } from "../support/sse-peer.ts";
import { revisions } from "../support/wire.ts";

const fixture = (...args: readonly string[]) => new Program("build/fixture/server.js", ...args);

async function portOf(program: Program): Promise<number> {
  const [, port] = await program.printed(/^listening http:\/\/127\.0\.0\.1:(\d+)\/mcp\n$/);
  return Number(port);
}

/** Stops it as outside checks do. */
async function stop(program: Program): Promise<void> {
  program.child.kill("SIGTERM");
  expect(await program.ended, program.stderr).toEqual({ code: 0, signal: null });
  expect(program.stdout.match(/\n/g)).toHaveLength(1);
}

beforeAll(async () => {
  await using building = startFixture();
  await portOf(building);
  await stop(building);
}, patience);

describe("the fixture", () => {
  test("says where it listens, serves every revision there, and stops when told to", async () => {
    await using program = fixture();
    const port = await portOf(program);
    for (const revision of revisions) {
      const client = await Client.open(overSocket(port), revision);
      const { result } = await client.call("add", { a: 1, b: 2 });
      expect(result).toMatchObject({ content: [{ text: '{"sum":3}' }] });
    }
    await stop(program);
    expect(program.stderr).toBe("");
  });

  test("listens on this machine alone, at the port that it is given", async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const address = taken.address();
    const port = typeof address === "object" ? (address?.port ?? 0) : 0;
    await using refused = fixture("--port", String(port));
    expect(await refused.ended).toEqual({ code: 1, signal: null });
    expect(refused.stderr).toContain("EADDRINUSE");
    await new Promise((resolve) => taken.close(resolve));
    await using program = fixture("--port", String(port));
    expect(await portOf(program)).toBe(port);
    await stop(program);
  });

  test.each(["SIGTERM", "SIGINT"] as const)(
    "finishes the calls in flight at %s, and exits with 0",
    async (signal) => {
      await using program = fixture();
      const client = await Client.open(overSocket(await portOf(program)), "2026-07-28");
      const calling = client.call("echo", { text: "late", delayMs: 300 });
      await client.call("add", { a: 1, b: 2 });
      program.child.kill(signal);
      expect((await calling).result).toMatchObject({ content: [{ text: '{"text":"late"}' }] });
      expect(await program.ended).toEqual({ code: 0, signal: null });
    },
  );

  test("serves more with --extra, less with --revisions, and no sessions with --sessions off", async () => {
    const options = ["--extra", "--sessions", "off", "--revisions", "2025-06-18,2026-07-28"];
    await using program = fixture(...options);
    const port = await portOf(program);
    const client = await Client.open(overSocket(port), "2025-06-18");
    expect(await client.list("tools/list", "tools")).toContainEqual(
      expect.objectContaining({ name: "generated_199" }),
    );
    const { result } = await client.call("whoami");
    expect(result?.["structuredContent"]).toMatchObject({ session: null });
    const modern = await Client.open(overSocket(port), "2026-07-28");
    expect((await modern.ask("server/discover")).result).toMatchObject({
      supportedVersions: ["2026-07-28", "2025-06-18"],
    });
    await stop(program);
  });

  test("serves HTTP+SSE beside the endpoint with --sse, and ends its streams", async () => {
    await using program = fixture("--sse");
    const port = await portOf(program);
    const { end, ended } = await openSse(workerAt({ port, close: async () => undefined }));
    await end.open("2024-11-05");
    const args = { name: "add", arguments: { a: 1, b: 2 } };
    expect((await end.ask("2024-11-05", "tools/call", args)).result).toHaveProperty("content");
    await stop(program);
    await ended;
    expect(end.problems).toEqual([]);
  });

  test("asks who is calling with --auth, on every route, and says where tokens are from", async () => {
    await using program = fixture("--auth", "--sse");
    const url = `http://127.0.0.1:${await portOf(program)}`;
    const authorization = `Bearer ${fixtureTokens.bob}`;
    const accept = "text/event-stream";
    for (const [path, method] of [
      ["/mcp", "POST"],
      ["/mcp", "GET"],
      ["/mcp", "DELETE"],
      ["/sse", "GET"],
      ["/messages", "POST"],
    ] as const) {
      const refused = await fetch(`${url}${path}`, { method, headers: { accept } });
      expect([path, method, refused.status]).toEqual([path, method, 401]);
      const challenge = refused.headers.get("www-authenticate") ?? "";
      const metadata = /resource_metadata="([^"]+)", scope="read"$/.exec(challenge)?.[1] ?? "";
      const document = await (await fetch(metadata)).json();
      expect(document).toMatchObject({ resource: `${url}${path === "/mcp" ? path : "/sse"}` });
    }
    const send = overSocket(Number(new URL(url).port));
    const asBob: typeof send = (headers, body) => send({ ...headers, authorization }, body);
    for (const revision of revisions) {
      const client = await Client.open(asBob, revision);
      const { result } = await client.call("whoami", {});
      expect(JSON.stringify(result)).toContain('\\"subject\\":\\"bob\\"');
    }
    await stop(program);
  });

  test.each([
    [["--bogus"], "--bogus"],
    [["stray"], "stray"],
    [["--port"], "--port"],
    [["--port", "http"], "http"],
    [["--port", "70000"], "70000"],
    [["--sessions", "maybe"], "maybe"],
    [["--store", "memcached"], "memcached"],
    [["--stdio", "--sse"], "--sse"],
    [["--stdio", "--auth"], "--auth"],
    [["--revisions", "2025-01-01"], "2025-01-01"],
    [["--stdio", "--revisions", ""], "2025-06-18"],
  ] as const)("refuses %j plainly", async (args, named) => {
    await using program = fixture(...args);
    program.child.stdin.end();
    expect(await program.ended).toEqual({ code: 1, signal: null });
    expect(program.stdout).toBe("");
    expect(program.stderr).toContain(named);
    expect(program.stderr).not.toContain("    at ");
  });

  test("is stopped by a signal to the npm that runs it", { timeout: patience }, async () => {
    const child = spawn("npm", ["run", "--silent", "fixture", "--", "--port", "0"], {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
    const listening = new Promise<void>((resolve) => {
      child.stdout.on("data", (chunk: Buffer) => {
        output += chunk.toString();
        if (output.endsWith("\n")) resolve();
      });
    });
    await Promise.race([listening, ended]);
    const url = /^listening (http:\/\/127\.0\.0\.1:\d+\/mcp)\n$/.exec(output)?.[1] ?? "";
    expect((await fetch(url, { method: "PUT" })).status).toBe(405);
    child.kill("SIGTERM");
    expect(await ended).toBe(0);
    await expect(fetch(url)).rejects.toThrow();
  });
});
