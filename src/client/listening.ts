/** Changes that a client hears of: over a request that listens, or subscriptions of a session. */
import type { ChangeableList, ListenFilter } from "../core/call.ts";
import type { Change } from "../core/notice.ts";
import type { RequestId } from "../jsonrpc/message.ts";
import { backOff, sleep } from "../util/backoff.ts";
import { isWithin } from "../util/uri.ts";
import type { Connection } from "./connection.ts";
import { ClientError } from "./errors.ts";
import type { Link } from "./link.ts";

/** Which changes to hear of. */
export interface Interests {
  /** Lists whose contents may change. @default none */
  readonly lists?: readonly ChangeableList[] | undefined;
  /** Resources whose contents may change. @default none */
  readonly uris?: readonly string[] | undefined;
}

/** Something that is listened to, until it is closed or the server ends it. */
export interface Listening extends AsyncDisposable {
  /** Resolves when it is over by either side's wish; rejects when it was lost for good. */
  readonly over: Promise<void>;
  close(): Promise<void>;
}

interface Listener {
  readonly filter: ListenFilter;
  readonly onChange: (change: Change) => void;
  readonly ended: AbortController;
  /** The request it listens by, where it does. */
  subscription: RequestId | undefined;
  onAcknowledged: (() => void) | undefined;
}

interface Begun {
  /** In a wrapping, since a promise of a promise is one promise. */
  readonly over: Promise<void>;
}

/** How often in a row listening is begun anew before it is given up. */
const maxAttempts = 8;

/** Something that lasted this long has worked. */
const settledMs = 10_000;

export interface ListenersOptions {
  /** Whether whatever the server says outside of calls is to be heard even if nobody listens. */
  readonly alwaysFollows: boolean;
  /** Hears, before any listener, what may have changed while nobody could be told. */
  missed(change: Change): void;
  warn(message: string): void;
}

export class Listeners {
  readonly #connection: Connection;
  readonly #warn: (message: string) => void;
  readonly #missed: (change: Change) => void;
  readonly #listeners: Set<Listener> = new Set();
  readonly #alwaysFollows: boolean;
  #following:
    | { readonly link: Link; readonly session: string | undefined; readonly open: Promise<void> }
    | undefined;

  constructor(connection: Connection, { alwaysFollows, missed, warn }: ListenersOptions) {
    this.#connection = connection;
    this.#alwaysFollows = alwaysFollows;
    this.#missed = missed;
    this.#warn = warn;
  }

