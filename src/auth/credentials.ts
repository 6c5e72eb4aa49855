/** What a request says of who sends it: one `Authorization` header, read exactly. */

export interface Credentials {
  /** In lower case: "bearer", "basic". */
  readonly scheme: string;
  /** A token68 for those two (RFC 9110 section 11.2), what stands there for others. */
  readonly value: string;
}

/** A name of RFC 9110, blanks, and the rest. */
const headerSyntax = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?: +(\S(?:.*\S)?))?$/;
const token68 = /^[A-Za-z0-9\-._~+/]+=*$/;

/** Longer headers are cut off by most servers, and tokens of that size are a mistake. */
const maxLength = 12_288;

/** @returns undefined where there is no header. */
export function parseCredentials(
  header: string | undefined,
): Credentials | "malformed" | undefined {
  if (header === undefined) return undefined;
  if (header.length > maxLength) return "malformed";
  const found = headerSyntax.exec(header);
  if (found === null) return "malformed";
  const scheme = (found[1] ?? "").toLowerCase();
  const value = found[2] ?? "";
  // Two headers arrive joined by a comma, which no token68 holds: which of them counts is not
  // for us to choose, when a proxy in front may have chosen the other.
  const isExact = scheme === "bearer" || scheme === "basic";
  return isExact && !token68.test(value) ? "malformed" : { scheme, value };
}

/**
 * Whether a token stands in the query. There it ends up in logs, histories and referrers, so
 * one is not taken, and not passed over either (basic/authorization, Access Token Usage).
 */
export function hasTokenInQuery(target: string): boolean {
  const start = target.indexOf("?");
  return start >= 0 && new URLSearchParams(target.slice(start + 1)).has("access_token");
}
