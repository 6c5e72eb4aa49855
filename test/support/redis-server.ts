/** A Redis that keeps nothing on disk. */
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, launch, stop } from "./server-process.ts";

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly folder: string;
  readonly process: ChildProcess;
  stop(): Promise<void>;
}

export interface RedisServerOptions {
  /** @default a free one */
  readonly port?: number;
  readonly args?: readonly string[];
  /** The process that it belongs to. @default this one */
  readonly owner?: number;
}

/** Starts `redis-server`, or whatever REDIS_SERVER names, such as `valkey-server`. */
export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const port = options.port ?? (await freePort());
  const folder = mkdtempSync(join(tmpdir(), "anyrev-redis-"));
  const child = await launch({
    command: process.env["REDIS_SERVER"] ?? "redis-server",
    args: [
      ...["--port", String(port), "--bind", "127.0.0.1", "--dir", folder],
      ...["--save", "", "--appendonly", "no", "--daemonize", "no"],
      ...(options.args ?? []),
    ],
    probe: () => ping(port),
    folder,
    owner: options.owner,
  });
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    pid: child.pid ?? 0,
    folder,
    process: child,
    stop: async () => {
      await stop(child, "SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function ping(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write("PING\r\n"));
    socket.once("error", reject);
    socket.once("data", (data) => {
      socket.destroy();
      if (String(data).startsWith("+PONG")) resolve();
      else reject(new Error(String(data)));
    });
  });
}
