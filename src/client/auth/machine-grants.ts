/** Tokens that no user is asked for. */
import * as oauth from "oauth4webapi";
import type { Awaitable } from "../../util/awaitable.ts";
import { isObject } from "../../util/json.ts";
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
  readonly #client: KnownClient | undefined;
  readonly #assertion: AssertionSource;

  /** @param issuer - who may have the assertion; undefined for those that it names itself */
  constructor(
    client: KnownClient | undefined,
    assertion: AssertionSource,
    issuer: string | undefined,
  ) {
    super(issuer === undefined ? client : { clientId: anonymous, ...client, issuer });
    this.#client = client;
    this.#assertion = assertion;
  }

  async obtain(wanted: Wanted): Promise<Granted> {
    const { issuing } = wanted;
    const known = this.known === undefined ? nobody : identify(this.known, issuing);
    const identity = this.#client === undefined ? nobody : known;
    let assertion: string;
    try {
      assertion = await makeAssertion(this.#assertion, wanted);
    } catch (cause) {
      throw toUnauthorized("no assertion could be made", cause);
    }
    // What makes them is told for whom.
    const isFixed = typeof this.#assertion === "string";
    if (isFixed && this.known?.issuer === undefined) assertMeant(assertion, issuing);
    return present(assertion, wanted, identity);
  }
}

const anonymous = "none";

/** The assertion says it all. */
const nobody: Identity = {
  client: { client_id: anonymous },
  prove: () => undefined,
  registration: undefined,
};

/**
 * Whoever else has an assertion can hand it to the one that it is made for (RFC 7523 section 3).
 *
 * @throws ClientError `unauthorized` for a JWT that is for another
 */
function assertMeant(assertion: string, issuing: oauth.AuthorizationServer): void {
  const { issuer, token_endpoint: endpoint } = issuing;
  const named = audienceOf(assertion);
  // It is no JWT: whoever takes it knows what it is.
  if (named === undefined) return;
  const isMeant = [issuer, `${issuer}/`, issuer.replace(/\/$/, ""), endpoint].some(
    (each) => each !== undefined && named.includes(each),
  );
  if (isMeant) return;
  const whom = named.length === 0 ? "nobody in particular" : excerpt(named.join(", "));
  throw refuse(
    `the assertion is made for ${whom}, not for ${excerpt(issuer)}; say with \`issuer\` who may have it`,
  );
}

/** Undefined for what is no JWT. */
function audienceOf(assertion: string): readonly unknown[] | undefined {
  const [, payload, ...more] = assertion.split(".");
  if (payload === undefined || more.length !== 1) return undefined;
  try {
    const claims: unknown = JSON.parse(decode(payload));
    if (!isObject(claims)) return undefined;
    const { aud } = claims;
    return Array.isArray(aud) ? aud : aud === undefined ? [] : [aud];
  } catch {
    return undefined;
  }
}

function decode(base64url: string): string {
  const binary = atob(base64url.replaceAll("-", "+").replaceAll("_", "/"));
  return new TextDecoder().decode(Uint8Array.from(binary, (letter) => letter.charCodeAt(0)));
}

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
