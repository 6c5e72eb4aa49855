/** `anyrev/client/auth` on Node: what servers name is fetched with care, and users have browsers. */

import * as portable from "../client/auth/index.ts";
import type { ClientAuth } from "../client/client-auth.ts";
import { guardedFetch } from "./guarded-fetch.ts";

export * from "../client/auth/index.ts";
export { FileTokens, type FileTokensOptions } from "./file-tokens.ts";
export {
  GuardedFetchError,
  type GuardedFetchErrorKind,
  type GuardedFetchOptions,
  guardedFetch,
} from "./guarded-fetch.ts";
export {
  type LoopbackSignIn,
  type LoopbackSignInOptions,
  loopbackSignIn,
} from "./loopback-sign-in.ts";

/**
 * A user signs in when the server first asks for that, and again where it asks for more. Give it
 * to `connect` as `auth`. It holds the tokens of one user: make one for each. On a command line,
 * `oauth({ ...loopbackSignIn() })` is all.
 *
 * @throws TypeError for a URL that nobody may come back to, or that no client is described by
 */
export function oauth(options: portable.OAuthOptions): ClientAuth {
  return portable.oauth(guarded(options));
}

/** The program acts for itself, with a secret or a private key of its own. */
export function clientCredentials(options: portable.ClientCredentialsOptions): ClientAuth {
  return portable.clientCredentials(guarded(options));
}

/** The platform that a program runs on vouches for it: no secret has to be kept anywhere. */
export function workloadIdentity(options: portable.WorkloadOptions): ClientAuth {
  return portable.workloadIdentity(guarded(options));
}

/** An organization's identity provider decides which servers its people may use. */
export function enterpriseManaged(options: portable.EnterpriseOptions): ClientAuth {
  return portable.enterpriseManaged(guarded(options));
}

/** No document or token answer is anywhere near as long. */
const maxBytes = 524_288;

/** Servers on this machine may name others on it; those elsewhere are kept from that before. */
function guarded<T extends portable.TokenOptions>(options: T): T {
  if (options.fetch !== undefined) return options;
  const { timeoutMs } = options;
  return { ...options, fetch: guardedFetch({ allowLoopback: true, timeoutMs, maxBytes }) };
}
