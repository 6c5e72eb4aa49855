/** A connection that outlives its sessions, streams and processes. */
import type { LogLevel } from "../core/call.ts";
import type { CacheHints, Implementation } from "../core/model.ts";
import type { Adapter } from "../revisions/adapter.ts";
import type { AdapterSet } from "../revisions/adapter-set.ts";
import type { AnsweredInput } from "../revisions/client-half.ts";
import { readSupported } from "../revisions/refusals.ts";
import type { JsonObject } from "../util/json.ts";
import { type AnswerHandlers, answerQuestion, kindsOf, Unanswered } from "./answering.ts";
import { ClientError } from "./errors.ts";
import { Hearing, type Listeners } from "./hearing.ts";
import { type ExchangeOptions, Link, type Speaker } from "./link.ts";
import type { ServerDescription } from "./model.ts";
import {
  type Negotiated,
  type NegotiateOptions,
  negotiate,
  shakeHandsAgain,
  type Target,
} from "./negotiate.ts";
import { isOfOtherEra } from "./probe.ts";
import type { Recall } from "./recall.ts";
import type { Transport } from "./transport.ts";
import type { VerdictStore } from "./verdicts.ts";
import type { WatchOptions } from "./watch.ts";

export interface ConnectionOptions {
  readonly info: Implementation;
  readonly accepted: AdapterSet;
  readonly handlers: AnswerHandlers;
  readonly listeners: Listeners;
  readonly logLevel: LogLevel | undefined;
  readonly mirrors: Speaker["mirrors"];
  readonly verdicts: VerdictStore;
  readonly timeoutMs: number;
  readonly probeTimeoutMs: number;
  readonly maxRounds: number;
  /** Where discoveries are kept. */
  readonly recall: Recall | undefined;
  /** Called whenever a session begins: what the one before knew has to be told again. */
  readonly onOpen: (link: Link) => Promise<void>;
}

export interface Asking extends ExchangeOptions {
  /** Whether the call may be sent again when its reply was lost on the way. */
  readonly reissue?: "always" | "never" | undefined;
}

export interface Completed {
  readonly result: JsonObject;
  /** Undefined too for what came out of several rounds: it depends on what was answered. */
  readonly cache: CacheHints | undefined;
}

/** What has been done for a request already. */
interface Spent {
  isRepeated: boolean;
  reissues: number;
}

/** How often a request is sent again whose reply was lost. */
const maxReissues = 2;

/** Questions of one round at most. */
const maxQuestions = 50;

/** How often in a row a server may go away before it is given up. */
const maxReopenings = 5;

/** After so long, a server that went away is one that had been there. */
const settledMs = 30_000;

export class Connection {
  readonly #target: Target;
  readonly #options: ConnectionOptions;
  readonly #speaker: Speaker;
  readonly #closing: AbortController = new AbortController();
  readonly #hearings: WeakMap<Link, Hearing> = new WeakMap();
  #current: Negotiated | undefined;
  #opening: Promise<Negotiated> | undefined;
  /** Whether the server has said nothing yet, but in an earlier connection. */
  #isAssumed = false;
  #reopenings = 0;
  #openedAt = 0;

