/** How long a call may take: its own timer, a cap that nothing puts off, and the caller's signal. */
import { onAbort } from "../util/abort.ts";
import { ClientError } from "./errors.ts";
import type { CallSignal } from "./transport.ts";

export interface WatchOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  /**
   * When what is watched began, by `performance.now()`: the cap counts from there, over all
   * that a call takes to be answered. @default now
   */
  readonly beganAt?: number | undefined;
}

/** For what has another end than a time. */
export function untilAborted(signal: AbortSignal | undefined): WatchOptions {
  const forever = Number.POSITIVE_INFINITY;
  return { signal, timeoutMs: forever, maxTimeoutMs: forever };
}

/** A timer that is set for longer fires at once. */
const longestTimerMs = 2 ** 31 - 1;

/** Aborts when a call is over before its reply has come; its reason is a ClientError. */
export class Watch implements CallSignal {
  readonly #listeners: Set<() => void> = new Set();
  #reason: ClientError | undefined;
  #controller: AbortController | undefined;
  readonly #options: WatchOptions;
  /** When the cap is reached, by `performance.now()`. */
  #capAt: number;
  /** How many hold it, and since when one does. */
  #held = 0;
  #heldSince = 0;
  #forget: () => void = () => undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #cap: ReturnType<typeof setTimeout> | undefined;
  /** How many questions are being answered, while the clock stands still. */
  #paused = 0;
  #isOver = false;

  constructor(options: WatchOptions) {
    this.#options = options;
    const { signal, maxTimeoutMs, beganAt } = options;
    if (signal !== undefined) this.#forget = onAbort(signal, () => this.end(givenUp(signal)));
    this.restart();
    this.#capAt = (beganAt ?? performance.now()) + maxTimeoutMs;
    this.#startCap();
  }

  get aborted(): boolean {
    return this.#reason !== undefined;
  }

  get reason(): ClientError | undefined {
    return this.#reason;
  }

  throwIfAborted(): void {
    if (this.#reason !== undefined) throw this.#reason;
  }

  /** Each listener is called once at most. */
  addEventListener(_type: "abort", listener: () => void): void {
    this.#listeners.add(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.#listeners.delete(listener);
  }

  /** The same as a real one, for those who pass it on to strangers. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  /** Starts the clock anew: something shows that the server is at work. */
  restart(): void {
    clearTimeout(this.#timer);
    if (this.#paused > 0) return;
    const { timeoutMs } = this.#options;
    this.#timer = this.#after(timeoutMs, `no reply came within ${timeoutMs / 1000} seconds`);
  }

  /** Stops the clock, while the server waits for this side; the cap goes on. */
  pause(): void {
    this.#paused++;
    clearTimeout(this.#timer);
  }

  resume(): void {
    this.#paused--;
    this.restart();
  }

  /** Stops the cap as well, for what neither side is to blame for. */
  hold(): () => void {
    this.pause();
    if (this.#held++ === 0) this.#heldSince = performance.now();
    clearTimeout(this.#cap);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.resume();
      this.#held--;
      if (this.#held > 0) return;
      this.#capAt += performance.now() - this.#heldSince;
      this.#startCap();
    };
  }

  #startCap(): void {
    const { maxTimeoutMs } = this.#options;
    this.#cap = this.#after(
      Math.max(0, this.#capAt - performance.now()),
      `the call is not over after ${maxTimeoutMs / 1000} seconds`,
    );
  }

  /** The reply has come: nothing is waited for any more. */
  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#cap);
    this.#forget();
  }

  /** Nobody waits any more. */
  end(why: ClientError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#cap);
    this.#forget();
    this.#reason = why;
    this.#controller?.abort(why);
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) listener();
  }

  #after(ms: number, message: string): ReturnType<typeof setTimeout> | undefined {
    if (ms === Number.POSITIVE_INFINITY || this.#isOver) return undefined;
    const onTime = (): void => this.end(new ClientError("timeout", message));
    return setTimeout(onTime, Math.min(ms, longestTimerMs));
  }
}

/** What whoever gave up is told. */
export function givenUp({ reason }: AbortSignal): ClientError {
  return new ClientError("aborted", "the caller gave the call up", { cause: reason });
}
