/** What the claims of a token say of whoever presents it, for signed and introspected ones alike. */
import type { Principal } from "../core/access.ts";
import type { JsonObject } from "../util/json.ts";
import { isObject } from "../util/json.ts";

/** Reads scopes: `scope`, parted by blanks (RFC 9068, RFC 7662), or `scp` as some issuers have it. */
export function readScopes(claims: JsonObject): readonly string[] {
  const { scope, scp } = claims;
  const said = scope ?? scp;
  if (typeof said === "string") return said.split(" ").filter((each) => each !== "");
  return Array.isArray(said) ? said.filter((each) => typeof each === "string") : [];
}

/** The client that the token was issued to, by the claims that issuers have for it. */
export function readClient(claims: JsonObject): string | undefined {
  const client = claims["client_id"] ?? claims["azp"];
  return typeof client === "string" && client !== "" ? client : undefined;
}

export function readAudience({ aud }: JsonObject): readonly string[] {
  if (typeof aud === "string") return [aud];
  return Array.isArray(aud) ? aud.filter((each) => typeof each === "string") : [];
}

/**
 * Whether a token is good only together with a proof of some key. Without the proof, whoever
 * has stolen it could use it (RFC 9449 section 7.2, RFC 8705 section 3).
 */
export function isBound({ cnf }: JsonObject): boolean {
  return isObject(cnf) && Object.keys(cnf).length > 0;
}

/** @returns undefined where nobody is named. */
export function toPrincipal(issuer: string, claims: JsonObject): Principal | undefined {
  const { sub, exp } = claims;
  const client = readClient(claims);
  // A client that acts for itself may have no other name.
  const subject = sub ?? client;
  if (typeof subject !== "string" || subject === "") return undefined;
  return Object.freeze({
    issuer,
    subject,
    client,
    scopes: Object.freeze(readScopes(claims)),
    claims,
    expiresAt: typeof exp === "number" ? exp * 1_000 : undefined,
  });
}
