/**
 * Newline-delimited messages out of bytes that arrive in any pieces: no I/O, a cap, and a
 * fresh start at the next line after whatever was wrong with one.
 */

export type Line =
  | { readonly kind: "line"; readonly bytes: Uint8Array }
  | { readonly kind: "too-long" };

const newline = 0x0a;
const carriageReturn = 0x0d;

export class LineReader {
  readonly #maxBytes: number;
  /** The pieces of the line that has not ended yet. */
  #pieces: Uint8Array[] = [];
  #length = 0;
  /** The line that has not ended yet is longer than the cap; its end is waited for. */
  #skipping = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that end within this chunk, in order; blank ones are left out. */
  feed(chunk: Uint8Array): readonly Line[] {
    const lines: Line[] = [];
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(newline, start);
      if (end < 0) break;
      this.#keep(chunk.subarray(start, end), lines);
      this.#finish(lines);
      start = end + 1;
    }
    // Kept for later, so copied: whoever gave the chunk may use its memory again.
    if (start < chunk.length) this.#keep(chunk.slice(start), lines);
    return lines;
  }

  /** The last line, where the input ended without a newline. */
  end(): readonly Line[] {
    const lines: Line[] = [];
    this.#finish(lines);
    return lines;
  }

  #keep(piece: Uint8Array, lines: Line[]): void {
    if (this.#skipping || piece.length === 0) return;
    this.#length += piece.length;
    if (this.#length > this.#maxBytes) {
      this.#skipping = true;
      this.#pieces = [];
      lines.push({ kind: "too-long" });
      return;
    }
    this.#pieces.push(piece);
  }

  #finish(lines: Line[]): void {
    const bytes = this.#skipping ? undefined : trimReturn(join(this.#pieces, this.#length));
    this.#pieces = [];
    this.#length = 0;
    this.#skipping = false;
    if (bytes !== undefined && !isBlank(bytes)) lines.push({ kind: "line", bytes });
  }
}

function join(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = pieces;
  if (first !== undefined && pieces.length === 1) return first;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

function trimReturn(bytes: Uint8Array): Uint8Array {
  return bytes.at(-1) === carriageReturn ? bytes.subarray(0, -1) : bytes;
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === carriageReturn);
}
