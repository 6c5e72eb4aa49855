/** How long sessions last, for whoever watches. */
import type { Network, Telemetry } from "../core/telemetry.ts";
import { RecencyMap } from "../util/recency-map.ts";

/** Sessions that are timed at once; of more, those that are open the longest are let go. */
const maxTimed = 10_000;

type Over = (reason?: string) => void;

/**
 * Times a session from its handshake to its end, where this process sees both: one that is
 * ended at another worker, or forgotten by its store, is not told of.
 */
export class SessionClock {
  readonly #opened: NonNullable<Telemetry["opened"]>;
  readonly #network: Network | undefined;
  readonly #running: RecencyMap<Over> = new RecencyMap();

  constructor(opened: NonNullable<Telemetry["opened"]>, network: Network | undefined) {
    this.#opened = opened;
    this.#network = network;
  }

  begin(id: string, revision: string): void {
    this.#running.set(id, this.#opened({ side: "server", revision, network: this.#network }));
    if (this.#running.size <= maxTimed) return;
    for (const [oldest] of this.#running) {
      this.#running.delete(oldest);
      break;
    }
  }

  end(id: string): void {
    this.#running.get(id)?.();
    this.#running.delete(id);
  }
}

/** Undefined where nobody wants to know. */
export function clockFor(
  telemetry: Telemetry | undefined,
  network: Network | undefined,
): SessionClock | undefined {
  const opened = telemetry?.opened?.bind(telemetry);
  return opened && new SessionClock(opened, network);
}
