/**
 * Newline-delimited messages out of bytes that arrive in any pieces: no I/O, a cap, and a
 * fresh start at the next line after whatever was wrong with one.
 */

export type Line =
  | { readonly kind: "line"; readonly bytes: Uint8Array }
  | { readonly kind: "too-long" }
  /** Comes after `too-long`, where asked for: how the line that was skipped began and ended. */
  | { readonly kind: "skipped"; readonly head: Uint8Array; readonly tail: Uint8Array };

const newline = 0x0a;
const carriageReturn = 0x0d;
const nothing: Uint8Array = new Uint8Array();

export class LineReader {
  readonly #maxBytes: number;
  readonly #edgeBytes: number;
  /** The pieces of the line that has not ended yet. */
  #pieces: Uint8Array[] = [];
  #length = 0;
  /** The line that has not ended yet is longer than the cap; its end is waited for. */
  #skipping = false;
  #head: Uint8Array = nothing;
  #tail: Uint8Array = nothing;

  /** @param edgeBytes - how much of both ends of a line that is too long is told at its end */
  constructor(maxBytes: number, edgeBytes = 0) {
    this.#maxBytes = maxBytes;
    this.#edgeBytes = edgeBytes;
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
    if (piece.length === 0) return;
    if (this.#skipping) {
      this.#keepTail(piece);
      return;
    }
    this.#length += piece.length;
    this.#pieces.push(piece);
    if (this.#length <= this.#maxBytes) return;
    this.#skip();
    lines.push({ kind: "too-long" });
  }

  #skip(): void {
    this.#skipping = true;
    const pieces = this.#pieces;
    this.#pieces = [];
    if (this.#edgeBytes === 0) return;
    const whole = join(pieces, this.#length);
    this.#head = whole.slice(0, this.#edgeBytes);
    this.#keepTail(whole);
  }

  #keepTail(piece: Uint8Array): void {
    if (this.#edgeBytes === 0) return;
    const end = piece.subarray(-this.#edgeBytes);
    const both = join([this.#tail, end], this.#tail.length + end.length);
    this.#tail = both.slice(-this.#edgeBytes);
  }

  #finish(lines: Line[]): void {
    if (this.#skipping) this.#finishSkipped(lines);
    else {
      const bytes = trimReturn(join(this.#pieces, this.#length));
      if (!isBlank(bytes)) lines.push({ kind: "line", bytes });
    }
    this.#pieces = [];
    this.#length = 0;
  }

  #finishSkipped(lines: Line[]): void {
    if (this.#edgeBytes > 0) {
      lines.push({ kind: "skipped", head: this.#head, tail: trimReturn(this.#tail) });
    }
    this.#skipping = false;
    this.#head = nothing;
    this.#tail = nothing;
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
