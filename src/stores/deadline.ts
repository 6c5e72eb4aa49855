/** An end to every wait for a store. */
import { StoreError } from "../core/store-error.ts";

/** @throws StoreError `away` when it takes longer; what comes later is let go. */
export function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      const message = `the store did not answer within ${timeoutMs} ms`;
      reject(new StoreError("away", message, { retryAfterMs: 1_000 }));
    }, timeoutMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
