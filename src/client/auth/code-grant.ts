/** A user signs in and agrees (authorization code, with PKCE). */
import * as oauth from "oauth4webapi";
import { onAbort, unlessAborted } from "../../util/abort.ts";
import type { Awaitable } from "../../util/awaitable.ts";
import { letGo } from "../../util/timer.ts";
import { excerpt } from "../excerpt.ts";
import { errorCode, isLoopback, toUnauthorized } from "./asking.ts";
import { refuse, strings } from "./discovery.ts";
import { type Grant, type Granted, parametersOf, tokenOptions, type Wanted } from "./grant.ts";
import { type Identity, type Introduction, identify, type KnownClient } from "./identity.ts";
import { withNonce } from "./possession.ts";
import type { Tokens } from "./store.ts";

/** What a user came back with: the whole URL, or the parameters in it. */
export type CameBack = URL | URLSearchParams | string;

export interface CodeOptions {
  /**
   * Where the user is sent back to, on this machine or over https. A function is asked before each
   * sign-in, for what has to listen first.
   */
  readonly redirectUri: string | URL | (() => Awaitable<string | URL>);
  /**
   * Takes the user to a URL, and resolves with the one that they were sent back to. The URL is one
   * that the server named, http or https: show it, or open it without a shell in between.
   */
  readonly authorize: (url: URL, options: { readonly signal: AbortSignal }) => Promise<CameBack>;
  /** How long the user may take, in milliseconds. @default 300000 */
  readonly authorizeTimeoutMs?: number | undefined;
}

export class CodeGrant implements Grant {
  readonly asksUser = true;
  readonly wantsRefresh = true;
  readonly known: KnownClient | undefined;
  readonly #options: CodeOptions;
  readonly #introduction: Introduction;

  constructor(options: CodeOptions, known: KnownClient | undefined, introduction: Introduction) {
    this.#options = options;
    this.known = known;
    this.#introduction = introduction;
  }

  async obtain(wanted: Wanted): Promise<Granted> {
    const { issuing } = wanted;
    // Who does not say that it takes S256 does not check it (security-considerations, 2026-07-28).
    if (!strings(issuing.code_challenge_methods_supported)?.includes("S256")) {
      throw refuse(`${excerpt(issuing.issuer)} does not take PKCE with S256`);
    }
    const { redirectUri } = this.#options;
    const given = await (typeof redirectUri === "function" ? redirectUri() : redirectUri);
    const back = typeof given === "string" ? given : given.href;
    assertOwn(back);
    const identity = await this.#identify(issuing, back, wanted.signal);
    try {
      return await this.#signIn(wanted, identity, back);
    } catch (cause) {
      if (identity.registration === undefined || errorCode(cause) !== "invalid_client") throw cause;
      // It has forgotten a client that it made: once more, as a new one.
      await this.#introduction.forget(issuing);
      return this.#signIn(wanted, await this.#identify(issuing, back, wanted.signal), back);
    }
  }

