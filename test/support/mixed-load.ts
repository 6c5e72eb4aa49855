/** Callers that go on calling whatever fails, and keep account of what they were told. */
import { setTimeout as delay } from "node:timers/promises";
import type { Worker } from "./live.ts";
import { isObject, type JsonObject, type Revision, revisions } from "./schemas.ts";
import { type Talk, Talker } from "./talk.ts";

/** How long a caller waits for an answer. What comes later is none. */
const patienceMs = 12_000;

export interface Refusal {
  readonly status: number;
  readonly afterMs: number;
  readonly hasHint: boolean;
}

/** What all callers of a load were told. */
export interface Account {
  calls: number;
  /** Refused with a request to come back. */
  readonly refused: Refusal[];
  /** Broken off, or not answered in time, and how: nobody knows what became of them. */
  readonly broken: string[];
  /** Sessions and handles that were gone. */
  gone: number;
  /** Calls whose earlier round nobody knows any more. */
  begunAnew: number;
  /** What must never be. */
  readonly faults: string[];
}

/** A count behind a session or a handle, as its only caller knows it. */
interface Counter {
  readonly talker: Talker;
  readonly handle: string | undefined;
  /** What it was told last. */
  last: number;
  /** What may or may not have been counted since. */
  unknown: number;
}

export class MixedLoad {
  readonly account: Account = {
    calls: 0,
    refused: [],
    broken: [],
    gone: 0,
    begunAnew: 0,
    faults: [],
  };
  readonly #service: Worker;
  readonly #running: Promise<void>[];
  #isOver = false;

