/** The ways to be authorized, as they are given to `connect`. */
import type * as oauth4webapi from "oauth4webapi";
import type { AuthAnswer, AuthExchange, ClientAuth } from "../client-auth.ts";
import { Asking, type AskingOptions } from "./asking.ts";
import { Authorization, type AuthorizationOptions } from "./authorization.ts";
import { assertOwn, CodeGrant, type CodeOptions } from "./code-grant.ts";
import type { Grant } from "./grant.ts";
import {
  assertDescribed,
  Introduction,
  type KnownClient,
  type RegistrationOptions,
} from "./identity.ts";
import {
  AssertionGrant,
  type AssertionSource,
  ClientCredentialsGrant,
  EnterpriseGrant,
  type EnterpriseGrantOptions,
} from "./machine-grants.ts";
import { MemoryTokens, type TokenStore, telling } from "./store.ts";

export interface TokenOptions extends AskingOptions {
  /** Where tokens and registrations are kept. @default in memory, for this object alone */
  readonly store?: TokenStore | undefined;
  /** Asked for where the server says nothing about scopes. @default none */
  readonly scopes?: readonly string[] | undefined;
  /**
   * Whether tokens are bound to a key, so that whoever steals one cannot use it; an authorization
   * server that does not bind them is refused. Tokens outlive the process only with a key pair of
   * your own, as that of `true` is made anew each time. @default where the server requires it
   */
  readonly dpop?: boolean | oauth4webapi.CryptoKeyPair | undefined;
}

export interface OAuthOptions extends TokenOptions, CodeOptions, RegistrationOptions {
  /** A client that the authorization server knows. @default one that introduces itself */
  readonly client?: KnownClient | undefined;
}

export interface ClientCredentialsOptions extends TokenOptions {
  readonly client: KnownClient;
}

export interface WorkloadOptions extends TokenOptions {
  /**
   * The JWT that the platform gives to the program. One that is made beforehand goes to the
   * authorization server in its `aud` alone, unless `issuer` says who may have it.
   */
  readonly assertion: AssertionSource;
  /**
   * The issuer that the assertion is for, letter by letter. Give it wherever you can: a server could
   * name an authorization server of its own choice, and have the assertion sent there.
   * @default that of `client`
   */
  readonly issuer?: string | undefined;
  /** @default none: the assertion says it all */
  readonly client?: KnownClient | undefined;
}

export interface EnterpriseOptions extends TokenOptions, EnterpriseGrantOptions {
  /** The client that the server's authorization server knows. */
  readonly client: KnownClient;
}

/**
 * A user signs in when the server first asks for that, and again where it asks for more. Give it
 * to `connect` as `auth`. It holds the tokens of one user: make one for each.
 *
 * @throws TypeError for a URL that nobody may come back to, or that no client is described by
 */
export function oauth(options: OAuthOptions): ClientAuth {
  const { client, redirectUri, clientMetadataUrl } = options;
  if (typeof redirectUri !== "function") assertOwn(redirectUri);
  if (clientMetadataUrl !== undefined) assertDescribed(clientMetadataUrl);
  return new TokenAuth(options, (asking, store) => {
    const introduction = new Introduction(options, store, asking);
    return new CodeGrant(options, client, introduction);
  });
}

/** The program acts for itself, with a secret or a private key of its own. */
export function clientCredentials(options: ClientCredentialsOptions): ClientAuth {
  const extension = "io.modelcontextprotocol/oauth-client-credentials";
  return new TokenAuth(options, () => new ClientCredentialsGrant(options.client), extension);
}

/** The platform that a program runs on vouches for it: no secret has to be kept anywhere. */
export function workloadIdentity(options: WorkloadOptions): ClientAuth {
  const { client, assertion, issuer = client?.issuer } = options;
  return new TokenAuth(options, () => new AssertionGrant(client, assertion, issuer));
}

/** An organization's identity provider decides which servers its people may use. */
export function enterpriseManaged(options: EnterpriseOptions): ClientAuth {
  const extension = "io.modelcontextprotocol/enterprise-managed-authorization";
  return new TokenAuth(options, () => new EnterpriseGrant(options.client, options), extension);
}

class TokenAuth implements ClientAuth {
  readonly extensions: ClientAuth["extensions"];
  readonly #options: TokenOptions;
  readonly #store: TokenStore;
  readonly #grant: (asking: Asking, store: TokenStore) => Grant;
  readonly #authorizations: Map<string, Authorization> = new Map();
  #last: { readonly server: URL; readonly authorization: Authorization } | undefined;
  #context: string = crypto.randomUUID();

  constructor(
    options: TokenOptions,
    grant: (asking: Asking, store: TokenStore) => Grant,
    extension?: string,
  ) {
    this.extensions = extension === undefined ? undefined : { [extension]: {} };
    this.#options = options;
    this.#store = telling(options.store ?? new MemoryTokens());
    this.#grant = grant;
  }

  headers(
    exchange: AuthExchange,
    signal: Parameters<ClientAuth["headers"]>[1],
  ): ReturnType<ClientAuth["headers"]> {
    return this.#at(exchange.server).headers(exchange, signal);
  }

  answered(
    answer: AuthAnswer,
    signal: Parameters<ClientAuth["answered"]>[1],
  ): ReturnType<ClientAuth["answered"]> {
    return this.#at(answer.server).answered(answer, signal);
  }

  context(): string {
    return this.#context;
  }

  #at(server: URL): Authorization {
    if (this.#last?.server === server) return this.#last.authorization;
    const authorization = this.#authorizations.get(server.href) ?? this.#add(server);
    this.#last = { server, authorization };
    return authorization;
  }

  #add(server: URL): Authorization {
    const { scopes = [], dpop = false } = this.#options;
    const asking = new Asking(server, this.#options);
    const options: AuthorizationOptions = {
      store: this.#store,
      scopes,
      dpop,
      onGranted: () => {
        this.#context = crypto.randomUUID();
      },
    };
    const grant = this.#grant(asking, this.#store);
    const authorization = new Authorization(server, grant, asking, options);
    this.#authorizations.set(server.href, authorization);
    return authorization;
  }
}
