/**
 * A URI as numbers, one per code point, with every escape decoded once and still told apart
 * from the raw character. Matching on these can neither split an escape nor decode twice.
 */

/** Marks a code point that was escaped, or that a URI would have to escape. */
const ESCAPED = 1 << 21;
/** Marks an escaped octet that is no UTF-8: only the same escape in a literal equals it. */
const STRAY_OCTET = 1 << 22;
const CODE_POINT_MASK = ESCAPED - 1;

const PERCENT = 0x25;
const FIRST_NON_ASCII = 0x80;
/** The smallest code point that needs this many octets; a smaller one is an overlong form. */
const SMALLEST: readonly number[] = [0, 0, 0x80, 0x800, 0x10000];

/** @returns undefined for a "%" without two hex digits, or half a surrogate pair. */
export function toUnits(uri: string): readonly number[] | undefined {
  const units: number[] = [];
  let at = 0;
  while (at < uri.length) {
    const code = uri.codePointAt(at) ?? 0;
    const isEscape = code === PERCENT;
    const unit = isEscape ? escapedUnit(uri, at) : rawUnit(code);
    if (unit === -1) return undefined;
    units.push(unit);
    at += isEscape ? 3 * octetCount(unit) : charCount(code);
  }
  return units;
}

export function unitsToText(units: readonly number[], from: number, to: number): string {
  let text = "";
  for (let at = from; at < to; at++) {
    text += String.fromCodePoint((units[at] ?? 0) & CODE_POINT_MASK);
  }
  return text;
}

/**
 * What a variable may hold: a cell for each raw ASCII character, one for each that is escaped, one
 * for all beyond ASCII, which are allowed, and one for what is no character.
 */
export type AllowedUnits = Uint8Array;

const BEYOND_ASCII = 2 * FIRST_NON_ASCII;
const NO_CHARACTER = BEYOND_ASCII + 1;

export const cellCount: number = NO_CHARACTER + 1;

export function allowUnits(raw: string, exceptEscaped: string): AllowedUnits {
  const allowed = new Uint8Array(cellCount).fill(1, FIRST_NON_ASCII, NO_CHARACTER);
  for (const character of raw) allowed[character.charCodeAt(0)] = 1;
  for (const character of exceptEscaped) allowed[FIRST_NON_ASCII + character.charCodeAt(0)] = 0;
  return allowed;
}

/** The cell of a unit among those that are allowed. */
export function cellOf(unit: number): number {
  if (unit < FIRST_NON_ASCII) return unit;
  if ((unit & ESCAPED) === 0) return NO_CHARACTER;
  const code = unit & CODE_POINT_MASK;
  return code < FIRST_NON_ASCII ? FIRST_NON_ASCII + code : BEYOND_ASCII;
}

/** Whether a stretch of a URI is allowed raw ASCII throughout, so that it is its own value. */
export function isPlain(uri: string, from: number, to: number, allowed: AllowedUnits): boolean {
  for (let at = from; at < to; at++) {
    const code = uri.charCodeAt(at);
    if (code >= FIRST_NON_ASCII || allowed[code] !== 1) return false;
  }
  return true;
}

function rawUnit(code: number): number {
  if (isSurrogate(code)) return -1;
  // A raw character beyond ASCII and its escapes are the same thing (RFC 3987 section 3.1).
  return code < FIRST_NON_ASCII ? code : code | ESCAPED;
}

function charCount(code: number): number {
  return code > 0xffff ? 2 : 1;
}

function escapedUnit(uri: string, at: number): number {
  const octet = octetAt(uri, at);
  if (octet === -1) return -1;
  const code = decodeSequence(uri, at, octet, sequenceLength(octet));
  return code === -1 ? octet | STRAY_OCTET : code | ESCAPED;
}

function octetCount(unit: number): number {
  if ((unit & STRAY_OCTET) !== 0) return 1;
  const code = unit & CODE_POINT_MASK;
  return SMALLEST.findLastIndex((smallest) => code >= smallest);
}

function isSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdfff;
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

function octetAt(uri: string, at: number): number {
  if (uri.charCodeAt(at) !== PERCENT) return -1;
  const high = hexDigit(uri.charCodeAt(at + 1));
  const low = hexDigit(uri.charCodeAt(at + 2));
  return high === -1 || low === -1 ? -1 : high * 16 + low;
}

/** The octets in the UTF-8 sequence that this one opens, or 0 when it can open none. */
function sequenceLength(octet: number): number {
  if (octet < 0x80) return 1;
  if (octet < 0xc2) return 0;
  if (octet < 0xe0) return 2;
  if (octet < 0xf0) return 3;
  return octet < 0xf5 ? 4 : 0;
}

/** RFC 3629 section 4: no overlong form, no surrogate, nothing past U+10FFFF. */
function decodeSequence(uri: string, at: number, lead: number, length: number): number {
  if (length < 2) return length === 1 ? lead : -1;
  let code = lead & (0xff >> (length + 1));
  for (let index = 1; index < length; index++) {
    const octet = octetAt(uri, at + index * 3);
    if (octet === -1 || (octet & 0xc0) !== 0x80) return -1;
    code = code * 64 + (octet & 0x3f);
  }
  const valid = code >= (SMALLEST[length] ?? 0) && code <= 0x10ffff && !isSurrogate(code);
  return valid ? code : -1;
}
