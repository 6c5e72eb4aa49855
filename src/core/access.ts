/** Who a caller was found to be, and what it may see and do by that. */
import type { JsonObject } from "../util/json.ts";
import { type Failure, failure } from "./outcome.ts";

/** A caller whose credentials were checked. */
export interface Principal {
  /** Who vouches for it: the issuer of its token, or a name of your own. */
  readonly issuer: string;
  /** Which user, or which program, within what the issuer knows. */
  readonly subject: string;
  /** The client that acts for the subject, where the issuer tells. */
  readonly client?: string | undefined;
  /** What it was allowed. */
  readonly scopes: readonly string[];
  /** What else its credentials say, as it came. */
  readonly claims?: JsonObject | undefined;
  /** When its credentials run out, in milliseconds since 1970; streams end then. @default never */
  readonly expiresAt?: number | undefined;
}

/** What one caller may see and do. */
export interface Access {
  /**
   * Whom everything addressable belongs to that the caller makes: the same text for the same
   * issuer, subject and client, whatever their token. "" for nobody in particular.
   */
  readonly owner: string;
  readonly principal: Principal | undefined;
  /** What it was allowed, with all that follows from it. */
  readonly scopes: ReadonlySet<string> | "all";
}

/** Nobody was asked who they are. */
export const anyone: Access = Object.freeze({
  owner: "",
  principal: undefined,
  scopes: new Set<string>(),
});

/** Whoever started this process, or holds the other end of a connection inside it. */
export const local: Access = Object.freeze({ owner: "", principal: undefined, scopes: "all" });

/** What stands between a declaration and some callers. */
export interface Restriction {
  /** All of them are needed. */
  readonly scopes: readonly string[];
  /** For whom it exists at all. */
  readonly visibleTo: Visibility | undefined;
}

/** Decides from the caller alone, at once; nobody is undefined. */
export type Visibility = (principal: Principal | undefined) => boolean;

/** Whether a declaration exists for this caller. */
export function isVisible(restriction: Restriction | undefined, access: Access): boolean {
  const visibleTo = restriction?.visibleTo;
  return visibleTo === undefined || visibleTo(access.principal) === true;
}

/** Whether a caller was allowed all of this. */
export function holds(access: Access, scopes: readonly string[]): boolean {
  const { scopes: held } = access;
  return held === "all" || scopes.every((scope) => held.has(scope));
}

/** Why a caller may not use what it can see; undefined where it may. */
export function findLack(
  what: string,
  restriction: Restriction | undefined,
  access: Access,
): Failure | undefined {
  if (restriction === undefined || holds(access, restriction.scopes)) return undefined;
  return insufficientScope(what, restriction.scopes);
}

/**
 * All that is needed is named at once, or a caller would have to come back for each
 * (basic/authorization, Runtime Insufficient Scope Errors, 2026-07-28).
 */
export function insufficientScope(what: string, scopes: readonly string[]): Failure {
  const why = `${what} needs the scope${scopes.length === 1 ? "" : "s"} ${scopes.join(" ")}`;
  return { ...failure("insufficient-scope", why, { requiredScopes: scopes }), scopes };
}

const scopeSyntax = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** Whether a text can stand in a list of scopes that are parted by blanks (RFC 6749 section 3.3). */
export function isScope(text: string): boolean {
  return scopeSyntax.test(text);
}
