/** How long a call may take: its own timer, a cap that nothing puts off, and the caller's signal. */
import { ClientError } from "./errors.ts";

export interface WatchOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
}

/** A timer that is set for longer fires at once. */
const longestTimerMs = 2 ** 31 - 1;

export class Watch {
  readonly #ended: AbortController = new AbortController();
  readonly #options: WatchOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #cap: ReturnType<typeof setTimeout> | undefined;
  /** How many questions are being answered, while the clock stands still. */
  #paused = 0;
  readonly #onAbort: () => void = () =>
    this.#end(new ClientError("aborted", "the caller gave the call up", { cause: this.#reason() }));

  constructor(options: WatchOptions) {
    this.#options = options;
    const { signal } = options;
    if (signal?.aborted) this.#onAbort();
    else signal?.addEventListener("abort", this.#onAbort, { once: true });
    this.restart();
    this.#cap = this.#after(options.maxTimeoutMs, "though it reported progress");
  }

  /** Aborts when the call is over before its reply has come; its reason is a ClientError. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** Starts the clock anew: something shows that the server is at work. */
  restart(): void {
    clearTimeout(this.#timer);
    if (this.#paused > 0 || this.signal.aborted) return;
    this.#timer = this.#after(this.#options.timeoutMs, "");
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

  stop(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#cap);
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
  }

  #reason(): unknown {
    return this.#options.signal?.reason;
  }

  #after(ms: number, though: string): ReturnType<typeof setTimeout> | undefined {
    if (ms === Number.POSITIVE_INFINITY || this.signal.aborted) return undefined;
    const seconds = ms / 1000;
    const message = ["no reply came within", seconds, "seconds", though].join(" ").trimEnd();
    const onTime = (): void => this.#end(new ClientError("timeout", message));
    return setTimeout(onTime, Math.min(ms, longestTimerMs));
  }

  #end(why: ClientError): void {
    this.stop();
    this.#ended.abort(why);
  }
}
