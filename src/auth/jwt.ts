/** Bearer tokens that are JWTs (RFC 9068), verified by their issuer's keys. */
import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from "jose";
import {
  type Authenticator,
  type AuthRequest,
  checkBearer,
  refuseCredentials,
  unavailable,
  type Verdict,
} from "./authenticator.ts";
import { isBound, toPrincipal } from "./claims.ts";
import { type KeyOptions, KeysUnavailable, keysOf } from "./keys.ts";

export interface JwtOptions extends KeyOptions {
  /** The `iss` of its tokens, exactly; tokens of others are left to the next authenticator. */
  readonly issuer: string;
  /**
   * What a token must have been issued for; one of several. A token for something else that
   * trusts the same issuer could be replayed here otherwise. @default the endpoint's `resource`
   */
  readonly audience?: string | readonly string[] | undefined;
  /**
   * Signatures that are taken. Those with a shared secret never are: a public key would be one.
   * @default those of RSA, elliptic curves and Ed25519
   */
  readonly algorithms?: readonly string[] | undefined;
  /**
   * What the `typ` header may say. Issuers that put `JWT` there need `["at+jwt", "JWT"]`; what
   * tells their access tokens from their identity tokens is then the audience alone.
   * @default ["at+jwt"]
   */
  readonly types?: readonly string[] | undefined;
  /** How far the issuer's clock may be from this one, in seconds. @default 30 */
  readonly clockSkewSeconds?: number | undefined;
}

const signatures: readonly string[] = Object.freeze([
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
]);

/**
 * An authenticator for JWTs of one issuer.
 *
 * @throws TypeError when an algorithm is none that a public key verifies, or a URL is not secure
 */
export function checkJwt(options: JwtOptions): Authenticator {
  const { issuer, algorithms = signatures } = options;
  const bad = algorithms.find((name) => !signatures.includes(name));
  if (bad !== undefined || algorithms.length === 0) {
    throw new TypeError(`algorithms holds some of ${signatures.join(", ")}, not ${bad ?? "none"}`);
  }
  const verifier = new JwtVerifier(options, algorithms);
  return checkBearer((token, request) => verifier.verify(token, request), {
    authorizationServers: [issuer],
  });
}

class JwtVerifier {
  readonly #options: JwtOptions;
  readonly #algorithms: string[];
  readonly #types: readonly string[];
  readonly #skewSeconds: number;
  readonly #keys: ReturnType<typeof keysOf>;

  constructor(options: JwtOptions, algorithms: readonly string[]) {
    this.#options = options;
    this.#algorithms = [...algorithms];
    this.#types = (options.types ?? ["at+jwt"]).map(typeName);
    this.#skewSeconds = options.clockSkewSeconds ?? 30;
    this.#keys = keysOf(options.issuer, options);
  }

  verify(token: string, request: AuthRequest): Verdict | Promise<Verdict> {
    const header = readMine(token, this.#options.issuer);
    if (header === undefined) return undefined;
    // Before any key is looked for: what is not wanted costs nothing.
    if (typeof header.typ !== "string" || !this.#types.includes(typeName(header.typ))) {
      return refuseCredentials("this kind of token is not for access");
    }
    return this.#verify(token, request);
  }

  async #verify(token: string, { resource }: AuthRequest): Promise<Verdict> {
    const { issuer, audience = resource } = this.#options;
    try {
      const { payload } = await jwtVerify(token, this.#keys, {
        issuer,
        audience: typeof audience === "string" ? audience : [...audience],
        algorithms: this.#algorithms,
        clockTolerance: this.#skewSeconds,
        requiredClaims: ["exp", "sub"],
      });
      return this.#judge(payload);
    } catch (cause) {
      if (cause instanceof KeysUnavailable) {
        return unavailable("tokens cannot be verified at the moment", cause);
      }
      if (cause instanceof errors.JOSEError) return refuseCredentials(explain(cause));
      throw cause;
    }
  }

  #judge(payload: JWTPayload): Verdict {
    const { iat } = payload;
    if (iat !== undefined && iat > Date.now() / 1_000 + this.#skewSeconds) {
      return refuseCredentials("the token is from the future");
    }
    if (isBound(payload)) {
      return refuseCredentials("the token is bound to a key, whose proof is not taken here");
    }
    return (
      toPrincipal(this.#options.issuer, payload) ?? refuseCredentials("the token names nobody")
    );
  }
}

/** The header of a token that claims to be of this issuer; undefined for any other token. */
function readMine(token: string, issuer: string): { readonly typ?: unknown } | undefined {
  if (token.split(".", 4).length !== 3) return undefined;
  try {
    return decodeJwt(token).iss === issuer ? decodeProtectedHeader(token) : undefined;
  } catch {
    // Three parts that are no JWT may be somebody else's token.
    return undefined;
  }
}

/** `application/` may be left out (RFC 7515 section 4.1.9). */
function typeName(type: string): string {
  return type.toLowerCase().replace(/^application\//, "");
}

/** What its holder may know: which check failed, never what would have passed it. */
function explain(cause: InstanceType<typeof errors.JOSEError>): string {
  if (cause instanceof errors.JWTExpired) return "the token has expired";
  if (cause instanceof errors.JWTClaimValidationFailed) {
    switch (cause.claim) {
      case "aud":
        return "the token was issued for something else";
      case "nbf":
        return "the token is not yet good";
      default:
        return `the token's claim ${cause.claim.replace(/[^a-z_]/g, "")} does not do`;
    }
  }
  if (cause instanceof errors.JOSEAlgNotAllowed) return "the token is signed by other means";
  return "the token does not verify";
}
