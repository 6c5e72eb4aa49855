/** A transport, the revision that is spoken over it, and the calls that are under way on it. */
import type { LogLevel } from "../core/call.ts";
import type { ClientCapabilities, Implementation } from "../core/model.ts";
import type { ParamHeader } from "../core/param-header.ts";
import type { Telemetry } from "../core/telemetry.ts";
import { describe, type RequestId } from "../jsonrpc/message.ts";
import type { Adapter } from "../revisions/adapter.ts";
import { Bag, type Bagged } from "../util/bag.ts";
import { toListener } from "../util/callback.ts";
import { Ending } from "../util/ending.ts";
import { isObject, type JsonObject } from "../util/json.ts";
import { ClientError } from "./errors.ts";
import type { Received, Transport } from "./transport.ts";
import { Watch, type WatchOptions } from "./watch.ts";
import { watchedExchange, watchedNotice } from "./watched.ts";

/** Progress of a call, as its server reports it. */
export interface Progress {
  readonly progress: number;
  readonly total: number | undefined;
  readonly message: string | undefined;
}

/** Who speaks, and how. */
export interface Speaker {
  readonly info: Implementation;
  /** What is declared in a revision. */
  capabilities(adapter: Adapter): ClientCapabilities;
  readonly logLevel: LogLevel | undefined;
  readonly mirrors: "as-specified" | "always";
  /** Watches each request; undefined where nobody does. */
  readonly telemetry: Telemetry | undefined;
}

export interface ExchangeOptions extends WatchOptions {
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  readonly paramHeaders?: readonly ParamHeader[] | undefined;
  /** Called with the id before the request is sent. */
  readonly onSend?: ((id: RequestId) => void) | undefined;
}

interface Running extends Bagged {
  readonly id: RequestId;
  readonly watch: Watch;
  /** Undefined where nobody asked for it. */
  readonly onProgress: ((progress: Progress) => void) | undefined;
  /** The last progress that was told: it only ever grows. */
  told: number;
}

/** How long something may take to be sent that nobody waits for. */
const parting: WatchOptions = { timeoutMs: 5_000, maxTimeoutMs: 5_000 };

export class Link {
  readonly transport: Transport;
  /** What is spoken; it changes when a handshake settles on another revision. */
  adapter: Adapter;
  readonly #speaker: Speaker;
  readonly #running: Bag<Running> = new Bag();
  #lastId = 0;
  /** Why there is nothing to be had any more. */
  #gone: ClientError | undefined;
  readonly #ending: Ending = new Ending();
  /** Tells whoever watches that the session is over. */
  #onOver: ((reason?: string) => void) | undefined;

  constructor(transport: Transport, adapter: Adapter, speaker: Speaker) {
    this.transport = transport;
    this.adapter = adapter;
    this.#speaker = speaker;
  }

  get telemetry(): Telemetry | undefined {
    return this.#speaker.telemetry;
  }

  get gone(): ClientError | undefined {
    return this.#gone;
  }

  /** How many calls are under way. */
  get size(): number {
    return this.#running.size;
  }

  /** Sends one request. @returns its result, as it came. @throws ClientError */
  exchange(method: string, params: JsonObject, options: ExchangeOptions): Promise<JsonObject> {
    const { telemetry } = this.#speaker;
    if (telemetry === undefined) return this.#exchange(method, params, options);
    const { adapter, transport } = this;
    // The id that it will get: nothing else is sent until it has it.
    const request = { id: this.#lastId + 1, method, params, adapter, transport };
    return watchedExchange(request, telemetry, (carrying) =>
      this.#exchange(method, carrying, options),
    );
  }

  async #exchange(
    method: string,
    params: JsonObject,
    options: ExchangeOptions,
  ): Promise<JsonObject> {
    if (this.#gone !== undefined) throw this.#gone;
    const id = ++this.#lastId;
    const watch = new Watch(options);
    const onProgress = options.onProgress && toListener(options.onProgress);
    const running = { id, watch, onProgress, told: Number.NEGATIVE_INFINITY, place: -1 };
    this.#running.add(running);
    let isSent = false;
    try {
      watch.throwIfAborted();
      options.onSend?.(id);
      const written = this.adapter.client.write({
        id,
        method,
        params,
        client: this.#speaker.info,
        capabilities: this.#speaker.capabilities(this.adapter),
        paramHeaders: options.paramHeaders ?? [],
        mirrors: this.#speaker.mirrors,
        progressToken: onProgress === undefined ? undefined : id,
        logLevel: this.#speaker.logLevel,
      });
      const travel = { signal: watch, resumption: this.adapter.resumption };
      isSent = true;
      return readResult(await this.transport.request(written, travel));
    } catch (cause) {
      if (watch.aborted) {
        if (isSent) this.#cancel(id, method, watch.reason);
        throw watch.reason;
      }
      // Why it was closed says more than that it was.
      if (this.#gone !== undefined && isClosed(cause)) throw this.#gone;
      throw cause;
    } finally {
      watch.stop();
      this.#running.delete(running);
    }
  }

  /** Sends a notification. @throws ClientError when it was not taken in time */
  notify(method: string, params?: JsonObject, waiting: WatchOptions = parting): Promise<void> {
    const { telemetry } = this.#speaker;
    if (telemetry === undefined) return this.#notify(method, params, waiting);
    const { adapter, transport } = this;
    const notice = { id: undefined, method, params: params ?? {}, adapter, transport };
    return watchedNotice(notice, telemetry, (carrying) => {
      const isBare = params === undefined && Object.keys(carrying).length === 0;
      return this.#notify(method, isBare ? undefined : carrying, waiting);
    });
  }

  #notify(method: string, params: JsonObject | undefined, waiting: WatchOptions): Promise<void> {
    const message = { jsonrpc: "2.0", method, ...(params === undefined ? {} : { params }) };
    return this.#send(message, waiting);
  }

  /** Answers a request of the server's. */
  answer(
    id: RequestId,
    outcome: { readonly result: JsonObject } | { readonly error: JsonObject },
  ): Promise<void> {
    return this.#send({ jsonrpc: "2.0", id, ...outcome }, parting);
  }

  async #send(message: JsonObject, waiting: WatchOptions): Promise<void> {
    const watch = new Watch(waiting);
    try {
      await this.transport.send(message, this.adapter.client.headers, watch.signal);
    } catch (cause) {
      throw watch.signal.aborted ? watch.signal.reason : cause;
    } finally {
      watch.stop();
    }
  }

