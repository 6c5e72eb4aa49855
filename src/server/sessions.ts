/** Handshake sessions of an endpoint: opened by `initialize`, named by `Mcp-Session-Id`. */
import type { Call, LogLevel } from "../core/call.ts";
import type { SessionRecord, SessionStore } from "../stores/session-store.ts";
import { type Awaitable, after } from "../util/awaitable.ts";

/** Visible ASCII, as the specification asks of an id; anything else was never given out. */
const idSyntax = /^[\x21-\x7e]{1,128}$/;

/** How often a write is tried again that another writer got ahead of. */
const maxAttempts = 10;

/** Resources that one session watches at most; the longest watched is let go first. */
const maxSubscriptions = 1_000;

export class Sessions {
  readonly #store: SessionStore;

  constructor(store: SessionStore) {
    this.#store = store;
  }

  /** Opens a session for a handshake that was answered in `version`. @returns its id. */
  open(call: Call, version: string, owner: string): Awaitable<string> {
    const id = crypto.randomUUID();
    const record: SessionRecord = {
      id,
      revision: version,
      client: call.client,
      capabilities: call.capabilities ?? {},
      logLevel: undefined,
      subscriptions: [],
      principal: owner,
      values: {},
      writeVersion: 0,
    };
    return after(this.#store.create(record), () => id);
  }

  /**
   * The live session of that id, whose expiry is put off by being asked for. One of another
   * owner is as unknown as one that never was.
   */
  find(id: string, owner: string): Awaitable<SessionRecord | undefined> {
    if (!idSyntax.test(id)) return undefined;
    return after(this.#store.touch(id), (session) =>
      session?.principal === owner ? session : undefined,
    );
  }

  end(id: string): Awaitable<boolean> {
    return idSyntax.test(id) ? this.#store.delete(id) : false;
  }

  setLogLevel(id: string, level: LogLevel): Promise<void> {
    return this.#update(id, (record) => ({ ...record, logLevel: level }));
  }

  subscribe(id: string, uri: string): Promise<void> {
    return this.#update(id, (record) => ({
      ...record,
      subscriptions: [...record.subscriptions.filter((each) => each !== uri), uri].slice(
        -maxSubscriptions,
      ),
    }));
  }

  unsubscribe(id: string, uri: string): Promise<void> {
    return this.#update(id, (record) => ({
      ...record,
      subscriptions: record.subscriptions.filter((each) => each !== uri),
    }));
  }

  async #update(id: string, change: (record: SessionRecord) => SessionRecord): Promise<void> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const record = await this.#store.get(id);
      if (record === undefined) return;
      if (await this.#store.save(change(record), record.writeVersion)) return;
    }
    throw new Error(`session ${id} is written by others too often`);
  }
}
