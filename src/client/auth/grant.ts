/** How tokens are got: what all ways have in common. */
import * as oauth from "oauth4webapi";
import type { AskedWith, Asking } from "./asking.ts";
import type { Identity } from "./identity.ts";
import { type Possession, withNonce } from "./possession.ts";
import type { Tokens } from "./store.ts";

/** What tokens are asked for, and whom. */
export interface Wanted {
  readonly issuing: oauth.AuthorizationServer;
  /** Letter by letter as the server says it. */
  readonly resource: string;
  readonly scopes: readonly string[];
  readonly asking: Asking;
  /** The key that they are to be bound to. */
  readonly possession: Possession | undefined;
  readonly signal: AbortSignal;
}

export interface Granted {
  readonly identity: Identity;
  readonly answer: oauth.TokenEndpointResponse;
}

export interface Grant {
  /** Whether a user is asked, and asked again for each step: not at any time, and not too often. */
  readonly asksUser: boolean;
  /** Whether a token to refresh with is worth asking for. */
  readonly wantsRefresh: boolean;
  /** A client that one authorization server knows, which it is not to be given up for another. */
  readonly known: { readonly clientId: string; readonly issuer?: string | undefined } | undefined;
  /** @throws ClientError, or what `oauth4webapi` throws */
  obtain(wanted: Wanted): Promise<Granted>;
  /** Who got what can be refreshed; undefined where that is nobody any more. */
  refreshAs(issuing: oauth.AuthorizationServer, kept: Tokens): Identity | undefined;
}

export type TokenOptions = AskedWith & oauth.DPoPRequestOptions;

/**
 * What is asked for is waited for, whoever else does no longer: a code, or a token to refresh with,
 * is good for one answer, and that would be lost.
 */
export function tokenOptions({ asking, issuing, possession }: Wanted): TokenOptions {
  const options = asking.with(issuing.token_endpoint, new AbortController().signal);
  return possession === undefined ? options : { ...options, DPoP: possession.forIssuer };
}

/** What says, in every request, for whom a token is and what it is good for. */
export function parametersOf({ resource, scopes }: Wanted): Record<string, string> {
  return scopes.length === 0 ? { resource } : { resource, scope: scopes.join(" ") };
}

export async function refresh(
  wanted: Wanted,
  { client, prove }: Identity,
  refreshToken: string,
): Promise<oauth.TokenEndpointResponse> {
  const { issuing, resource } = wanted;
  return withNonce(
    () =>
      oauth.refreshTokenGrantRequest(issuing, client, prove, refreshToken, {
        ...tokenOptions(wanted),
        additionalParameters: { resource },
      }),
    (response) => oauth.processRefreshTokenResponse(issuing, client, response),
  );
}
