/**
 * Which layer of `src/` may import which, checked on source text alone: no compiler is needed, and
 * made-up sources can show that a breach is found.
 */
import { dirname, join } from "node:path/posix";

/** Sources by their path from the repository root, with forward slashes. */
export type Sources = ReadonlyMap<string, string>;

export interface Import {
  readonly specifier: string;
  /** The whole statement is `import type` or `export type`. */
  readonly isTypeOnly: boolean;
}

const maxLines = 400;

const base = ["jsonrpc", "util"];
const served = ["core", "revisions", "sse", "auth", ...base];
const facade = [...served, "server", "client", "stores"];

/** The layers that each layer may import besides itself; `index` is `src/index.ts`. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  util: [],
  jsonrpc: ["util"],
  sse: ["util"],
  core: base,
  revisions: ["core", ...base],
  stores: ["core", "util"],
  telemetry: ["core", "util"],
  testing: ["core", "stores", "util", "client", "server"],
  auth: ["core", "util"],
  server: [...served, "stores"],
  client: served,
  console: facade,
  gateway: facade,
  index: [...facade, "console", "gateway"],
  node: [...facade, "console", "gateway", "index"],
  cli: [...facade, "console", "gateway", "index", "node"],
};

/** The server knows the contract of a store and its default; the other backends are plugged in. */
const storesOfServer = [
  "src/stores/session-store.ts",
  "src/stores/event-hub.ts",
  "src/stores/key-store.ts",
  "src/stores/shared-stores.ts",
  "src/stores/memory.ts",
  "src/stores/memory-hub.ts",
  "src/stores/memory-keys.ts",
];

/** A contract suite knows contracts alone: every backend is handed to it. */
const storesOfTesting = [
  "src/stores/session-store.ts",
  "src/stores/event-hub.ts",
  "src/stores/key-store.ts",
];

/** What calls a server under test comes from both sides of the wire. */
const callerOfTesting = "src/testing/in-memory.ts";
const serverOfTesting = "src/server/memory-channel.ts";

const onRuntime = ["node", "cli"];

interface PackageRule {
  /** Whether only its types may be imported. */
  readonly isTypeOnly: boolean;
  /** The one layer that may import it. @default every layer */
  readonly layer?: string;
  /** The one folder of it, where others are to work without. */
  readonly folder?: string;
}

/** Packages that the sources may import. */
const packages: ReadonlyMap<string, PackageRule> = new Map<string, PackageRule>([
  ["@standard-schema/spec", { isTypeOnly: true }],
  ["@cfworker/json-schema", { isTypeOnly: false }],
  ["eventsource-parser", { isTypeOnly: false }],
  ["@opentelemetry/api", { isTypeOnly: false, layer: "telemetry" }],
  ["jose", { isTypeOnly: false, layer: "auth" }],
  ["oauth4webapi", { isTypeOnly: false, layer: "client", folder: "src/client/auth/" }],
]);

/** Every breach of the layering in `sources`, as one sentence each. */
export function findBreaches(sources: Sources): string[] {
  const breaches: string[] = [];
  const graph = new Map<string, string[]>();
  for (const [file, text] of sources) {
    breaches.push(...breachesOfFile(file, text));
    const targets: string[] = [];
    for (const imported of importsOf(text)) {
      const target = targetOf(file, imported.specifier);
      // A type import is gone at run time, so it closes no cycle; the linter's rule agrees.
      if (target !== undefined && !imported.isTypeOnly) targets.push(target);
      const breach = breachOfImport(sources, file, imported, target);
      if (breach) breaches.push(`${file}: imports ${imported.specifier}: ${breach}`);
    }
    graph.set(file, targets);
  }
  const cycles = findCycles(graph).map((cycle) => `import cycle: ${cycle.join(" -> ")}`);
  return [...breaches, ...cycles];
}

