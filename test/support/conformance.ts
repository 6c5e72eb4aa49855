/** Runs the official conformance suite against a server or a client and reads what it found. */
import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface Check {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  readonly errorMessage?: string;
}

const program = fileURLToPath(
  new URL("../../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url),
);

/**
 * The suite imports `globSync` from `fs`, which Node has from version 22 on. Only a command that
 * is not used here calls it, so on an older Node a stand-in lets the program start.
 */
const fileSystem = `
  export * from "node:fs";
  export { default } from "node:fs";
  export function globSync() { throw new Error("this version of Node has no globSync"); }
`;
const hooks = `
  export function resolve(specifier, context, next) {
    if (specifier !== "fs") return next(specifier, context);
    return { url: ${JSON.stringify(asUrl(fileSystem))}, shortCircuit: true };
  }
`;
const preload = `
  import { register } from "node:module";
  register(${JSON.stringify(asUrl(hooks))});
`;

function asUrl(source: string): string {
  return `data:text/javascript,${encodeURIComponent(source)}`;
}

/** Every scenario for one side, with the revisions it applies in. */
export async function listScenarios(
  side: "server" | "client",
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { output } = await run(["list", `--${side}`]);
  const lines = [...output.matchAll(/^\s+- (\S+) \[([^\]]*)\]$/gm)];
  if (lines.length === 0) throw new Error(`the suite lists no scenario:\n${output}`);
  return new Map(lines.map(([, name = "", revisions = ""]) => [name, revisions.split(",")]));
}

/** What each scenario that applies in `revision` found out about the server at `url`. */
export async function runServerSuite(
  url: string,
  revision: string,
): Promise<ReadonlyMap<string, readonly Check[]>> {
  const suite = ["--suite", "all", "--spec-version", revision, "--timeout", "10000"];
  return (await collect(["server", "--url", url, ...suite])).results;
}

/** What one scenario found out about the client that `command` starts, and how that ended. */
export async function runClientScenario(
  command: string,
  scenario: string,
  revision: string,
): Promise<{ readonly checks: readonly Check[]; readonly code: number | null }> {
  // A shell that does not become the client would be killed in its place.
  const client = ["client", "--command", `exec ${command}`, "--scenario", scenario];
  const found = await collect([...client, "--spec-version", revision, "--timeout", "30000"]);
  return { checks: found.results.get(scenario) ?? [], code: found.code };
}

/** What all scenarios of a selection found out at once, and what the clients printed last. */
export async function runClientSuite(
  command: string,
  ...selection: readonly string[]
): Promise<ReadonlyMap<string, ClientRun>> {
  const client = ["client", "--command", `exec ${command}`, ...selection];
  const { results, printed } = await collect([...client, "--timeout", "90000"], 120_000);
  return new Map(
    [...results].map(([scenario, checks]) => [
      scenario,
      { checks, printed: printed.get(scenario) ?? "" },
    ]),
  );
}

export interface ClientRun {
  readonly checks: readonly Check[];
  readonly printed: string;
}

interface Found {
  readonly results: ReadonlyMap<string, readonly Check[]>;
  /** What clients wrote to standard output. */
  readonly printed: ReadonlyMap<string, string>;
  /** Other than 0 where a check failed, or a client ended badly. */
  readonly code: number | null;
}

async function collect(args: readonly string[], timeout?: number): Promise<Found> {
  const folder = await mkdtemp(join(tmpdir(), "conformance-"));
  try {
    const { output, code } = await run([...args, "-o", folder], timeout);
    const results = new Map<string, readonly Check[]>();
    const printed = new Map<string, string>();
    for (const file of await readdir(folder, { recursive: true })) {
      const read = () => readFile(join(folder, file), "utf8");
      if (file.endsWith("checks.json")) results.set(scenarioOf(file), JSON.parse(await read()));
      if (file.endsWith("stdout.txt")) printed.set(scenarioOf(file), await read());
    }
    if (results.size === 0) throw new Error(`the suite ran no scenario:\n${output}`);
    return { results, printed, code };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The folder of a scenario is `<name>-<time>`, with the side in front for servers. */
function scenarioOf(file: string): string {
  return file.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[^/]*\/\w+\.\w+$/, "");
}

/** What speaks against having passed; a scenario that only finds valid messages proves nothing. */
export function complaints(scenario: string, checks: readonly Check[]): string[] {
  const bad = checks
    .filter(({ status }) => status === "FAILURE" || status === "WARNING")
    .map(({ id, status, errorMessage }) => `${scenario}: ${status} ${id}: ${errorMessage}`);
  const hasSuccess = checks.some(
    ({ id, status }) => status === "SUCCESS" && id !== "wire-schema-valid",
  );
  return hasSuccess ? bad : [...bad, `${scenario}: no success of its own`];
}

interface Run {
  readonly output: string;
  readonly code: number | null;
}

function run(args: readonly string[], timeout = 50_000): Promise<Run> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--import", asUrl(preload), program, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      timeout,
    });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.stderr.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.on("error", reject);
    child.on("close", (code) => resolve({ output, code }));
  });
}
