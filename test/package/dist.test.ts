/** What is published works by itself: built, imported by name, in a process of its own. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, inject, it, vi } from "vitest";
import { importsOf } from "../support/layering.ts";
import { headersFor, initializeParams, request } from "../support/messages.ts";
import { assertReply, isObject, revisions } from "../support/wire.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const entry = join(root, "dist/index.js");

const packageFile: unknown = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

beforeAll(() => {
  if (!existsSync(entry)) throw new Error("dist/ is missing; npm run build makes it");
});

/** Runs a module in a new Node process, and gives what it logged as JSON. */
async function run(source: string): Promise<unknown> {
  return JSON.parse(await runRaw(source));
}

async function runRaw(source: string): Promise<string> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--input-type=module", "--eval", source],
    { cwd: root, timeout: 20_000 },
  );
  return stdout;
}

const declare = `
const server = createServer({ name: "built", version: "1.0.0" });
server.tool(
  "add",
  {
    input: { type: "object", properties: { a: { type: "integer" }, b: { type: "integer" } } },
    output: { type: "object", properties: { sum: { type: "integer" } }, required: ["sum"] },
  },
  ({ a, b }) => ({ sum: a + b }),
);`;

const exchanges = revisions.map((revision) => {
  const ask = request(revision, 7, "tools/call", { name: "add", arguments: { a: 2, b: 3 } });
  const hello = request(revision, 1, "initialize", initializeParams(revision));
  const opening =
    revision === "2026-07-28" ? [] : [{ message: hello, headers: headersFor(revision, hello) }];
  return [...opening, { message: ask, headers: headersFor(revision, ask) }];
});

/** Sends what was prepared, keeping the session of each revision, through a given \`post\`. */
const converse = `
const replies = [];
for (const messages of ${JSON.stringify(exchanges)}) {
  let session = {};
  for (const { message, headers } of messages) {
    const response = await post({
      method: "POST",
      headers: { ...headers, ...session },
      body: JSON.stringify(message),
    });
    const id = response.headers.get("mcp-session-id");
    if (id !== null) session = { "mcp-session-id": id };
    replies.push(await response.json());
  }
}`;

function judge(replies: unknown): void {
  if (!Array.isArray(replies)) throw new Error("no replies");
  const left = [...replies];
  for (const [index, revision] of revisions.entries()) {
    for (const { message } of exchanges[index] ?? []) {
      const reply: unknown = left.shift();
      assertReply(revision, message, reply);
      if (message.method !== "tools/call") continue;
      expect(isObject(reply) && reply["result"], revision).toMatchObject({
        content: [{ type: "text", text: '{"sum":5}' }],
      });
    }
  }
  expect(left).toEqual([]);
}