  progress(params: JsonObject): void {
    const { progressToken, progress, total, message } = params;
    const running = this.#running.find(({ id }) => id === progressToken);
    if (running?.onProgress === undefined || typeof progress !== "number") return;
    if (progress <= running.told) return;
    running.told = progress;
    running.watch.restart();
    running.onProgress({
      progress,
      total: typeof total === "number" ? total : undefined,
      message: typeof message === "string" ? message : undefined,
    });
  }

  /**
   * Stops the clock of the call that a question belongs to; of all, where that cannot be told.
   *
   * @returns what lets it go on, however often it is called
   */
  pause(during: RequestId | undefined): () => void {
    const one = during === undefined ? undefined : this.#running.find(({ id }) => id === during);
    const paused = one === undefined ? this.#running.all() : [one];
    for (const { watch } of paused) watch.pause();
    let isPaused = true;
    return () => {
      if (!isPaused) return;
      isPaused = false;
      for (const { watch } of paused) watch.resume();
    };
  }

  /** A handshake opened a session; one before it is lost. */
  opened(): void {
    this.#onOver?.("session-lost");
    const { network } = this.transport;
    const { revision } = this.adapter;
    this.#onOver = this.#speaker.telemetry?.opened?.({ side: "client", revision, network });
  }

  /** Nothing comes any more. */
  end(why: ClientError): void {
    this.#gone ??= why;
    // Without a cause, it was closed from this side.
    const isMeant = why.kind === "closed" && why.cause === undefined;
    this.#onOver?.(isMeant ? undefined : why.kind);
    this.#onOver = undefined;
    this.#ending.end();
  }

  /** Calls back once, when nothing comes any more. @returns what takes the callback back. */
  onEnd(callback: () => void): () => void {
    return this.#ending.onEnd(callback);
  }

  /** Tells the server that nobody waits any more, where that is not told by hanging up. */
  #cancel(id: RequestId, method: string, why: unknown): void {
    if (this.#gone !== undefined || method === "initialize") return;
    // Whoever hangs up on a request of this revision has cancelled it with that.
    if (this.transport.kind === "stream-per-request" && this.adapter.era === "modern") return;
    const reason = why instanceof ClientError ? why.message : "cancelled";
    // Nobody is left to be told that this failed as well.
    this.notify("notifications/cancelled", { requestId: id, reason }).catch(() => undefined);
  }
}

function isClosed(cause: unknown): boolean {
  return cause instanceof ClientError && cause.kind === "closed";
}

function readResult({ reply, status }: Received): JsonObject {
  const { result, error } = reply;
  if (error !== undefined) throw toError(error, status);
  if (isObject(result)) return result;
  throw new ClientError(
    "invalid-answer",
    `the result of a request must be an object, not ${describe(result)}`,
    { status },
  );
}

function toError(error: unknown, status: number | undefined): ClientError {
  if (!isObject(error) || typeof error["code"] !== "number") {
    return new ClientError("invalid-answer", "the server answered with an error that has no code", {
      status,
    });
  }
  const { code, message, data } = error;
  const told = typeof message === "string" && message !== "" ? message.slice(0, 2_000) : "an error";
  return new ClientError("refused", told, { code, data, status });
}
