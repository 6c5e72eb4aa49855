/** Every TypeScript block of the documentation compiles, runs, and serves what it says. */
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { createEndpoint, type Server } from "anyrev/node";
import { afterAll, beforeAll, describe, expect, inject, test, vi } from "vitest";
import { claimsOf, connect, verify } from "../support/claims.ts";
import { type Client, type Open, openFetch, openSocket, overSocket } from "../support/client.ts";
import {
  blocksOf,
  compile,
  type Example,
  findExamples,
  nameOf,
  type Ran,
  root,
  runExample,
  writeExamples,
} from "../support/examples.ts";
import { initializeParams, request } from "../support/messages.ts";
import { sharedPostgres, sharedRedis } from "../support/servers.ts";
import { assertReply, type Revision, revisions } from "../support/wire.ts";

const folder = join(root, "build/docs-test");
const examples = findExamples(folder);
/** One that is opened by a handshake, and the one that is not, where an example serves all. */
const tried: readonly Revision[] = ["2025-06-18", "2026-07-28"];
/** One of each way in which a caller can be asked. */
const asking: readonly Revision[] = ["2024-11-05", ...tried];
let diagnostics = "";

beforeAll(async () => {
  writeExamples(folder, examples);
  diagnostics = await compile(folder);
}, 120_000);

beforeAll(async () => {
  process.env["SQLITE_FILE"] = join(mkdtempSync(join(inject("serversFolder"), "docs-")), "a.db");
  process.env["REDIS_URL"] = await sharedRedis();
  process.env["DATABASE_URL"] = await sharedPostgres();
});

beforeAll(() => {
  vi.spyOn(console, "log").mockImplementation(() => undefined);
  // Some examples show what is logged and not told to the caller.
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterAll(() => {
  vi.restoreAllMocks();
});

test("there are examples, and the compiler has nothing to say that is about none of them", () => {
  expect(examples.map(({ where }) => where)).toContainEqual(expect.stringMatching(/^README\.md/));
  const foreign = diagnostics
    .split("\n")
    .filter((line) => /\berror TS\d+/.test(line) && !examples.some((one) => isAbout(line, one)));
  expect(foreign).toEqual([]);
});

describe.each(examples)("$where", (example) => {
  test("compiles as strictly as the sources", () => {
    const problems = diagnostics.split("\n").filter((line) => isAbout(line, example));
    expect(problems).toEqual([]);
  });

  test("runs, and serves both eras or asserts what it shows", async () => {
    const readsInput = example.code.includes("await serveStdio(server)");
    const input = readsInput ? whatIsSaid() : undefined;
    const check = async (ran: Ran): Promise<void> => {
      if (readsInput) hear(ran.spoken);
      const ways = waysIn(ran, example.code);
      if (ways.length === 0 && !readsInput && !isImported(example)) {
        expect(ran.assertions, nothingToCall).toBeGreaterThan(0);
      }
      for (const open of ways) {
        for (const revision of revisionsOf(example.code)) {
          await tour(await connect(open, revision));
        }
        for (const claim of claimsOf(example.code)) {
          for (const revision of revisionsOf(example.code, claim.when ? asking : tried)) {
            await verify(await connect(open, revision, claim.when), claim);
          }
        }
      }
    };
    await runExample(example, check, input);
  });
});

const nothingToCall =
  "leaves nothing to call: it should listen, export a server, an endpoint or an app, or assert";

const said = [
  request("2025-06-18", 1, "initialize", initializeParams("2025-06-18")),
  request("2025-06-18", 2, "tools/list"),
  request("2026-07-28", 3, "tools/list"),
];

function whatIsSaid(): string {
  return said.map((message) => `${JSON.stringify(message)}\n`).join("");
}

/** Each line is the answer to what was said. */
function hear(spoken: string): void {
  const lines = spoken.split("\n").filter((line) => line !== "");
  expect(lines).toHaveLength(said.length);
  for (const line of lines) {
    const message = JSON.parse(line);
    const asked = said.find(({ id }) => id === message.id);
    const revision = asked?.id === 3 ? "2026-07-28" : "2025-06-18";
    assertReply(revision, asked ?? { method: "" }, message);
    expect(message.result, line).toBeDefined();
  }
}

/** Whether it is of use to another example. */
function isImported({ code }: Example): boolean {
  const name = nameOf(code);
  return name !== undefined && examples.some((other) => other.code.includes(`from "./${name}"`));
}

function isAbout(line: string, { file }: Example): boolean {
  return line.startsWith(`${file.slice(file.lastIndexOf("/") + 1)}(`);
}

/** Every way to send a message to what the example has made. */
function waysIn({ exported, ports }: Ran, code: string): Open[] {
  // A server that answers under names of its own is called by the first of them.
  const host = /allowedHosts: \["([^"*]+)"/.exec(code)?.[1];
  const path = /\bpath: "([^"]+)"/.exec(code)?.[1];
  // One that asks who is calling is called with the first token that it names.
  const token = /\btoken: "([^"]+)"/.exec(code)?.[1];
  const handlers = Object.values(exported).flatMap((value) => {
    if (isServer(value)) return [createEndpoint(value).fetch];
    return hasFetch(value) ? [(request: Request) => value.fetch(request)] : [];
  });
  const ways = [
    ...ports.map((port) => openSocket(port, path, host)),
    ...handlers.map((handle) => openFetch(handle, path, host)),
  ];
  if (token === undefined) return ways;
  const authorization = `Bearer ${token}`;
  return ways.map((open) => (headers, body) => open({ ...headers, authorization }, body));
}

