/** What a handler holds while its call runs: who is asking, and how to answer in more than data. */

import type { Awaitable } from "../util/awaitable.ts";
import type { JsonObject } from "../util/json.ts";
import { type Access, holds, insufficientScope, type Principal } from "./access.ts";
import {
  type AnswerContent,
  ask,
  type FormOptions,
  type RootsOptions,
  roots,
  type SampleOptions,
  sample,
  together,
  type UrlOptions,
} from "./ask.ts";
import type { Call, LogLevel } from "./call.ts";
import {
  audio,
  type BlockOptions,
  type Bytes,
  type Content,
  failed,
  image,
  link,
  mixed,
  resource,
  text,
} from "./content.ts";
import { Rejection } from "./errors.ts";
import { type Asking, Inquiry } from "./inquiry.ts";
import type { ClientCapabilities, Implementation } from "./model.ts";
import type { Notice } from "./notice.ts";
import type { Answer, Root, Sample } from "./question.ts";
import type { Resumed } from "./rounds.ts";
import type { Schema } from "./schema.ts";
import { Session, SessionHandles, type SessionKeeper } from "./session.ts";
import { Telling } from "./telling.ts";

/** The handshake session a call belongs to; revisions without one, and calls outside one, have none. */
export interface SessionView {
  readonly id: string;
  /** What handlers keep with it, as it was when the request came. */
  readonly values: JsonObject;
  readonly client: Implementation | undefined;
  readonly capabilities: ClientCapabilities | undefined;
}

export interface ExchangeContext {
  readonly access: Access;
  readonly session: SessionView | undefined;
  /** Where sessions are kept for this caller. */
  readonly keeper: SessionKeeper;
  /**
   * Tells when the caller is gone, where that cancels the call. Asked for only once a
   * handler looks whether it is: an AbortController costs more than the rest of a call.
   */
  readonly onDisconnect: ((cancel: () => void) => void) | undefined;
  /** How its caller can be asked. */
  readonly asking: Asking;
  /** Where progress and log entries go; undefined where the caller can hear none. */
  readonly tell: ((notice: Notice) => void) | undefined;
  /** The level that the session's caller set, for calls that state none. */
  readonly logLevel: LogLevel | undefined;
  /** Lets go of the connection, where the caller can come back for the rest. */
  readonly detach: ((retryMs: number) => void) | undefined;
}

/**
 * What whoever serves a call does with its exchange. It stands beside the class, so that a
 * handler finds nothing in its hands that is not for it.
 */
export interface ExchangeControl {
  /** Ends the call for its caller. */
  cancel(ex: Exchange, reason: unknown): void;
  /** Calls back once, at the cancel; one callback at most is kept. */
  onCancel(ex: Exchange, callback: () => void): void;
  /** Takes up what an earlier round of the call left. */
  resume(ex: Exchange, resumed: Resumed): void;
  /** What the call has asked, if it has. */
  inquiry(ex: Exchange): Inquiry | undefined;
  /** Whether the call stopped at a question, whatever its handler made of the stop. */
  isPaused(ex: Exchange): boolean;
  /** Nothing is told or asked after the outcome; questions that wait are taken back. */
  end(ex: Exchange): void;
}

/** Set with the class below, which alone can reach into an exchange. */
export let control: ExchangeControl;

export class Exchange {
  static {
    control = {
      cancel: (ex, reason) => ex.#cancel(reason),
      onCancel: (ex, callback) => {
        ex.#whenCancelled = callback;
      },
      resume: (ex, { carried, fresh }) => {
        ex.#inquiry = new Inquiry(ex.#context.asking, carried, fresh);
      },
      inquiry: (ex) => ex.#inquiry,
      isPaused: (ex) => ex.#inquiry !== undefined && ex.#inquiry.open.size > 0,
      end: (ex) => ex.#end(),
    };
  }

  readonly #call: Call;
  readonly #context: ExchangeContext;
  #controller: AbortController | undefined;
  #watches = false;
  #cancelled: { readonly reason: unknown } | undefined;
  #whenCancelled: (() => void) | undefined;
  #inquiry: Inquiry | undefined;
  #session: Session | undefined;
  #telling: Telling | undefined;
  /** The call has its outcome, or was cancelled: nothing is told or asked any more. */
  #over = false;

  constructor(call: Call, context: ExchangeContext) {
    this.#call = call;
    this.#context = context;
  }

