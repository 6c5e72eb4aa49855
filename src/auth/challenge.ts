/** `WWW-Authenticate`: how a client learns what it lacks (RFC 6750 section 3, RFC 9728 section 5.1). */
import type { Authenticator } from "./authenticator.ts";

export type ChallengeError = "invalid_request" | "invalid_token" | "insufficient_scope";

export interface Challenge {
  /** The URL of the metadata. */
  readonly metadata: string;
  /** What to ask for; left out where there is nothing in particular. */
  readonly scopes: readonly string[];
  /** Left out for a request without credentials, which made no mistake. */
  readonly error?: ChallengeError | undefined;
  readonly description?: string | undefined;
}

/** One challenge for each scheme that is taken, that of bearer tokens first. */
export function writeChallenges(
  authenticators: readonly Authenticator[],
  challenge: Challenge,
): string {
  const schemes = new Set(authenticators.map(({ scheme }) => scheme));
  const basic = schemes.has("Basic") ? ['Basic realm="mcp", charset="UTF-8"'] : [];
  // Whoever takes neither still has metadata, and clients look for it in this one.
  if (basic.length > 0 && !schemes.has("Bearer")) return basic.join();
  return [writeBearer(challenge), ...basic].join(", ");
}

function writeBearer({ metadata, scopes, error, description }: Challenge): string {
  const parameters = [
    ["resource_metadata", metadata],
    ["scope", scopes.length === 0 ? undefined : scopes.join(" ")],
    ["error", error],
    ["error_description", description],
  ] as const;
  const written = parameters.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}="${quotable(value)}"`],
  );
  return `Bearer ${written.join(", ")}`;
}

/** What these parameters can hold (RFC 6750 section 3): no quote, no backslash, ASCII alone. */
function quotable(value: string): string {
  return value.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "'");
}
