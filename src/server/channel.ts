/**
 * One long-lived duplex of messages: stdio, a pair in memory, a socket. There is no header
 * and no URL, so each message is read by what it states itself, and what a session is to
 * HTTP is here the connection.
 */

import { type Access, local } from "../core/access.ts";
import { failure } from "../core/outcome.ts";
import type { Server } from "../core/server.ts";
import type { Network, Telemetry } from "../core/telemetry.ts";
import { readMessage } from "../jsonrpc/message.ts";
import { findFault } from "../jsonrpc/scan.ts";
import type { Adapter } from "../revisions/adapter.ts";
import type { AdapterSet } from "../revisions/adapter-set.ts";
import { type Preamble, readPreamble } from "../revisions/preamble.ts";
import { decideStated, decideUnstated, type Selection } from "../revisions/selection.ts";
import { MemorySessions } from "../stores/memory.ts";
import type { SessionRecord } from "../stores/session-store.ts";
import type { SharedStores } from "../stores/shared-stores.ts";
import { type Awaitable, after, isPromise } from "../util/awaitable.ts";
import { Ending } from "../util/ending.ts";
import { tellRefusal } from "./access-log.ts";
import { type Answer, type Answerer, answer, type Place, refuse } from "./answer.ts";
import { assemble, Binder, toAdapterSet } from "./answerer.ts";
import { answerBatch } from "./batch.ts";
import { matches } from "./changes.ts";
import { Load, type LoadOptions } from "./load.ts";
import type { Outlet } from "./outlet.ts";
import type { RateOptions } from "./rate-limits.ts";
import { Sessions } from "./sessions.ts";

/** What a connection serves, and its limits. */
export interface ChannelOptions extends LoadOptions, RateOptions {
  /** The revisions served: dates, or a set with adapters of your own. @default all five */
  readonly revisions?: AdapterSet | readonly string[] | undefined;
  /** Whether arrays of messages are served where the revision has them. @default true */
  readonly batch?: boolean | undefined;
  /** Levels of nesting in a message at most; deeper is refused. @default 64 */
  readonly maxDepth?: number | undefined;
  /**
   * Who the peer is; `accessOf` of `anyrev/auth` makes it from a principal, and `anyone` is for
   * a peer that nobody knows. @default whoever started this process, who may do everything
   */
  readonly access?: Access | undefined;
  /**
   * Stores that workers share: what is sealed over one connection then opens over another, at
   * another worker. The session of a connection ends with it all the same.
   * @default the memory of this process
   */
  readonly stores?: SharedStores | undefined;
  /**
   * For whom a peer of nobody in particular is counted by `rateLimits`, such as its address.
   * @default the connection itself
   */
  readonly from?: string | undefined;
  /** Watches each message, such as `openTelemetry` of `anyrev/telemetry`. @default nobody */
  readonly telemetry?: Telemetry | undefined;
  /** What the messages come over, for whoever watches. @default it is not told */
  readonly network?: Network | undefined;
  /** Hears which revision each message was taken to be written in, and why. */
  readonly onSelection?: ((selection: Selection, method: string | undefined) => void) | undefined;
}

const lists = ["tools", "resources", "prompts"] as const;

/**
 * Serves one peer, for transports of your own. What it sends goes through `send`, a message
 * at a time, as JSON on one line. It checks no host and no origin, and holds a message whole:
 * whoever brings the bytes caps them.
 */
export class Channel {
  readonly #adapters: AdapterSet;
  readonly #answerer: Answerer;
  readonly #binder: Binder;
  readonly #sessions: Sessions;
  readonly #access: Access;
  readonly #closing: Ending = new Ending();
  readonly #options: ChannelOptions;
  readonly #send: (text: string) => void;
  readonly #outlet: Outlet;
  readonly #caller: string = crypto.randomUUID();
  readonly #working: Set<Promise<unknown>> = new Set();
  /** The session that the last handshake opened. */
  #sessionId: string | undefined;
  #stopTelling: (() => void) | undefined;

