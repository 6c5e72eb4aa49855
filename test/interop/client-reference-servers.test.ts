/** Our client with the reference servers, as everybody starts them. */
import { mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Client, type ConnectOptions, connect } from "../../src/node/client.ts";
import { allTraits, Heard, processTarget, strayed } from "../support/peers.ts";
import type { Revision } from "../support/schemas.ts";
import { until } from "../support/signals.ts";
import { Traffic } from "../support/traffic.ts";

const revisions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;

const programs = {
  everything: new URL(
    "../../node_modules/@modelcontextprotocol/server-everything/dist/index.js",
    import.meta.url,
  ),
  filesystem: new URL(
    "../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js",
    import.meta.url,
  ),
  memory: new URL(
    "../../node_modules/@modelcontextprotocol/server-memory/dist/index.js",
    import.meta.url,
  ),
};

let folder: string;
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "reference-")));
});
afterAll(() => rm(folder, { recursive: true }));

interface Used {
  readonly client: Client;
  readonly heard: Heard;
}

/** Uses a reference server, and judges all that crossed. */
async function use(
  name: keyof typeof programs,
  options: ConnectOptions & {
    readonly args?: readonly string[];
    readonly faults?: readonly RegExp[];
  },
  work: (used: Used) => Promise<void>,
): Promise<void> {
  const traffic = new Traffic();
  const heard = new Heard();
  const { args = [], faults = [], ...own } = options;
  const target = processTarget(
    {
      command: process.execPath,
      args: [fileURLToPath(programs[name]), ...args],
      env: { MEMORY_FILE_PATH: join(folder, "memory.jsonl") },
      // One of them does not end with its input.
      exitMs: 500,
    },
    traffic,
  );
  const client = await connect(target, { ...heard.options, ...own });
  try {
    await work({ client, heard });
  } finally {
    await client.close();
  }
  expect(strayed(traffic, client.server.revision as Revision, { ...allTraits, faults })).toEqual(
    [],
  );
  expect(heard.warnings).toEqual([]);
}

/** Links to resources are content since 2025-06-18; this server has them in every revision. */
const links = /result\.content\[\d\]: is none of TextContent, ImageContent/;

describe.each(revisions)("the server that has everything, in %s", (revision) => {
  test("is used with all that it has", async () => {
    const faults = revision < "2025-06-18" ? [links] : [];
    await use("everything", { revisions: revision, faults }, async ({ client, heard }) => {
      expect(client.server.info?.name).toBe("mcp-servers/everything");
      expect(client.server.instructions).toContain("Everything Server");
      await client.ping();
      await callTools(client);
      await until("the tools that need the roots", async () =>
        (await client.list("tools")).some(({ name }) => name === "get-roots-list"),
      );
      expect((await client.call("get-roots-list")).text).toContain("file:///work");
      expect(heard.asked).toEqual(["sample"]);
      await readAndComplete(client, revision);
      await reportAndCancel(client);
      await hearUpdates(client);
    });
  });
});

async function callTools(client: Client): Promise<void> {
  const tools = (await client.list("tools")).map(({ name }) => name);
  expect(tools).toContain("trigger-sampling-request");
  expect((await client.call("get-sum", { a: 1, b: 2 })).text).toContain("3");
  const weather = await client.call("get-structured-content", { location: "Chicago" });
  expect(weather.structured).toMatchObject({ temperature: expect.any(Number) });
  expect((await client.call("get-tiny-image")).content.map(({ type }) => type)).toEqual([
    "text",
    "image",
    "text",
  ]);
  expect((await client.call("get-resource-links", { count: 1 })).content).toMatchObject([
    { type: "text" },
    { type: "resource_link" },
  ]);
  const sampled = await client.call("trigger-sampling-request", { prompt: "?" });
  expect(sampled.text).toContain("a model of the test");
}

async function readAndComplete(client: Client, revision: Revision): Promise<void> {
  const [first] = await client.list("resources");
  const { contents } = await client.read(String(first?.uri));
  expect(contents).toMatchObject([{ uri: first?.uri, mimeType: "text/markdown" }]);
  expect(await client.list("templates")).toHaveLength(2);
  expect(await client.read("demo://resource/dynamic/blob/1")).toMatchObject({
    contents: [{ blob: expect.any(String) }],
  });
  expect((await client.list("prompts")).map(({ name }) => name)).toContain("args-prompt");
  const { messages } = await client.get("args-prompt", { city: "Ghent" });
  expect(messages).toMatchObject([{ content: { text: expect.stringContaining("Ghent") } }]);
  const team = { of: "prompt", target: "completable-prompt" } as const;
  const department = await client.complete({ ...team, argument: "department", value: "E" });
  expect(department.values).toEqual(["Engineering"]);
  const others = { department: "Engineering" };
  const name = await client.complete({ ...team, argument: "name", value: "A", others });
  // What is known of the others is told since 2025-06-18.
  expect(name.values).toEqual(revision < "2025-06-18" ? [] : ["Alice"]);
}