  /** Who the caller is, by credentials that were checked; undefined where nobody was asked. */
  get principal(): Principal | undefined {
    return this.#context.access.principal;
  }

  /**
   * Whose this call is, as one text: the same for the same issuer, subject and client, also
   * with another token; "" where nobody was asked. Keep it beside whatever you give out an id
   * for, and treat an id of another owner like one that is unknown.
   */
  get owner(): string {
    return this.#context.access.owner;
  }

  /**
   * Goes on only for a caller that was allowed all of these, for what depends on the arguments.
   * Others get what a declaration with `scopes` gives them; before anything else is told, that
   * is a 403 over HTTP, so call it first.
   *
   * @throws what stops the handler. Let it pass.
   */
  requireScopes(...scopes: readonly string[]): void {
    if (holds(this.#context.access, scopes)) return;
    throw new Rejection(insufficientScope("this", scopes));
  }

  /** Who the caller says it is. Not verified: for display and logs, never for access. */
  get client(): Implementation | undefined {
    return this.#call.client ?? this.#context.session?.client;
  }

  /** What the caller declared it can do. */
  get capabilities(): ClientCapabilities {
    return this.#call.capabilities ?? this.#context.session?.capabilities ?? {};
  }

  /** The request's `_meta` as it came. */
  get meta(): JsonObject {
    return this.#call.meta ?? {};
  }

  /**
   * The session that the caller opened by its handshake, with what is kept in it. Undefined in
   * 2026-07-28, which has none, and on endpoints that keep none: there, take {@link sessions}.
   */
  get session(): Session | undefined {
    const { session, keeper } = this.#context;
    if (session === undefined) return undefined;
    this.#session ??= new Session(session.id, session.values, keeper);
    return this.#session;
  }

  /** Sessions that go by a handle, in every revision. */
  get sessions(): SessionHandles {
    return new SessionHandles(this.#context.keeper);
  }

  /** What the call names: a tool, a prompt, or the URI of a resource. */
  get target(): string {
    const { operation } = this.#call;
    return "target" in operation ? operation.target : "";
  }

  /**
   * Aborts when the caller cancels: by closing the connection on 2026-07-28, by
   * `notifications/cancelled` before it, where a lost connection cancels nothing.
   */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#cancelled !== undefined) this.#controller.abort(this.#cancelled.reason);
      else this.#watch();
    }
    return this.#controller.signal;
  }

  /** Whether the caller cancelled; cheaper than `signal.aborted` when nothing listens. */
  get cancelled(): boolean {
    this.#watch();
    return this.#cancelled !== undefined;
  }

  #watch(): void {
    if (this.#watches) return;
    this.#watches = true;
    this.#context.onDisconnect?.(() => this.#cancel("the caller disconnected"));
  }

  #cancel(reason: unknown): void {
    if (this.#cancelled !== undefined) return;
    this.#cancelled = { reason };
    this.#controller?.abort(reason);
    this.#end();
    this.#whenCancelled?.();
  }

  #end(): void {
    this.#over = true;
    this.#telling?.end();
    this.#inquiry?.end();
  }

