/**
 * A reader of event streams, by the grammar and the interpretation of the HTML standard
 * (9.2.5 and 9.2.6), over bytes in any pieces.
 */

export interface ParsedEvent {
  readonly event: string;
  readonly data: string;
  /** The last event id at the time of the event. */
  readonly id: string;
}

export class EventParser {
  readonly #decoder = new TextDecoder();
  readonly events: ParsedEvent[] = [];
  readonly comments: string[] = [];
  readonly retries: number[] = [];
  /** What the reader would send as `Last-Event-ID`. */
  lastEventId = "";
  #idBuffer = "";
  #data = "";
  #event = "";
  #text = "";
  /** The last piece ended with a carriage return, which a line feed may belong to. */
  #afterReturn = false;

  feed(bytes: Uint8Array): void {
    this.#text += this.#decoder.decode(bytes, { stream: true });
    for (;;) {
      if (this.#text === "") return;
      if (this.#afterReturn && this.#text.startsWith("\n")) this.#text = this.#text.slice(1);
      this.#afterReturn = false;
      const end = this.#text.search(/[\r\n]/);
      if (end < 0) return;
      const line = this.#text.slice(0, end);
      this.#afterReturn = this.#text[end] === "\r";
      this.#text = this.#text.slice(end + 1);
      this.#take(line);
    }
  }

  #take(line: string): void {
    if (line === "") {
      this.#dispatch();
      return;
    }
    if (line.startsWith(":")) {
      this.comments.push(line.slice(1));
      return;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.#event = value;
    else if (field === "data") this.#data += `${value}\n`;
    else if (field === "id" && !value.includes("\0")) this.#idBuffer = value;
    else if (field === "retry" && /^[0-9]+$/.test(value)) this.retries.push(Number(value));
  }

  #dispatch(): void {
    this.lastEventId = this.#idBuffer;
    const [data, event] = [this.#data, this.#event];
    this.#data = "";
    this.#event = "";
    if (data === "") return;
    this.events.push({ event: event || "message", data: data.slice(0, -1), id: this.lastEventId });
  }
}
