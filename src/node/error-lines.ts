/** What a child process writes to standard error, line by line, and the last of it kept. */
import { StringDecoder } from "node:string_decoder";
import { excerpt } from "../client/excerpt.ts";

const maxLineLength = 8_192;
const keptLines = 10;
const quotedLength = 300;

export class ErrorLines {
  readonly #onLine: ((line: string) => void) | undefined;
  readonly #decoder: StringDecoder = new StringDecoder("utf8");
  readonly #last: string[] = [];
  #rest = "";
  /** The line that has not ended was told as far as it may go. */
  #skipping = false;

  /** @param onLine - hears each line; a very long one is cut */
  constructor(onLine: ((line: string) => void) | undefined) {
    this.#onLine = onLine;
  }

  /** The last lines, fit to be shown; empty where there was none. */
  get last(): readonly string[] {
    return this.#last.map((line) => excerpt(line, quotedLength));
  }

  feed(chunk: Uint8Array): void {
    const lines = (this.#rest + this.#decoder.write(Buffer.from(chunk))).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      if (!this.#skipping) this.#tell(line);
      this.#skipping = false;
    }
    if (this.#skipping) this.#rest = "";
    else if (this.#rest.length > maxLineLength) {
      this.#tell(this.#rest);
      this.#rest = "";
      this.#skipping = true;
    }
  }

  /** The last line, where it was not ended. */
  end(): void {
    if (this.#rest !== "") this.#tell(this.#rest);
    this.#rest = "";
  }

  #tell(whole: string): void {
    const line = whole.endsWith("\r") ? whole.slice(0, -1) : whole;
    const cut = line.length > maxLineLength ? `${line.slice(0, maxLineLength)}…` : line;
    if (cut.trim() !== "") {
      this.#last.push(cut);
      if (this.#last.length > keptLines) this.#last.shift();
    }
    this.#onLine?.(cut);
  }
}
