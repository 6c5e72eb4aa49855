/** What stores that workers share promise while their backend fails, as tests. */
import type { OneTimeStore } from "../core/one-time.ts";
import type { EventHub } from "../stores/event-hub.ts";
import type { SessionStore } from "../stores/session-store.ts";
import type { Awaitable } from "../util/awaitable.ts";
import { record } from "./record.ts";
import { assert, assertEqual, type SuiteRunner, sleep, until } from "./runner.ts";

/** What one worker has of the stores. */
export interface FaultyStores {
  readonly hub: EventHub;
  readonly sessions: SessionStore;
  readonly oneTime: OneTimeStore;
}

export interface OpenedFaultyStores {
  readonly one: FaultyStores;
  /** Another worker's way to the same place. */
  readonly other: FaultyStores;
  /** Called at the end of each test. */
  readonly close?: (() => Awaitable<void>) | undefined;
}

/** Makes the backend fail, for a while, and resolves once it could work again. */
export type Fault<T> = (opened: T) => Awaitable<unknown>;

/** How long an operation may take, whatever happens. */
const longestMs = 2_000;

/** How soon after the fault everything works again. */
const recoveryMs = 5_000;

/**
 * States to a test runner, for each fault, that operations succeed or fail with a StoreError
 * `away` within two seconds, that nothing acknowledged is lost and no event is doubled, and
 * that all works again by itself within five seconds.
 *
 * @param open - opens fresh stores, once for each fault; what they hold outlives the fault
 * @param faults - by what is the case while they last, such as "connections break"
 */
export function storeFaultsSuite<T extends OpenedFaultyStores>(
  open: () => Awaitable<T>,
  faults: Readonly<Record<string, Fault<T>>>,
  { test }: SuiteRunner,
): void {
  for (const [name, fault] of Object.entries(faults)) {
    test(`loses and doubles nothing while ${name}`, async () => {
      const opened = await open();
      const ended = new AbortController();
      try {
        await endure(opened, () => fault(opened), ended.signal);
      } finally {
        ended.abort();
        await opened.close?.();
      }
    });
  }
}

async function endure(
  { one, other }: OpenedFaultyStores,
  fault: () => Awaitable<unknown>,
  signal: AbortSignal,
): Promise<void> {
  await patiently(() => one.sessions.create(record("a", { values: { count: 0 } })));
  const seen = { one: await follow(one, signal), other: await follow(other, signal) };
  const published = new Work((at, timed) => timed(() => one.hub.publish("t", String(at))));
  // Whoever comes later is told that the topic exists.
  await until(() => published.done.size > 0, "the first event");
  const counted = new Work((_, timed) => count(other.sessions, timed));
  const all = [
    published,
    counted,
    new Work((_, timed) => timed(() => one.sessions.touch("a"))),
    new Work((at, timed) => timed(() => one.oneTime.claim(`c${at}`, 60_000))),
    new Work((_, timed) => come(other.hub, timed)),
  ];
  await until(() => all.every((work) => work.done.size > 1), "some work before the fault");
  await fault();
  const end = Date.now();
  const before = all.map((work) => work.done.size);
  const recovered = () => all.every((work, at) => work.done.size > (before[at] ?? 0) + 1);
  while (!recovered() && Date.now() - end < recoveryMs) await sleep(10);
  const took = Date.now() - end;
  await Promise.all(all.map((work) => work.stop()));
  assert(took < recoveryMs, "not everything worked again within five seconds");
  for (const work of all) work.check();
  await patiently(() => one.hub.publish("t", "end"));
  const isWhole = () => Object.values(seen).every((data) => data.includes("end"));
  await until(isWhole, "the last event on both workers");
  for (const [who, data] of Object.entries(seen)) judgeEvents(who, data, published.done);
  assertEqual(seen.other, seen.one, "what the other worker saw");
  await judgeCount(one.sessions, counted);
}

/** Runs one operation, and notes it when that takes too long. */
type Timed = <R>(operation: () => Awaitable<R>) => Promise<R>;

/** Does one thing again and again, and notes what came of it. */
class Work {
  /** The turns that were acknowledged. */
  readonly done: Set<number> = new Set();
  /** Of how many nobody knows what became of them. */
  failed = 0;
  readonly #wrong: string[] = [];
  readonly #running: Promise<void>;
  #isOver = false;

  constructor(run: (at: number, timed: Timed) => Promise<unknown>) {
    this.#running = this.#go(run);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  check(): void {
    assertEqual(this.#wrong, [], "what took too long, or failed with something else");
  }

  async #go(run: (at: number, timed: Timed) => Promise<unknown>): Promise<void> {
    for (let at = 1; !this.#isOver; at++) {
      try {
        await run(at, (operation) => this.#time(operation));
        this.done.add(at);
      } catch (cause) {
        this.failed++;
        const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
        if (code !== "away") this.#wrong.push(String(cause));
      }
      await sleep(15);
    }
  }

  async #time<R>(operation: () => Awaitable<R>): Promise<R> {
    const start = Date.now();
    try {
      return await operation();
    } finally {
      const took = Date.now() - start;
      if (took > longestMs) this.#wrong.push(`${took} ms`);
    }
  }
}

/** Where nothing is made to fail, a slow machine may still take longer than an operation can. */
async function patiently<R>(operation: () => Awaitable<R>): Promise<R> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await operation();
    } catch (cause) {
      if (attempt === 10) throw cause;
      await sleep(100);
    }
  }
}

async function follow({ hub }: FaultyStores, signal: AbortSignal): Promise<string[]> {
  const seen: string[] = [];
  const start = await patiently(() => hub.position("t"));
  const go = () => hub.follow("t", start, ({ data }) => void seen.push(data), signal);
  assert(await patiently(go), "nothing to follow");
  return seen;
}

/** A reader that comes, is told that it could go on, and leaves. */
async function come(hub: EventHub, timed: Timed): Promise<void> {
  const start = await timed(() => hub.position("t"));
  const ask = () => hub.follow("t", start, () => undefined, AbortSignal.abort());
  assert(await timed(ask), "nothing to follow");
  assert(await timed(() => hub.exists("t")), "a topic with events does not exist");
}

/** One more, by reading again and deciding again: a save in doubt may have come in between. */
async function count(sessions: SessionStore, timed: Timed): Promise<void> {
  for (let attempt = 0; attempt < 10; attempt++) {
    const read = await timed(() => sessions.get("a"));
    if (read === undefined) throw new Error("the session is gone");
    const values = { count: Number(read.values["count"]) + 1 };
    if (await timed(() => sessions.save({ ...read, values }, read.writeVersion))) return;
  }
  throw new Error("ten saves in a row were refused that nobody else made");
}

function judgeEvents(
  who: string,
  seen: readonly string[],
  acknowledged: ReadonlySet<number>,
): void {
  const numbers = seen.filter((data) => data !== "end").map(Number);
  assertEqual(new Set(numbers).size, numbers.length, `events that ${who} saw once, of all it saw`);
  const known = numbers.filter((each) => acknowledged.has(each));
  // What is in doubt may come at any place; the rest is in order, and all of it is there.
  assertEqual(known, [...acknowledged], `the acknowledged events as ${who} saw them`);
}

async function judgeCount(sessions: SessionStore, { done, failed }: Work): Promise<void> {
  const kept = await patiently(() => sessions.get("a"));
  const counted = Number(kept?.values["count"]);
  assert(counted >= done.size, `${done.size} saves were acknowledged, ${counted} are there`);
  assert(counted <= done.size + failed, `${counted} saves are there, ${done.size} were made`);
}
