/**
 * Server-sent events out of bytes in any pieces. The grammar is eventsource-parser's; what
 * it leaves to its caller, or does otherwise than the HTML standard (9.2.5 and 9.2.6), is
 * done around it here.
 */
import { createParser, type EventSourceParser } from "eventsource-parser";

export type SourceEvent =
  | {
      readonly kind: "event";
      /** `message` where the server gave no name. */
      readonly name: string;
      readonly data: string;
    }
  /** An event longer than the cap was passed over. */
  | { readonly kind: "too-large" };

/** Reads one stream: made anew for each connection. */
export class EventSourceReader {
  readonly #maxLength: number;
  readonly #decoder = new TextDecoder();
  readonly #parser: EventSourceParser;
  #events: SourceEvent[] = [];
  #lastEventId: string | undefined;
  #retryMs: number | undefined;
  /** The last piece ended with a carriage return, which a line feed may belong to. */
  #afterReturn = false;
  #atLineStart = true;
  /** Characters of the event that has not ended yet. */
  #length = 0;
  /** The event that has not ended yet is longer than the cap; its end is waited for. */
  #skipping = false;

  /** @param maxLength - characters of one event, its names and comments included */
  constructor(maxLength: number) {
    this.#maxLength = maxLength;
    this.#parser = createParser({
      onEvent: ({ id, event, data }) => this.#dispatch(id, event, data),
      onRetry: (ms) => {
        this.#retryMs = ms;
      },
    });
    this.#clear();
  }

  /** What was named by `id` last on this stream; undefined before. */
  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  /** What the server asks to wait before it is called again. */
  get retryMs(): number | undefined {
    return this.#retryMs;
  }

  /** The events that end within this chunk, in order. */
  feed(chunk: Uint8Array): readonly SourceEvent[] {
    const lines = this.#toLines(this.#decoder.decode(chunk, { stream: true }));
    for (let from = 0; from < lines.length; ) {
      const end = this.#endOfEvent(lines, from);
      this.#take(end < 0 ? lines.slice(from) : lines.slice(from, end));
      if (end < 0) break;
      this.#endEvent();
      from = end + 1;
    }
    const events = this.#events;
    this.#events = [];
    return events;
  }

  #take(text: string): void {
    this.#atLineStart = text.endsWith("\n");
    if (this.#skipping) return;
    this.#length += text.length;
    if (this.#length <= this.#maxLength) {
      this.#parser.feed(text);
      return;
    }
    this.#skipping = true;
    this.#clear();
    this.#events.push({ kind: "too-large" });
  }

  /**
   * Past its first chunk the parser no longer takes the letters "ï»¿" for a byte order mark;
   * the real one is the decoder's to drop.
   */
  #clear(): void {
    this.#parser.reset();
    this.#parser.feed("");
  }

  /**
   * The parser would hold back a carriage return at the end of a chunk until it knows what
   * follows, and with it an event that is complete.
   */
  #toLines(text: string): string {
    if (text === "") return text;
    const rest = this.#afterReturn && text.startsWith("\n") ? text.slice(1) : text;
    this.#afterReturn = text.endsWith("\r");
    return rest.includes("\r") ? rest.replace(/\r\n?/g, "\n") : rest;
  }

  /** @returns where the line feed of the next blank line is, or a negative number */
  #endOfEvent(lines: string, from: number): number {
    if (this.#atLineStart && lines[from] === "\n") return from;
    const found = lines.indexOf("\n\n", from);
    return found < 0 ? -1 : found + 1;
  }

  /**
   * Ends every event with one more line of data. The parser says nothing of an event without
   * data, although its id counts (it is how a reader is primed), and says so little of others
   * that this line is how the two are told apart.
   */
  #endEvent(): void {
    if (!this.#skipping) this.#parser.feed("data:\n\n");
    this.#skipping = false;
    this.#length = 0;
    this.#atLineStart = true;
  }

  #dispatch(id: string | undefined, name: string | undefined, data: string): void {
    if (id !== undefined) this.#lastEventId = id;
    if (data === "") return;
    this.#events.push({ kind: "event", name: name ?? "message", data: data.slice(0, -1) });
  }
}
