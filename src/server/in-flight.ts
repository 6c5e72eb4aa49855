/** The calls that are running, so that their own caller can cancel them, through any worker. */

import { control, type Exchange } from "../core/exchange.ts";
import { failure, type Outcome } from "../core/outcome.ts";
import { isRequestId, type RequestId } from "../jsonrpc/message.ts";
import type { EventHub, HubEvent } from "../stores/event-hub.ts";
import type { Awaitable } from "../util/awaitable.ts";
import type { Ending } from "../util/ending.ts";
import { isObject } from "../util/json.ts";

const cancelled: Outcome = failure("cancelled", "the caller cancelled this request");
const closed: Outcome = failure("cancelled", "serving ended before this was done");

/** Cancels of calls that do not run where their notice arrived. They are few. */
const topic = "cancelled";

interface Cancel {
  readonly caller: string;
  /** Undefined for all that the caller has running. */
  readonly key: string | undefined;
  readonly reason: string;
}

export class InFlight {
  /** By caller, then by id. */
  readonly #running: Map<string, Map<string, Exchange>> = new Map();
  /** Undefined where no other worker can run what is cancelled here. */
  readonly #hub: EventHub | undefined;
  readonly #closing: Ending;
  readonly #following: AbortController = new AbortController();
  #follows = false;
  #busy = 0;
  #whenIdle: (() => void)[] = [];

  constructor(hub: EventHub | undefined, closing: Ending) {
    this.#hub = hub;
    this.#closing = closing;
    closing.onEnd(() => this.#following.abort());
  }

  get size(): number {
    let size = 0;
    for (const calls of this.#running.values()) size += calls.size;
    return size;
  }

  /** Counts what is to be finished before the process may end. */
  count<T>(running: Promise<T>): Promise<T> {
    const over = this.begin();
    running.then(over, over);
    return running;
  }

  /** The same for what tells its end itself. @returns what is to be called then, once */
  begin(): () => void {
    this.#busy++;
    return this.#over;
  }

  readonly #over = (): void => {
    this.#busy--;
    if (this.#busy === 0) for (const callback of this.#whenIdle.splice(0)) callback();
  };

  /** Resolves when nothing is left to be finished; undefined where nothing is. */
  idle(): Promise<void> | undefined {
    if (this.#busy === 0) return undefined;
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  /** Waits for the outcome, or for the caller's cancel, whichever comes first. */
  wait(
    caller: string,
    id: RequestId,
    ex: Exchange,
    outcome: Promise<Outcome | undefined>,
  ): Promise<Outcome | undefined> {
    const cancel = new Promise<Outcome>((resolve) =>
      control.onCancel(ex, () => resolve(this.#closing.over ? closed : cancelled)),
    );
    return this.track(caller, id, ex, Promise.race([outcome, cancel]));
  }

  /** Lets the caller cancel what ends by itself when it is cancelled. */
  async track(
    caller: string,
    id: RequestId,
    ex: Exchange,
    outcome: Promise<Outcome | undefined>,
  ): Promise<Outcome | undefined> {
    const key = keyOf(id);
    const calls = this.#running.get(caller) ?? new Map<string, Exchange>();
    this.#running.set(caller, calls.set(key, ex));
    void this.#follow();
    try {
      return await outcome;
    } finally {
      if (calls.get(key) === ex) calls.delete(key);
      if (calls.size === 0 && this.#running.get(caller) === calls) this.#running.delete(caller);
    }
  }

  /** For the end of a connection. */
  cancelAll(reason: string): void {
    for (const calls of [...this.#running.values()]) {
      for (const ex of [...calls.values()]) control.cancel(ex, reason);
    }
  }

  /** For the end of a session: its caller can no longer get any answer. */
  cancelAllOf(caller: string, reason: string): Awaitable<unknown> {
    const cancel = { caller, key: undefined, reason };
    this.#apply(cancel);
    return this.#hub?.publish(topic, JSON.stringify(cancel));
  }

  /**
   * Cancels what `notifications/cancelled` names, if it is this caller's. What is unknown,
   * finished or malformed is ignored: the notice may simply be late
   * (basic/utilities/cancellation, Error Handling).
   */
  cancel(caller: string, params: unknown): Awaitable<unknown> {
    if (!isObject(params)) return;
    const { requestId, reason } = params;
    if (!isRequestId(requestId)) return;
    const why = typeof reason === "string" ? reason.slice(0, 1_000) : "the caller cancelled";
    const cancel = { caller, key: keyOf(requestId), reason: why };
    if (this.#apply(cancel) || this.#hub === undefined || cancel.key.length > 1_000) return;
    return this.#hub.publish(topic, JSON.stringify(cancel));
  }

  /** @returns whether it runs here. */
  #apply({ caller, key, reason }: Cancel): boolean {
    const calls = this.#running.get(caller);
    if (calls === undefined) return false;
    const named = key === undefined ? [...calls.values()] : [calls.get(key)];
    for (const ex of named) if (ex !== undefined) control.cancel(ex, reason);
    return named[0] !== undefined;
  }

  async #follow(): Promise<void> {
    const hub = this.#hub;
    if (hub === undefined || this.#follows) return;
    this.#follows = true;
    // Only this class writes to the topic.
    const take = ({ data }: HubEvent): unknown => this.#apply(JSON.parse(data) as Cancel);
    try {
      const start = await hub.position(topic);
      this.#follows = await hub.follow(topic, start, take, this.#following.signal);
    } catch {
      // Cancels that arrive elsewhere are missed until the next call tries again.
      this.#follows = false;
    }
  }
}

/** 99 and "99" are two ids. */
function keyOf(id: RequestId): string {
  return `${typeof id === "number" ? "n" : "s"}${id}`;
}
