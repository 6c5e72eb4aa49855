/** What a handler holds while its call runs: who is asking, and how to answer in more than data. */
import type { JsonObject } from "../util/json.ts";
import type { Call } from "./call.ts";
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
import type { ClientCapabilities, Implementation } from "./model.ts";

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
   * handler looks at `signal` or `cancelled`: an AbortController costs more than the rest of a call.
   */
  readonly onDisconnect: ((cancel: () => void) => void) | undefined;
}

export class Exchange {
  readonly #call: Call;
  readonly #context: ExchangeContext;
  #controller: AbortController | undefined;
  #cancelled: { readonly reason: unknown } | undefined;
  #whenCancelled: (() => void) | undefined;
  #watching = false;

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
      else this.#watch();
    }
    return this.#controller.signal;
  }

  /** Whether the caller cancelled; cheaper than `signal.aborted` when nothing listens. */
  get cancelled(): boolean {
    this.#watch();
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

  #watch(): void {
    if (this.#watching) return;
    this.#watching = true;
    this.#context.onDisconnect?.(() => this.cancel("the caller disconnected"));
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
