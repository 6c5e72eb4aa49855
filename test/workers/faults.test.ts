/** What callers see while workers and stores fail, in the midst of 10,000 calls. */
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import { beforeAll, describe, expect, test } from "vitest";
import { type Account, MixedLoad } from "../support/mixed-load.ts";
import { startPostgres } from "../support/postgres-server.ts";
import { buildFixtures, patience } from "../support/program.ts";
import { startRedis } from "../support/redis-server.ts";
import { until } from "../support/signals.ts";
import { Talker } from "../support/talk.ts";
import { placeIn, WorkerGroup } from "../support/worker-group.ts";

/** Of all the tests here together. */
const wantedCalls = 10_000;
/** A file on the same machine is the fastest of them. */
const calls = { sqlite: 5_000, redis: 2_600, postgres: 2_600 } as const;
const callers = 12;
/** For a machine that does much else beside; most of a minute is what the faults last. */
const limitMs = 300_000;
/** How long callers wait is measured, so what else the machine does counts too: it is tried again. */
const trying = { timeout: limitMs, retry: 2 };

let made = 0;

beforeAll(buildFixtures, patience);

/** What a fault changed of the account. */
type Seen = Pick<Account, "broken" | "gone" | "begunAnew" | "refused">;

/** A service under load, and what its callers see while something is done to it. */
class Trial implements AsyncDisposable {
  readonly group: WorkerGroup;
  readonly load: MixedLoad;

  private constructor(group: WorkerGroup) {
    this.group = group;
    this.load = new MixedLoad(group.service, callers);
  }

  static async open(address: string): Promise<Trial> {
    const trial = new Trial(await WorkerGroup.open(address));
    await trial.load.reached(300);
    return trial;
  }

  /** Does it, waits until all is well again, and gives what callers saw up to then. */
  async during(fault: () => Promise<unknown>): Promise<Seen> {
    const { account } = this.load;
    const { calls, gone, begunAnew } = account;
    const [brokenBefore, refusedBefore] = [account.broken.length, account.refused.length];
    await this.load.reached(calls + 100);
    await fault();
    const ended = performance.now();
    await until("every worker is well", () => this.#isWell(), 15_000);
    expect(performance.now() - ended, "until it is well again").toBeLessThan(5_000);
    await this.load.reached(account.calls + 100);
    return {
      broken: account.broken.slice(brokenBefore),
      gone: account.gone - gone,
      begunAnew: account.begunAnew - begunAnew,
      refused: account.refused.slice(refusedBefore),
    };
  }

  async #isWell(): Promise<boolean> {
    const states = await Promise.all(
      this.group.members.map(async ({ port }, index) => {
        const { status } = await fetch(`http://127.0.0.1:${port}/ready`);
        if (status !== 200) return false;
        const talker = await Talker.open(this.group.at(index), "2025-11-25");
        return (await talker.call("count", { key: "n" }).text()) === '{"count":1}';
      }),
    ).catch(() => [false]);
    return states.every(Boolean);
  }

  /** Nothing is lost and nothing doubled, and no caller was told anything but what it should be. */
  async close(wanted: number, isEmptied: boolean = false): Promise<void> {
    await this.load.reached(wanted);
    const account = await this.load.end();
    made += account.calls;
    expect(account.faults).toEqual([]);
    if (!isEmptied) expect(account.gone).toBe(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.load.end();
    await this.group[Symbol.asyncDispose]();
  }
}

/** Whoever is refused is told to come back, and does not wait long to be told. */
function expectPatient({ refused }: Seen): void {
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.filter(({ hasHint }) => !hasHint)).toEqual([]);
  const waits = refused.map(({ afterMs }) => afterMs).sort((a, b) => a - b);
  expect(waits[waits.length >> 1], "half of them").toBeLessThan(2_000);
  expect(waits.at(-1), "the last of them").toBeLessThan(4_000);
}

describe("Three workers under load", () => {
  test(
    "over SQLite: a worker is killed, and the file is locked for 6 seconds",
    trying,
    async () => {
      await using place = await placeIn("sqlite");
      await using trial = await Trial.open(place.address);

      const killed = await trial.during(async () => {
        trial.group.members[0]!.program.child.kill("SIGKILL");
        await trial.group.replace(0);
      });
      // What it was doing is broken off; whoever comes next is served by the others.
      expect(killed.broken.length).toBeLessThanOrEqual(callers);
      expect([killed.gone, killed.begunAnew]).toEqual([0, 0]);

      const locked = await trial.during(async () => {
        const db = new Database(place.address.slice("sqlite:".length));
        db.exec("BEGIN IMMEDIATE");
        await delay(6_000);
        db.exec("COMMIT");
        db.close();
      });
      expectPatient(locked);
      expect([locked.broken, locked.gone, locked.begunAnew]).toEqual([[], 0, 0]);
      await trial.close(calls.sqlite);
    },
  );

  test(
    "over Redis: a worker is ended, Redis stands still for 5 seconds, and starts empty",
    trying,
    async () => {
      let redis = await startRedis();
      try {
        await using trial = await Trial.open(redis.url);

        const ended = await trial.during(async () => {
          const { program } = trial.group.members[0]!;
          program.child.kill("SIGTERM");
          expect(await program.ended, program.stderr).toEqual({ code: 0, signal: null });
          await trial.group.replace(0);
        });
        expect([ended.broken, ended.gone, ended.begunAnew]).toEqual([[], 0, 0]);

        const still = await trial.during(async () => {
          redis.process.kill("SIGSTOP");
          await delay(5_000);
          redis.process.kill("SIGCONT");
        });
        expectPatient(still);
        expect([still.broken, still.gone, still.begunAnew]).toEqual([[], 0, 0]);

        const emptied = await trial.during(async () => {
          const { port } = redis;
          await redis.stop();
          redis = await startRedis({ port });
        });
        expect(emptied.broken).toEqual([]);
        expect(emptied.gone).toBeGreaterThan(0);
        await trial.close(calls.redis, true);
      } finally {
        await redis.stop();
      }
    },
  );

  test(
    "over PostgreSQL: a worker stands still for 10 seconds, and PostgreSQL starts anew",
    trying,
    async () => {
      const postgres = await startPostgres();
      try {
        await using trial = await Trial.open(postgres.url);

        const still = await trial.during(async () => {
          const { child } = trial.group.members[0]!.program;
          child.kill("SIGSTOP");
          await delay(10_000);
          child.kill("SIGCONT");
        });
        expect([still.gone, still.begunAnew]).toEqual([0, 0]);

        const restarted = await trial.during(() => postgres.restart());
        expect([restarted.broken, restarted.gone, restarted.begunAnew]).toEqual([[], 0, 0]);
        expect(restarted.refused.filter(({ hasHint }) => !hasHint)).toEqual([]);
        await trial.close(calls.postgres);
      } finally {
        await postgres.stop();
      }
    },
  );

  test("made 10,000 calls in all", () => {
    expect(made).toBeGreaterThanOrEqual(wantedCalls);
  });
});