function breachesOfFile(file: string, text: string): string[] {
  const breaches: string[] = [];
  const layer = layerOf(file);
  if (!Object.hasOwn(allowed, layer)) breaches.push(`${file}: is in no known layer`);
  const lines = text.replace(/\n$/, "").split("\n").length;
  if (lines > maxLines) breaches.push(`${file}: has ${lines} lines, more than ${maxLines}`);
  // Where the specifier is computed, nobody can tell from the text which layer it reaches.
  if (/\bimport\s*\(\s*(?!["'\s])/.test(withoutComments(text))) {
    breaches.push(`${file}: has an import() without a literal specifier`);
  }
  return breaches;
}

function breachOfImport(
  sources: Sources,
  file: string,
  { specifier, isTypeOnly }: Import,
  target: string | undefined,
): string | undefined {
  const layer = layerOf(file);
  if (target === undefined) return breachOfPackage(file, specifier, isTypeOnly);
  if (!sources.has(target)) return `there is no ${target}`;
  const to = layerOf(target);
  if (to === layer) return undefined;
  if (!allowed[layer]?.includes(to)) return `${layer} must not import ${to}`;
  if (layer === "server" && to === "stores" && !storesOfServer.includes(target)) {
    return "server may import the contract of a store and the memory store only";
  }
  return layer === "testing" ? breachOfTesting(file, target, to) : undefined;
}

function breachOfTesting(file: string, target: string, to: string): string | undefined {
  if (to === "stores" && !storesOfTesting.includes(target)) {
    return "testing may import the contract of a store only";
  }
  if ((to === "client" || to === "server") && file !== callerOfTesting) {
    return "a contract suite knows neither a client nor a server";
  }
  if (to === "server" && target !== serverOfTesting) {
    return "testing may call a server in memory only";
  }
  return undefined;
}

function breachOfPackage(file: string, specifier: string, isTypeOnly: boolean): string | undefined {
  const layer = layerOf(file);
  if (specifier.startsWith("node:")) {
    return onRuntime.includes(layer) ? undefined : `${layer} must run without Node`;
  }
  const rule = packages.get(specifier);
  if (!rule) return "is no dependency of the sources";
  if (rule.layer !== undefined && rule.layer !== layer) return `is for ${rule.layer} alone`;
  if (rule.folder !== undefined && !file.startsWith(rule.folder))
    return `is for ${rule.folder} alone`;
  return rule.isTypeOnly && !isTypeOnly ? "may be imported for its types only" : undefined;
}

/** `src/core/model.ts` is in `core`, `src/index.ts` in `index`. */
function layerOf(file: string): string {
  const [, first = ""] = file.split("/");
  return first.replace(/\.ts$/, "");
}

/** The file a relative specifier names; undefined for a package or a built-in module. */
function targetOf(file: string, specifier: string): string | undefined {
  return /^\.\.?\//.test(specifier) ? join(dirname(file), specifier) : undefined;
}

/** The static imports, re-exports and literal `import()`s of a source text, types included. */
export function importsOf(text: string): Import[] {
  const code = withoutComments(text);
  const statements = code.matchAll(
    /^[ \t]*(?:import|export)\s+(type\s+(?!from\b))?(?:[\w$\s,{}*]*?\bfrom\s*|[\w$\s,{}*]*?\}\s*from\s*)?(["'])([^"'\n]+)\2/gm,
  );
  const calls = code.matchAll(/\bimport\s*\(\s*(["'])([^"'\n]+)\1/g);
  return [
    ...[...statements].map(([, type, , specifier = ""]) => ({
      specifier,
      isTypeOnly: type !== undefined,
    })),
    ...[...calls].map(([, , specifier = ""]) => ({ specifier, isTypeOnly: false })),
  ];
}

/** Blanks comments, so that an example in one is no import; strings are stepped over whole. */
function withoutComments(text: string): string {
  return text.replace(
    /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)|\/\/[^\n]*|\/\*[\s\S]*?\*\//g,
    (_match: string, literal: string | undefined) => literal ?? "",
  );
}

/** Each import cycle once, from the file where the search came upon it back to that file. */
function findCycles(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const cycles: string[][] = [];
  const finished = new Set<string>();
  const trail: string[] = [];
  const visit = (file: string): void => {
    const start = trail.indexOf(file);
    if (start >= 0) cycles.push([...trail.slice(start), file]);
    if (start >= 0 || finished.has(file)) return;
    trail.push(file);
    for (const target of graph.get(file) ?? []) visit(target);
    trail.pop();
    finished.add(file);
  };
  for (const file of graph.keys()) visit(file);
  return cycles;
}
