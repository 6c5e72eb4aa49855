/** What `npm start` runs, as a program: its output, its end, and its refusals. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, expect, test } from "vitest";
import { Client, overSocket } from "../support/client.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "notebook-program-"));
const children = new Set<ChildProcessWithoutNullStreams>();
/** A clean checkout is built first, on however slow a machine. */
const patience = 120_000;

afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  children.clear();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Program {
  readonly child: ChildProcessWithoutNullStreams;
  readonly output: () => string;
  readonly ended: Promise<number | null>;
}

function start(env: Record<string, string>): Program {
  const child = spawn(process.execPath, ["scripts/start.mjs"], {
    cwd: root,
    env: { ...process.env, PORT: "0", NOTEBOOK_PATH: join(folder, "book.sqlite"), ...env },
  });
  children.add(child);
  let output = "";
  const onData = (chunk: Buffer): void => {
    output += chunk.toString();
  };
  child.stdout.on("data", onData);
  child.stderr.on("data", onData);
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  return { child, output: () => output, ended };
}

/** The URL that the program prints; fails with what it printed when it ends without one. */
async function urlOf({ child, output, ended }: Program): Promise<URL> {
  const printed = new Promise<void>((resolve) => {
    child.stdout.on("data", () => {
      if (output().includes("Ctrl+C")) resolve();
    });
  });
  const code = await Promise.race([printed, ended]);
  if (code !== undefined) throw new Error(`ended with ${code}: ${output()}`);
  return new URL(/served at (\S+)/.exec(output())?.[1] ?? "");
}

test("npm start serves a notebook that outlives it, and stops in order", {
  timeout: patience,
}, async () => {
  const first = start({});
  const url = await urlOf(first);
  expect(url.pathname).toBe("/mcp");
  expect(first.output()).toContain(`claude mcp add --transport http notebook ${url}\n`);
  const snippet = JSON.parse(/^\{[\s\S]*^\}/m.exec(first.output())?.[0] ?? "");
  expect(snippet).toEqual({ mcpServers: { notebook: { type: "http", url: url.href } } });
  const writer = await Client.open(overSocket(Number(url.port)), "2025-06-18");
  const { result } = await writer.call("add_note", { title: "Kept", body: "over a restart" });
  expect(result?.["structuredContent"]).toMatchObject({ id: 1 });
  first.child.kill("SIGTERM");
  expect(await first.ended, first.output()).toBe(0);

  const second = start({});
  const reader = await Client.open(overSocket(Number((await urlOf(second)).port)), "2026-07-28");
  const found = await reader.call("search_notes", { query: "restart" });
  expect(found.result?.["structuredContent"]).toMatchObject({ total: 1, notes: [{ id: 1 }] });
  second.child.kill("SIGINT");
  expect(await second.ended, second.output()).toBe(0);
});

test("a port that is taken is named, with how to choose another", {
  timeout: patience,
}, async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as AddressInfo;
  const program = start({ PORT: String(port) });
  expect(await program.ended).toBe(1);
  expect(program.output()).toContain(`Port ${port} is taken`);
  expect(program.output()).toMatch(/PORT=\d+ npm start/);
  expect(program.output()).not.toContain("    at ");
  await new Promise((resolve) => other.close(resolve));
});

test("a port that is none and a file that is none are named", { timeout: patience }, async () => {
  const path = join(folder, "text.sqlite");
  writeFileSync(path, "This is no database, but a text of some length.".repeat(100));
  const noPort = start({ PORT: "eighty" });
  expect(await noPort.ended).toBe(1);
  expect(noPort.output()).toContain('PORT is "eighty"');
  const noFile = start({ NOTEBOOK_PATH: path });
  expect(await noFile.ended).toBe(1);
  expect(noFile.output()).toContain(`Cannot keep notes in ${path}`);
  expect(noFile.output()).toContain("NOTEBOOK_PATH");
  expect(noFile.output()).not.toContain("    at ");
});