  #identify(
    issuing: oauth.AuthorizationServer,
    redirectUri: string,
    signal: AbortSignal,
  ): Awaitable<Identity> {
    if (this.known !== undefined) return identify(this.known, issuing);
    return this.#introduction.to(issuing, redirectUri, signal);
  }

  refreshAs(issuing: oauth.AuthorizationServer, kept: Tokens): Identity | undefined {
    if (this.known === undefined) return this.#introduction.again(issuing, kept);
    return this.known.clientId === kept.clientId ? identify(this.known, issuing) : undefined;
  }

  async #signIn(wanted: Wanted, identity: Identity, redirectUri: string): Promise<Granted> {
    const { issuing } = wanted;
    const { client, prove } = identity;
    const verifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    const url = await this.#urlFor(wanted, identity, { redirectUri, verifier, state });
    wanted.signal.throwIfAborted();
    const parameters = readBack(await this.#send(url, wanted.signal), redirectUri);
    // The library takes an empty one for none; nothing that comes with it is to be gone by, or shown
    // (basic/authorization, 2026-07-28).
    if (parameters.get("iss") === "") {
      throw refuse('no token was granted: unexpected "iss" (issuer) response parameter value');
    }
    const checked = oauth.validateAuthResponse(issuing, client, parameters, state);
    const answer = await withNonce(
      () =>
        oauth.authorizationCodeGrantRequest(
          issuing,
          client,
          prove,
          checked,
          redirectUri,
          verifier,
          { ...tokenOptions(wanted), additionalParameters: { resource: wanted.resource } },
        ),
      (response) => oauth.processAuthorizationCodeResponse(issuing, client, response),
    );
    return { identity, answer };
  }

  async #urlFor(
    wanted: Wanted,
    identity: Identity,
    {
      redirectUri,
      verifier,
      state,
    }: Readonly<Record<"redirectUri" | "verifier" | "state", string>>,
  ): Promise<URL> {
    const { issuing, asking, scopes, possession, signal } = wanted;
    const endpoint = issuing.authorization_endpoint;
    if (endpoint === undefined || !URL.canParse(endpoint)) {
      throw refuse(`${excerpt(issuing.issuer)} has no place to sign in at`);
    }
    const url = new URL(endpoint);
    asking.assertSecure(url);
    const parameters: Record<string, string> = {
      response_type: "code",
      client_id: identity.client.client_id,
      redirect_uri: redirectUri,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      state,
      ...parametersOf(wanted),
    };
    if (possession !== undefined) parameters["dpop_jkt"] = possession.thumbprint;
    // Without being asked to agree, no user has agreed to that (OpenID Connect Core, section 11).
    if (scopes.includes("offline_access")) parameters["prompt"] = "consent";
    if (issuing.require_pushed_authorization_requests === true) {
      const requestUri = await push(wanted, identity, parameters, signal);
      url.searchParams.set("client_id", identity.client.client_id);
      url.searchParams.set("request_uri", requestUri);
      // Nothing of that counts there, but whoever waits for the user may go by it.
      url.searchParams.set("redirect_uri", redirectUri);
      url.searchParams.set("state", state);
      return url;
    }
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return url;
  }

  async #send(url: URL, signal: AbortSignal): Promise<CameBack> {
    const over = new AbortController();
    const late = refuse("the user did not come back in time");
    const timer = setTimeout(() => over.abort(late), this.#options.authorizeTimeoutMs ?? 300_000);
    letGo(timer);
    const forget = onAbort(signal, () => over.abort(signal.reason));
    try {
      const sent = this.#options.authorize(url, { signal: over.signal });
      return await unlessAborted(over.signal, sent);
    } catch (cause) {
      if (over.signal.aborted) throw over.signal.reason;
      throw toUnauthorized("the user could not be asked", cause);
    } finally {
      clearTimeout(timer);
      forget();
      // Whatever still waits for the user, such as a listener, is let go of.
      over.abort(late);
    }
  }
}

/** What is asked for goes there first, and the user is sent with a reference to it (RFC 9126). */
async function push(
  wanted: Wanted,
  { client, prove }: Identity,
  parameters: Record<string, string>,
  signal: AbortSignal,
): Promise<string> {
  const { issuing, asking, possession } = wanted;
  const asked = asking.with(issuing.pushed_authorization_request_endpoint, signal);
  const options = possession === undefined ? asked : { ...asked, DPoP: possession.forIssuer };
  const { request_uri: requestUri } = await withNonce(
    () => oauth.pushedAuthorizationRequest(issuing, client, prove, parameters, options),
    (response) => oauth.processPushedAuthorizationResponse(issuing, client, response),
  );
  return requestUri;
}

function readBack(back: CameBack, redirectUri: string): URLSearchParams {
  if (back instanceof URLSearchParams) return back;
  const url = URL.canParse(String(back)) ? new URL(back) : undefined;
  if (url === undefined || placeOf(url) !== placeOf(new URL(redirectUri))) {
    throw refuse("the user came back to another URL than the one that was given");
  }
  return url.searchParams;
}

/**
 * Elsewhere, codes would travel in plain sight, or to whoever claims a scheme first
 * (basic/authorization/security-considerations, 2026-07-28).
 *
 * @throws TypeError
 */
export function assertOwn(redirectUri: string | URL): void {
  const url = URL.canParse(String(redirectUri)) ? new URL(redirectUri) : undefined;
  if (url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url.hostname))) return;
  throw new TypeError(`redirectUri must be https, or http on this machine, not ${redirectUri}`);
}

function placeOf({ protocol, host, pathname }: URL): string {
  return `${protocol}//${host}${pathname}`;
}