  constructor(target: Target, options: ConnectionOptions) {
    this.#target = target;
    this.#options = options;
    const kinds = kindsOf(options.handlers);
    this.#speaker = {
      info: options.info,
      capabilities: (adapter) => adapter.client.declare(kinds),
      logLevel: options.logLevel,
      mirrors: options.mirrors,
    };
  }

  /** Aborts when the client is closed. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  get description(): ServerDescription {
    if (this.#current === undefined) throw new Error("not connected yet");
    return this.#current.description;
  }

  get adapter(): Adapter {
    if (this.#current === undefined) throw new Error("not connected yet");
    return this.#current.link.adapter;
  }

  /** What results may depend on besides what is asked. */
  get spoken(): readonly unknown[] {
    return this.#spoken(this.adapter);
  }

  /** Whether requests travel with headers that can mirror them. */
  get hasHeaders(): boolean {
    return this.#current?.link.transport.kind === "stream-per-request";
  }

  /** How long what the client does of itself may take. */
  get patience(): WatchOptions {
    const { timeoutMs } = this.#options;
    return { timeoutMs, maxTimeoutMs: timeoutMs, signal: this.#closing.signal };
  }

  /** @throws ClientError where there is nothing to be had any more, or nobody who wants it */
  assertWanted(signal: AbortSignal | undefined): void {
    this.#closing.signal.throwIfAborted();
    if (signal?.aborted) throw givenUp(signal);
  }

  /** The link as it is now, opened anew where it is gone. */
  async link(signal?: AbortSignal): Promise<Link> {
    this.#closing.signal.throwIfAborted();
    const { link } =
      this.#current !== undefined && this.#current.link.gone === undefined
        ? this.#current
        : await heeding(
            signal,
            this.#open(() => negotiate(this.#target, this.#negotiating())),
          );
    return link;
  }

  /** Sends a request, answers what it asks, and sends it again where it has to be. */
  async request(method: string, params: JsonObject, asking: Asking): Promise<Completed> {
    let carried: AnsweredInput | undefined;
    for (let round = 0; ; round++) {
      const link = await this.link(asking.signal);
      const sent = carried === undefined ? params : link.adapter.client.carry(params, carried);
      const result = await this.#survive(method, sent, asking);
      const read = this.adapter.client.readResult(result);
      if (read.kind === "complete") return round === 0 ? read : { ...read, cache: undefined };
      if (read.kind === "malformed") throw new ClientError("invalid-answer", read.message);
      if (round >= this.#options.maxRounds) {
        throw new ClientError(
          "invalid-answer",
          `the server asked again and again: ${this.#options.maxRounds} rounds are the most`,
        );
      }
      carried = { answers: await this.#gather(read.questions, asking), state: read.state };
    }
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const why = new ClientError("closed", "the client was closed");
    this.#closing.abort(why);
    await this.#opening?.catch(() => undefined);
    await this.#leave(this.#current, why);
  }

  /** One request through the loss of a session, or of the stream that carried its reply. */
  async #survive(method: string, params: JsonObject, asking: Asking): Promise<JsonObject> {
    const spent: Spent = { isRepeated: false, reissues: 0 };
    for (;;) {
      const link = await this.link(asking.signal);
      const { session } = link.transport;
      try {
        const result = await link.exchange(method, params, asking);
        this.#isAssumed = false;
        return result;
      } catch (cause) {
        const mended = this.#mend(cause, { link, session }, asking, spent);
        if (mended === undefined) throw cause;
        await heeding(asking.signal, mended);
      }
    }
  }

  /** @returns when the request can be sent once more; undefined where that is no use. */
  #mend(
    cause: unknown,
    { link, session }: { readonly link: Link; readonly session: string | undefined },
    asking: Asking,
    spent: Spent,
  ): Promise<void> | undefined {
    if (!(cause instanceof ClientError)) return undefined;
    const isLost = cause.kind === "session-lost";
    if (!spent.isRepeated && (isLost || this.#isOther(cause, link))) {
      spent.isRepeated = true;
      return isLost ? this.renew(link, session) : this.#startOver(link);
    }
    if (spent.reissues >= maxReissues || !this.#isToReissue(cause, link, asking)) return undefined;
    spent.reissues++;
    return Promise.resolve();
  }

  /** Whether the server is not the one, of its revisions, that it was found or remembered to be. */
  #isOther(cause: ClientError, { adapter, transport }: Link): boolean {
    if (adapter.era !== "modern" || transport.kind === "channel") return false;
    return readSupported(cause) !== undefined || (this.#isAssumed && isOfOtherEra(cause));
  }

  /**
   * A reply that was lost with its stream is asked for again under a new id: this revision has
   * no other way (changelog, 2026-07-28). Elsewhere the transport has tried to resume.
   */
  #isToReissue({ kind }: ClientError, link: Link, { reissue }: Asking): boolean {
    return (
      kind === "interrupted" &&
      reissue !== "never" &&
      link.transport.kind === "stream-per-request" &&
      link.adapter.era === "modern"
    );
  }

  async #gather(
    questions: ReadonlyMap<string, { readonly method: string; readonly params: JsonObject }>,
    { signal = this.#closing.signal }: Asking,
  ): Promise<JsonObject> {
    if (questions.size > maxQuestions) {
      throw new ClientError(
        "invalid-answer",
        `the server asked ${questions.size} questions at once`,
      );
    }
    const entries = [...questions].map(async ([key, question]) => {
      const answer = await answerQuestion(question, this.#options.handlers, { signal });
      return [key, answer] as const;
    });
    try {
      return Object.fromEntries(await Promise.all(entries));
    } catch (cause) {
      if (!(cause instanceof Unanswered)) throw cause;
      // The handler's own error is the caller's to see: it is on this side.
      throw cause.cause ?? new ClientError("unsupported", `the server asked: ${cause.message}`);
    }
  }

  /** Opens a session in place of one that is gone; many callers may find out at once. */
  async renew(lost: Link, session: string | undefined): Promise<void> {
    await this.#opening;
    // Somebody else may have renewed it since.
    if (this.#current?.link !== lost || lost.transport.session !== session) return;
    await this.#open(async () => {
      try {
        return await shakeHandsAgain(lost, this.#negotiating());
      } catch (cause) {
        if (!(cause instanceof ClientError) || cause.kind === "unreachable") throw cause;
        return this.#negotiateAnew();
      }
    });
  }

  async #startOver(lost: Link): Promise<void> {
    await this.#opening;
    if (this.#current?.link === lost) await this.#open(() => this.#negotiateAnew());
  }

  /** It is not the server it was: finds out again what it speaks. */
  async #negotiateAnew(): Promise<Negotiated> {
    if (this.#target.key !== undefined) await this.#options.verdicts.delete(this.#target.key);
    return negotiate(this.#target, this.#negotiating());
  }

  /** Opens once for all who wait for it. */
  async #open(how: () => Promise<Negotiated>): Promise<Negotiated> {
    this.#opening ??= this.#openOnce(how).finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #openOnce(how: () => Promise<Negotiated>): Promise<Negotiated> {
    const now = performance.now();
    if (now - this.#openedAt > settledMs) this.#reopenings = 0;
    if (this.#reopenings++ > maxReopenings) {
      throw new ClientError("closed", "the server went away again and again");
    }
    const before = this.#current;
    const negotiated = await how();
    if (before !== undefined && before.link !== negotiated.link) {
      await this.#leave(before, new ClientError("interrupted", "the connection was opened anew"));
    }
    this.#current = negotiated;
    this.#openedAt = performance.now();
    if (this.#closing.signal.aborted) {
      await this.#leave(negotiated, this.#closing.signal.reason);
      throw this.#closing.signal.reason;
    }
    await this.#options.onOpen(negotiated.link);
    return negotiated;
  }

  async #leave(negotiated: Negotiated | undefined, why: ClientError): Promise<void> {
    if (negotiated === undefined) return;
    negotiated.link.end(why);
    this.#hearings.get(negotiated.link)?.end();
    await negotiated.link.transport.close();
  }

  #negotiating(): NegotiateOptions {
    const { accepted, verdicts, probeTimeoutMs, timeoutMs } = this.#options;
    return {
      accepted,
      verdicts,
      probeTimeoutMs,
      timeoutMs,
      signal: this.#closing.signal,
      link: (transport, adapter) => this.#link(transport, adapter),
      discover: (link, ask) => this.#discover(link, ask),
    };
  }

  /**
   * What the server says of itself, or said before this connection. A process that was just
   * started has to say it itself, and so has a server that was lost.
   */
  async #discover(link: Link, ask: () => Promise<JsonObject>): Promise<JsonObject> {
    const { recall } = this.#options;
    if (recall === undefined || link.transport.kind === "channel") return ask();
    const { adapter } = link;
    const asked = { method: "server/discover", params: {}, spoken: this.#spoken(adapter) };
    this.#isAssumed = this.#current === undefined;
    const found = await recall.through(asked, !this.#isAssumed, async (received) => {
      const value = await ask();
      this.#isAssumed = false;
      received();
      const read = adapter.client.readResult(value);
      return { value, cache: read.kind === "complete" ? read.cache : undefined };
    });
    return found.value;
  }

  #spoken(adapter: Adapter): readonly unknown[] {
    return [adapter.revision, this.#speaker.capabilities(adapter)];
  }

  async #link(transport: Transport, adapter: Adapter): Promise<Link> {
    const link = new Link(transport, adapter, this.#speaker);
    const { handlers, listeners } = this.#options;
    const hearing = new Hearing(link, handlers, listeners);
    this.#hearings.set(link, hearing);
    await transport.start({
      receive: (message, during) => hearing.hear(message, during),
      warn: (message) => listeners.warn(message),
      closed: (cause) => {
        const why = cause instanceof Error ? cause.message : "the connection was closed";
        link.end(new ClientError("closed", why, { cause }));
        hearing.end();
      },
    });
    return link;
  }
}

/** What many wait for goes on when one of them has had enough. */
function heeding<T>(signal: AbortSignal | undefined, shared: Promise<T>): Promise<T> {
  if (signal === undefined) return shared;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(givenUp(signal));
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    shared.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

function givenUp({ reason }: AbortSignal): ClientError {
  return new ClientError("aborted", "the caller gave the call up", { cause: reason });
}
