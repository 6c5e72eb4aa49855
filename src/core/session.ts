/** What handlers keep from call to call: with the caller's session, or behind a handle. */
import type { Awaitable } from "../util/awaitable.ts";
import { isObject, type JsonObject } from "../util/json.ts";
import { McpError } from "./errors.ts";

/** Where sessions of handlers are, for one caller. */
export interface SessionKeeper {
  /** @returns undefined when it has ended. */
  read(id: string): Awaitable<JsonObject | undefined>;
  /**
   * Replaces the values by what `change` makes of them, so that no other write is undone.
   *
   * @returns the values as they are then; undefined when the session has ended
   */
  update(id: string, change: (values: JsonObject) => JsonObject): Promise<JsonObject | undefined>;
  /** @returns the handle of a new one, for this caller alone. */
  open(values: JsonObject): Awaitable<string>;
  /** The values behind a handle, whose expiry is put off; undefined where it is not this caller's. */
  use(handle: string): Awaitable<JsonObject | undefined>;
  end(handle: string): Awaitable<boolean>;
}

/** A value by its name, as plain JSON. */
export type SessionValues = Readonly<Record<string, unknown>>;

/**
 * Values that are kept from call to call, whichever worker serves the next one. What is
 * written is plain JSON. A StoreError, `away`, is thrown while the store cannot be reached; let
 * it pass, and the caller is told to come back.
 */
export class Session {
  /** The value of `Mcp-Session-Id`, or the handle. Whoever knows it can use it: do not log it. */
  readonly id: string;
  readonly #keeper: SessionKeeper;
  #seen: JsonObject;

  /** Made by the library. */
  constructor(id: string, seen: JsonObject, keeper: SessionKeeper) {
    this.id = id;
    this.#seen = seen;
    this.#keeper = keeper;
  }

  /**
   * A copy of all values, as they were when the call began or this object last read or wrote
   * them. Costs no trip to the store, and so does not see what other calls write meanwhile.
   */
  get values(): SessionValues {
    return copy(this.#seen);
  }

  /** Reads a value from the store, as it is now. */
  async get(key: string): Promise<unknown> {
    this.#seen = must(await this.#keeper.read(this.id));
    return Object.hasOwn(this.#seen, key) ? copy(this.#seen)[key] : undefined;
  }

  /**
   * Writes what `change` makes of the values that are there. Of several writers at once, on
   * whatever workers, each sees what those before it wrote, so that no write is lost.
   *
   * @param change - gets a copy, and returns all that is to be kept. Runs again when another
   * write came first, so it does nothing else, and does not wait.
   * @returns the values as they were written
   * @throws McpError when they take more than the store keeps of a session (262144 characters
   * by default), or the session has ended
   */
  async update(change: (values: SessionValues) => SessionValues): Promise<SessionValues> {
    const written = await this.#keeper.update(this.id, (values) => toValues(change(copy(values))));
    this.#seen = must(written);
    return this.values;
  }

  /** Writes one value, and leaves the others as they are. */
  async set(key: string, value: unknown): Promise<void> {
    await this.update((values) => ({ ...values, [key]: value }));
  }

  /** Forgets one value. */
  async delete(key: string): Promise<void> {
    await this.update(({ [key]: _, ...rest }) => rest);
  }
}

/**
 * Sessions of a handler's own, for callers that have none: in 2026-07-28, or where the
 * endpoint keeps no sessions. The handle goes to the caller in a result and comes back as an
 * argument, so that the model carries it. It cannot be guessed, opens for the principal that it
 * was made for, and expires like any session: an hour after it was last used, by default.
 */
export class SessionHandles {
  readonly #keeper: SessionKeeper;

  /** Made by the library. */
  constructor(keeper: SessionKeeper) {
    this.#keeper = keeper;
  }

  /** Opens one; its `id` is the handle. */
  async open(values: SessionValues = {}): Promise<Session> {
    const kept = toValues(values);
    return new Session(await this.#keeper.open(kept), kept, this.#keeper);
  }

  /**
   * Takes one up.
   *
   * @throws McpError, the same one, for a handle that is none, has ended, or is another caller's
   */
  async use(handle: string): Promise<Session> {
    const values = await this.#keeper.use(handle);
    if (values === undefined) {
      throw new McpError("this handle is unknown or has expired; leave it out to get a new one");
    }
    return new Session(handle, values, this.#keeper);
  }

  /** Ends one, and forgets its values. @returns whether there was such a one */
  async end(handle: string): Promise<boolean> {
    return this.#keeper.end(handle);
  }
}

function must(values: JsonObject | undefined): JsonObject {
  if (values !== undefined) return values;
  throw new McpError("the session has ended; what it held is gone");
}

/** As it will be read from any store, and apart from what is done to the original. */
function toValues(values: SessionValues): JsonObject {
  const text: string | undefined = JSON.stringify(values);
  const read: unknown = text === undefined ? undefined : JSON.parse(text);
  if (isObject(read)) return read;
  throw new TypeError("the values of a session are one plain object");
}

function copy(values: JsonObject): JsonObject {
  return toValues(values);
}
