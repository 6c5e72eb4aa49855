/** What a handler holds while its call runs: who is asking, and how to answer in more than data. */

import type { Awaitable } from "../util/awaitable.ts";
import type { JsonObject } from "../util/json.ts";
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
import { type Asking, Inquiry } from "./inquiry.ts";
import type { ClientCapabilities, Implementation } from "./model.ts";
import type { Notice } from "./notice.ts";
import type { Answer, Root, Sample } from "./question.ts";
import type { Resumed } from "./rounds.ts";
import type { Schema } from "./schema.ts";
import { Telling } from "./telling.ts";

/** The handshake session a call belongs to; revisions without one, and calls outside one, have none. */
export interface SessionView {
  readonly id: string;
  readonly client: Implementation | undefined;
  readonly capabilities: ClientCapabilities | undefined;
}

export interface ExchangeContext {
  readonly session: SessionView | undefined;
  /**
   * Tells when the caller is gone, where that cancels the call. Asked for only once a
   * handler looks at `signal`: an AbortController costs more than the rest of a call.
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

export class Exchange {
  readonly #call: Call;
  readonly #context: ExchangeContext;
  #controller: AbortController | undefined;
  #cancelled: { readonly reason: unknown } | undefined;
  #whenCancelled: (() => void) | undefined;
  #inquiry: Inquiry | undefined;
  #telling: Telling | undefined;

  constructor(call: Call, context: ExchangeContext) {
    this.#call = call;
    this.#context = context;
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

  /** The handshake session, where there is one. */
  get session(): { readonly id: string } | undefined {
    return this.#context.session;
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
      else this.#context.onDisconnect?.(() => this.cancel("the caller disconnected"));
    }
    return this.#controller.signal;
  }

  /** Whether the caller cancelled; cheaper than `signal.aborted` when nothing listens. */
  get cancelled(): boolean {
    return this.#cancelled !== undefined;
  }

  /** Ends the call for its caller. Handlers have no use for it: they just return. */
  cancel(reason: unknown): void {
    if (this.#cancelled !== undefined) return;
    this.#cancelled = { reason };
    this.#controller?.abort(reason);
    this.#whenCancelled?.();
  }

  /** Calls back once, at the cancel; one callback at most, kept by whoever serves the call. */
  onCancel(callback: () => void): void {
    this.#whenCancelled = callback;
  }

  /**
   * Asks the user, and waits for the answer. Where the revision has no way to wait, the
   * handler stops here and runs again from its start once the answer is there, so put what
   * must happen once into {@link once}, and what cannot be undone after the last question.
   *
   * @param key - names the question within this call
   * @throws when nobody can be asked and there is no default: let it pass.
   */
  ask<const S extends Schema | undefined = undefined>(
    key: string,
    options: FormOptions<S> | UrlOptions,
  ): Promise<Answer<AnswerContent<S>>> {
    return unheard(ask(this.#conversation(), this.signal, key, options));
  }

  /** Asks several at once: in one round, where asking takes rounds. */
  askAll<const Q extends Readonly<Record<string, FormOptions<Schema | undefined> | UrlOptions>>>(
    questions: Q,
  ): Promise<{
    [K in keyof Q]: Answer<Q[K] extends FormOptions<infer S> ? AnswerContent<S> : unknown>;
  }> {
    const asked = Object.entries(questions).map(
      ([key, options]) => [key, this.ask(key, options)] as const,
    );
    // Each answer was judged by the options under the same key.
    return together(Object.fromEntries(asked)) as ReturnType<typeof this.askAll<Q>>;
  }

  /** Lets the caller's model write something. */
  sample(key: string, options: SampleOptions): Promise<Sample> {
    return unheard(sample(this.#conversation(), this.signal, key, options));
  }

  /** The directories the caller works in. */
  roots(options?: RootsOptions): Promise<readonly Root[]> {
    return unheard(roots(this.#conversation(), this.signal, options));
  }

  /**
   * Computes a value once over all rounds of this call, however often the handler runs. The
   * value travels with the caller, sealed: keep it small, and plain JSON.
   */
  once<T>(key: string, compute: () => Awaitable<T>): Promise<T> {
    return this.#conversation().once(key, compute);
  }

  /** A place for plain JSON that is kept over all rounds of this call. */
  get state(): Record<string, unknown> {
    return this.#conversation().state;
  }

  /**
   * Tells how far the call has come, to callers that asked for it. Only a rise is told, and
   * not more often than a reader can follow.
   */
  progress(progress: number, total?: number, message?: string): Promise<void> {
    this.#teller()?.progress(progress, total, message);
    return Promise.resolve();
  }

  /** Sends a log entry to callers that asked for its level. No secrets: it leaves the server. */
  log(level: LogLevel, data: unknown, logger?: string): void {
    this.#teller()?.log(level, data, logger);
  }

  /**
   * Lets go of the connection and works on; the caller comes back for what is told from
   * here on, and for the result. Does nothing where the revision cannot resume a stream.
   *
   * @param retryMs - how long the caller is asked to wait before it comes back
   */
  detach(retryMs = 1_000): void {
    this.#context.detach?.(retryMs);
  }

  /** What this call has asked, if it has. */
  get inquiry(): Inquiry | undefined {
    return this.#inquiry;
  }

  /** Takes up what an earlier round of the call left. */
  resume({ carried, fresh }: Resumed): void {
    this.#inquiry = new Inquiry(this.#context.asking, carried, fresh);
  }

  /** Nothing is told after the outcome. */
  end(): void {
    this.#telling?.end();
  }

  #conversation(): Inquiry {
    this.#inquiry ??= new Inquiry(this.#context.asking);
    return this.#inquiry;
  }

  #teller(): Telling | undefined {
    const { tell, logLevel } = this.#context;
    if (tell === undefined) return undefined;
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

/** A handler that ends without waiting for an answer must not bring the process down. */
function unheard<T>(answer: Promise<T>): Promise<T> {
  answer.catch(() => undefined);
  return answer;
}