  /**
   * Asks the user, and waits for the answer. Where the revision has no way to wait, the
   * handler stops here and runs again from its start once the answer is there, so put what
   * must happen once into {@link once}, and what cannot be undone after the last question
   * (basic/patterns/mrtr, 2026-07-28). On 2025-03-26 and 2024-11-05 only tools that say
   * `asks: true` can ask a form.
   *
   * @param key - names the question within this call; the same key is the same question
   * @throws what stops the handler: to run it again, or because nobody can be asked and there
   * is no default. Let it pass.
   */
  ask<const S extends Schema | undefined = undefined>(
    key: string,
    options: FormOptions<S> | UrlOptions,
  ): Promise<Answer<AnswerContent<S>>> {
    return observed(ask(this.#conversation(), this.signal, key, options));
  }

  /**
   * Asks several at once: in one round, where asking takes rounds. Each name is the key of a
   * question, and of its answer.
   */
  askAll<const Q extends Readonly<Record<string, FormOptions<Schema | undefined> | UrlOptions>>>(
    questions: Q,
  ): Promise<{
    [K in keyof Q]: Answer<
      AnswerContent<Q[K] extends { readonly schema: infer S } ? S : undefined>
    >;
  }> {
    const asked = Object.entries(questions).map(
      ([key, options]) => [key, this.ask(key, options)] as const,
    );
    // Each answer was judged by the options under the same key.
    return together(Object.fromEntries(asked)) as ReturnType<typeof this.askAll<Q>>;
  }

  /**
   * Lets the caller's model write something; stops and runs again as {@link ask} does.
   *
   * @param key - names the question within this call
   * @throws as {@link ask} does
   */
  sample(key: string, options: SampleOptions): Promise<Sample> {
    return observed(sample(this.#conversation(), this.signal, key, options));
  }

  /**
   * The directories the caller works in; stops and runs again as {@link ask} does.
   *
   * @throws as {@link ask} does
   */
  roots(options?: RootsOptions): Promise<readonly Root[]> {
    return observed(roots(this.#conversation(), this.signal, options));
  }

  /**
   * Computes a value once over all rounds of this call, however often the handler runs. The
   * value travels with the caller, sealed: keep it small, and plain JSON. What is returned
   * is its JSON read again, in the first round as in the last; a function that throws has
   * computed nothing, and is called again the next time.
   */
  once<T>(key: string, compute: () => Awaitable<T>): Promise<T> {
    return observed(this.#conversation().once(key, compute));
  }

  /**
   * A place for plain JSON that is kept over all rounds of this call, sealed. A line that
   * changes it before a question runs in every round; {@link once} has no such trap.
   */
  get state(): Record<string, unknown> {
    return this.#conversation().state;
  }

  /**
   * Tells how far the call has come, to callers that gave a progress token. Only a rise is
   * told (basic/patterns/progress, 2026-07-28), and within 20 ms only the last, so it may
   * stand in a tight loop.
   *
   * @param progress - in any unit, that of `total`
   * @param total - where `progress` ends, if that is known
   * @param message - for people; 2024-11-05 has no place for it
   */
  progress(progress: number, total?: number, message?: string): Promise<void> {
    this.#teller()?.progress(progress, total, message);
    return Promise.resolve();
  }

  /**
   * Sends a log entry to callers that asked for its level: with the request on 2026-07-28,
   * by `logging/setLevel` for a session before it, `info` until then. 1000 entries a call at
   * most. No secrets, no stacks: it leaves the server.
   *
   * @param data - plain JSON
   * @param logger - the part of the server that it comes from
   */
  log(level: LogLevel, data: unknown, logger?: string): void {
    this.#teller()?.log(level, data, logger);
  }

  /**
   * Lets go of the connection and works on; the caller comes back for what is told from
   * here on, and for the result (basic/transports, Sending Messages to the Server,
   * 2025-11-25). Does nothing where it could not: in other revisions, and without a session.
   *
   * @param retryMs - how long the caller is asked to wait before it comes back, in milliseconds
   */
  detach(retryMs = 1_000): void {
    if (!this.#over) this.#context.detach?.(retryMs);
  }

  #conversation(): Inquiry {
    this.#inquiry ??= new Inquiry(this.#context.asking);
    if (this.#over) this.#inquiry.end();
    return this.#inquiry;
  }

  #teller(): Telling | undefined {
    const { tell, logLevel } = this.#context;
    if (tell === undefined || this.#over) return undefined;
    this.#telling ??= new Telling({
      token: this.#call.progressToken,
      logLevel: this.#call.logLevel ?? logLevel,
      send: tell,
    });
    return this.#telling;
  }

  text(words: string, options?: BlockOptions): Content {
    return text(words, options);
  }

  image(data: Bytes, mimeType: string, options?: BlockOptions): Content {
    return image(data, mimeType, options);
  }

  audio(data: Bytes, mimeType: string, options?: BlockOptions): Content {
    return audio(data, mimeType, options);
  }

  resource(...args: Parameters<typeof resource>): Content {
    return resource(...args);
  }

  link(...args: Parameters<typeof link>): Content {
    return link(...args);
  }

  mixed(...parts: readonly (Content | string)[]): Content {
    return mixed(...parts);
  }

  /** A result marked `isError`: what the model did wrong and what to do instead. */
  failed(words: string): Content {
    return failed(words);
  }
}

/**
 * A handler may start to ask and never wait, or stop waiting at the first of several stops.
 * What such a promise comes to shows in the outcome, or concerns nobody; a rejection that
 * nobody sees would end the whole process.
 */
function observed<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
