/**
 * Servers that tests need, private to a run of tests: the first file that asks for one starts
 * it, the others use it too, and the end of the run stops it.
 */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { inject } from "vitest";
import { startPostgres } from "./postgres-server.ts";
import { startRedis } from "./redis-server.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the servers of this run are written down. */
    serversFolder: string;
    /** The process that has the run. */
    runPid: number;
  }
}

/** A server of a run, as it is written down. */
interface Started {
  readonly url: string;
  readonly pid: number;
  readonly folder: string;
}

/** The whole run: vitest calls it before the first file, and what it returns after the last. */
export default function setup(project: {
  provide(key: "serversFolder", value: string): void;
  provide(key: "runPid", value: number): void;
}): () => Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "anyrev-servers-"));
  project.provide("serversFolder", folder);
  project.provide("runPid", process.pid);
  return async () => {
    for (const name of readdirSync(folder).filter((each) => each.endsWith(".json"))) {
      const started: Started = JSON.parse(readFileSync(join(folder, name), "utf8"));
      await end(started.pid);
      rmSync(started.folder, { recursive: true, force: true });
    }
    rmSync(folder, { recursive: true, force: true });
  };
}

/** @returns the address of a Redis that the whole run shares: use a prefix of your own. */
export function sharedRedis(): Promise<string> {
  return shared("redis", (owner) => startRedis({ owner }));
}

/** @returns the address of a PostgreSQL that the whole run shares: use a prefix of your own. */
export function sharedPostgres(): Promise<string> {
  return shared("postgres", startPostgres);
}

async function shared(name: string, start: (owner: number) => Promise<Started>): Promise<string> {
  const folder = inject("serversFolder");
  const file = join(folder, `${name}.json`);
  if (claim(join(folder, name))) {
    try {
      const { url, pid, folder: data } = await start(inject("runPid"));
      writeFileSync(`${file}.new`, JSON.stringify({ url, pid, folder: data }));
      renameSync(`${file}.new`, file);
    } catch (cause) {
      writeFileSync(join(folder, `${name}.failed`), String(cause));
      throw cause;
    }
  }
  for (const end = Date.now() + 60_000; Date.now() < end; await delay(20)) {
    const names = readdirSync(folder);
    if (names.includes(`${name}.json`)) return JSON.parse(readFileSync(file, "utf8")).url;
    if (names.includes(`${name}.failed`)) break;
  }
  throw new Error(`${name} could not be started; another test file says why`);
}

/** @returns whether nobody was faster. */
function claim(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch {
    return false;
  }
}

async function end(pid: number): Promise<void> {
  for (const signal of ["SIGTERM", "SIGQUIT", "SIGKILL"] as const) {
    if (!send(pid, signal)) return;
    for (let waited = 0; waited < 100; waited++) {
      await delay(20);
      if (!send(pid, 0)) return;
    }
  }
}

/** @returns whether there was such a process. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
