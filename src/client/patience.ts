/** How long to wait before another try, and when to stop trying. */
import type { Ending } from "../util/ending.ts";
import { clientClosed } from "./errors.ts";
import type { CallSignal } from "./transport.ts";

export interface PatienceOptions {
  /** Tries in a row that may fail. */
  readonly failures: number;
  /** Time spent waiting since something new came last, in milliseconds. */
  readonly withinMs: number;
  /** The longest wait for a server that opens streams and says nothing on them. */
  readonly barrenMs: number;
}

/** What is waited where the server says nothing about it. */
const defaultWaitMs = 1_000;
const longestBackoffMs = 30_000;
/** A day: far from where a timer overflows and fires at once. */
const longestWaitMs = 86_400_000;
/** A stream that was open as long as this was no sign of something going round in circles. */
const longLivedMs = 5_000;
/** So that the clients of a server that restarted do not all come back at once. */
const jitter = 0.1;

export class Patience {
  readonly #options: PatienceOptions;
  #failures = 0;
  #barren = 0;
  #waitedMs = 0;
  #askedMs: number | undefined;

  constructor(options: PatienceOptions) {
    this.#options = options;
  }

  /** @param askedMs - what the server asks to wait because of it */
  failed(askedMs?: number): void {
    this.#failures++;
    this.#askedMs = askedMs;
  }

  /** A stream is open until it has been read; `news` counts what it brings. */
  async during<T>(position: { readonly news: number }, read: () => Promise<T>): Promise<T> {
    const before = position.news;
    const openedAt = performance.now();
    const result = await read();
    const hadNews = position.news > before;
    this.#failures = 0;
    this.#askedMs = undefined;
    if (hadNews) this.#waitedMs = 0;
    if (hadNews || performance.now() - openedAt >= longLivedMs) this.#barren = 0;
    else this.#barren++;
    return result;
  }

  /**
   * Waits before another try.
   *
   * @param retryMs - what the stream's server asks to wait, never undercut
   * @returns why there is no use in waiting, and at once; undefined after the wait
   * @throws the signal's reason, or ClientError `closed`
   */
  async wait(
    retryMs: number | undefined,
    signal: CallSignal,
    ending: Ending,
  ): Promise<string | undefined> {
    const { failures, withinMs } = this.#options;
    if (this.#failures > failures) return "it failed again and again";
    const askedMs = Math.max(retryMs ?? defaultWaitMs, this.#askedMs ?? 0, this.#backoffMs());
    // A timer may be early by the fraction of a millisecond that it rounds off.
    const waitMs = Math.ceil(askedMs * (1 + Math.random() * jitter)) + 1;
    this.#waitedMs += waitMs;
    if (this.#waitedMs > withinMs || waitMs > longestWaitMs) return "it would take too long";
    await pause(waitMs, signal, ending);
    return undefined;
  }

  #backoffMs(): number {
    if (this.#failures > 0) {
      return Math.min(defaultWaitMs * 2 ** (this.#failures - 1), longestBackoffMs);
    }
    if (this.#barren === 0) return 0;
    return Math.min(100 * 2 ** this.#barren, this.#options.barrenMs);
  }
}

/** @throws the signal's reason, or ClientError `closed` */
function pause(ms: number, signal: CallSignal, ending: Ending): Promise<void> {
  return unlessOver(
    (resolve) => {
      const timer = setTimeout(resolve, ms);
      return () => clearTimeout(timer);
    },
    signal,
    ending,
  );
}

/** What a stranger's promise resolves with, unless it is not wanted any more before. */
export function waitFor<T>(
  promise: Promise<T>,
  signal: CallSignal,
  ending: Ending | undefined,
): Promise<T> {
  return unlessOver<T>(
    (resolve, reject) => {
      promise.then(resolve, reject);
      return () => undefined;
    },
    signal,
    ending,
  );
}

function unlessOver<T>(
  begin: (resolve: (value: T) => void, reject: (cause: unknown) => void) => () => void,
  signal: CallSignal,
  ending: Ending | undefined,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => settle(() => reject(signal.reason));
    let stop = (): void => undefined;
    let forget = (): void => undefined;
    const settle = (how: () => void): void => {
      stop();
      forget();
      signal.removeEventListener("abort", onAbort);
      how();
    };
    stop = begin(
      (value) => settle(() => resolve(value)),
      (cause) => settle(() => reject(cause)),
    );
    signal.addEventListener("abort", onAbort, { once: true });
    if (ending !== undefined) forget = ending.onEnd(() => settle(() => reject(clientClosed())));
  });
}
