/** What comes on one connection of a stream: the reply that is waited for, and all else. */
import type { RequestId, RpcReply } from "../jsonrpc/message.ts";
import { letGo } from "../util/timer.ts";
import { ClientError } from "./errors.ts";
import type { SourceEvent } from "./event-source.ts";
import { excerpt } from "./excerpt.ts";
import { type HttpAnswer, tooLarge } from "./http-exchange.ts";
import { type HttpWay, messageOf, type Position } from "./http-way.ts";
import { parseMessages, sortMessages } from "./read-messages.ts";
import type { Incoming } from "./transport.ts";

/** How long the rest of a stream is read once its reply is there, to keep the connection. */
const partingMs = 500;

export class StreamReader {
  readonly #way: HttpWay;
  incoming: Incoming = silent;

  constructor(way: HttpWay) {
    this.#way = way;
  }

  /**
   * @returns undefined when the stream ended, or broke off, before the reply
   * @throws what no other connection can mend
   */
  async readReply(
    answer: HttpAnswer,
    position: Position,
    id: RequestId,
  ): Promise<RpcReply | undefined> {
    const events = this.#way.events(answer, position);
    try {
      for (;;) {
        const next = await events.next();
        if (next.done) return undefined;
        if (next.value.kind === "too-large") throw tooLarge(this.#way.maxMessageBytes);
        const reply = this.#take(next.value, id);
        if (reply === undefined) continue;
        void this.#part(answer, events, id);
        return reply;
      }
    } catch (cause) {
      leave(answer, events);
      if (cause instanceof ClientError && cause.kind === "interrupted") return undefined;
      throw cause;
    }
  }

  #take(event: SourceEvent, asked: RequestId | undefined): RpcReply | undefined {
    const data = messageOf(event);
    if (data === undefined) return undefined;
    const messages = parseMessages(data, this.#way.maxDepth);
    if (messages !== undefined) return sortMessages(messages, asked, this.incoming);
    this.incoming.warn(`passed over an event that is no message: ${excerpt(data)}`);
    return undefined;
  }

  /** Most servers end the stream with the reply; others get a moment to. */
  async #part(
    answer: HttpAnswer,
    events: AsyncGenerator<SourceEvent>,
    id: RequestId,
  ): Promise<void> {
    const timer = setTimeout(() => answer.discard(), partingMs);
    letGo(timer);
    try {
      for await (const event of events) this.#take(event, id);
    } catch {
      // The reply is there; what breaks afterwards breaks nothing.
      answer.discard();
    } finally {
      clearTimeout(timer);
    }
  }

  /** Resolves when the stream has ended, or has broken off. */
  async hear(answer: HttpAnswer, position: Position): Promise<void> {
    try {
      for await (const event of this.#way.events(answer, position)) {
        this.#take(event, undefined);
        if (event.kind === "too-large") {
          this.incoming.warn(`passed over ${tooLarge(this.#way.maxMessageBytes).message}`);
        }
      }
    } catch (cause) {
      answer.discard();
      if (!(cause instanceof ClientError) || cause.kind !== "interrupted") throw cause;
    }
  }
}

/** Lets go of a stream that was not read to its end, and of what watched over it. */
export function leave(answer: HttpAnswer, events: AsyncGenerator<SourceEvent>): void {
  answer.discard();
  events.return(undefined).catch(() => undefined);
}

const silent: Incoming = {
  receive: () => undefined,
  warn: () => undefined,
  closed: () => undefined,
};
