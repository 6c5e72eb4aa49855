/** URIs are written in ASCII; people, and some clients, write other letters too. */

const notInUris = /[^\x21-\x7e]/gu;
const halfOfPair = /[\ud800-\udfff]/u;

/** The same identifier with every other letter as an escape (RFC 3987 section 3.1). */
export function toAsciiUri(uri: string): string {
  return uri.replace(notInUris, (letter) =>
    // Half of a pair stands for no letter, and cannot be encoded.
    halfOfPair.test(letter) ? "%EF%BF%BD" : encodeURIComponent(letter),
  );
}

/** Whether it is the same, or begins with all steps of the other's path. */
export function isWithin(uri: string, whole: string): boolean {
  if (!uri.startsWith(whole)) return false;
  return (
    uri.length === whole.length || whole.endsWith("/") || /^[/?#]/.test(uri.slice(whole.length))
  );
}