  /** @param load - what is counted together with other connections; by itself where there are none */
  constructor(
    server: Server,
    send: (text: string) => void,
    options: ChannelOptions = {},
    load: Load = new Load(options),
  ) {
    this.#options = options;
    this.#access = options.access ?? local;
    this.#send = send;
    this.#adapters = toAdapterSet(options.revisions);
    this.#binder = new Binder(server, this.#adapters);
    // A connection lasts as long as it lasts, and so does its session.
    const store = new MemorySessions({ ttlMs: Number.POSITIVE_INFINITY, maxSessions: 1_000 });
    this.#sessions = new Sessions(store);
    this.#answerer = assemble(server, this.#adapters, {
      sessions: this.#sessions,
      keeping: { store, sessions: this.#sessions },
      hub: undefined,
      states: options.stores && server.states.sharing(options.stores),
      closing: this.#closing,
      load,
      rateLimits: options.rateLimits,
      authenticates: this.#access.principal !== undefined,
      telemetry: options.telemetry,
      network: options.network,
    }).answerer;
    this.#outlet = {
      send: (message) => send(JSON.stringify(message)),
      detach: undefined,
      onLost: undefined,
    };
  }

  /**
   * Takes one message as bytes of UTF-8, without what ends it on the wire. Its answer is sent
   * when it is there; nothing here throws. After {@link hangUp} nothing is taken.
   */
  receive(bytes: Uint8Array): void {
    if (this.#closing.over) return;
    try {
      const answered = this.#read(readPreamble(bytes));
      if (isPromise(answered)) this.#follow(answered);
      else this.#reply(answered);
    } catch (cause) {
      this.#broken(cause);
    }
  }

  /** Answers for a message that could not be taken at all, such as one that is too long. */
  refuseUnread(message: string): void {
    this.#reply(refuse(failure("parse-error", message), undefined, this.#adapters.newest));
  }

  /** Ends what listens, cancels what is running, and waits for what is left to say so. */
  close(): Promise<void> {
    this.hangUp();
    this.#answerer.inFlight.cancelAll("the connection closed");
    return this.settled();
  }

  /** Takes it that the peer asks nothing more: what listens ends, what is running goes on. */
  hangUp(): void {
    this.#closing.end();
    this.#stopTelling?.();
    if (this.#sessionId !== undefined) this.#answerer.clock?.end(this.#sessionId);
  }

  /** Waits until every message that was taken is answered. */
  async settled(): Promise<void> {
    while (this.#working.size > 0) await Promise.allSettled([...this.#working]);
  }

  #follow(answered: Promise<Answer>): void {
    const working = answered
      .then((found) => this.#reply(found))
      .catch((cause: unknown) => this.#broken(cause))
      .finally(() => this.#working.delete(working));
    this.#working.add(working);
  }

  #broken(cause: unknown): void {
    this.#answerer.service.log({ level: "error", message: "a message could not be served", cause });
  }

  #reply({ text, sessionId, refused }: Answer): void {
    if (refused !== undefined) tellRefusal(this.#answerer.service.logger, refused.reason);
    if (text !== undefined) this.#send(text);
    if (sessionId !== undefined) this.#openSession(sessionId);
  }

  #read(preamble: Preamble): Awaitable<Answer> {
    const stated = decideStated(preamble, this.#adapters);
    if (stated?.kind === "failure") {
      const message = readMessage(preamble.json);
      return refuse(
        stated,
        message.kind === "request" ? message.id : undefined,
        this.#adapters.newest,
      );
    }
    const id = this.#sessionId;
    return after(id === undefined ? undefined : this.#findSession(id), (session) => {
      const selection = stated ?? decideUnstated(preamble, this.#adapters, session?.revision);
      this.#options.onSelection?.(selection, preamble.method);
      return this.#answer(preamble, selection, session);
    });
  }

  #answer(
    preamble: Preamble,
    selection: Selection,
    session: SessionRecord | undefined,
  ): Awaitable<Answer> {
    const { adapter, reason } = selection;
    if (reason === "unparseable") {
      return refuse(failure("parse-error", "the line is not JSON in UTF-8"), undefined, adapter);
    }
    const fault = findFault(preamble.text ?? "", this.#options.maxDepth ?? 64);
    if (fault !== undefined) {
      return refuse(failure("invalid-request", fault.message), undefined, adapter);
    }
    const place: Place = {
      adapter,
      reason,
      binding: this.#binder.bind(preamble, selection, this.#access, false),
      access: this.#access,
      session: adapter.era === "handshake" ? session : undefined,
      caller: this.#caller,
      from: this.#options.from ?? this.#caller,
      onDisconnect: undefined,
      outlet: () => this.#outlet,
    };
    if (!Array.isArray(preamble.json)) {
      return answer(readMessage(preamble.json), place, this.#answerer);
    }
    if (adapter.arrays === "batch" && this.#options.batch !== false) {
      return answerBatch(preamble.json, place, this.#answerer);
    }
    return refuse(failure("invalid-request", "send one message at a time"), undefined, adapter);
  }

  #findSession(id: string): Awaitable<SessionRecord | undefined> {
    return this.#sessions.find(id, this.#access.owner);
  }

  /** From the handshake on, its peer hears of changes without having to ask. */
  #openSession(id: string): void {
    // Nothing names the one before any more; the store has room for handles beside one session.
    if (this.#sessionId !== undefined) {
      this.#answerer.clock?.end(this.#sessionId);
      void this.#sessions.end(this.#sessionId);
    }
    this.#sessionId = id;
    if (this.#closing.over) return;
    const { changes } = this.#answerer.service;
    this.#stopTelling ??= changes.listen((change) => {
      this.#tell(change).catch((cause: unknown) => this.#broken(cause));
    });
  }

  async #tell(change: Parameters<Adapter["notify"]>[0] & Parameters<typeof matches>[1]) {
    const id = this.#sessionId;
    const session = id === undefined ? undefined : await this.#findSession(id);
    if (session === undefined || this.#closing.over) return;
    const adapter = this.#adapters.find(session.revision);
    if (adapter === undefined || !matches({ lists, uris: session.subscriptions }, change)) return;
    if (!this.#answerer.feed.tells(change, this.#access)) return;
    this.#outlet.send(adapter.notify(change));
  }
}
