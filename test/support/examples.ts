/** Code blocks of the documentation: found, compiled as a whole, and run one by one. */
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { fileURLToPath } from "node:url";

export const root: string = fileURLToPath(new URL("../..", import.meta.url));

export interface Example {
  /** Where it begins, such as `docs/http.md:12`. */
  readonly where: string;
  readonly code: string;
  /** The module it is written to. */
  readonly file: string;
}

/** Every block marked `ts` in the README and the pages under `docs`. */
export function findExamples(folder: string): Example[] {
  const pages = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"));
  return ["README.md", ...pages.map((name) => `docs/${name}`)].flatMap((page) =>
    blocksOf(readFileSync(join(root, page), "utf8")).map(({ line, code }) => ({
      where: `${page}:${line}`,
      code,
      file: join(folder, nameOf(code) ?? `${page.replaceAll(/\W/g, "-")}-${line}.ts`),
    })),
  );
}

/** A block that says by which name it is imported can be imported by the others. */
export function nameOf(code: string): string | undefined {
  return /^\/\/ (\w+\.ts)\n/.exec(code)?.[1];
}

/** The blocks of one page, each with the line of its first line of code. */
export function blocksOf(markdown: string): { readonly line: number; readonly code: string }[] {
  const blocks: { line: number; code: string }[] = [];
  let fence: string | undefined;
  let kept: string[] | undefined;
  for (const [index, line] of markdown.split(/\r?\n/).entries()) {
    const found = /^ {0,3}(`{3,}|~{3,})\s*(\S*)/.exec(line);
    if (fence === undefined) {
      if (found === null) continue;
      fence = found[1];
      if (/^(?:ts|typescript)$/i.test(found[2] ?? "")) {
        kept = [];
        blocks.push({ line: index + 2, code: "" });
      }
    } else if (found?.[2] === "" && found[1]?.startsWith(fence)) {
      const last = blocks.at(-1);
      if (kept !== undefined && last !== undefined) last.code = `${kept.join("\n")}\n`;
      fence = undefined;
      kept = undefined;
    } else kept?.push(line);
  }
  if (fence !== undefined) throw new Error(`a code block is not closed: ${kept?.[0] ?? ""}`);
  return blocks;
}

/**
 * Stands in for test runners: a test within a test is refused by them. `taken` are those of the
 * example that was imported last.
 */
const runner = `export { expect } from "vitest";
export const taken: (() => unknown)[] = [];
export function test(_name: string, run: () => unknown): void {
  taken.push(run);
}
`;

/** Writes each example as a module, beside a project that compiles them as tests are. */
export function writeExamples(folder: string, examples: readonly Example[]): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "runner.ts"), runner);
  for (const { file, code } of examples) {
    writeFileSync(file, code.replace(/ from "(?:vitest|node:test)";/g, ' from "./runner.ts";'));
  }
  const project = { extends: join(root, "tsconfig.test.json"), include: ["*.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(project));
}

/** What the compiler says, all of it; empty when there is nothing to say. */
export function compile(folder: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const compiler = join(root, "node_modules/typescript/bin/tsc");
    const args = [compiler, "-p", folder, "--pretty", "false"];
    execFile(process.execPath, args, { cwd: folder }, (error, stdout, stderr) => {
      if (error !== null && stdout === "") reject(new Error(stderr, { cause: error }));
      else resolve(stdout);
    });
  });
}

export interface Ran {
  /** What the module exports. */
  readonly exported: Readonly<Record<string, unknown>>;
  /** The ports it listens on. */
  readonly ports: readonly number[];
  /** How often it asserted something, its tests included. */
  readonly assertions: number;
  /** What it wrote to standard output, where it was given an input. */
  readonly spoken: string;
}

/**
 * Runs an example and its tests, then `check` on what it left, then closes what it opened.
 * Wherever it asks to listen it gets a free port of the loopback address instead; an assertion
 * that fails throws.
 *
 * @param input - what it finds on standard input, where it reads that
 */
export async function runExample(
  { file }: Example,
  check: (ran: Ran) => Promise<void>,
  input?: string,
): Promise<void> {
  const speech = input === undefined ? undefined : replaceStreams(input);
  const servers = new Set<HttpServer>();
  const original = Object.getOwnPropertyDescriptor(HttpServer.prototype, "listen");
  const { assert } = console;
  let assertions = 0;
  HttpServer.prototype.listen = function (this: HttpServer, ...args: unknown[]) {
    servers.add(this);
    // What an example closes itself is not called any more.
    this.once("close", () => servers.delete(this));
    const callback = args.find((arg) => typeof arg === "function");
    const place = { port: 0, host: "127.0.0.1" };
    return listenAnywhere.call(this, place, callback as () => void);
  } as HttpServer["listen"];
  console.assert = (condition, ...data) => {
    assertions++;
    if (!condition) throw new Error(["an assertion of the example fails", ...data].join(": "));
  };
  try {
    const exported = await import(/* @vite-ignore */ file);
    assertions += await runTests(join(file, "../runner.ts"));
    const spoken = speech?.restore() ?? "";
    await Promise.all([...servers].map(untilListening));
    const ports = [...servers].map((server) => (server.address() as AddressInfo).port);
    await check({ exported, ports, assertions, spoken });
  } finally {
    speech?.restore();
    console.assert = assert;
    if (original === undefined) Reflect.deleteProperty(HttpServer.prototype, "listen");
    else Object.defineProperty(HttpServer.prototype, "listen", original);
    await Promise.all([...servers].map(close));
  }
}

/** @returns how many there were. */
async function runTests(runnerFile: string): Promise<number> {
  const { taken } = await import(/* @vite-ignore */ runnerFile);
  const tests: (() => unknown)[] = taken.splice(0);
  for (const run of tests) await run();
  return tests.length;
}

/** Puts an input that ends where standard input is, and hears what is written. */
function replaceStreams(input: string): { readonly restore: () => string } {
  const output = new PassThrough();
  const replaced = { stdin: Readable.from([Buffer.from(input)]), stdout: output };
  const originals = Object.getOwnPropertyDescriptors(process);
  for (const [name, value] of Object.entries(replaced)) {
    Object.defineProperty(process, name, { value, configurable: true });
  }
  let spoken: string | undefined;
  const restore = (): string => {
    if (spoken !== undefined) return spoken;
    Object.defineProperty(process, "stdin", originals.stdin);
    Object.defineProperty(process, "stdout", originals.stdout);
    spoken = String(output.read() ?? "");
    return spoken;
  };
  return { restore };
}

const listenAnywhere = HttpServer.prototype.listen;

/** It may be on its way to being closed instead. */
function untilListening(server: HttpServer): Promise<void> {
  if (server.listening) return Promise.resolve();
  return new Promise((resolve, reject) => {
    server.once("listening", resolve);
    server.once("close", resolve);
    server.once("error", reject);
  });
}

function close(server: HttpServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
