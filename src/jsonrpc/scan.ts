/**
 * What `JSON.parse` forgives and a server must not: nesting without end, and an envelope
 * that names a member twice, which a proxy may read one way and this side another.
 */

export interface JsonFault {
  readonly message: string;
}

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

const envelopeMembers: readonly string[] = ["jsonrpc", "id", "method", "params"];

/**
 * Looks once over text that is known to be JSON. The envelope is the root object, or
 * each object directly inside a root array.
 */
export function findFault(text: string, maxDepth: number): JsonFault | undefined {
  return new Scan(text, maxDepth).run();
}

class Scan {
  readonly #text: string;
  readonly #maxDepth: number;
  #at = 0;
  #depth = 0;
  #envelopeDepth = 1;
  #inEnvelope = false;
  /** Whether the next string at the envelope's depth is the name of a member. */
  #expectKey = false;
  /** The envelope's members that were named, a bit for each. */
  #seen = 0;

  constructor(text: string, maxDepth: number) {
    this.#text = text;
    this.#maxDepth = maxDepth;
  }

  run(): JsonFault | undefined {
    for (; this.#at < this.#text.length; this.#at++) {
      const fault = this.#step(this.#text.charCodeAt(this.#at));
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  #step(char: number): JsonFault | undefined {
    switch (char) {
      case quote:
        return this.#string();
      case comma:
        this.#expectKey = this.#inEnvelope && this.#depth === this.#envelopeDepth;
        return undefined;
      case openBrace:
      case openBracket:
        return this.#open(char);
      case closeBrace:
      case closeBracket:
        if (this.#depth-- === this.#envelopeDepth) this.#inEnvelope = false;
        return undefined;
      default:
        return undefined;
    }
  }

  #string(): JsonFault | undefined {
    const start = this.#at;
    this.#at = endOfString(this.#text, start);
    if (!this.#expectKey || this.#depth !== this.#envelopeDepth) return undefined;
    this.#expectKey = false;
    const bit = memberBit(this.#text, start, this.#at);
    if ((this.#seen & bit) !== 0) return repeated(bit);
    this.#seen |= bit;
    return undefined;
  }

  #open(char: number): JsonFault | undefined {
    if (++this.#depth > this.#maxDepth) return tooDeep(this.#maxDepth);
    if (char === openBracket) {
      if (this.#depth === 1) this.#envelopeDepth = 2;
    } else if (this.#depth === this.#envelopeDepth) {
      this.#inEnvelope = true;
      this.#expectKey = true;
      this.#seen = 0;
    }
    return undefined;
  }
}

function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === backslash) first--;
  return (at - first) % 2 === 1;
}

function memberBit(text: string, start: number, end: number): number {
  const written = text.slice(start + 1, end);
  // A key may spell its letters as escapes; compare what it means, not how it is written.
  const name = written.includes("\\") ? String(JSON.parse(`"${written}"`)) : written;
  const index = envelopeMembers.indexOf(name);
  return index < 0 ? 0 : 1 << index;
}

function repeated(bit: number): JsonFault {
  return { message: `the message names ${envelopeMembers[Math.log2(bit)]} more than once` };
}

function tooDeep(maxDepth: number): JsonFault {
  return { message: `the message nests deeper than ${maxDepth} levels` };
}
