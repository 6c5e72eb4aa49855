/** HTTP exchanges over `fetch`, where there is nothing closer to the network. */
import { Bag, type Bagged } from "../util/bag.ts";
import { letGo } from "../util/timer.ts";
import { ClientError, clientClosed } from "./errors.ts";
import {
  type HttpAnswer,
  type HttpOutgoing,
  type HttpSender,
  swallowBytes,
  swallowMs,
  toExchangeError,
  tooLarge,
} from "./http-exchange.ts";

/** The part of `fetch` that is used, so that a test or a framework can give its own. */
export type Fetch = (url: URL, init: RequestInit) => Promise<Response>;

export class FetchSender implements HttpSender {
  readonly #fetch: Fetch;
  readonly #exchanges: Bag<Exchange> = new Bag();

  /** @param fetch - the default is the runtime's own, which pools connections by itself */
  constructor(fetch: Fetch = (url, init) => globalThis.fetch(url, init)) {
    this.#fetch = fetch;
  }

  get underWay(): number {
    return this.#exchanges.size;
  }

  async send(outgoing: HttpOutgoing): Promise<HttpAnswer> {
    outgoing.signal?.throwIfAborted();
    const exchange = new Exchange(outgoing, this.#exchanges);
    await exchange.begin(this.#fetch);
    return exchange;
  }

  hangUp(cause: ClientError): void {
    for (const exchange of this.#exchanges.all()) exchange.fail(cause);
  }

  close(): void {
    this.hangUp(clientClosed());
  }
}

class Exchange implements HttpAnswer, Bagged {
  place = -1;
  readonly #outgoing: HttpOutgoing;
  readonly #open: Bag<Exchange>;
  readonly #controller: AbortController = new AbortController();
  readonly #onAbort = (): void => this.fail(this.#outgoing.signal?.reason);
  #response: Response | undefined;
  #failure: { readonly cause: unknown } | undefined;

  constructor(outgoing: HttpOutgoing, open: Bag<Exchange>) {
    this.#outgoing = outgoing;
    this.#open = open;
  }

  async begin(fetch: Fetch): Promise<void> {
    const { method, url, headers, body, signal } = this.#outgoing;
    this.#open.add(this);
    signal?.addEventListener("abort", this.#onAbort);
    try {
      this.#response = await fetch(url, {
        method,
        headers,
        redirect: "manual",
        signal: this.#controller.signal,
        ...(body !== undefined && { body }),
      });
    } catch (cause) {
      this.#over();
      this.#brokeOff(cause);
    }
  }

  /** Ends it, however far it has come, and its connection. */
  fail(cause: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = { cause };
    this.#over();
    this.#controller.abort();
  }

  #over(): void {
    this.#open.delete(this);
    this.#outgoing.signal?.removeEventListener("abort", this.#onAbort);
  }

  #brokeOff(cause: unknown): never {
    if (this.#failure !== undefined) throw this.#failure.cause;
    throw toExchangeError(cause);
  }

  get status(): number {
    return this.#response?.status ?? 0;
  }

  get url(): URL {
    return this.#outgoing.url;
  }

  header(name: string): string | undefined {
    return this.#response?.headers.get(name) ?? undefined;
  }

  async text(maxBytes: number): Promise<string> {
    const decoder = new TextDecoder();
    let text = "";
    let length = 0;
    for await (const chunk of this.chunks()) {
      length += chunk.byteLength;
      if (length > maxBytes) {
        this.fail(tooLarge(maxBytes));
        throw tooLarge(maxBytes);
      }
      text += decoder.decode(chunk, { stream: true });
    }
    return text + decoder.decode();
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    if (this.#failure !== undefined) throw this.#failure.cause;
    const reader = this.#response?.body?.getReader();
    try {
      for (;;) {
        // By hand: not every runtime's streams are iterable.
        const next = await reader?.read();
        if (next === undefined || next.done) return;
        yield next.value;
      }
    } catch (cause) {
      this.#brokeOff(cause);
    } finally {
      this.#over();
      // Where it was left early, the connection must not wait for a reader.
      reader?.cancel().catch(() => undefined);
    }
  }

  discard(): void {
    if (this.#failure !== undefined) return;
    if (this.header("content-type")?.startsWith("text/event-stream")) this.#letGo();
    else void this.#swallow();
  }

  #letGo(): void {
    this.fail(new ClientError("interrupted", "the answer was let go of"));
  }

  async #swallow(): Promise<void> {
    const late = setTimeout(() => this.#letGo(), swallowMs);
    letGo(late);
    let length = 0;
    try {
      for await (const chunk of this.chunks()) {
        length += chunk.byteLength;
        if (length > swallowBytes) this.#letGo();
      }
    } catch {
      // Nobody wanted it.
    } finally {
      clearTimeout(late);
    }
  }
}
