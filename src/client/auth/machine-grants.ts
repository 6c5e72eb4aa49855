/** Tokens that no user is asked for. */
import * as oauth from "oauth4webapi";
import type { Awaitable } from "../../util/awaitable.ts";
import { excerpt } from "../excerpt.ts";
import { toUnauthorized } from "./asking.ts";
import { findIssuing, refuse } from "./discovery.ts";
import { type Grant, type Granted, parametersOf, tokenOptions, type Wanted } from "./grant.ts";
import { type Identity, identify, type KnownClient } from "./identity.ts";
import { withNonce } from "./possession.ts";

const jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange";
const idJag = "urn:ietf:params:oauth:token-type:id-jag";

/** For those who can get another at any time: nothing is refreshed. */
abstract class MachineGrant implements Grant {
  readonly asksUser = false;
  readonly wantsRefresh = false;
  readonly known: KnownClient | undefined;

  constructor(known: KnownClient | undefined) {
    this.known = known;
  }

  abstract obtain(wanted: Wanted): Promise<Granted>;

  refreshAs(): undefined {
    return undefined;
  }
}

/** The client acts for itself (RFC 6749 section 4.4). */
export class ClientCredentialsGrant extends MachineGrant {
  readonly #client: KnownClient;

  constructor(client: KnownClient) {
    super(client);
    this.#client = client;
  }

  async obtain(wanted: Wanted): Promise<Granted> {
    const { issuing } = wanted;
    const identity = identify(this.#client, issuing);
    const { client, prove } = identity;
    const parameters = parametersOf(wanted);
    const answer = await withNonce(
      () =>
        oauth.clientCredentialsGrantRequest(
          issuing,
          client,
          prove,
          parameters,
          tokenOptions(wanted),
        ),
      (response) => oauth.processClientCredentialsResponse(issuing, client, response),
    );
    return { identity, answer };
  }
}

/** For what an assertion is made, so that it is made for nobody else. */
export interface AssertedTo {
  /** The authorization server that takes it: its audience. */
  readonly issuer: string;
  /** The server that the token is for. */
  readonly resource: string;
  readonly signal: AbortSignal;
}

/** What vouches for the caller: a JWT, or what makes a fresh one each time. */
export type AssertionSource = string | ((to: AssertedTo) => Awaitable<string>);

function makeAssertion(source: AssertionSource, wanted: Wanted): Awaitable<string> {
  if (typeof source === "string") return source;
  const { issuing, resource, signal } = wanted;
  return source({ issuer: issuing.issuer, resource, signal });
}

/** A platform vouches for the program that runs on it (RFC 7523 section 2.1). */
export class AssertionGrant extends MachineGrant {
  readonly #assertion: AssertionSource;

  constructor(client: KnownClient | undefined, assertion: AssertionSource) {
    super(client);
    this.#assertion = assertion;
  }

  async obtain(wanted: Wanted): Promise<Granted> {
    const { issuing } = wanted;
    const identity = this.known === undefined ? nobody : identify(this.known, issuing);
    let assertion: string;
    try {
      assertion = await makeAssertion(this.#assertion, wanted);
    } catch (cause) {
      throw toUnauthorized("no assertion could be made", cause);
    }
    return present(assertion, wanted, identity);
  }
}

/** The assertion says it all. */
const nobody: Identity = {
  client: { client_id: "none" },
  prove: () => undefined,
  registration: undefined,
};

async function present(assertion: string, wanted: Wanted, identity: Identity): Promise<Granted> {
  const { issuing } = wanted;
  const { client, prove } = identity;
  const parameters = { assertion, ...parametersOf(wanted) };
  const answer = await withNonce(
    () =>
      oauth.genericTokenEndpointRequest(
        issuing,
        client,
        prove,
        jwtBearer,
        parameters,
        tokenOptions(wanted),
      ),
    (response) => oauth.processGenericTokenEndpointResponse(issuing, client, response),
  );
  return { identity, answer };
}

/** The identity provider of an organization, as its administrators configure it. */
export interface IdentityProvider {
  readonly issuer: string;
  /** @default what its metadata says */
  readonly tokenEndpoint?: string | undefined;
  /** The client that it knows; its `issuer` is this one. */
  readonly client: Omit<KnownClient, "issuer">;
}

export interface EnterpriseGrantOptions {
  readonly provider: IdentityProvider;
  /** What the provider said of the user when they signed in: an OpenID Connect ID token. */
  readonly idToken: AssertionSource;
}

/**
 * The organization decides: its provider turns the user's sign-in into an assertion for one
 * authorization server, and that one turns it into a token
 * (extensions/auth/enterprise-managed-authorization).
 */
export class EnterpriseGrant extends MachineGrant {
  readonly #client: KnownClient;
  readonly #options: EnterpriseGrantOptions;

  constructor(client: KnownClient, options: EnterpriseGrantOptions) {
    super(client);
    this.#client = client;
    this.#options = options;
  }

  async obtain(wanted: Wanted): Promise<Granted> {
    const identity = identify(this.#client, wanted.issuing);
    let assertion: string;
    try {
      assertion = await this.#exchange(wanted);
    } catch (cause) {
      throw toUnauthorized("the identity provider", cause);
    }
    return present(assertion, wanted, identity);
  }

  async #exchange(wanted: Wanted): Promise<string> {
    const { issuing: audience, asking, signal } = wanted;
    const { provider, idToken } = this.#options;
    const issuing = await this.#provider(wanted);
    const { client, prove } = identify({ ...provider.client, issuer: issuing.issuer }, issuing);
    const response = await oauth.genericTokenEndpointRequest(
      issuing,
      client,
      prove,
      tokenExchange,
      {
        requested_token_type: idJag,
        subject_token: await makeAssertion(idToken, wanted),
        subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
        audience: audience.issuer,
        ...parametersOf(wanted),
      },
      asking.with(issuing.token_endpoint, signal),
    );
    const answer = await oauth.processGenericTokenEndpointResponse(issuing, client, response, {
      // It is no access token, and says so (RFC 8693 section 2.2.1).
      recognizedTokenTypes: { n_a: () => undefined },
    });
    if (answer["issued_token_type"] !== idJag) {
      throw refuse("the identity provider issued something else than an identity assertion");
    }
    return answer.access_token;
  }

  async #provider({ asking, signal }: Wanted): Promise<oauth.AuthorizationServer> {
    const { issuer, tokenEndpoint } = this.#options.provider;
    if (tokenEndpoint !== undefined) return { issuer, token_endpoint: tokenEndpoint };
    const found = await findIssuing(issuer, asking, signal);
    if (found === undefined) throw refuse(`${excerpt(issuer)} publishes no metadata`);
    return found;
  }
}
