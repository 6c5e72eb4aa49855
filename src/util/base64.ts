/** Base64 (RFC 4648) over UTF-8 and bytes, without a runtime's own buffer type. */

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** The last letter before padding leaves no bits over (RFC 4648 section 3.5). */
const canonical =
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/;
/** `String.fromCharCode` takes its bytes as arguments, and a call has room for so many. */
const chunkBytes = 0x8000;

export function encodeBytes(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    binary += String.fromCharCode(...bytes.subarray(at, at + chunkBytes));
  }
  return btoa(binary);
}

export function encodeText(text: string): string {
  return encodeBytes(new TextEncoder().encode(text));
}

/**
 * The text that canonical base64 of UTF-8 stands for, else undefined: `atob` alone
 * forgives missing padding and inner blanks, and two spellings of one value are how
 * a check is walked around.
 */
export function decodeText(encoded: string): string | undefined {
  return toText(decodeBytes(encoded));
}

function decodeBytes(encoded: string): Uint8Array<ArrayBuffer> | undefined {
  if (!canonical.test(encoded)) return undefined;
  const binary = atob(encoded);
  // The last character may carry bits that decode to nothing: one more second spelling.
  if (btoa(binary) !== encoded) return undefined;
  return Uint8Array.from(binary, (char) => char.charCodeAt(0));
}

function toText(bytes: Uint8Array | undefined): string | undefined {
  if (bytes === undefined) return undefined;
  try {
    return strictUtf8.decode(bytes);
  } catch {
    // Not UTF-8: the caller takes the wrapper as it stands.
    return undefined;
  }
}

/** base64url without padding (RFC 4648 section 5), for opaque tokens in JSON and URLs. */
export function encodeTokenBytes(bytes: Uint8Array): string {
  return encodeBytes(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

export function decodeTokenBytes(token: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9_-]*$/.test(token)) return undefined;
  const base64 = token.replaceAll("-", "+").replaceAll("_", "/");
  return decodeBytes(base64 + "=".repeat((4 - (base64.length % 4)) % 4));
}

export function encodeToken(text: string): string {
  return encodeTokenBytes(new TextEncoder().encode(text));
}

export function decodeToken(token: string): string | undefined {
  return toText(decodeTokenBytes(token));
}
