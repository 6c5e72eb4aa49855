/** Everything an official client can do with the fixture, once. */
import { expect } from "vitest";
import { clientInfo, type Official } from "./official.ts";
import { askingPrompts, askingTools, converse } from "./official-conversation.ts";
import type { Revision } from "./wire.ts";

const generated = 200;
const pageSize = 50;

/** What each tool of the fixture is called with, and what comes back as plain data or text. */
interface Sample {
  readonly arguments?: Record<string, unknown>;
  readonly value?: unknown;
  readonly text?: string;
  readonly blocks?: readonly string[];
  readonly isError?: true;
}

const samples: Readonly<Record<string, Sample>> = {
  test_simple_text: { text: "This is a simple text response for testing." },
  test_image_content: { arguments: {}, blocks: ["image"] },
  test_audio_content: { arguments: {}, blocks: ["audio"] },
  test_embedded_resource: { arguments: {}, blocks: ["resource"] },
  test_multiple_content_types: { arguments: {}, blocks: ["text", "image", "resource"] },
  test_error_handling: {
    arguments: {},
    isError: true,
    text: "This tool intentionally returns an error for testing",
  },
  json_schema_2020_12_tool: {
    arguments: { name: "Ada", contactMethod: "email", email: "ada@example.com" },
    text: '{"name":"Ada","contactMethod":"email","email":"ada@example.com"}',
  },
  add: { arguments: { a: 2, b: 3 }, value: { sum: 5 } },
  echo: {
    arguments: { text: "hello", secret: "s", delayMs: 1 },
    value: { text: "hello", secret: "s" },
  },
  test_tool_with_logging: { arguments: {}, text: "Three entries were logged." },
  test_logging_tool: { arguments: {}, text: "Three entries were logged." },
  test_tool_with_progress: { arguments: {}, text: "Progress was reported." },
  test_reconnection: {
    arguments: {},
    text: "The connection was let go of and taken up again.",
  },
  test_trigger_tool_change: { arguments: {}, text: "The tools were announced as changed." },
  test_trigger_prompt_change: { arguments: {}, text: "The prompts were announced as changed." },
  touch: { arguments: { uri: "test://static-text" }, text: "touched test://static-text" },
  count_to: { arguments: { n: 3, delayMs: 1 }, text: "counted to 3" },
  region: { arguments: { region: "eu-wést ", tier: 2 }, value: { region: "eu-wést ", tier: 2 } },
  "café ☕": { arguments: { a: 40, b: 2 }, value: { sum: 42 } },
  shapes: {
    arguments: { shape: { kind: "circle", radius: 1.5 }, label: null },
    value: { shape: { kind: "circle", radius: 1.5 }, label: null },
  },
  list_values: { arguments: {}, text: "[1,2,3]" },
};

export interface TourOptions {
  readonly revision: Revision;
  readonly sessions: boolean;
  /** Of the entries that differ in their number alone, each so many-th is visited. @default 1 */
  readonly stride?: number | undefined;
}

/** Lists, calls, reads, gets and completes all that `createFixture({ extra: true })` declares. */
export async function tour(client: Official, options: TourOptions): Promise<void> {
  expect(client.negotiated()).toBe(options.revision);
  const keepsSession = options.sessions && options.revision !== "2026-07-28";
  expect(typeof client.sessionId()).toBe(keepsSession ? "string" : "undefined");
  await visitTools(client, options);
  await visitResources(client, options.stride ?? 1);
  await visitPrompts(client, options.stride ?? 1);
  await visitCompletions(client);
  await visitErrors(client, options.revision);
  expect(client.recorder.problems(options.revision)).toEqual([]);
}

