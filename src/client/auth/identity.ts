/**
 * Who a client is to an authorization server (basic/authorization/client-registration,
 * 2026-07-28): known beforehand, known by a document of its own, or registered on the spot.
 */
import * as oauth from "oauth4webapi";
import { isObject } from "../../util/json.ts";
import { excerpt } from "../excerpt.ts";
import { type Asking, isLoopback, toUnauthorized } from "./asking.ts";
import { refuse, strings } from "./discovery.ts";
import {
  parseRegistration,
  type RegisteredMethod,
  type Registration,
  type TokenStore,
  type Tokens,
} from "./store.ts";

/** A client that an authorization server knows: its credentials are for that one alone. */
export interface KnownClient {
  readonly clientId: string;
  /**
   * The issuer that knows it, letter by letter. Give it wherever you can: a server could name an
   * authorization server of its own choice, and have the secret sent there.
   * @default the first one that the server names, and no other from then on
   */
  readonly issuer?: string | undefined;
  /** Its secret, where it has one. */
  readonly secret?: string | undefined;
  /** The private key that it signs its assertions with, in place of a secret. */
  readonly key?: oauth.CryptoKey | oauth.PrivateKey | undefined;
  /**
   * How it proves who it is. @default what the authorization server lists: with a key
   * `private_key_jwt`, with a secret `client_secret_basic` or else `client_secret_post`
   */
  readonly method?: AuthMethod | undefined;
}

export type AuthMethod = "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt";

/** A client as the functions of `oauth4webapi` take it. */
export interface Identity {
  readonly client: oauth.Client;
  readonly prove: oauth.ClientAuth;
  /** What the authorization server made, and may have forgotten. */
  readonly registration: Registration | undefined;
}

/** @throws ClientError for an issuer that the credentials are not for */
export function identify(known: KnownClient, issuing: oauth.AuthorizationServer): Identity {
  const { clientId, issuer } = known;
  if (issuer !== undefined && issuer !== issuing.issuer) {
    throw refuse(
      `the client ${excerpt(clientId)} is known to ${excerpt(issuer)}, and the server now names ${excerpt(issuing.issuer)}`,
    );
  }
  return {
    client: { client_id: clientId },
    prove: proofOf(known, issuing),
    registration: undefined,
  };
}

function proofOf({ secret, key, method }: KnownClient, issuing: oauth.AuthorizationServer) {
  const chosen =
    method ?? (key !== undefined ? "private_key_jwt" : methodWith(secret, methodsOf(issuing)));
  switch (chosen) {
    case "private_key_jwt":
      if (key === undefined) throw new TypeError("private_key_jwt takes a key");
      return oauth.PrivateKeyJwt(key);
    case "none":
      return oauth.None();
    case "client_secret_basic":
    case "client_secret_post":
      if (secret === undefined) throw new TypeError(`${chosen} takes a secret`);
      return chosen === "client_secret_basic"
        ? proveByBasic(secret)
        : oauth.ClientSecretPost(secret);
  }
}

/**
 * As forms are encoded and no further: many servers compare what stands there without decoding it,
 * and the library encodes also what needs none, such as a dash.
 */
function proveByBasic(secret: string): oauth.ClientAuth {
  const encode = (text: string): string => new URLSearchParams([["", text]]).toString().slice(1);
  return (_issuing, { client_id: id }, _body, headers) => {
    headers.set("authorization", `Basic ${btoa(`${encode(id)}:${encode(secret)}`)}`);
  };
}

/** Who lists none takes this one (RFC 8414 section 2). */
function methodsOf(issuing: oauth.AuthorizationServer): readonly string[] {
  return strings(issuing.token_endpoint_auth_methods_supported) ?? ["client_secret_basic"];
}

function methodWith(secret: string | undefined, methods: readonly string[]): AuthMethod {
  if (secret === undefined) return "none";
  const takesPost = methods.includes("client_secret_post");
  return takesPost && !methods.includes("client_secret_basic")
    ? "client_secret_post"
    : "client_secret_basic";
}

export interface RegistrationOptions {
  /**
   * The https URL of the document that describes this client, which is its id then wherever that
   * is understood.
   */
  readonly clientMetadataUrl?: string | undefined;
  /** What the client calls itself where it is registered on the spot. @default anyrev */
  readonly clientName?: string | undefined;
  /** More of what is said there, such as `client_uri` or `logo_uri` (RFC 7591 section 2). */
  readonly clientMetadata?: Readonly<Record<string, oauth.JsonValue>> | undefined;
}

/** A client that nobody knows beforehand. */
export class Introduction {
  readonly #options: RegistrationOptions;
  readonly #store: TokenStore;
  readonly #asking: Asking;

  constructor(options: RegistrationOptions, store: TokenStore, asking: Asking) {
    this.#options = options;
    this.#store = store;
    this.#asking = asking;
  }

