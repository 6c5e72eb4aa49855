/** How much is under way at once, for one caller and in all; and for how long. */
import { control, type Exchange } from "../core/exchange.ts";
import { type Failure, failure, type Outcome } from "../core/outcome.ts";
import { unavailable } from "../core/unavailable.ts";
import { Bag, type Bagged } from "../util/bag.ts";
import { letGo } from "../util/timer.ts";

/** What one endpoint or connection does at once, at most. */
export interface LoadOptions {
  /**
   * Calls that run at once in all, those whose caller has gone included. More are told to come
   * back (503 over HTTP): a flood cannot fill the memory with calls. @default 10000
   */
  readonly maxCalls?: number | undefined;
  /**
   * Calls that run at once for one principal, else for one session or connection. More are told
   * to come back (429 over HTTP): nobody's flood takes what is there for all. @default 1000
   */
  readonly maxCallsPerCaller?: number | undefined;
  /** Streams that wait for changes at once in all; more are 503 over HTTP. @default 10000 */
  readonly maxStreams?: number | undefined;
  /**
   * Such streams of one principal, else of one session or connection; more are 429 over HTTP.
   * @default 100
   */
  readonly maxStreamsPerCaller?: number | undefined;
  /**
   * How long a call may run until it is cancelled and its caller told so, in milliseconds; up to
   * a second longer. A handler that hangs holds nobody for ever. `Infinity` for no end.
   * @default 3600000
   */
  readonly callTimeoutMs?: number | undefined;
}

const defaults = Object.freeze({
  maxCalls: 10_000,
  maxCallsPerCaller: 1_000,
  maxStreams: 10_000,
  maxStreamsPerCaller: 100,
  callTimeoutMs: 3_600_000,
});

const retryMs = 1_000;
const busy = (what: string): Failure => unavailable(`this server has too many ${what}`, retryMs);
const tooMany = (what: string): Failure =>
  failure("rate-limited", `you have too many ${what} at once`, { retryAfterMs: retryMs });

interface Running extends Bagged {
  readonly ex: Exchange;
  readonly endsAt: number;
  readonly end: (outcome: Outcome) => void;
}

/** Slots of one kind: how many are taken in all, and by whom. */
class Slots {
  readonly #max: number;
  readonly #maxEach: number;
  readonly #what: string;
  /** How many each has; who has none stays for a while, as most come again (see `Bag`). */
  readonly #taken: Map<string, { count: number }> = new Map();
  #pruneAt = 1_000;
  #all = 0;

  constructor(max: number, maxEach: number, what: string) {
    this.#max = max;
    this.#maxEach = maxEach;
    this.#what = what;
  }

  /** @param caller - "" for one that cannot be told from others */
  take(caller: string): Failure | undefined {
    if (this.#all >= this.#max) return busy(this.#what);
    if (caller !== "") {
      const taken = this.#taken.get(caller) ?? this.#add(caller);
      if (taken.count >= this.#maxEach) return tooMany(this.#what);
      taken.count++;
    }
    this.#all++;
    return undefined;
  }

  free(caller: string): void {
    this.#all--;
    if (caller === "") return;
    const taken = this.#taken.get(caller);
    if (taken !== undefined) taken.count--;
  }

  #add(caller: string): { count: number } {
    if (this.#taken.size >= this.#pruneAt) {
      for (const [name, { count }] of this.#taken) if (count === 0) this.#taken.delete(name);
      this.#pruneAt = Math.max(1_000, 2 * this.#taken.size);
    }
    const taken = { count: 0 };
    this.#taken.set(caller, taken);
    return taken;
  }
}

export class Load {
  readonly calls: Slots;
  readonly streams: Slots;
  readonly #timeoutMs: number;
  readonly #running: Bag<Running> = new Bag();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: LoadOptions) {
    const limits = toLimits(options);
    this.calls = new Slots(limits.maxCalls, limits.maxCallsPerCaller, "calls");
    this.streams = new Slots(limits.maxStreams, limits.maxStreamsPerCaller, "streams");
    this.#timeoutMs = limits.callTimeoutMs;
  }

  /**
   * Lets a call go on until its time is up.
   *
   * @param outcome - never rejects
   * @param onDone - called when the call is over, whatever its caller was told before
   */
  limit(outcome: Promise<Outcome>, ex: Exchange, onDone: () => void): Promise<Outcome> {
    return new Promise((resolve) => {
      const running = {
        ex,
        endsAt: performance.now() + this.#timeoutMs,
        end: resolve,
        place: -1,
      };
      this.#running.add(running);
      this.#arm();
      void outcome.then((found) => {
        this.#running.delete(running);
        onDone();
        resolve(found);
      });
    });
  }

  /** One timer for all, and none where nothing runs: most calls end long before their time. */
  #arm(): void {
    if (this.#timer !== undefined || this.#timeoutMs === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(() => this.#sweep(), Math.min(this.#timeoutMs, 1_000));
    letGo(this.#timer);
  }

  #sweep(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const running of this.#running.all()) {
      if (running.endsAt > now) continue;
      this.#running.delete(running);
      // Told first, or its caller would only hear that it was cancelled.
      running.end(failure("internal", `the call was ended after ${this.#timeoutMs} ms`));
      control.cancel(running.ex, "the call took too long");
    }
    if (this.#running.size > 0) this.#arm();
  }
}

export function toLimits(
  options: LoadOptions = {},
): Required<{ [K in keyof LoadOptions]: number }> {
  const limits = {
    maxCalls: options.maxCalls ?? defaults.maxCalls,
    maxCallsPerCaller: options.maxCallsPerCaller ?? defaults.maxCallsPerCaller,
    maxStreams: options.maxStreams ?? defaults.maxStreams,
    maxStreamsPerCaller: options.maxStreamsPerCaller ?? defaults.maxStreamsPerCaller,
    callTimeoutMs: options.callTimeoutMs ?? defaults.callTimeoutMs,
  };
  for (const [name, value] of Object.entries(limits)) {
    if (!(value > 0)) throw new RangeError(`${name} is a positive number, not ${value}`);
  }
  return limits;
}
