/** Changes on their way to those who listen, on whichever worker either of them is. */
import type { Access } from "../core/access.ts";
import type { ChangeableList, ListenFilter } from "../core/call.ts";
import { gatherMs } from "../core/changes.ts";
import type { Change } from "../core/notice.ts";
import type { Server } from "../core/server.ts";
import { StoreError } from "../core/store-error.ts";
import type { Cursor, EventHub } from "../stores/event-hub.ts";
import type { Awaitable } from "../util/awaitable.ts";
import { pause } from "../util/timer.ts";

const topic = "changes";

/** Changes that wait for the hub to come back, at most. */
const maxUntold = 1_000;

/** How long it waits before it tries the hub again, at first and at most. */
const [firstPauseMs, longestPauseMs] = [100, 1_000];

export class ChangeFeed {
  readonly #hub: EventHub;
  readonly #server: Server;
  readonly #stop: () => void;
  /** What could not be told yet, by what it says: told twice it says no more. */
  readonly #untold: Set<string> = new Set();
  readonly #publishing: Set<Promise<void>> = new Set();
  #isRetrying = false;
  #isClosed = false;

  constructor(server: Server, hub: EventHub) {
    this.#hub = hub;
    this.#server = server;
    this.#stop = server.changes.listen((change) => this.#tell(change), hub);
  }

  #tell(change: Change): void {
    const publishing = this.#publish(change).finally(() => this.#publishing.delete(publishing));
    this.#publishing.add(publishing);
  }

  async #publish(change: Change): Promise<void> {
    const text = JSON.stringify(change);
    try {
      await this.#hub.publish(topic, text);
    } catch (cause) {
      this.#server.log({ level: "error", message: "a change could not be told yet", cause });
      if (!(cause instanceof StoreError) || cause.code !== "away") return;
      // A change that happened is told once the hub is back: listeners rely on hearing of it.
      if (this.#untold.size < maxUntold) this.#untold.add(text);
      if (!this.#isRetrying) void this.#retry();
    }
  }

  async #retry(): Promise<void> {
    this.#isRetrying = true;
    for (let pauseMs = firstPauseMs; this.#untold.size > 0 && !this.#isClosed; ) {
      await pause(pauseMs);
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      try {
        for (const text of [...this.#untold]) {
          await this.#hub.publish(topic, text);
          this.#untold.delete(text);
        }
      } catch {
        // It was logged when it could not be told the first time.
      }
    }
    this.#isRetrying = false;
  }

  /** Where the feed stands now. */
  position(): Awaitable<Cursor> {
    return this.#hub.position(topic);
  }

  /** Every change after a cursor. @returns false when the feed no longer reaches back to it. */
  follow(
    from: Cursor,
    onChange: (change: Change, cursor: Cursor) => void,
    signal: AbortSignal,
  ): Awaitable<boolean> {
    return this.#hub.follow(
      topic,
      from,
      // Only this class writes to the topic.
      ({ data, cursor }) => onChange(JSON.parse(data) as Change, cursor),
      signal,
    );
  }

  /** What of a filter can be honoured: a frozen server's lists do not change. */
  honoured({ lists, uris }: ListenFilter, access: Access): ListenFilter {
    const { registry } = this.#server;
    const hasResources = registry.has("resources") || registry.has("templates");
    const changes = (list: ChangeableList): boolean =>
      !registry.frozen && (list === "resources" ? hasResources : registry.has(list));
    return {
      lists: lists.filter(changes),
      uris: hasResources ? [...new Set(uris)].filter((uri) => registry.tells(uri, access)) : [],
    };
  }

  /** Whether a caller may hear of a change, which may be of what was declared since it asked. */
  tells(change: Change, access: Access): boolean {
    return change.kind === "list-changed" || this.#server.registry.tells(change.uri, access);
  }

  /** Resolves when what was changed up to now has been told, or cannot be. */
  async told(): Promise<void> {
    await pause(2 * gatherMs);
    while (this.#publishing.size > 0) await Promise.allSettled([...this.#publishing]);
  }

  /** Tells what was changed up to now, and closes. */
  async finish(): Promise<void> {
    await this.told();
    this.close();
  }

  close(): void {
    this.#isClosed = true;
    this.#stop();
  }
}

/** Whether a listener asked for a change. */
export function matches({ lists, uris }: ListenFilter, change: Change): boolean {
  return change.kind === "list-changed" ? lists.includes(change.list) : uris.includes(change.uri);
}