  /** Begins to listen; resolves once no change can be missed any more. */
  async add(
    { lists = [], uris = [] }: Interests,
    onChange: (change: Change) => void,
    signal: AbortSignal | undefined,
  ): Promise<Listening> {
    signal?.throwIfAborted();
    const filter = { lists: [...new Set(lists)], uris: [...new Set(uris)] };
    const ended = new AbortController();
    const listener: Listener = {
      filter,
      onChange,
      ended,
      subscription: undefined,
      onAcknowledged: undefined,
    };
    this.#listeners.add(listener);
    const end = (): void => ended.abort();
    for (const each of [signal, this.#connection.closing]) {
      each?.addEventListener("abort", end, { once: true, signal: ended.signal });
    }
    try {
      const { over } = await this.#begin(listener);
      const done = over.finally(() => this.#forget(listener));
      // Whoever does not look is not to be ended by it.
      done.catch(() => undefined);
      const close = async (): Promise<void> => {
        end();
        await done.catch(() => undefined);
      };
      return { over: done, close, [Symbol.asyncDispose]: close };
    } catch (cause) {
      end();
      this.#listeners.delete(listener);
      throw cause;
    }
  }

  change(change: Change, subscription: RequestId | undefined): void {
    for (const listener of this.#listeners) {
      const isOthers =
        subscription !== undefined &&
        listener.subscription !== undefined &&
        subscription !== listener.subscription;
      if (!isOthers && wants(listener.filter, change)) listener.onChange(change);
    }
  }

  acknowledged(subscription: RequestId | undefined): void {
    for (const listener of this.#listeners) {
      if (subscription === undefined || subscription === listener.subscription) {
        listener.onAcknowledged?.();
      }
    }
  }

  /** A session has begun, and knows nothing of what the one before was told. */
  async restore(link: Link): Promise<void> {
    if (link.adapter.listening !== "subscribe") return;
    if (this.#alwaysFollows || this.#listeners.size > 0) await this.#follow(link);
    const uris = new Set([...this.#listeners].flatMap(({ filter }) => filter.uris));
    for (const uri of uris)
      await link.exchange("resources/subscribe", { uri }, this.#connection.patience);
    if (this.#listeners.size > 0) this.#mayHaveMissed([...this.#listeners]);
  }

  async #begin(listener: Listener): Promise<Begun> {
    const link = await this.#connection.link(listener.ended.signal);
    if (link.adapter.listening === "listen") return this.#listen(listener);
    await this.#follow(link);
    for (const uri of listener.filter.uris) {
      await this.#connection.request("resources/subscribe", { uri }, this.#connection.patience);
    }
    return { over: aborted(listener.ended.signal) };
  }

  /** Resolves at the acknowledgement, with a promise of the end. */
  #listen(listener: Listener): Promise<Begun> {
    return new Promise((resolve, reject) => {
      const over = this.#keepListening(listener, () => resolve({ over }));
      over.then(() => resolve({ over }), reject);
    });
  }

  async #keepListening(listener: Listener, onOpen: () => void): Promise<void> {
    const { signal } = listener.ended;
    let opened = 0;
    const onAcknowledged = (): void => {
      // What changed between the two streams was told to nobody.
      if (opened++ > 0) this.#mayHaveMissed([listener]);
      onOpen();
    };
    for (let attempt = 1; !signal.aborted; attempt++) {
      const startedAt = performance.now();
      const lost = await this.#listenOnce(listener, onAcknowledged);
      if (lost === undefined || signal.aborted) return;
      if (performance.now() - startedAt > settledMs) attempt = 1;
      if (opened === 0 || attempt >= maxAttempts || !isWorthRetrying(lost)) throw lost;
      await sleep(backOff(attempt), signal);
    }
  }

  /** @returns how it was lost; undefined when the server ended it by its own wish. */
  async #listenOnce(listener: Listener, onAcknowledged: () => void): Promise<unknown> {
    try {
      await this.#exchange(listener, onAcknowledged);
      return undefined;
    } catch (cause) {
      return cause;
    } finally {
      listener.subscription = undefined;
    }
  }

  async #exchange(listener: Listener, onAcknowledged: () => void): Promise<void> {
    const { filter, ended } = listener;
    const link = await this.#connection.link(ended.signal);
    const params = link.adapter.client.listen?.(filter);
    if (params === undefined) {
      throw new ClientError("unsupported", `${link.adapter.revision} has no request that listens`);
    }
    listener.onAcknowledged = onAcknowledged;
    await link.exchange("subscriptions/listen", params, {
      signal: ended.signal,
      timeoutMs: Number.POSITIVE_INFINITY,
      maxTimeoutMs: Number.POSITIVE_INFINITY,
      onSend: (id) => {
        listener.subscription = id;
      },
    });
  }

  /** Opens the stream of the session as it is now, once for all who listen. */
  #follow(link: Link): Promise<void> {
    const { session } = link.transport;
    if (this.#following?.link === link && this.#following.session === session) {
      return this.#following.open;
    }
    const open = new Promise<void>((resolve) => {
      const { follow } = link.transport;
      if (follow === undefined) return resolve();
      const options = {
        headers: link.adapter.client.headers,
        signal: this.#connection.closing,
        resumption: link.adapter.resumption,
        onOpen: resolve,
      };
      follow
        .call(link.transport, options)
        // Before a new session is opened, which waits for this.
        .finally(resolve)
        .catch((cause: unknown) => this.#lost(link, session, cause));
    });
    this.#following = { link, session, open };
    return open;
  }

  async #lost(link: Link, session: string | undefined, cause: unknown): Promise<void> {
    if (this.#connection.closing.aborted || link.gone !== undefined) return;
    if (cause instanceof ClientError && cause.kind === "session-lost") {
      await this.#connection.renew(link, session).catch((failed: unknown) => this.#warnOf(failed));
    } else this.#warnOf(cause);
  }

  #warnOf(cause: unknown): void {
    const why = cause instanceof Error ? cause.message : String(cause);
    this.#warn(`what the server says on its own is not heard any more: ${why}`);
  }

  async #forget(listener: Listener): Promise<void> {
    this.#listeners.delete(listener);
    if (this.#connection.closing.aborted) return;
    const link = await this.#connection.link();
    if (link.adapter.listening !== "subscribe") return;
    const others = new Set([...this.#listeners].flatMap(({ filter }) => filter.uris));
    const uris = listener.filter.uris.filter((uri) => !others.has(uri));
    for (const uri of uris) {
      await this.#connection.request("resources/unsubscribe", { uri }, this.#connection.patience);
    }
  }

  #mayHaveMissed(listeners: readonly Listener[]): void {
    for (const change of listeners.flatMap(({ filter }) => changesOf(filter))) this.#missed(change);
    for (const { filter, onChange } of listeners) {
      for (const change of changesOf(filter)) onChange(change);
    }
  }
}

function changesOf({ lists, uris }: ListenFilter): Change[] {
  return [
    ...lists.map((list): Change => ({ kind: "list-changed", list })),
    ...uris.map((uri): Change => ({ kind: "resource-updated", uri })),
  ];
}

function wants({ lists, uris }: ListenFilter, change: Change): boolean {
  return change.kind === "list-changed"
    ? lists.includes(change.list)
    : // An update may be of a part of what was subscribed to (server/resources, 2025-11-25).
      uris.some((uri) => isWithin(change.uri, uri));
}

function isWorthRetrying(cause: unknown): boolean {
  if (!(cause instanceof ClientError)) return false;
  const { kind, status } = cause;
  return (
    kind === "interrupted" || kind === "unreachable" || (kind === "http" && (status ?? 0) >= 500)
  );
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