  async to(
    issuing: oauth.AuthorizationServer,
    redirectUri: string,
    signal: AbortSignal,
  ): Promise<Identity> {
    const { clientMetadataUrl } = this.#options;
    if (
      clientMetadataUrl !== undefined &&
      issuing["client_id_metadata_document_supported"] === true
    ) {
      return described(clientMetadataUrl);
    }
    const kept = parseRegistration(await this.#store.get(nameOf(issuing)));
    if (kept !== undefined && isUsable(kept, redirectUri)) return toIdentity(kept, issuing);
    if (issuing.registration_endpoint === undefined) {
      throw refuse(
        `${excerpt(issuing.issuer)} registers no clients; register one there and give its id as \`client\``,
      );
    }
    const made = await this.#register(issuing, redirectUri, signal);
    await this.#store.set(nameOf(issuing), JSON.stringify(made));
    return toIdentity(made, issuing);
  }

  /** The same as when it was granted something; undefined where it is not known any more. */
  again(
    issuing: oauth.AuthorizationServer,
    { clientId, registration }: Tokens,
  ): Identity | undefined {
    if (clientId === this.#options.clientMetadataUrl) return described(clientId);
    const isKnown = registration !== undefined && isWhole(registration);
    return isKnown ? toIdentity(registration, issuing) : undefined;
  }

  async forget(issuing: oauth.AuthorizationServer): Promise<void> {
    await this.#store.delete(nameOf(issuing));
  }

  async #register(
    issuing: oauth.AuthorizationServer,
    redirectUri: string,
    signal: AbortSignal,
  ): Promise<Registration> {
    const what = `registering with ${excerpt(issuing.issuer)}`;
    const { clientName = "anyrev", clientMetadata } = this.#options;
    const metadata = {
      client_name: clientName,
      ...clientMetadata,
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: preferredMethod(methodsOf(issuing)),
      application_type: isNative(redirectUri) ? "native" : "web",
    };
    try {
      const options = this.#asking.with(issuing.registration_endpoint, signal);
      const response = await oauth.dynamicClientRegistrationRequest(issuing, metadata, options);
      return await readRegistration(response, redirectUri, metadata.token_endpoint_auth_method);
    } catch (cause) {
      throw toUnauthorized(what, cause);
    }
  }
}

/** Registrations belong to the one that made them. */
function nameOf({ issuer }: oauth.AuthorizationServer): string {
  return `client of ${issuer}`;
}

function isUsable(kept: Registration, wanted: string): boolean {
  const { expiresAt, redirectUri } = kept;
  if (!isWhole(kept)) return false;
  return redirectUri === wanted && (expiresAt === undefined || expiresAt > Date.now() + 60_000);
}

function isWhole({ method, secret }: Registration): boolean {
  return method === "none" || secret !== undefined;
}

function toIdentity(registration: Registration, issuing: oauth.AuthorizationServer): Identity {
  const { clientId, secret, method } = registration;
  const known = { clientId, secret, method };
  return { ...identify(known, issuing), registration };
}

/**
 * Id and place of the document are one (basic/authorization/client-registration, 2026-07-28).
 *
 * @throws TypeError
 */
export function assertDescribed(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "https:" && url.pathname !== "/" && url.hash === "") return;
  throw new TypeError(`clientMetadataUrl must be an https URL with a path, not ${text}`);
}

/** By a document of its own. */
function described(url: string): Identity {
  return { client: { client_id: url }, prove: oauth.None(), registration: undefined };
}

/** A client that users run can keep no secret from them: none is asked for without need. */
function preferredMethod(methods: readonly string[]): RegisteredMethod {
  const order: readonly RegisteredMethod[] = ["none", "client_secret_basic", "client_secret_post"];
  return order.find((method) => methods.includes(method)) ?? "client_secret_basic";
}

/** What comes back to this machine is a program on it (RFC 8252 section 7.3). */
function isNative(redirectUri: string): boolean {
  return isLoopback(new URL(redirectUri).hostname);
}

/** More lenient than the library, as many servers leave out when a secret expires. */
async function readRegistration(
  response: Response,
  redirectUri: string,
  asked: RegisteredMethod,
): Promise<Registration> {
  const { status } = response;
  const found: unknown = await response.json().catch(() => undefined);
  if (status !== 200 && status !== 201) {
    const { error, error_description: more } = isObject(found) ? found : {};
    const said = [error, more].filter((each) => typeof each === "string").join(": ");
    throw refuse(`the client could not be registered: HTTP ${status} ${excerpt(said)}`);
  }
  const clientId = isObject(found) ? found["client_id"] : undefined;
  if (!isObject(found) || typeof clientId !== "string" || clientId === "") {
    throw refuse("the client was registered without an id");
  }
  const { client_secret: secret, client_secret_expires_at: expires } = found;
  const method = found["token_endpoint_auth_method"];
  return {
    clientId,
    secret: typeof secret === "string" && secret !== "" ? secret : undefined,
    method: settle(method, asked, typeof secret === "string" && secret !== ""),
    redirectUri,
    expiresAt: typeof expires === "number" && expires > 0 ? expires * 1_000 : undefined,
  };
}

function settle(said: unknown, asked: RegisteredMethod, hasSecret: boolean): RegisteredMethod {
  if (!hasSecret) return "none";
  if (said === "none" || said === "client_secret_basic" || said === "client_secret_post") {
    return said;
  }
  return asked === "none" ? "client_secret_basic" : asked;
}