  constructor(service: Worker, callers: number) {
    this.#service = service;
    this.#running = Array.from({ length: callers }, (_, at) =>
      this.#call(revisions[at % revisions.length] ?? "2026-07-28"),
    );
  }

  /** Resolves when so many calls have been made in all. */
  async reached(calls: number): Promise<void> {
    while (this.account.calls < calls) await delay(20);
  }

  /** Ends it when the calls under way are answered. */
  async end(): Promise<Account> {
    this.#isOver = true;
    await Promise.all(this.#running);
    return this.account;
  }

  async #call(revision: Revision): Promise<void> {
    let counter: Counter | undefined;
    for (let turn = 0; !this.#isOver; turn++) {
      try {
        counter ??= await this.#open(revision);
        await this.#turn(counter, turn);
      } catch (cause) {
        if (cause instanceof Gone) {
          this.account.gone++;
          counter = undefined;
        } else if (!(cause instanceof Passing)) this.account.faults.push(String(cause));
        await delay(20);
      }
    }
    if (counter !== undefined) await this.#settle(counter);
  }

  async #open(revision: Revision): Promise<Counter> {
    const started = performance.now();
    let talker: Talker;
    try {
      talker = await Talker.open(this.#service, revision);
    } catch (cause) {
      // Opened in a store that forgot it before the handshake was over.
      if (/got 404/.test(String(cause))) throw new Gone(String(cause));
      throw this.#breakOff(cause, started);
    }
    if (talker.session !== undefined) return { talker, handle: undefined, last: 0, unknown: 0 };
    const { handle, count } = await this.#answer(talker.call("count", { key: "n" }));
    return { talker, handle: String(handle), last: Number(count), unknown: 0 };
  }

  async #turn(counter: Counter, turn: number): Promise<void> {
    const { talker } = counter;
    switch (turn % 4) {
      case 0:
        return this.#count(counter);
      case 1: {
        const { text } = await this.#answer(talker.call("echo", { text: `t${turn}` }));
        if (text !== `t${turn}`) this.account.faults.push(`another's answer: ${text}`);
        return;
      }
      case 2:
        return talker.revision === "2026-07-28" ? this.#rounds(talker, turn) : this.#steps(talker);
      default:
        return this.#recall(counter);
    }
  }

  async #count(counter: Counter): Promise<void> {
    const { talker, handle } = counter;
    counter.unknown++;
    const answered = await this.#answer(talker.call("count", { key: "n", ...named(handle) }));
    this.#check(counter, Number(answered.count), 1);
  }

  async #recall(counter: Counter): Promise<void> {
    const { talker, handle } = counter;
    const { value } = await this.#answer(talker.call("recall", { key: "n", ...named(handle) }));
    this.#check(counter, Number(value ?? 0), 0);
  }

  /** @param least - how much more than the last time it must be */
  #check(counter: Counter, count: number, least: number): void {
    const { last, unknown } = counter;
    if (count < last + least) this.account.faults.push(`lost: ${count} after ${last}`);
    if (count > last + unknown) {
      this.account.faults.push(`doubled: ${count} after ${last} and ${unknown} more`);
    }
    counter.last = count;
    // A count that was broken off and is not in this one may yet come, from a worker that stood still.
    counter.unknown -= Math.min(unknown, count - last);
  }

  /** Progress that comes in order, each step once. */
  async #steps(talker: Talker): Promise<void> {
    const call = talker.call("count_to", { n: 3, delayMs: 1 }, { token: "t" });
    try {
      await this.#answer(call, (text) => ({ text }));
    } finally {
      const steps = call.messages.flatMap(({ params }) =>
        isObject(params) && "progress" in params ? [Number(params.progress)] : [],
      );
      if (steps.some((step, at) => at > 0 && step <= (steps[at - 1] ?? 0))) {
        this.account.faults.push(`steps out of order: ${steps}`);
      }
    }
  }

  /** A call over two rounds, and so over two workers. */
  async #rounds(talker: Talker, turn: number): Promise<void> {
    const params = { name: "ask_twice", arguments: { first: `a${turn}`, second: `b${turn}` } };
    const first = await this.#result(talker.ask("tools/call", params));
    const second = await this.#result(
      talker.ask("tools/call", {
        ...params,
        requestState: first.requestState,
        inputResponses: { first: { action: "accept", content: { answer: `x${turn}` } } },
      }),
    );
    if (second.resultType !== "input_required") {
      this.account.faults.push(`the second round came to ${JSON.stringify(second)}`);
    }
  }

  async #settle(counter: Counter): Promise<void> {
    let why: unknown;
    for (let tries = 0; tries < 10; tries++) {
      try {
        return await this.#recall(counter);
      } catch (cause) {
        why = cause;
        if (cause instanceof Gone) {
          this.account.gone++;
          return;
        }
        await delay(100);
      }
    }
    this.account.faults.push(`what was counted could not be read in the end: ${why}`);
  }

  async #answer(call: Talk, read: (text: string) => JsonObject = parse): Promise<JsonObject> {
    const result = await this.#result(call);
    const [block] = result.content as readonly { readonly text: string }[];
    const text = block?.text ?? "";
    if (result.isError !== true) return read(text);
    if (text.includes("unknown or has expired")) throw new Gone(text);
    throw new Error(`an error: ${text}`);
  }

  async #result(call: Talk): Promise<JsonObject> {
    this.account.calls++;
    const started = performance.now();
    let reply: JsonObject;
    try {
      reply = await inTime(call);
    } catch (cause) {
      throw this.#breakOff(cause, started);
    }
    const { status, headers } = await call.live;
    if (isObject(reply.result)) return reply.result;
    const error = isObject(reply.error) ? reply.error : {};
    if (status === 404) throw new Gone(String(error.message));
    if (String(error.message).includes("call again without it")) {
      this.account.begunAnew++;
      throw new Passing("the round before is not known");
    }
    const data = isObject(error.data) ? error.data : {};
    const isRefused = status === 503 || "retryAfterMs" in data;
    // A stream that has begun is on 200 already; its caller reads the same in the error.
    if (!isRefused) throw new Error(`an answer with ${status}: ${JSON.stringify(reply)}`);
    const hasHint = "retryAfterMs" in data && (status !== 503 || headers.has("retry-after"));
    this.account.refused.push({ status, afterMs: performance.now() - started, hasHint });
    throw new Passing("refused");
  }

  /** What the balancer says for a worker that is gone, or a connection that broke. */
  #breakOff(cause: unknown, started: number): Error {
    const message = String(cause);
    if (/refused|got 503|again later|about to end/.test(message)) {
      this.account.refused.push({
        status: 503,
        afterMs: performance.now() - started,
        hasHint: true,
      });
    } else
      this.account.broken.push(`${message}, after ${Math.round(performance.now() - started)} ms`);
    return new Passing(message);
  }
}

/** Fails as it should while something is broken. */
class Passing extends Error {}
/** Fails as it should where what was kept is gone. */
class Gone extends Error {}

const named = (handle: string | undefined): JsonObject => (handle === undefined ? {} : { handle });

function parse(text: string): JsonObject {
  const value: unknown = JSON.parse(text);
  return isObject(value) ? value : {};
}

async function inTime(call: Talk): Promise<JsonObject> {
  const ended = new AbortController();
  const late = delay(patienceMs, undefined, { signal: ended.signal }).then(
    () => {
      call.drop();
      throw new Error("no answer in time");
    },
    () => ({}),
  );
  try {
    return await Promise.race([call.reply(), late]);
  } finally {
    ended.abort();
  }
}
