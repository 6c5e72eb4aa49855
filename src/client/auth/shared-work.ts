/** Work that many wait for and that is done once. */

import { waitFor } from "../patience.ts";
import type { CallSignal } from "../transport.ts";

interface Running {
  readonly done: Promise<void>;
  readonly controller: AbortController;
  waiting: number;
}

export class SharedWork {
  #running: Running | undefined;

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /**
   * Does it, or waits for what is being done already. It is given up when nobody waits any more,
   * as far as it can be; whatever comes next begins when that is over.
   *
   * @throws what the work throws, to all who wait; the signal's reason
   */
  async join(signal: CallSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    signal.throwIfAborted();
    while (this.#running?.controller.signal.aborted) {
      await waitFor(
        this.#running.done.catch(() => undefined),
        signal,
        undefined,
      );
    }
    const running = this.#running ?? this.#start(work);
    running.waiting++;
    try {
      await waitFor(running.done, signal, undefined);
    } finally {
      running.waiting--;
      if (running.waiting === 0) {
        running.controller.abort(new Error("nobody waits for it any more"));
      }
    }
  }

  #start(work: (signal: AbortSignal) => Promise<void>): Running {
    const controller = new AbortController();
    const done = work(controller.signal).finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    // Whoever waited may have gone.
    done.catch(() => undefined);
    const running: Running = { done, controller, waiting: 0 };
    this.#running = running;
    return running;
  }
}
