/** Code blocks of the documentation: found, compiled as a whole, and run one by one. */
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
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
      file: join(folder, `${page.replaceAll(/\W/g, "-")}-${line}.ts`),
    })),
  );
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

/** Writes each example as a module, beside a project that compiles them as tests are. */
export function writeExamples(folder: string, examples: readonly Example[]): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const { file, code } of examples) writeFileSync(file, code);
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
  /** How often it asserted something. */
  readonly assertions: number;
}

/**
 * Runs an example, then `check` on what it left, then closes what it opened. Wherever it asks
 * to listen it gets a free port of the loopback address instead; an assertion that fails throws.
 */
export async function runExample(
  { file }: Example,
  check: (ran: Ran) => Promise<void>,
): Promise<void> {
  const servers: HttpServer[] = [];
  const original = Object.getOwnPropertyDescriptor(HttpServer.prototype, "listen");
  const { assert } = console;
  let assertions = 0;
  HttpServer.prototype.listen = function (this: HttpServer, ...args: unknown[]) {
    servers.push(this);
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
    await Promise.all(servers.map(untilListening));
    const ports = servers.map((server) => (server.address() as AddressInfo).port);
    await check({ exported, ports, assertions });
  } finally {
    console.assert = assert;
    if (original === undefined) Reflect.deleteProperty(HttpServer.prototype, "listen");
    else Object.defineProperty(HttpServer.prototype, "listen", original);
    await Promise.all(servers.map(close));
  }
}

const listenAnywhere = HttpServer.prototype.listen;

function untilListening(server: HttpServer): Promise<void> {
  if (server.listening) return Promise.resolve();
  return new Promise((resolve, reject) => {
    server.once("listening", resolve);
    server.once("error", reject);
  });
}

function close(server: HttpServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