async function visitTools(client: Official, options: TourOptions): Promise<void> {
  const tools = await everyPage((cursor) => client.listTools(cursor), "tools");
  expect(client.recorder.of("tools/list").length).toBeGreaterThan(generated / pageSize);
  const names = tools.map(({ name }) => name);
  const expected = [
    ...Object.keys(samples),
    ...askingTools,
    "whoami",
    "toggle",
    "remember",
    "recall",
    "count",
    ...numbered((index) => `generated_${index}`),
  ];
  expect(names.toSorted()).toEqual(expected.toSorted());
  for (const [name, sample] of Object.entries(samples)) {
    expect(await client.callTool(name, sample.arguments), name).toMatchObject(
      resultOf(sample, options.revision),
    );
  }
  const visited = numbered((index) => index).filter((index) => index % (options.stride ?? 1) === 0);
  const calls = visited.map((index) => client.callTool(`generated_${index}`, {}));
  expect(await Promise.all(calls)).toMatchObject(
    visited.map((index) => ({ content: [{ type: "text", text: `tool ${index}` }] })),
  );
  // A handshake tells who is calling, and only a session remembers it.
  const remembered = options.sessions || options.revision === "2026-07-28";
  const caller = JSON.stringify({ client: remembered ? clientInfo : null }).slice(1, -1);
  expect(await client.callTool("whoami")).toMatchObject({
    content: [{ text: expect.stringContaining(caller) }],
  });
  await visitToggle(client);
  await visitMemory(client);
  await converse(client, options);
}

/** What is kept for a session needs no handle; without one, the handle stands for it. */
async function visitMemory(client: Official): Promise<void> {
  await client.callTool("remember", { key: "tour", value: "lost" });
  const kept = await client.callTool("remember", { key: "tour", value: "kept" });
  const handle = /"handle":"([^"]+)"/.exec(JSON.stringify(kept).replaceAll("\\", ""))?.[1];
  expect(handle === undefined).toBe(client.sessionId() !== undefined);
  const recalled = await client.callTool("recall", { key: "tour", ...(handle && { handle }) });
  expect(recalled).toMatchObject({ content: [{ type: "text", text: '{"value":"kept"}' }] });
}

async function visitToggle(client: Official): Promise<void> {
  const name = `toggled_${crypto.randomUUID().slice(0, 8)}`;
  const text = (words: string) => ({ content: [{ type: "text", text: words }] });
  expect(await client.callTool("toggle", { name })).toMatchObject(text(`added ${name}`));
  expect(await client.callTool(name, {})).toMatchObject(text(`I am ${name}.`));
  expect(await client.callTool("toggle", { name })).toMatchObject(text(`removed ${name}`));
}

function resultOf(sample: Sample, revision: Revision): object {
  const { value, text, blocks, isError } = sample;
  const flag = isError && { isError };
  if (blocks !== undefined) {
    // The first revision has no sound; it is told in words instead.
    const type = (block: string) =>
      block === "audio" && revision === "2024-11-05" ? "text" : block;
    return { content: blocks.map((block) => ({ type: type(block) })) };
  }
  if (value === undefined) return { content: [{ type: "text", text }], ...flag };
  return {
    content: [{ type: "text", text: JSON.stringify(value) }],
    ...(revision >= "2025-06-18" && { structuredContent: value }),
  };
}

async function visitResources(client: Official, stride: number): Promise<void> {
  const resources = await everyPage((cursor) => client.listResources(cursor), "resources");
  const fixed = [
    "test://last-cancelled",
    "test://static-binary",
    "test://static-text",
    "test://watched-resource",
  ];
  expect(resources.map(({ uri }) => uri).toSorted()).toEqual(
    [...fixed, ...numbered((index) => `generated://${index}`)].toSorted(),
  );
  const visited = resources.filter((_, index) => index % stride === 0);
  const readings = await Promise.all(visited.map(({ uri }) => client.readResource(uri)));
  expect(readings).toMatchObject(visited.map(({ uri }) => ({ contents: [{ uri }] })));
  expect(await client.readResource("test://static-text")).toMatchObject({
    contents: [
      { mimeType: "text/plain", text: "This is the content of the static text resource." },
    ],
  });
  expect(await client.readResource("test://static-binary")).toMatchObject({
    contents: [{ mimeType: "image/png", blob: expect.stringMatching(/^iVBOR/) }],
  });
  const templates = await everyPage((cursor) => client.listTemplates(cursor), "resourceTemplates");
  expect(templates.map(({ uriTemplate }) => uriTemplate)).toEqual(["test://template/{id}/data"]);
  expect(await client.readResource("test://template/42/data")).toMatchObject({
    contents: [
      {
        uri: "test://template/42/data",
        mimeType: "application/json",
        text: JSON.stringify({ id: "42", templateTest: true, data: "Data for ID: 42" }),
      },
    ],
  });
}

