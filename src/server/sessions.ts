/** Handshake sessions of an endpoint: opened by `initialize`, named by `Mcp-Session-Id`. */
import type { Call, LogLevel } from "../core/call.ts";
import { StoreError } from "../core/store-error.ts";
import type { SessionRecord, SessionStore } from "../stores/session-store.ts";
import { type Awaitable, after } from "../util/awaitable.ts";
import type { JsonObject } from "../util/json.ts";
import { pause } from "../util/timer.ts";

/** As ids are given out here; the store may hold other records, which are no such sessions. */
const idSyntax = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * How long a write is tried again that other writers got ahead of, in milliseconds. Each time
 * one of them has written, so this ends; it is for callers that would not wait for longer.
 */
const maxContentionMs = 1_500;

/** Resources that one session watches at most; the longest watched is let go first. */
const maxSubscriptions = 1_000;

export class Sessions {
  readonly #store: SessionStore;
  /** The last write of each session that is under way: on one worker they take turns. */
  readonly #writing: Map<string, Promise<unknown>> = new Map();

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
    const owned = (session: SessionRecord | undefined): SessionRecord | undefined =>
      session?.principal === owner ? session : undefined;
    if (owner === "") return after(this.#store.touch(id), owned);
    // Looks before it touches: who has another's id must not keep its session alive either.
    return after(this.#store.get(id), (found) =>
      owned(found) === undefined ? undefined : after(this.#store.touch(id), owned),
    );
  }

  end(id: string): Awaitable<boolean> {
    return idSyntax.test(id) ? this.#store.delete(id) : false;
  }

  setLogLevel(id: string, level: LogLevel): Promise<unknown> {
    return this.#update(id, (record) => ({ ...record, logLevel: level }));
  }

  subscribe(id: string, uri: string): Promise<unknown> {
    return this.#update(id, (record) => ({
      ...record,
      subscriptions: [...record.subscriptions.filter((each) => each !== uri), uri].slice(
        -maxSubscriptions,
      ),
    }));
  }

  unsubscribe(id: string, uri: string): Promise<unknown> {
    return this.#update(id, (record) => ({
      ...record,
      subscriptions: record.subscriptions.filter((each) => each !== uri),
    }));
  }

  /** @returns the values as they are then; undefined when there is no such session any more. */
  async updateValues(
    id: string,
    change: (values: JsonObject) => JsonObject,
  ): Promise<JsonObject | undefined> {
    const written = await this.#update(id, (record) => ({
      ...record,
      values: change(record.values),
    }));
    return written?.values;
  }

  #update(
    id: string,
    change: (record: SessionRecord) => SessionRecord,
  ): Promise<SessionRecord | undefined> {
    const before = this.#writing.get(id);
    const write = (): Promise<SessionRecord | undefined> => this.#write(id, change);
    // What came of the one before is told to whoever asked for that one.
    const written = before === undefined ? write() : before.then(write, write);
    this.#writing.set(id, written);
    const forget = (): void => {
      if (this.#writing.get(id) === written) this.#writing.delete(id);
    };
    written.then(forget, forget);
    return written;
  }

  async #write(
    id: string,
    change: (record: SessionRecord) => SessionRecord,
  ): Promise<SessionRecord | undefined> {
    const end = performance.now() + maxContentionMs;
    for (let waitMs = 1; ; waitMs = Math.min(waitMs * 2, 50)) {
      const record = await this.#store.get(id);
      if (record === undefined) return undefined;
      const changed = change(record);
      if (await this.#store.save(changed, record.writeVersion)) return changed;
      if (performance.now() > end) break;
      await pause(waitMs * Math.random());
    }
    throw new StoreError("away", "a session is written by others too often", {
      retryAfterMs: 1_000,
    });
  }
}
