/**
 * What only works if all workers agree on it, looked at when a worker starts: an operator
 * hears of it then, and not from the callers whose next request went to the other worker.
 */
import type { Log } from "../core/log.ts";
import type { StateSealer } from "../core/request-state.ts";
import type { EventHub, HubEvent } from "../stores/event-hub.ts";
import type { Ending } from "../util/ending.ts";
import { isObject } from "../util/json.ts";
import { pause } from "../util/timer.ts";

export interface AgreementOptions {
  /** Undefined where it is of this process alone. */
  readonly hub: EventHub | undefined;
  readonly sharesSessions: boolean;
  readonly states: StateSealer;
  /** The versions that are answered on. */
  readonly supported: readonly string[];
  readonly keepsSessions: boolean;
  readonly log: Log;
  readonly closing: Ending;
}

const topic = "workers";

/** What a worker says of itself when it starts, and when another one says something else. */
interface Hello {
  readonly worker: string;
  /** Null where they are shared; the one that seals comes first. */
  readonly keys: readonly string[] | null;
  readonly supported: readonly string[];
  readonly keepsSessions: boolean;
  readonly isReply: boolean;
}

/** How long it waits before it tries again while the hub is away, at first and at most. */
const [firstPauseMs, longestPauseMs] = [500, 10_000];

/** Says by warnings what this worker and others do not agree on. Nothing waits for it. */
export function seekAgreement(options: AgreementOptions): void {
  const { hub, sharesSessions, states, log } = options;
  for (const message of alone(hub !== undefined, sharesSessions, states.agrees)) {
    log({ level: "warning", message });
  }
  if (hub !== undefined) void new Agreement(hub, options).seek();
}

/** What needs no other worker to be seen. */
function alone(sharesHub: boolean, sharesSessions: boolean, sharesKeys: boolean): string[] {
  if (!sharesHub && !sharesSessions) return [];
  const found: string[] = [];
  if (!sharesKeys) {
    found.push(
      "the keys that seal request state are of this process alone, and other workers cannot open what it sealed: give `stores`, or `requestState.keys`",
    );
  }
  if (!sharesHub) {
    found.push(
      "sessions are shared, and events are not: answers, changes and streams do not reach other workers: give `stores`, or `eventHub`",
    );
  }
  return found;
}

class Agreement {
  readonly #hub: EventHub;
  readonly #options: AgreementOptions;
  readonly #worker: string = crypto.randomUUID();
  readonly #over: AbortController = new AbortController();
  readonly #told: Set<string> = new Set();

  constructor(hub: EventHub, options: AgreementOptions) {
    this.#hub = hub;
    this.#options = options;
    options.closing.onEnd(() => this.#over.abort());
  }

  async seek(): Promise<void> {
    for (let pauseMs = firstPauseMs; !this.#over.signal.aborted; ) {
      try {
        await this.#begin();
        return;
      } catch (cause) {
        const message = "it is not known yet whether all workers agree: the stores cannot be used";
        this.#tell(message, cause);
        await pause(pauseMs);
        pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      }
    }
  }

  async #begin(): Promise<void> {
    await this.#options.states.ready();
    const hub = this.#hub;
    const start = await hub.position(topic);
    const mine = await this.#hello(false);
    const hear = (event: HubEvent): void => void this.#hear(event, mine);
    await hub.follow(topic, start, hear, this.#over.signal);
    await hub.publish(topic, JSON.stringify(mine));
  }

  async #hello(isReply: boolean): Promise<Hello> {
    const { states, supported, keepsSessions } = this.#options;
    const keys = (await states.fingerprints()) ?? null;
    return { worker: this.#worker, keys, supported, keepsSessions, isReply };
  }

  async #hear({ data }: HubEvent, mine: Hello): Promise<void> {
    const other = readHello(data);
    if (other === undefined || other.worker === this.#worker) return;
    const found = differences(mine, other);
    for (const message of found) this.#tell(message);
    if (found.length === 0 || other.isReply) return;
    try {
      // The other one has just started, and heard nothing of this one.
      await this.#hub.publish(topic, JSON.stringify({ ...mine, isReply: true }));
    } catch {
      // One of the two has said it.
    }
  }

  /** Once each: the difference does not become another one with every worker that starts. */
  #tell(message: string, cause?: unknown): void {
    if (this.#told.has(message)) return;
    this.#told.add(message);
    this.#options.log({ level: "warning", message, cause });
  }
}

function differences(mine: Hello, other: Hello): string[] {
  const found: string[] = [];
  if (!canExchange(mine.keys, other.keys)) {
    found.push(
      "another worker has other keys for request state, so that one of the two cannot open what the other sealed: give all of them the same `requestState.keys`, or none",
    );
  }
  if (mine.keepsSessions !== other.keepsSessions) {
    found.push("another worker differs in whether it keeps `sessions`");
  }
  if (mine.supported.join() !== other.supported.join()) {
    found.push(
      `another worker serves other revisions: ${other.supported.map((each) => each.slice(0, 10)).join(", ")}, and not ${mine.supported.join(", ")}`,
    );
  }
  return found;
}

/** Whether each opens what the other seals. */
function canExchange(mine: Hello["keys"], other: Hello["keys"]): boolean {
  if (mine === null || other === null) return mine === other;
  return opens(mine, other[0]) && opens(other, mine[0]);
}

function opens(keys: readonly string[], sealing: string | undefined): boolean {
  return sealing !== undefined && keys.includes(sealing);
}

/** Undefined for what a worker of another release may say. */
function readHello(data: string): Hello | undefined {
  let said: unknown;
  try {
    said = JSON.parse(data);
  } catch {
    return undefined;
  }
  if (!isObject(said)) return undefined;
  const { worker, keys, supported, keepsSessions, isReply } = said;
  if (typeof worker !== "string" || typeof keepsSessions !== "boolean") return undefined;
  if (keys !== null && !isStrings(keys)) return undefined;
  if (!isStrings(supported)) return undefined;
  return {
    worker,
    keys,
    supported: supported.slice(0, 20),
    keepsSessions,
    isReply: isReply === true,
  };
}

function isStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}
