/** Changes on their way to those who listen, on whichever worker either of them is. */
import type { Access } from "../core/access.ts";
import type { ChangeableList, ListenFilter } from "../core/call.ts";
import type { Change } from "../core/notice.ts";
import type { Server } from "../core/server.ts";
import type { Cursor, EventHub } from "../stores/event-hub.ts";
import type { Awaitable } from "../util/awaitable.ts";

const topic = "changes";

export class ChangeFeed {
  readonly #hub: EventHub;
  readonly #server: Server;
  readonly #stop: () => void;

  constructor(server: Server, hub: EventHub) {
    this.#hub = hub;
    this.#server = server;
    this.#stop = server.changes.listen((change) => void this.#publish(change), hub);
  }

  async #publish(change: Change): Promise<void> {
    try {
      await this.#hub.publish(topic, JSON.stringify(change));
    } catch (cause) {
      this.#server.log({ level: "error", message: "a change could not be told", cause });
    }
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

  close(): void {
    this.#stop();
  }
}

/** Whether a listener asked for a change. */
export function matches({ lists, uris }: ListenFilter, change: Change): boolean {
  return change.kind === "list-changed" ? lists.includes(change.list) : uris.includes(change.uri);
}
