import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { findBreaches, importsOf } from "../support/layering.ts";

function readSources(): Map<string, string> {
  const root = new URL("../../src/", import.meta.url);
  const files = readdirSync(root, { recursive: true, encoding: "utf8" })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => file.endsWith(".ts"))
    .sort();
  return new Map(files.map((file) => [`src/${file}`, readFileSync(new URL(file, root), "utf8")]));
}

describe("the sources", () => {
  it("import along the layers only", () => {
    const sources = readSources();
    expect(sources.size).toBeGreaterThan(0);
    expect(findBreaches(sources)).toEqual([]);
  });

  it("are read whole: each import and from of a statement is found", () => {
    for (const [file, text] of readSources()) {
      const lines = text.match(/^(?:import\b|.*\bfrom ["']).*["'];$/gm) ?? [];
      const statements = lines.filter((line) => /^(?:import|export|\})/.test(line));
      expect([file, importsOf(text).length >= statements.length]).toEqual([file, true]);
    }
  });
});

describe("reading imports", () => {
  const specifiers = (text: string) => importsOf(text).map(({ specifier }) => specifier);

  it.each([
    ['import "./a.ts";'],
    ['import a from "./a.ts";'],
    ['import * as a from "./a.ts";'],
    ['import a, { b as c } from "./a.ts";'],
    ["import { b } from './a.ts';"],
    ['import {\n  b,\n  type C,\n} from "./a.ts";'],
    ['import type { C } from "./a.ts";'],
    ['export * from "./a.ts";'],
    ['export * as a from "./a.ts";'],
    ['export { b, type C } from "./a.ts";'],
    ['export type { C } from "./a.ts";'],
    ['const a = await import("./a.ts");'],
    ['type A = import("./a.ts").A;'],
    ['const pattern = "/*";\nimport "./a.ts"; // "*/"'],
  ])("%j", (text) => expect(specifiers(text)).toEqual(["./a.ts"]));

  it.each([
    ['// import "./a.ts";'],
    ['/**\n import { a } from "./a.ts";\n */'],
    ['export const a = "./a.ts";'],
    ['export const a = Array.from("./a.ts");'],
    ["import.meta.url;"],
  ])("none in %j", (text) => expect(specifiers(text)).toEqual([]));

  it("tells a whole type statement from a value", () => {
    const isTypeOnly = (text: string) => importsOf(text).map((found) => found.isTypeOnly);
    expect(isTypeOnly('import type { A } from "a";')).toEqual([true]);
    expect(isTypeOnly('export type { A } from "a";')).toEqual([true]);
    expect(isTypeOnly('import type from "a";')).toEqual([false]);
    expect(isTypeOnly('import { type A } from "a";')).toEqual([false]);
  });
});

describe("a breach", () => {
  const target: Record<string, string> = {
    util: "src/util/json.ts",
    jsonrpc: "src/jsonrpc/message.ts",
    sse: "src/sse/parser.ts",
    core: "src/core/model.ts",
    revisions: "src/revisions/adapter.ts",
    stores: "src/stores/session-store.ts",
    testing: "src/testing/event-hub.ts",
    auth: "src/auth/principal.ts",
    server: "src/server/endpoint.ts",
    client: "src/client/client.ts",
    console: "src/console/console.ts",
    gateway: "src/gateway/gateway.ts",
    index: "src/index.ts",
    node: "src/node/serve.ts",
    cli: "src/cli/main.ts",
  };
  const layers = Object.keys(target);

  /** The layers that a file of `layer` is told off for importing. */
  function refusals(layer: string): string[] {
    const from = layer === "index" ? "src/index.ts" : `src/${layer}/probe.ts`;
    return layers.filter((to) => {
      const file = target[to] ?? "";
      if (file === from) return false;
      const text = `import { a } from "${layer === "index" ? "./" : "../"}${file.slice(4)}";`;
      return (
        findBreaches(
          new Map([
            [file, ""],
            [from, text],
          ]),
        ).length > 0
      );
    });
  }

  const all = (...except: string[]) => layers.filter((layer) => !except.includes(layer));
  const below = ["util", "jsonrpc", "sse", "core", "revisions", "auth"];

  it.each([
    ["util", all("util")],
    ["jsonrpc", all("jsonrpc", "util")],
    ["sse", all("sse", "util")],
    ["core", all("core", "jsonrpc", "util")],
    ["revisions", all("revisions", "core", "jsonrpc", "util")],
    ["stores", all("stores", "core", "util")],
    ["testing", all("testing", "stores", "core", "util")],
    ["auth", all("auth", "core", "util")],
    ["server", all(...below, "stores", "server")],
    ["client", all(...below, "client")],
    ["console", all(...below, "stores", "server", "client", "console")],
    ["gateway", all(...below, "stores", "server", "client", "gateway")],
    ["index", ["testing", "node", "cli"]],
    ["node", ["testing", "cli"]],
    ["cli", ["testing"]],
  ])("of %s is to import any of %j", (layer, refused) => {
    expect(refusals(layer)).toEqual(refused);
  });

  const breachesOf = (file: string, text: string, ...others: string[]) =>
    findBreaches(new Map([[file, text], ...others.map((other): [string, string] => [other, ""])]));

  it("is said in words", () => {
    const text = 'export { a } from "../core/model.ts";';
    expect(breachesOf("src/util/a.ts", text, "src/core/model.ts")).toEqual([
      "src/util/a.ts: imports ../core/model.ts: util must not import core",
    ]);
  });

  it("is a store other than the memory store in the server", () => {
    const importing = (name: string) =>
      breachesOf("src/server/a.ts", `import "../stores/${name}.ts";`, `src/stores/${name}.ts`);
    expect(importing("memory")).toEqual([]);
    expect(importing("session-store")).toEqual([]);
    expect(importing("sqlite")).toHaveLength(1);
  });

  it("is a backend of a store in what tests them", () => {
    const importing = (name: string) =>
      breachesOf("src/testing/a.ts", `import "../stores/${name}.ts";`, `src/stores/${name}.ts`);
    expect(importing("event-hub")).toEqual([]);
    expect(importing("session-store")).toEqual([]);
    expect(importing("memory")).toHaveLength(1);
    expect(importing("memory-hub")).toHaveLength(1);
  });

  it("is a side of the wire in what tests stores, and more of a server than its channel", () => {
    const importing = (name: string, path: string) =>
      breachesOf(`src/testing/${name}.ts`, `import "../${path}.ts";`, `src/${path}.ts`);
    expect(importing("in-memory", "client/connect")).toEqual([]);
    expect(importing("in-memory", "server/memory-channel")).toEqual([]);
    expect(importing("in-memory", "server/endpoint")).toHaveLength(1);
    expect(importing("event-hub", "client/connect")).toHaveLength(1);
    expect(importing("event-hub", "server/memory-channel")).toHaveLength(1);
  });

  it("is a module of Node outside of node and cli", () => {
    for (const layer of layers) {
      const file = layer === "index" ? "src/index.ts" : `src/${layer}/a.ts`;
      const breaches = breachesOf(file, 'const fs = await import("node:fs");');
      expect([layer, breaches.length]).toEqual([
        layer,
        layer === "node" || layer === "cli" ? 0 : 1,
      ]);
    }
  });

  it("is what signs clients in, in a client that does not", () => {
    const importing = (file: string) => breachesOf(file, 'import * as oauth from "oauth4webapi";');
    expect(importing("src/client/auth/a.ts")).toEqual([]);
    expect(importing("src/client/a.ts")).toHaveLength(1);
    expect(importing("src/node/a.ts")).toHaveLength(1);
  });

  it("is a package that is no dependency, or one for types used as a value", () => {
    const importing = (text: string) => breachesOf("src/core/a.ts", text);
    expect(importing('import { Validator } from "@cfworker/json-schema";')).toEqual([]);
    expect(importing('import type { A } from "@standard-schema/spec";')).toEqual([]);
    expect(importing('import { A } from "@standard-schema/spec";')).toHaveLength(1);
    expect(importing('import { z } from "zod";')).toHaveLength(1);
    expect(importing('import type { z } from "zod";')).toHaveLength(1);
    expect(importing('import fs from "fs";')).toHaveLength(1);
    expect(importing('import { a } from "anyrev";')).toHaveLength(1);
  });

  it("is an unknown layer, a missing file or a computed import", () => {
    expect(breachesOf("src/misc/a.ts", "")).toHaveLength(1);
    expect(breachesOf("src/other.ts", "")).toHaveLength(1);
    expect(breachesOf("src/core/a.ts", 'import "./b.ts";')).toHaveLength(1);
    expect(breachesOf("src/core/a.ts", 'import "./b";', "src/core/b.ts")).toHaveLength(1);
    expect(breachesOf("src/cli/a.ts", "await import(name);")).toHaveLength(1);
    expect(breachesOf("src/cli/a.ts", "// import(name)")).toEqual([]);
  });

  it("is a file of more than 400 lines", () => {
    expect(breachesOf("src/util/a.ts", "\n".repeat(400))).toEqual([]);
    expect(breachesOf("src/util/a.ts", "\n".repeat(401))).toHaveLength(1);
  });

  it("is a cycle, told once", () => {
    const sources = new Map([
      ["src/core/a.ts", 'import "./b.ts";'],
      ["src/core/b.ts", 'import { type C } from "./c.ts";\nimport "./d.ts";'],
      ["src/core/c.ts", 'import "./b.ts";\nimport "./d.ts";'],
      ["src/core/d.ts", 'import type { A } from "./a.ts";'],
    ]);
    expect(findBreaches(sources)).toEqual([
      "import cycle: src/core/b.ts -> src/core/c.ts -> src/core/b.ts",
    ]);
    expect(breachesOf("src/core/a.ts", 'import "./a.ts";')).toHaveLength(1);
  });
});
