/** An end to every wait for a store. */
import { StoreError } from "../core/store-error.ts";

/**
 * Operations that nobody waits for any more, at most. What a driver has taken it may hold
 * for as long as the store is away, and do it then: that must neither fill the memory nor
 * come back as a flood.
 */
const maxLate = 100;

/** How long a caller waits for a driver, and how much the driver may be left with. */
export class Deadline {
  #late = 0;

  /** @throws StoreError `away` when it takes longer, or when too much is waited for already */
  async wait<T>(timeoutMs: number, start: () => PromiseLike<T>): Promise<T> {
    if (this.#late >= maxLate) throw away(`${maxLate} operations have had no answer yet`);
    const work = Promise.resolve(start());
    try {
      return await within(timeoutMs, work);
    } catch (cause) {
      if (cause instanceof StoreError) this.#leave(work);
      throw cause;
    }
  }

  #leave(work: Promise<unknown>): void {
    this.#late++;
    const settle = (): void => {
      this.#late--;
    };
    work.then(settle, settle);
  }
}

/** @throws StoreError `away` when it takes longer; what comes later is let go. */
export function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(away(`the store did not answer within ${timeoutMs} ms`)),
      timeoutMs,
    );
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function away(message: string): StoreError {
  return new StoreError("away", message, { retryAfterMs: 1_000 });
}
