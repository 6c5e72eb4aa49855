/** Changes that a client hears of: over a request that listens, or subscriptions of a session. */
import type { ChangeableList, ListenFilter } from "../core/call.ts";
import type { Change } from "../core/notice.ts";
import type { RequestId } from "../jsonrpc/message.ts";
import { readListen } from "../revisions/params.ts";
import { onAbort, unlessAborted } from "../util/abort.ts";
import { backOff, sleep } from "../util/backoff.ts";
import { toListener } from "../util/callback.ts";
import type { JsonObject } from "../util/json.ts";
import { isWithin } from "../util/uri.ts";
import type { Connection } from "./connection.ts";
import { ClientError, isRefusal } from "./errors.ts";
import { excerpt } from "./excerpt.ts";
import { Following } from "./following.ts";
import type { Link } from "./link.ts";
import { givenUp, untilAborted, Watch } from "./watch.ts";

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
  /** Where its resources are subscribed to, where it listens by that. */
  subscribed: Subscribed | undefined;
  onAcknowledged: (() => void) | undefined;
}

interface Subscribed {
  readonly link: Link;
  /** The session cannot be listened to any more. */
  fail(cause: unknown): void;
}

/** How often in a row listening is begun anew before it is given up. */
const maxAttempts = 8;

/** How long a session's stream may take to open until listening begins without it. */
const longestOpeningMs = 5_000;

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
  readonly #options: ListenersOptions;
  readonly #listeners: Set<Listener> = new Set();
  readonly #following: Following;

  constructor(connection: Connection, options: ListenersOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#following = new Following(connection, {
      reopened: (link) => this.#mayHaveMissed(this.#on(link)),
      lost: (link, cause) => this.#lost(link, cause),
    });
  }

  /** Begins to listen; resolves once no change can be missed any more. */
  async add(
    { lists = [], uris = [] }: Interests,
    onChange: (change: Change) => void,
    signal: AbortSignal | undefined,
  ): Promise<Listening> {
    if (signal?.aborted) throw givenUp(signal);
    const ended = new AbortController();
    const listener: Listener = {
      filter: { lists: [...new Set(lists)], uris: [...new Set(uris)] },
      onChange: toListener(onChange),
      ended,
      subscription: undefined,
      subscribed: undefined,
      onAcknowledged: undefined,
    };
    const end = (): void => ended.abort();
    const forgets = [signal, this.#connection.closing].map((each) => each && onAbort(each, end));
    this.#listeners.add(listener);
    const { open, over } = this.#begin(listener);
    const done = over.finally(() => {
      this.#listeners.delete(listener);
      for (const forget of forgets) forget?.();
    });
    // Whoever does not look is not to be ended by it.
    done.catch(() => undefined);
    await this.#inTime(Promise.race([open, done]), listener);
    if (this.#connection.closing.aborted) throw this.#connection.closing.reason;
    if (signal?.aborted) throw givenUp(signal);
    const close = async (): Promise<void> => {
      end();
      await done.catch(() => undefined);
    };
    return { over: done, close, [Symbol.asyncDispose]: close };
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

  acknowledged(filter: JsonObject, subscription: RequestId | undefined): void {
    for (const listener of this.#listeners) {
      if (subscription !== undefined && subscription !== listener.subscription) continue;
      const missing = findMissing(listener.filter, filter);
      if (listener.onAcknowledged !== undefined && missing.length > 0) {
        const what = excerpt(missing.join(", "));
        this.#options.warn(`the server does not tell of all changes that are listened to: ${what}`);
      }
      listener.onAcknowledged?.();
    }
  }

  /** A session has begun, and knows nothing of what the one before was told. */
  async restore(link: Link): Promise<void> {
    if (link.adapter.listening !== "subscribe") return;
    // Those on a link that is gone come back by themselves.
    const listeners = this.#on(link);
    if (listeners.length > 0) await this.#follow(link);
    // Nobody is to miss anything, so nobody needs to wait.
    else if (this.#options.alwaysFollows) void this.#following.follow(link);
    for (const uri of new Set(listeners.flatMap(({ filter }) => filter.uris))) {
      await link
        .exchange("resources/subscribe", { uri }, this.#connection.patience)
        .catch((cause: unknown) => this.#tolerate(`cannot subscribe to ${excerpt(uri)}`, cause));
    }
    this.#mayHaveMissed(listeners);
  }

  /** The listeners that are subscribed on it. */
  #on(link: Link): readonly Listener[] {
    return [...this.#listeners].filter(({ subscribed }) => subscribed?.link === link);
  }

  /** One that is refused keeps none of the others from being heard. @throws all but refusals */
  #tolerate(what: string, cause: unknown): void {
    if (!(cause instanceof ClientError) || !isRefusal(cause)) throw cause;
    this.#options.warn(`${what}: ${cause.message}`);
  }

  #begin(listener: Listener): { readonly open: Promise<void>; readonly over: Promise<void> } {
    let over: Promise<void> = Promise.resolve();
    const open = new Promise<void>((resolve) => {
      over = this.#keepListening(listener, resolve);
    });
    return { open, over };
  }

  /** @param onOpen - called whenever no change can be missed any more */
  async #keepListening(listener: Listener, onOpen: () => void): Promise<void> {
    const { signal } = listener.ended;
    let opened = 0;
    const onAcknowledged = (): void => {
      // What changed between the two was told to nobody.
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

  /** @returns how it was lost; undefined when it ended by either side's own wish. */
  async #listenOnce(listener: Listener, onOpen: () => void): Promise<unknown> {
    try {
      const link = await this.#connection.link(untilAborted(listener.ended.signal));
      const params = link.adapter.client.listen?.(listener.filter);
      if (params === undefined) await this.#subscribe(listener, link, onOpen);
      else await this.#exchange(listener, link, params, onOpen);
      return undefined;
    } catch (cause) {
      return cause;
    } finally {
      listener.subscription = undefined;
      listener.subscribed = undefined;
    }
  }

  /** Listens by a request that is answered when there is nothing more to hear. */
  async #exchange(
    listener: Listener,
    link: Link,
    params: JsonObject,
    onOpen: () => void,
  ): Promise<void> {
    listener.onAcknowledged = onOpen;
    await link.exchange("subscriptions/listen", params, {
      signal: listener.ended.signal,
      timeoutMs: Number.POSITIVE_INFINITY,
      maxTimeoutMs: Number.POSITIVE_INFINITY,
      onSend: (id) => {
        listener.subscription = id;
      },
    });
  }

  /** Listens to what a session says on its own, until either is at its end. */
  async #subscribe(listener: Listener, link: Link, onOpen: () => void): Promise<void> {
    const { filter, ended } = listener;
    let fail: Subscribed["fail"] = () => undefined;
    const lost = new Promise<never>((_, reject) => {
      fail = reject;
    });
    lost.catch(() => undefined);
    listener.subscribed = { link, fail };
    const forget = link.onEnd(() => fail(brokenOff(link)));
    try {
      if (!(await this.#follow(link))) this.#warnOfSilence();
      for (const uri of filter.uris) {
        const asking = { ...this.#connection.patience, signal: ended.signal };
        await this.#connection.request("resources/subscribe", { uri }, asking);
      }
      onOpen();
      await unlessAborted(ended.signal, lost);
    } catch (cause) {
      const isLeft = ended.signal.aborted || (cause instanceof ClientError && isRefusal(cause));
      if (isLeft) await this.#unsubscribe(listener, link);
      if (!ended.signal.aborted) throw cause;
    } finally {
      forget();
    }
  }

  async #unsubscribe(listener: Listener, link: Link): Promise<void> {
    const { closing, patience } = this.#connection;
    if (closing.aborted || link.gone !== undefined) return;
    const others = this.#on(link).filter((each) => each !== listener);
    const wanted = new Set(others.flatMap(({ filter }) => filter.uris));
    for (const uri of listener.filter.uris.filter((each) => !wanted.has(each))) {
      await link.exchange("resources/unsubscribe", { uri }, patience).catch(() => {
        // It is not listened to, whatever the server goes on to say.
      });
    }
    if (others.length === 0 && !this.#options.alwaysFollows) this.#following.stop();
  }

  /**
   * Some servers open a stream only with its first message, which may never come.
   *
   * @returns false where the server has none
   */
  async #follow(link: Link): Promise<boolean> {
    const waitMs = Math.min(this.#connection.patience.timeoutMs, longestOpeningMs);
    const opened = new AbortController();
    const open = this.#following.follow(link);
    const late = sleep(waitMs, opened.signal).then(() => true);
    const isThere = await Promise.race([open, late]);
    opened.abort();
    return isThere;
  }

  /** @throws ClientError `timeout`, and ends the listening, when it does not begin */
  async #inTime(begun: Promise<void>, { ended }: Listener): Promise<void> {
    const { timeoutMs, maxTimeoutMs } = this.#connection.patience;
    // Time for the server to answer, after what it takes to reach it.
    const watch = new Watch({ timeoutMs: 2 * timeoutMs, maxTimeoutMs: 2 * maxTimeoutMs });
    try {
      await unlessAborted(watch.signal, begun);
    } catch (cause) {
      ended.abort();
      throw cause;
    } finally {
      watch.stop();
    }
  }

  #warnOfSilence(): void {
    this.#options.warn(
      "the server has no stream to tell of changes on: only what it says within calls is heard",
    );
  }

  #lost(link: Link, cause: unknown): void {
    const why = cause instanceof Error ? cause.message : String(cause);
    this.#options.warn(`what the server says on its own is not heard any more: ${why}`);
    for (const { subscribed } of this.#on(link)) subscribed?.fail(cause);
  }

  #mayHaveMissed(listeners: readonly Listener[]): void {
    const changes = listeners.flatMap(({ filter }) => changesOf(filter));
    for (const change of changes) this.#options.missed(change);
    for (const { filter, onChange } of listeners) {
      for (const change of changesOf(filter)) onChange(change);
    }
  }
}

function brokenOff({ gone }: Link): ClientError {
  const message = gone?.message ?? "the connection was closed";
  return new ClientError("interrupted", message, { cause: gone });
}

function changesOf({ lists, uris }: ListenFilter): Change[] {
  return [
    ...lists.map((list): Change => ({ kind: "list-changed", list })),
    ...uris.map((uri): Change => ({ kind: "resource-updated", uri })),
  ];
}

/** What of a filter is not in what the server says it will tell of. */
function findMissing({ lists, uris }: ListenFilter, acknowledged: JsonObject): string[] {
  const granted = readListen({ notifications: acknowledged });
  const filter = granted.kind === "listen" ? granted.filter : { lists: [], uris: [] };
  return [
    ...lists.filter((list) => !filter.lists.includes(list)),
    ...uris.filter((uri) => !filter.uris.includes(uri)),
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
