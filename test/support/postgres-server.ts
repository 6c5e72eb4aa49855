/** A PostgreSQL cluster of its own, in a folder that is gone after it. */
import { type ChildProcess, execFile } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { freePort, launch, stop } from "./server-process.ts";

const run = promisify(execFile);

export interface PostgresServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly folder: string;
  readonly process: ChildProcess;
  /** Ends it at once, and with it every connection, and starts it again over the same data. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** @param owner - the process that it belongs to; this one unless told otherwise */
export async function startPostgres(owner?: number): Promise<PostgresServer> {
  const bin = findPrograms();
  const user = await findUser();
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "anyrev-postgres-"));
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const cluster = [
    "-D",
    data,
    "-U",
    "tests",
    "-A",
    "trust",
    "-E",
    "UTF8",
    "--locale=C",
    "--no-sync",
  ];
  await run(join(bin, "initdb"), cluster, { ...user, cwd: folder });
  const url = `postgres://tests@127.0.0.1:${port}/postgres`;
  const begin = (): Promise<ChildProcess> =>
    launch({
      command: join(bin, "postgres"),
      args: [
        ...["-D", data, "-p", String(port), "-h", "127.0.0.1", "-k", folder],
        ...["-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=300"],
      ],
      user,
      probe: () => probe(url),
      folder,
      owner,
    });
  let child = await begin();
  return {
    url,
    port,
    folder,
    get pid() {
      return child.pid ?? 0;
    },
    get process() {
      return child;
    },
    restart: async () => {
      await stop(child, "SIGQUIT");
      child = await begin();
    },
    stop: async () => {
      await stop(child, "SIGQUIT");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The newest that is installed; Debian keeps it out of the search path. */
function findPrograms(): string {
  const root = "/usr/lib/postgresql";
  const versions = existsSync(root) ? readdirSync(root).map(Number).filter(Boolean) : [];
  const found = versions
    .sort((a, b) => b - a)
    .map((version) => join(root, String(version), "bin"))
    .find((folder) => existsSync(join(folder, "initdb")));
  if (found !== undefined) return found;
  const folders = (process.env["PATH"] ?? "").split(":");
  const onPath = folders.find((folder) => existsSync(join(folder, "initdb")));
  if (onPath !== undefined) return onPath;
  throw new Error("PostgreSQL is not installed; on Debian: apt-get install postgresql");
}

/** It refuses to run as root, and has brought a user of its own. */
async function findUser(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const [uid, gid] = await Promise.all(
    ["-u", "-g"].map(async (which) => Number((await run("id", [which, "postgres"])).stdout)),
  );
  return { uid: uid ?? 0, gid: gid ?? 0 };
}

async function probe(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.query("SELECT 1");
  } finally {
    await client.end().catch(() => undefined);
  }
}
