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
  let depth = 0;
  let envelopeDepth = 1;
  // Whether the container at the envelope's depth is an object whose next string is a key.
  let expectKey = false;
  let inEnvelope = false;
  let seen = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quote: {
        const end = endOfString(text, at);
        if (expectKey && depth === envelopeDepth) {
          expectKey = false;
          const bit = memberBit(text, at, end);
          if ((seen & bit) !== 0) return repeated(bit);
          seen |= bit;
        }
        at = end;
        break;
      }
      case openBrace:
        if (++depth > maxDepth) return tooDeep(maxDepth);
        if (depth === envelopeDepth) {
          inEnvelope = true;
          expectKey = true;
          seen = 0;
        }
        break;
      case openBracket:
        if (++depth > maxDepth) return tooDeep(maxDepth);
        if (depth === 1) envelopeDepth = 2;
        break;
      case closeBrace:
        if (depth-- === envelopeDepth) inEnvelope = false;
        break;
      case closeBracket:
        depth--;
        break;
      case comma:
        expectKey = inEnvelope && depth === envelopeDepth;
        break;
      default:
    }
  }
  return undefined;
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
