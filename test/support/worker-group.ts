/** Processes of the fixture over one store, behind a balancer. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { overSocket, type Worker } from "./live.ts";
import { Program } from "./program.ts";
import { openRoundRobin, type RoundRobin } from "./round-robin.ts";
import { sharedPostgres, sharedRedis } from "./servers.ts";
import { makePrefix } from "./shared-stores.ts";
import { makeFolder } from "./sqlite.ts";

export const backends = ["sqlite", "redis", "postgres"] as const;
export type Backend = (typeof backends)[number];

export interface StorePlace extends AsyncDisposable {
  /** For `--store`. */
  readonly address: string;
}

/** A place in a server of this run, or in a file, that nobody else uses. */
export async function placeIn(backend: Backend): Promise<StorePlace> {
  const nothing = { [Symbol.asyncDispose]: () => Promise.resolve() };
  switch (backend) {
    case "sqlite": {
      const folder = await makeFolder();
      return {
        address: `sqlite:${join(folder, "stores.db")}`,
        [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
      };
    }
    case "redis":
      return { address: `${await sharedRedis()}?prefix=${makePrefix()}`, ...nothing };
    case "postgres":
      return { address: `${await sharedPostgres()}?prefix=${makePrefix()}`, ...nothing };
  }
}

export interface Member {
  readonly program: Program;
  readonly port: number;
  readonly pid: number;
}

export class WorkerGroup implements AsyncDisposable {
  readonly #args: readonly string[];
  readonly balancer: RoundRobin;
  members: Member[];

  private constructor(args: readonly string[], members: Member[], balancer: RoundRobin) {
    this.#args = args;
    this.members = members;
    this.balancer = balancer;
  }

  static async open(
    address: string,
    count: number = 3,
    ...more: readonly string[]
  ): Promise<WorkerGroup> {
    const args = ["--store", address, ...more];
    const members = await Promise.all(Array.from({ length: count }, () => startMember(args)));
    return new WorkerGroup(args, members, await openRoundRobin(members.map(({ port }) => port)));
  }

  /** The whole service, as clients reach it. */
  get service(): Worker {
    return overSocket({ port: this.balancer.port, close: () => Promise.resolve() });
  }

  /** One worker, past the balancer. */
  at(index: number): Worker {
    return overSocket({ port: this.members[index]?.port ?? 0, close: () => Promise.resolve() });
  }

  /** Starts a worker in the place of one that has ended. */
  async replace(index: number): Promise<Member> {
    const member = await startMember(this.#args);
    this.members = this.members.map((each, at) => (at === index ? member : each));
    this.balancer.use(this.members.map(({ port }) => port));
    return member;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.balancer[Symbol.asyncDispose]();
    for (const { program } of this.members) {
      program.child.kill("SIGCONT");
      await program[Symbol.asyncDispose]();
    }
  }
}

async function startMember(args: readonly string[]): Promise<Member> {
  const program = new Program("build/fixture/server.js", ...args);
  const [, port] = await program.printed(/^listening http:\/\/127\.0\.0\.1:(\d+)\/mcp\n$/);
  return { program, port: Number(port), pid: program.child.pid ?? 0 };
}
