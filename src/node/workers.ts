/**
 * Several processes of one program on one port, by `node:cluster`: the program runs again in
 * each of them, and the first one only keeps them running.
 */
import cluster, { type Worker } from "node:cluster";

export interface Workers {
  readonly port: number;
  /** Ends all of them as SIGTERM does, and waits until they have ended. */
  close(): Promise<void>;
}

/** A worker that ends sooner than this is started again no sooner than this, in milliseconds. */
const steadyMs = 1_000;

/**
 * Starts so many workers, and another one for each that ends by itself.
 *
 * @returns once all of them listen
 * @throws Error when one ends before
 */
export async function startWorkers(count: number): Promise<Workers> {
  // Each takes connections itself, when it has time for them. Handed out in turn by this process,
  // those on their way to a worker that is killed would be answered by nobody, and never close.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  const keeper = new Keeper();
  try {
    const ports = await Promise.all(Array.from({ length: count }, () => keeper.start()));
    return { port: ports[0] ?? 0, close: () => keeper.close() };
  } catch (cause) {
    await keeper.close();
    throw cause;
  }
}

class Keeper {
  readonly #workers: Set<Worker> = new Set();
  readonly #ended: Set<Promise<void>> = new Set();
  readonly #waiting: Set<ReturnType<typeof setTimeout>> = new Set();
  #isClosed = false;

  /** @returns the port, once it listens */
  start(): Promise<number> {
    const worker = cluster.fork();
    const startedAt = performance.now();
    this.#workers.add(worker);
    return new Promise((resolve, reject) => {
      let listens = false;
      worker.once("listening", ({ port }) => {
        listens = true;
        resolve(port);
      });
      const ended = new Promise<void>((end) => {
        worker.once("exit", (code) => {
          this.#workers.delete(worker);
          end();
          if (listens) this.#startAgain(performance.now() - startedAt);
          else reject(new Error(`a worker ended with ${code} before it listened`));
        });
      });
      this.#ended.add(ended);
      void ended.then(() => this.#ended.delete(ended));
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const timer of this.#waiting) clearTimeout(timer);
    for (const worker of this.#workers) worker.process.kill("SIGTERM");
    await Promise.all([...this.#ended]);
  }

  #startAgain(livedMs: number): void {
    if (this.#isClosed) return;
    const timer = setTimeout(
      () => {
        this.#waiting.delete(timer);
        // One that cannot even start is tried again, no faster than it fails.
        this.start().catch(() => this.#startAgain(0));
      },
      livedMs < steadyMs ? steadyMs : 0,
    );
    this.#waiting.add(timer);
  }
}
