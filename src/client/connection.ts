/** A connection that outlives its sessions, streams and processes. */
import type { CacheHints } from "../core/model.ts";
import type { Adapter } from "../revisions/adapter.ts";
import type { AnsweredInput } from "../revisions/client-half.ts";
import { readSupported } from "../revisions/refusals.ts";
import { onAbort, unlessAborted } from "../util/abort.ts";
import type { JsonObject } from "../util/json.ts";
import { isAnswered } from "./answering.ts";
import { ClientError, clientClosed } from "./errors.ts";
import { gatherAnswers } from "./gathering.ts";
import type { ExchangeOptions, Link } from "./link.ts";
import type { ServerDescription } from "./model.ts";
import { type Negotiated, negotiate, shakeHandsAgain, type Target } from "./negotiate.ts";
import { Opener, type OpenerOptions } from "./opener.ts";
import { isOfOtherEra } from "./probe.ts";
import { givenUp, Watch, type WatchOptions } from "./watch.ts";

export interface ConnectionOptions extends OpenerOptions {
  readonly maxRounds: number;
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

interface Exchanged {
  readonly result: JsonObject;
  /** What was spoken when it came. */
  readonly adapter: Adapter;
}

/** What has been done for a request already. */
interface Spent {
  isRepeated: boolean;
  reissues: number;
}

/** How often a request is sent again whose reply was lost. */
const maxReissues = 2;

/** How often in a row a server may go away, without having answered any call, until it is given up. */
const maxReopenings = 5;

/** After so long, a server that went away is one that had been there. */
const settledMs = 30_000;

export class Connection {
  readonly #target: Target;
  readonly #options: ConnectionOptions;
  readonly #closing: AbortController = new AbortController();
  readonly #opener: Opener;
  #current: Negotiated | undefined;
  #opening: Promise<Negotiated> | undefined;
  #closed: Promise<void> | undefined;
  #reopenings = 0;
  #openedAt = 0;

  constructor(target: Target, options: ConnectionOptions) {
    this.#target = target;
    this.#options = options;
    this.#opener = new Opener(options, this.#closing.signal);
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
    return this.#opener.spoken(this.adapter);
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
  async link(waiting?: WatchOptions): Promise<Link> {
    this.#closing.signal.throwIfAborted();
    const current = this.#current;
    if (this.#opening === undefined && current !== undefined && current.link.gone === undefined) {
      return current.link;
    }
    // While a session is opened anew, whatever is sent would be sent outside of any.
    const opening = this.#open(() =>
      negotiate(this.#target, this.#opener.negotiating(this.#current === undefined)),
    );
    const { link } = await within(waiting, opening);
    return link;
  }

  /** Sends a request, answers what it asks, and sends it again where it has to be. */
  async request(method: string, params: JsonObject, asking: Asking): Promise<Completed> {
    const whole = { ...asking, beganAt: performance.now() };
    let carried: AnsweredInput | undefined;
    for (let round = 0; ; round++) {
      const answered = carried;
      const write = ({ client }: Adapter): JsonObject =>
        answered === undefined ? params : client.carry(params, answered);
      const { result, adapter } = await this.#survive(method, write, whole);
      const read = adapter.client.readResult(result);
      if (read.kind === "complete") return round === 0 ? read : { ...read, cache: undefined };
      if (read.kind === "malformed") throw new ClientError("invalid-answer", read.message);
      if (read.otherwise !== undefined && !this.#answersAll(read.questions)) {
        return { result: read.otherwise, cache: undefined };
      }
      if (round >= this.#options.maxRounds) {
        throw new ClientError(
          "invalid-answer",
          `the server asked again and again: ${this.#options.maxRounds} rounds are the most`,
        );
      }
      carried = { answers: await this.#gather(read.questions, whole), state: read.state };
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const why = clientClosed();
    this.#closing.abort(why);
    await this.#opening?.catch(() => undefined);
    await this.#opener.leave(this.#current, why);
  }

  /**
   * One request through the loss of a session, or of the stream that carried its reply.
   *
   * @param write - its params, for whichever revision it is then sent in
   */
  async #survive(
    method: string,
    write: (adapter: Adapter) => JsonObject,
    asking: Asking,
  ): Promise<Exchanged> {
    const spent: Spent = { isRepeated: false, reissues: 0 };
    for (;;) {
      const link = await this.link(asking);
      const { adapter, transport } = link;
      const { session } = transport;
      try {
        const result = await link.exchange(method, write(adapter), asking);
        this.#opener.isAssumed = false;
        this.#reopenings = 0;
        return { result, adapter };
      } catch (cause) {
        const mended = this.#mend(cause, { link, session }, asking, spent);
        if (mended === undefined) throw cause;
        await within(asking, mended);
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
    return readSupported(cause) !== undefined || (this.#opener.isAssumed && isOfOtherEra(cause));
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

  #answersAll(questions: Parameters<typeof gatherAnswers>[0]): boolean {
    const { handlers } = this.#options;
    return [...questions.values()].every((question) => isAnswered(question, handlers));
  }

  /** What the user says, as long as the call still has time and anybody waits for it. */
  async #gather(
    questions: Parameters<typeof gatherAnswers>[0],
    { signal, maxTimeoutMs, beganAt }: Asking,
  ): Promise<JsonObject> {
    const timeoutMs = Number.POSITIVE_INFINITY;
    const watch = new Watch({ signal, timeoutMs, maxTimeoutMs, beganAt });
    const { signal: closing } = this.#closing;
    const forget = onAbort(closing, () => watch.end(closing.reason));
    try {
      return await gatherAnswers(questions, this.#options.handlers, watch.signal);
    } finally {
      forget();
      watch.stop();
    }
  }

  /** Opens a session in place of one that is gone; many callers may find out at once. */
  async renew(lost: Link, session: string | undefined): Promise<void> {
    await this.#opening;
    // Somebody else may have renewed it since.
    if (this.#current?.link !== lost || lost.transport.session !== session) return;
    await this.#open(async () => {
      try {
        return await shakeHandsAgain(lost, this.#opener.negotiating(this.#current === undefined));
      } catch (cause) {
        // Whatever comes of it, this link is closed.
        lost.end(new ClientError("interrupted", "the session could not be opened anew", { cause }));
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
    const options = this.#opener.negotiating(this.#current === undefined);
    if (this.#target.key !== undefined) await options.verdicts.delete(this.#target.key);
    return negotiate(this.#target, options);
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
      await this.#opener.leave(
        before,
        new ClientError("interrupted", "the connection was opened anew"),
      );
    }
    this.#current = negotiated;
    this.#openedAt = performance.now();
    if (this.#closing.signal.aborted) {
      await this.#opener.leave(negotiated, this.#closing.signal.reason);
      throw this.#closing.signal.reason;
    }
    await this.#options.onOpen(negotiated.link);
    return negotiated;
  }
}

/** What many wait for goes on when one of them has had enough. */
async function within<T>(waiting: WatchOptions | undefined, shared: Promise<T>): Promise<T> {
  if (waiting === undefined) return shared;
  const watch = new Watch(waiting);
  try {
    return await unlessAborted(watch.signal, shared);
  } finally {
    watch.stop();
  }
}
