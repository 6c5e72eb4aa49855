/** Lines to a stream that somebody else reads, or does not read any more. */
import type { Writable } from "node:stream";

/** Joins the messages of one tick into one write: a system call costs more than a message. */
export class TickWriter {
  readonly #output: Writable;
  readonly #maxQueuedBytes: number;
  readonly #break: () => void;
  /** Resolves when nobody reads the output any more. */
  readonly broken: Promise<void>;
  #isBroken = false;
  #waiting = "";
  #scheduled = false;

  /** @param maxQueuedBytes - a reader that is further behind is taken to be gone */
  constructor(output: Writable, maxQueuedBytes: number) {
    this.#output = output;
    this.#maxQueuedBytes = maxQueuedBytes;
    const { promise, resolve } = deferred();
    this.broken = promise;
    this.#break = () => {
      this.#isBroken = true;
      this.#waiting = "";
      resolve();
    };
    // Stays: a write may fail after serving has ended, and must not end the process then.
    output.on("error", this.#break);
    output.once("close", this.#break);
  }

  /** How much is not yet taken by whoever reads, in bytes, or letters where they wait. */
  get queued(): number {
    return this.#output.writableLength + this.#waiting.length;
  }

  /** Writes one line, in the next turn of the event loop. */
  write(text: string): void {
    if (this.#isBroken) return;
    this.#waiting += `${text}\n`;
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#flush());
  }

  /** Resolves when all was taken, or nobody takes it any more. */
  async flushed(): Promise<void> {
    this.#flush();
    if (this.#isBroken || this.#output.writableLength === 0) return;
    const { promise, resolve } = deferred();
    this.#output.write("", () => resolve());
    await Promise.race([promise, this.broken]);
  }

  #flush(): void {
    this.#scheduled = false;
    const text = this.#waiting;
    this.#waiting = "";
    if (text === "" || this.#isBroken || !this.#output.writable) return;
    this.#output.write(text);
    if (this.#output.writableLength > this.#maxQueuedBytes) this.#break();
  }
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