function revisionsOf(code: string, otherwise = tried): readonly Revision[] {
  const named = /\brevisions: \[([^\]]*)\]/.exec(code)?.[1];
  return named === undefined ? otherwise : revisions.filter((revision) => named.includes(revision));
}

function isServer(value: unknown): value is Server {
  return typeof value === "object" && value !== null && "registry" in value && "tool" in value;
}

function hasFetch(
  value: unknown,
): value is { fetch(request: Request): Response | Promise<Response> } {
  return typeof value === "object" && value !== null && "fetch" in value;
}

/** Lists what the server announces, reads and gets all of it, and asks for every suggestion. */
async function tour(client: Client): Promise<void> {
  const { tools, resources, prompts } = client.capabilities;
  expect(tools ?? resources ?? prompts).toBeDefined();
  if (tools !== undefined) {
    expect(await client.list("tools/list", "tools")).not.toEqual([]);
  }
  if (prompts !== undefined) await tourPrompts(client);
  if (resources !== undefined) await tourResources(client);
}

async function tourPrompts(client: Client): Promise<void> {
  for (const { name, arguments: declared } of await client.list("prompts/list", "prompts")) {
    const names = ((declared ?? []) as { name: string }[]).map((argument) => argument.name);
    await expectResult(client, "prompts/get", {
      name,
      arguments: Object.fromEntries(names.map((argument) => [argument, "x"])),
    });
    for (const argument of names) await suggest(client, { type: "ref/prompt", name }, argument);
  }
}

