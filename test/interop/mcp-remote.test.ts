/** mcp-remote between our client, whose child it is, and our server. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Client, type ClientOptions, connect } from "anyrev/client";
import { serve } from "anyrev/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { callEveryTool } from "../support/every-tool.ts";
import { Heard, processTarget, strayed } from "../support/peers.ts";
import { type Revision, revisions } from "../support/schemas.ts";
import { Traffic } from "../support/traffic.ts";

const program = fileURLToPath(
  new URL("../../node_modules/mcp-remote/dist/proxy.js", import.meta.url),
);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mcp-remote-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** Calls every tool of the fixture through mcp-remote. */
async function walk(
  path: string,
  strategy: string,
  accepted: ClientOptions["revisions"],
  expected: Revision,
): Promise<ReadonlyMap<string, string>> {
  await using serving = await serve(createFixture(), { port: 0, legacySse: true });
  const url = new URL(path, serving.url).href;
  const traffic = new Traffic();
  const heard = new Heard();
  const target = processTarget(
    {
      command: process.execPath,
      args: [program, url, "--allow-http", "--transport", strategy],
      env: { MCP_REMOTE_CONFIG_DIR: folder },
    },
    traffic,
  );
  const client = await connect(target, { ...heard.options, revisions: accepted });
  try {
    const texts = await callEveryTool(toWalker(client, heard));
    expect(strayed(traffic, expected)).toEqual([]);
    expect(heard.warnings).toEqual([]);
    return texts;
  } finally {
    await client.close();
  }
}

function toWalker(client: Client, heard: Heard): Parameters<typeof callEveryTool>[0] {
  return {
    negotiated: client.server.revision,
    problems: heard.warnings,
    asked: heard.asked,
    listTools: async () => ({ tools: await client.list("tools") }),
    callTool: (name, args) =>
      name === "region" && client.server.revision === "2026-07-28"
        ? refuseRegion(client, args)
        : client.call(name, args),
    getPrompt: (name) => client.get(name),
    close: () => client.close(),
  };
}

/** It mirrors methods and names into headers, but knows nothing of what tools want mirrored. */
async function refuseRegion(client: Client, args: Record<string, unknown>): Promise<unknown> {
  await expect(client.call("region", args)).rejects.toMatchObject({
    kind: "refused",
    code: -32020,
  });
  return { content: [] };
}

describe("our server behind mcp-remote", () => {
  test.each([...revisions])("is used in %s", async (revision) => {
    const texts = await walk("/mcp", "http-only", revision, revision);
    expect(texts.get("add")).toBe('{"sum":3}');
    expect(texts.get("ask_twice")).toContain('"first":"Ada","second":"Ada"');
  });

  test("is found to need no handshake", async () => {
    const texts = await walk("/mcp", "http-first", "auto", "2026-07-28");
    expect(texts.get("add")).toBe('{"sum":3}');
  });

  test("is used over HTTP+SSE", async () => {
    const texts = await walk("/sse", "sse-only", "2024-11-05", "2024-11-05");
    expect(texts.get("add")).toBe('{"sum":3}');
  });
});
