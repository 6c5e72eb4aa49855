/** What one caller's handlers keep: with its session, or behind handles that are its own. */
import { McpError } from "../core/errors.ts";
import type { SessionKeeper } from "../core/session.ts";
import { StoreError } from "../core/store-error.ts";
import type { SessionRecord, SessionStore } from "../stores/session-store.ts";
import { type Awaitable, after } from "../util/awaitable.ts";
import { encodeTokenBytes } from "../util/base64.ts";
import type { JsonObject } from "../util/json.ts";
import type { Sessions } from "./sessions.ts";

/** Apart from the ids of handshake sessions: a handle is no `Mcp-Session-Id`, and none is a handle. */
const handlePrefix = "h_";

/** 192 random bits, in letters that a model copies without a mistake. */
const handleBytes = 24;
const handleSyntax = /^h_[\w-]{32}$/;

/** Where the records behind handles are kept. */
export interface Keeping {
  readonly store: SessionStore;
  readonly sessions: Sessions;
}

export class CallerKeeper implements SessionKeeper {
  readonly #keeping: Keeping;
  readonly #principal: string;
  readonly #revision: string;

  constructor(keeping: Keeping, principal: string, revision: string) {
    this.#keeping = keeping;
    this.#principal = principal;
    this.#revision = revision;
  }

  read(id: string): Awaitable<JsonObject | undefined> {
    return after(this.#keeping.store.get(id), (record) => record?.values);
  }

  async update(
    id: string,
    change: (values: JsonObject) => JsonObject,
  ): Promise<JsonObject | undefined> {
    try {
      return await this.#keeping.sessions.updateValues(id, change);
    } catch (cause) {
      throw tooLarge(cause);
    }
  }

  async open(values: JsonObject): Promise<string> {
    const random = crypto.getRandomValues(new Uint8Array(handleBytes));
    const id = handlePrefix + encodeTokenBytes(random);
    const record: SessionRecord = {
      id,
      revision: this.#revision,
      client: undefined,
      capabilities: {},
      logLevel: undefined,
      subscriptions: [],
      principal: this.#principal,
      values,
      writeVersion: 0,
    };
    try {
      await this.#keeping.store.create(record);
    } catch (cause) {
      throw tooLarge(cause);
    }
    return id;
  }

  use(handle: string): Awaitable<JsonObject | undefined> {
    return after(this.#find(handle), (record) =>
      record === undefined ? undefined : after(this.#keeping.store.touch(handle), valuesOf),
    );
  }

  end(handle: string): Awaitable<boolean> {
    return after(this.#find(handle), (record) =>
      record === undefined ? false : this.#keeping.store.delete(handle),
    );
  }

  /** Looks before it touches: who guesses another's handle must not keep it alive either. */
  #find(handle: string): Awaitable<SessionRecord | undefined> {
    if (!handleSyntax.test(handle)) return undefined;
    return after(this.#keeping.store.get(handle), (record) =>
      record?.principal === this.#principal ? record : undefined,
    );
  }
}

function valuesOf(record: SessionRecord | undefined): JsonObject | undefined {
  return record?.values;
}

/** More than is kept of one session is for the handler to mend; anything else is not. */
function tooLarge(cause: unknown): unknown {
  if (!(cause instanceof StoreError) || cause.code !== "too-large") return cause;
  return new McpError("this is more than a session can hold; keep less in it", { cause });
}