async function visitPrompts(client: Official, stride: number): Promise<void> {
  const prompts = await everyPage((cursor) => client.listPrompts(cursor), "prompts");
  expect(prompts.map(({ name }) => name).toSorted()).toEqual(
    [
      "test_simple_prompt",
      "test_prompt_with_arguments",
      "test_prompt_with_embedded_resource",
      "test_prompt_with_image",
      ...askingPrompts,
      ...numbered((index) => `generated_prompt_${index}`),
    ].toSorted(),
  );
  const visited = prompts.filter(
    ({ name }, index) =>
      !askingPrompts.includes(name) && (name.startsWith("test_") || index % stride === 0),
  );
  const gotten = visited.map(({ name, arguments: declared = [] }) =>
    declared.length === 0
      ? client.getPrompt(name)
      : client.getPrompt(
          name,
          Object.fromEntries(declared.map((argument) => [argument.name, "test://given"])),
        ),
  );
  for (const prompt of await Promise.all(gotten)) {
    expect(prompt).toMatchObject({ messages: expect.arrayContaining([expect.anything()]) });
  }
  expect(
    await client.getPrompt("test_prompt_with_arguments", { arg1: "one", arg2: "two" }),
  ).toMatchObject({
    messages: [
      {
        role: "user",
        content: { type: "text", text: "Prompt with arguments: arg1='one', arg2='two'" },
      },
    ],
  });
}

async function visitCompletions(client: Official): Promise<void> {
  const prompt = { type: "ref/prompt", name: "test_prompt_with_arguments" } as const;
  expect(await client.complete(prompt, "arg1", "test")).toMatchObject({
    completion: { values: ["test", "testing"] },
  });
  const template = { type: "ref/resource", uri: "test://template/{id}/data" } as const;
  expect(await client.complete(template, "id", "12")).toMatchObject({
    completion: { values: ["123", "124"] },
  });
}

async function visitErrors(client: Official, revision: Revision): Promise<void> {
  const missing = revision === "2026-07-28" ? -32602 : -32002;
  await expect(client.callTool("no_such_tool", {})).rejects.toMatchObject({ code: -32602 });
  await expect(client.readResource("test://no-such")).rejects.toThrow("test://no-such");
  // A client may raise an error of its own kind, so the code is read off the wire.
  expect(client.recorder.of("resources/read").at(-1)?.messages).toMatchObject([
    { error: { code: missing, data: { uri: "test://no-such" } } },
  ]);
  await expect(client.getPrompt("no_such_prompt")).rejects.toMatchObject({ code: -32602 });
  await expect(
    client.getPrompt("test_prompt_with_arguments", { arg1: "one" }),
  ).rejects.toMatchObject({ code: -32602 });
  expect(await client.callTool("add", { a: 1, b: "two" })).toMatchObject({
    isError: true,
    content: [{ type: "text", text: expect.stringContaining("b") }],
  });
}

/** All entries of a list; a client that walks the pages by itself gives no cursor back. */
async function everyPage<Key extends string, Entry>(
  list: (cursor?: string) => Promise<Record<Key, Entry[]> & { nextCursor?: string | undefined }>,
  key: Key,
): Promise<Entry[]> {
  const entries: Entry[] = [];
  let cursor: string | undefined;
  do {
    const page = await list(cursor);
    entries.push(...page[key]);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return entries;
}

function numbered<T>(make: (index: number) => T): T[] {
  return Array.from({ length: generated }, (_, index) => make(index));
}