describe("the built package", () => {
  it("serves every revision on a socket", async () => {
    const source = `
      import { createServer, serve } from "anyrev/node";
      ${declare}
      const serving = await serve(server, { port: 0 });
      const post = (init) => fetch(serving.url, init);
      ${converse}
      await serving.close();
      console.log(JSON.stringify(replies));`;
    judge(await run(source));
  });

  it("serves every revision where Node's own globals are missing", async () => {
    const source = `
      const { log } = console;
      for (const name of ["process", "Buffer", "global", "setImmediate", "clearImmediate"]) {
        delete globalThis[name];
      }
      const { createEndpoint, createServer } = await import("anyrev");
      ${declare}
      const endpoint = createEndpoint(server);
      // Node's own Request needs the globals that are gone, so this is a bridge without it.
      const post = async ({ method, headers, body }) => {
        const reply = await endpoint.handle({
          method,
          target: "/mcp",
          host: "localhost",
          headers: (name) => headers[name],
          body: () => new TextEncoder().encode(body),
          onDisconnect: () => {},
        });
        return {
          headers: { get: (name) => reply.headers[name] ?? null },
          json: () => JSON.parse(reply.body),
        };
      };
      ${converse}
      if ("process" in globalThis || "Buffer" in globalThis) throw new Error("they came back");
      log(JSON.stringify(replies));`;
    judge(await run(source));
  });

  it("has a portable entry that reaches no module of Node, through dependencies neither", () => {
    const files = reach(entry);
    expect(files.size).toBeGreaterThan(40);
    const outside = [...files].filter((file) => relative(root, file).startsWith("dist/node/"));
    expect(outside).toEqual([]);
  });

  it("has a portable entry that names none of Node's globals", () => {
    const nodeGlobals =
      /(?<![\w$.#"'-])(?:process|Buffer|global|setImmediate|require|__dirname)(?=\s*[.([?])/;
    expect("process.env").toMatch(nodeGlobals);
    expect('Buffer.from("")').toMatch(nodeGlobals);
    for (const file of reach(entry)) {
      if (!file.startsWith(join(root, "dist"))) continue;
      const code = readFileSync(file, "utf8").replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
      expect(code, file).not.toMatch(nodeGlobals);
    }
  });

  it("has a portable client that reaches no module of Node", () => {
    expect(reach(join(root, "dist/client/index.js")).size).toBeGreaterThan(20);
  });

  it.each(["sqlite", "redis", "postgres"])(
    "has stores for %s that reach no driver and no module of Node",
    (backend) => {
      const files = [...reach(join(root, `dist/stores/${backend}.js`))];
      expect(files.length).toBeGreaterThan(8);
      const outside = files.filter((file) => !file.startsWith(join(root, "dist")));
      expect(outside).toEqual([]);
    },
  );

  it("keeps one file for processes that start at once, publish at once, and end by themselves", async () => {
    const file = join(mkdtempSync(join(inject("serversFolder"), "dist-")), "stores.db");
    const source = `
      import { createSqliteStores } from "anyrev/stores/sqlite";
      import Database from "better-sqlite3";
      const { hub, keys } = createSqliteStores(new Database(${JSON.stringify(file)}));
      const ring = await keys.rotate(crypto.getRandomValues(new Uint8Array(32)));
      const seen = [];
      const start = await hub.position("t");
      await hub.follow("t", start, ({ data }) => seen.push(data), new AbortController().signal);
      const told = new Promise((resolve) => process.stdin.once("data", resolve));
      console.log("ready");
      await told;
      process.stdin.destroy();
      for (let at = 0; at < 20; at++) {
        await hub.publish("t", process.pid + "." + at);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      for (let at = 0; at < 1_000 && seen.length < 60; at++) {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      console.log(JSON.stringify({ seen, key: ring[0].bytes }));`;
    const args = ["--input-type=module", "--eval", source];
    const workers = [1, 2, 3].map(() => spawn(process.execPath, args, { cwd: root }));
    const said = workers.map(() => "");
    for (const [at, { stdout }] of workers.entries()) {
      stdout.on("data", (data) => {
        said[at] += String(data);
      });
    }
    const ended = workers.map((worker) => once(worker, "exit"));
    await vi.waitFor(() => expect(said).toEqual(["ready\n", "ready\n", "ready\n"]), 20_000);
    for (const { stdin } of workers) stdin.write("go\n");
    for (const [code] of await Promise.all(ended)) expect(code).toBe(0);
    const [first, ...others] = said.map((each) => JSON.parse(each.slice("ready\n".length)));
    expect(new Set(first.seen).size).toBe(60);
    for (const other of others) expect(other).toEqual(first);
  });

  it("has contract suites that run under the test runner of Node", async () => {
    const source = `
      import { test } from "node:test";
      import { MemoryHub, MemorySessions } from "anyrev";
      import { eventHubSuite, sessionStoreSuite } from "anyrev/testing";
      let now = 0;
      const pass = (ms) => { now += ms; };
      const options = { ttlMs: 1_000, now: () => now };
      eventHubSuite(() => ({ hub: new MemoryHub(options), ttlMs: 1_000, pass }), { test });
      sessionStoreSuite(() => ({ store: new MemorySessions(options), ttlMs: 1_000, pass }), { test });`;
    const output = await runRaw(source);
    expect(output).toMatch(/tests [2-9]\d/);
    expect(output).toMatch(/fail 0/);
  });

  it.each(["event-hub", "faults", "key-store", "one-time", "session-caps", "session-store"])(
    "has a contract suite, %s, that reaches no module of Node and no backend",
    (suite) => {
      const files = [...reach(join(root, `dist/testing/${suite}.js`))];
      const folders = new Set(files.map((file) => relative(join(root, "dist"), dirname(file))));
      expect([...folders]).toContain("testing");
      for (const backends of ["stores", "server", "client"]) {
        expect([...folders]).not.toContain(backends);
      }
    },
  );

  it("has helpers for tests that reach no module of Node", () => {
    expect(reach(join(root, "dist/testing/index.js")).size).toBeGreaterThan(40);
  });

  it("calls a server in memory in every revision, under the test runner of Node", async () => {
    const source = `
      import assert from "node:assert/strict";
      import { test } from "node:test";
      import { createServer } from "anyrev";
      import { everyRevision } from "anyrev/testing";
      ${declare}
      test("adds", () => everyRevision(server, async (client) => {
        assert.equal((await client.call("add", { a: 2, b: 3 })).text, '{"sum":5}');
      }));
      test("fails", { todo: true }, () => everyRevision(server, async (client, revision) => {
        const { structured } = await client.call("add", { a: 2, b: 3 });
        assert.deepEqual(structured, { sum: 5 });
      }));`;
    const output = await runRaw(source);
    expect(output).toMatch(/^ok 1 - adds/m);
    expect(output).toMatch(/^not ok 2 - fails/m);
    expect(output).toContain("in 2025-03-26, 2024-11-05: Expected values to be");
  });

  it("has the files that its exports name", () => {
    const exported = isObject(packageFile) ? packageFile["exports"] : undefined;
    if (!isObject(exported)) throw new Error("package.json has no exports");
    const named = filesOf(exported);
    expect(named).toContain("./dist/index.d.ts");
    for (const file of named) expect(existsSync(join(root, String(file))), String(file)).toBe(true);
  });
});

/** Every file that `exports` names, under whichever conditions. */
function filesOf(exported: unknown): unknown[] {
  return isObject(exported) ? Object.values(exported).flatMap(filesOf) : [exported];
}

/** Every file that an import of \`start\` loads. */
function reach(start: string): Set<string> {
  const reached = new Set<string>();
  const open = [start];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    for (const { specifier } of importsOf(readFileSync(file, "utf8"))) {
      if (specifier.startsWith("node:")) throw new Error(`${file} imports ${specifier}`);
      open.push(locate(specifier, file));
    }
  }
  return reached;
}

function locate(specifier: string, from: string): string {
  if (specifier.startsWith(".")) return resolve(dirname(from), specifier);
  const found = createRequire(from).resolve(specifier);
  // What a built-in module resolves to is its bare name.
  if (!found.startsWith("/")) throw new Error(`${from} imports ${specifier}, a module of Node`);
  return found;
}