async function reportAndCancel(client: Client): Promise<void> {
  const progress: number[] = [];
  const onProgress = (each: { readonly progress: number }): number => progress.push(each.progress);
  const tool = "trigger-long-running-operation";
  await client.call(tool, { duration: 0.3, steps: 3 }, { onProgress });
  expect(progress).toEqual([1, 2, 3]);
  const call = client.call(tool, { duration: 20, steps: 100 }, { timeoutMs: 100 });
  await expect(call).rejects.toMatchObject({ kind: "timeout" });
  expect((await client.call("echo", { message: "still there" })).text).toContain("still there");
}

async function hearUpdates(client: Client): Promise<void> {
  const uri = "demo://resource/dynamic/text/1";
  const changes: unknown[] = [];
  const listening = await client.listen({ uris: [uri] }, (change) => changes.push(change));
  await client.call("toggle-subscriber-updates");
  await until("an update", () => changes.length > 0, 8_000);
  expect(changes[0]).toEqual({ kind: "resource-updated", uri });
  await listening.close();
}

test("the server that has everything asks for forms and visits, and sees no secrets", async () => {
  process.env["ANYREV_TEST_SECRET"] = "secret";
  const urls: string[] = [];
  const onAsk: ConnectOptions["onAsk"] = (asked) => {
    if (asked.kind === "form") return { action: "accept", content: { name: "Ada", number: 3 } };
    urls.push(asked.url);
    return { action: "accept" };
  };
  try {
    await use("everything", { onAsk }, async ({ client }) => {
      const { text } = await client.call("trigger-elicitation-request");
      expect(text).toContain("- Name: Ada");
      expect(text).toContain("It was a dark and stormy night.");
      const url = "https://example.com/visit";
      expect((await client.call("trigger-url-elicitation", { url })).text).toContain("completed");
      expect(urls).toEqual([url]);
      // A visit that is required first is for the caller to see to: who knows when it is over?
      const required = client.call("trigger-url-elicitation", { url, errorPath: true });
      await expect(required).rejects.toMatchObject({
        kind: "refused",
        code: -32042,
        data: { elicitations: [{ mode: "url", url: "https://modelcontextprotocol.io" }] },
      });
      const env = await client.call("get-env");
      expect(env.text).toContain("PATH");
      expect(env.text).not.toContain("ANYREV_TEST_SECRET");
    });
  } finally {
    delete process.env["ANYREV_TEST_SECRET"];
  }
});

describe.each(revisions)("the server of a file system, in %s", (revision) => {
  test("writes and reads within what it was given", async () => {
    await use(
      "filesystem",
      { revisions: revision, args: [folder], onRoots: [{ uri: pathToFileURL(folder).href }] },
      async ({ client }) => {
        const path = join(folder, `${revision} ☕.txt`);
        expect(await client.list("tools")).not.toEqual([]);
        const written = await client.call("write_file", { path, content: "hello ☕\n" });
        expect(written).toMatchObject({ isError: false });
        expect(await readFile(path, "utf8")).toBe("hello ☕\n");
        expect(await client.call("read_text_file", { path })).toMatchObject({
          isError: false,
          text: "hello ☕\n",
        });
        const listed = await client.call("list_directory", { path: folder });
        expect(listed.text).toContain(`[FILE] ${revision} ☕.txt`);
        expect(await client.call("read_text_file", { path: "/etc/passwd" })).toMatchObject({
          isError: true,
        });
      },
    );
  });
});

describe.each(revisions)("the server of a memory, in %s", (revision) => {
  test("remembers", async () => {
    await use("memory", { revisions: revision }, async ({ client }) => {
      await client.list("tools");
      const name = `Ada of ${revision}`;
      const entity = { name, entityType: "person", observations: ["counts"] };
      const created = await client.call("create_entities", { entities: [entity] });
      expect(created.structured).toMatchObject({ entities: [entity] });
      const found = await client.call("search_nodes", { query: name });
      expect(found.structured).toMatchObject({ entities: [entity], relations: [] });
      const { contents } = await client.read("memory://knowledge-graph");
      expect(JSON.stringify(contents)).toContain(name);
    });
  });
});