async function tourResources(client: Client): Promise<void> {
  for (const { uri } of await client.list("resources/list", "resources")) {
    await expectResult(client, "resources/read", { uri });
  }
  const templates = await client.list("resources/templates/list", "resourceTemplates");
  for (const { uriTemplate } of templates) {
    const variable = /\{[+#./;?&]?(\w+)/.exec(String(uriTemplate))?.[1];
    if (variable === undefined) continue;
    await suggest(client, { type: "ref/resource", uri: uriTemplate }, variable);
  }
}

async function suggest(client: Client, ref: object, name: string): Promise<void> {
  if (client.capabilities["completions"] === undefined) return;
  await expectResult(client, "completion/complete", { ref, argument: { name, value: "" } });
}

async function expectResult(client: Client, method: string, params: object): Promise<void> {
  const { result, error } = await client.ask(method, { ...params });
  expect(result, `${method} ${JSON.stringify(params)}: ${error?.message}`).toBeDefined();
}

describe("the test of the examples", () => {
  const mistakes = join(root, "build/docs-test-mistakes");
  const example = (name: string, code: string): Example => ({
    where: name,
    code,
    file: join(mistakes, `${name}.ts`),
  });
  const wrongType = example("wrong-type", 'export const count: number = "one";\n');
  const wrongImport = example("wrong-import", 'export { nothing } from "anyrev";\n');
  const throwing = example("throwing", 'throw new Error("at once");\n');
  const failing = example("failing", "console.assert(1 > 2);\n");
  const idle = example("idle", "export const nothing = 1;\n");
  const listening = example(
    "listening",
    'import { createServer } from "node:http";\nexport const http = createServer().listen(80);\n',
  );
  const lying = example(
    "lying",
    `import { createServer } from "anyrev";
export const server = createServer({ name: "lying", version: "1.0.0" });
server.tool("one", {}, () => ({ one: 1 }));
// one {} gives {"one":1}
// one {} gives {"one":2}
// one {} fails with "one"
// two {} gives "two"
// reading two://2 gives "two"
`,
  );
  const asks = example(
    "asks",
    `import { createServer } from "anyrev";
export const server = createServer({ name: "asks", version: "1.0.0" });
server.tool("sure", { asks: true }, async (_, ex) => (await ex.ask("sure", { message: "Sure?" })).action);
// sure {} gives "accept" when the user accepts
// sure {} gives "decline" when the user declines
// sure {} fails with "has not declared"
// sure {} gives "accept" when the user declines
// sure {} fails with "has not declared" when the user accepts
// sure {} gives "accept"
`,
  );
  const tested = example(
    "tested",
    `import assert from "node:assert/strict";
import { test } from "node:test";
test("holds", () => assert.equal(1, 1));
test("does not", async () => assert.equal(await Promise.resolve(1), 2));
`,
  );
  const echo = example(
    "echo",
    `process.stdin.on("data", (data) => void process.stdout.write(String(data)));
await new Promise((end) => process.stdin.once("end", end));
export {};
`,
  );
  const all = [
    echo,
    asks,
    tested,
    lying,
    wrongType,
    wrongImport,
    throwing,
    failing,
    idle,
    listening,
  ];

  beforeAll(() => writeExamples(mistakes, all));

  test("finds blocks by their mark, and the line they begin on", () => {
    const page =
      "a\n```ts\nlet a;\n```\n\n````md\n```ts\nnot this\n```\n````\n~~~json\n{}\n~~~\n```ts\n\n```";
    expect(blocksOf(page)).toEqual([
      { line: 3, code: "let a;\n" },
      { line: 15, code: "\n" },
    ]);
    expect(() => blocksOf("```ts\nlet a;")).toThrow("not closed");
  });

  test("sees what does not compile", async () => {
    const found = await compile(mistakes);
    const about = all.filter((one) => found.split("\n").some((line) => isAbout(line, one)));
    expect(about).toEqual([wrongType, wrongImport]);
  });

  test("sees what throws, and what asserts or tests something untrue", async () => {
    const check = async (): Promise<void> => undefined;
    await expect(runExample(tested, check)).rejects.toThrow("1 !== 2");
    await expect(runExample(throwing, check)).rejects.toThrow("at once");
    await expect(runExample(failing, check)).rejects.toThrow("assertion");
  });

  test("sees what answers otherwise than it says", async () => {
    await runExample(lying, async (ran) => {
      const client = await connect(waysIn(ran, lying.code)[0]!, "2025-11-25");
      const [right, ...wrong] = claimsOf(lying.code);
      await verify(client, right!);
      expect(wrong).toHaveLength(4);
      for (const claim of wrong) await expect(verify(client, claim), claim.line).rejects.toThrow();
    });
  });

  test.each(asking)("sees who answers otherwise than it says, in %s", async (revision) => {
    await runExample(asks, async (ran) => {
      const [open] = waysIn(ran, asks.code);
      const claims = claimsOf(asks.code);
      // Where the model is told to ask, a client that declared nothing is asked as well.
      const outcomes = revision === "2024-11-05" ? [1, 1, 0, 0, 0, 0] : [1, 1, 1, 0, 0, 0];
      for (const [at, claim] of claims.entries()) {
        const verified = verify(await connect(open!, revision, claim.when), claim);
        if (outcomes[at] === 1) await verified;
        else await expect(verified, claim.line).rejects.toThrow();
      }
      expect(claims).toHaveLength(outcomes.length);
    });
    expect(() => claimsOf('// sure {} gives "accept" when the user shrugs')).toThrow("shrugs");
  });

  test("gives an input, and hears what is said to it", async () => {
    const { stdin, stdout } = process;
    await runExample(echo, async ({ spoken }) => expect(spoken).toBe("hello"), "hello");
    expect(process.stdin === stdin && process.stdout === stdout).toBe(true);
    expect(() => hear("{}\n")).toThrow();
  });

  test("sees what leaves nothing to call", async () => {
    await runExample(idle, async (ran) => {
      expect(waysIn(ran, idle.code)).toEqual([]);
      expect(ran.assertions).toBe(0);
    });
  });

  test("gives every listener a free port, and closes it", async () => {
    let port = 0;
    await runExample(listening, async ({ ports }) => {
      expect(ports).toHaveLength(1);
      port = ports[0]!;
      expect(port).toBeGreaterThan(1024);
    });
    await expect(overSocket(port)({}, "")).rejects.toThrow("ECONNREFUSED");
  });
});
