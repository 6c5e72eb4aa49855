/** Fixed tokens and passwords, for small deployments without an authorization server. */
import { isScope, type Principal } from "../core/access.ts";
import { decodeText } from "../util/base64.ts";
import { type Authenticator, checkBearer, refuseCredentials } from "./authenticator.ts";
import { Secrets } from "./digest.ts";

interface Holder {
  /** @default none */
  readonly scopes?: readonly string[] | undefined;
  /** What acts for the subject. @default nothing is said of it */
  readonly client?: string | undefined;
  /** @default "static" for tokens, "basic" for passwords */
  readonly issuer?: string | undefined;
}

/** A token, and who holds it. */
export interface StaticToken extends Holder {
  /** 16 characters at least: anybody may try as many as they like. */
  readonly token: string;
  readonly subject: string;
}

/** A user, and by what it is known. */
export interface StaticUser extends Holder {
  /** Without a colon, which ends it on the wire (RFC 7617). It is the subject too. */
  readonly user: string;
  readonly password: string;
}

const minTokenLength = 16;

/**
 * Bearer tokens that are known beforehand. They are compared as digests, in the same time
 * whatever was sent, and do not expire.
 *
 * @throws TypeError when one is short, stands there twice, or cannot be sent as a bearer token
 */
export function checkTokens(tokens: readonly StaticToken[]): Authenticator {
  const bad = tokens.find(({ token }) => !/^[A-Za-z0-9\-._~+/]{16,}=*$/.test(token));
  if (bad !== undefined) {
    throw new TypeError(
      `the token of ${bad.subject} must have ${minTokenLength} characters of A-Z a-z 0-9 - . _ ~ + /`,
    );
  }
  assertOnce(tokens.map(({ token, subject }) => [token, subject]));
  const secrets = new Secrets(
    tokens.map(({ token, subject, ...holder }) => [token, toPrincipal("static", subject, holder)]),
  );
  return checkBearer((token) => secrets.find(token));
}

/**
 * Users with passwords, over HTTP Basic (RFC 7617). Only behind TLS: the password travels with
 * every request.
 *
 * @throws TypeError when a user has a colon in its name, stands there twice, or has no password
 */
export function checkPasswords(users: readonly StaticUser[]): Authenticator {
  const bad = users.find(({ user, password }) => user.includes(":") || password === "");
  if (bad !== undefined) {
    throw new TypeError(`the user ${bad.user} needs a password, and a name without a colon`);
  }
  assertOnce(users.map(({ user }) => [user, user]));
  const secrets = new Secrets(
    users.map(({ user, password, ...holder }) => [
      `${user}:${password}`,
      toPrincipal("basic", user, holder),
    ]),
  );
  return {
    scheme: "Basic",
    authenticate: async ({ credentials }) => {
      if (credentials?.scheme !== "basic") return undefined;
      const pair = decodeText(credentials.value);
      const found = pair === undefined ? undefined : await secrets.find(pair);
      return found ?? refuseCredentials("no user has this name and password");
    },
  };
}

function toPrincipal(kind: string, subject: string, holder: Holder): Principal {
  const { scopes = [], client, issuer = kind } = holder;
  const bad = scopes.find((scope) => !isScope(scope));
  if (bad !== undefined) throw new TypeError(`${JSON.stringify(bad)} of ${subject} is no scope`);
  return Object.freeze({ issuer, subject, client, scopes: Object.freeze([...scopes]) });
}

function assertOnce(pairs: readonly (readonly [secret: string, subject: string])[]): void {
  const seen = new Set<string>();
  for (const [secret, subject] of pairs) {
    if (seen.has(secret)) throw new TypeError(`${subject} has what another one has already`);
    seen.add(secret);
  }
}
