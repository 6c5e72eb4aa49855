/** Opens the way to a server: whatever a connection needs before its first call. */
import type { LogLevel } from "../core/call.ts";
import type { Implementation } from "../core/model.ts";
import type { Adapter } from "../revisions/adapter.ts";
import type { AdapterSet } from "../revisions/adapter-set.ts";
import { onAbort, unlessAborted } from "../util/abort.ts";
import type { JsonObject } from "../util/json.ts";
import { type AnswerHandlers, kindsOf } from "./answering.ts";
import { ClientError } from "./errors.ts";
import { Hearing, type Listeners } from "./hearing.ts";
import { Link, type Speaker } from "./link.ts";
import type { Negotiated, NegotiateOptions } from "./negotiate.ts";
import type { ClientOptions } from "./options.ts";
import type { Recall } from "./recall.ts";
import type { Incoming, Transport } from "./transport.ts";
import { forgiving, type VerdictStore } from "./verdicts.ts";
import { Watch } from "./watch.ts";

export interface OpenerOptions {
  readonly info: Implementation;
  readonly accepted: AdapterSet;
  readonly handlers: AnswerHandlers;
  readonly extensions: ClientOptions["extensions"];
  readonly listeners: Listeners;
  readonly logLevel: LogLevel | undefined;
  readonly mirrors: Speaker["mirrors"];
  readonly telemetry: Speaker["telemetry"];
  readonly verdicts: VerdictStore;
  readonly timeoutMs: number;
  readonly probeTimeoutMs: number;
  /** Where discoveries are kept. */
  readonly recall: Recall | undefined;
}

export class Opener {
  /** Whether the server has said nothing yet, but in an earlier connection. */
  isAssumed = false;
  readonly #options: OpenerOptions;
  readonly #closing: AbortSignal;
  readonly #speaker: Speaker;
  readonly #verdicts: VerdictStore;
  readonly #hearings: WeakMap<Link, Hearing> = new WeakMap();

  constructor(options: OpenerOptions, closing: AbortSignal) {
    this.#options = options;
    this.#closing = closing;
    this.#verdicts = forgiving(options.verdicts, (message) => options.listeners.warn(message));
    const kinds = kindsOf(options.handlers);
    this.#speaker = {
      info: options.info,
      capabilities: (adapter) => adapter.client.declare(kinds, options.extensions),
      logLevel: options.logLevel,
      mirrors: options.mirrors,
      telemetry: options.telemetry,
    };
  }

  /** What results may depend on besides what is asked. */
  spoken(adapter: Adapter): readonly unknown[] {
    return [adapter.revision, this.#speaker.capabilities(adapter)];
  }

  /** @param isFirst - whether nothing that is known of the server has been found wrong yet */
  negotiating(isFirst: boolean): NegotiateOptions {
    const { accepted, probeTimeoutMs, timeoutMs } = this.#options;
    return {
      accepted,
      verdicts: this.#verdicts,
      probeTimeoutMs,
      timeoutMs,
      signal: this.#closing,
      link: (transport, adapter) => this.#link(transport, adapter),
      discover: (link, ask) => this.#discover(link, ask, isFirst),
    };
  }

  async leave(negotiated: Negotiated | undefined, why: ClientError): Promise<void> {
    if (negotiated === undefined) return;
    negotiated.link.end(why);
    this.#hearings.get(negotiated.link)?.end();
    await negotiated.link.transport.close();
  }

  /**
   * What the server says of itself, or said before this connection. A process that was just
   * started has to say it itself, and so has a server that was lost.
   */
  async #discover(
    link: Link,
    ask: () => Promise<JsonObject>,
    isFirst: boolean,
  ): Promise<JsonObject> {
    const { recall } = this.#options;
    if (recall === undefined || link.transport.kind === "channel") return ask();
    const { adapter } = link;
    const asked = { method: "server/discover", params: {}, spoken: this.spoken(adapter) };
    this.isAssumed = isFirst;
    const found = await recall.through(asked, !this.isAssumed, async (received) => {
      const value = await ask();
      this.isAssumed = false;
      received();
      const read = adapter.client.readResult(value);
      return { value, cache: read.kind === "complete" ? read.cache : undefined };
    });
    return found.value;
  }

  async #link(transport: Transport, adapter: Adapter): Promise<Link> {
    const link = new Link(transport, adapter, this.#speaker);
    const { handlers, listeners } = this.#options;
    const hearing = new Hearing(link, handlers, listeners);
    this.#hearings.set(link, hearing);
    await this.#start(transport, {
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

  /** What cannot be opened in time, or not at all, leaves nothing behind. */
  async #start(transport: Transport, incoming: Incoming): Promise<void> {
    const { timeoutMs } = this.#options;
    const watch = new Watch({ timeoutMs, maxTimeoutMs: timeoutMs });
    const forget = onAbort(this.#closing, () => watch.end(this.#closing.reason));
    try {
      await unlessAborted(watch.signal, transport.start(incoming, watch));
    } catch (cause) {
      await transport.close();
      throw cause;
    } finally {
      forget();
      watch.stop();
    }
  }
}
