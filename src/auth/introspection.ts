/** Bearer tokens that only their issuer can read: it is asked what they are (RFC 7662). */
import { type Awaitable, after } from "../util/awaitable.ts";
import { encodeText } from "../util/base64.ts";
import type { JsonObject } from "../util/json.ts";
import {
  type Authenticator,
  type AuthRequest,
  checkBearer,
  refuseCredentials,
  unavailable,
  type Verdict,
} from "./authenticator.ts";
import { Asked, assertSecure, type FetchOptions } from "./bounded-fetch.ts";
import { isBound, readAudience, toPrincipal } from "./claims.ts";
import { nameOf } from "./digest.ts";

export interface IntrospectionOptions extends FetchOptions {
  /** Whose tokens they are; an answer that names another issuer is not taken. */
  readonly issuer: string;
  /** The URL to ask at. */
  readonly endpoint: string;
  /** What this server is known by to the issuer. */
  readonly clientId: string;
  readonly clientSecret: string;
  /**
   * What a token must have been issued for; one of several. `"unchecked"` is for issuers that
   * do not say and give out tokens for this server alone: any other token of theirs could be
   * replayed here. @default the endpoint's `resource`
   */
  readonly audience?: string | readonly string[] | "unchecked" | undefined;
  /** How far the issuer's clock may be from this one, in seconds. @default 30 */
  readonly clockSkewSeconds?: number | undefined;
  /**
   * How long an answer is kept, in milliseconds, and so how long a token that was revoked may
   * go on; 0 asks every time. @default 30000
   */
  readonly cacheMs?: number | undefined;
  /** How many answers are kept at most, those about unknown tokens among them. @default 1000 */
  readonly maxCached?: number | undefined;
  /**
   * How many questions wait for an answer at most; more tokens at once are answered with 503.
   * Anybody can make up tokens, and each is a question. @default 50
   */
  readonly maxWaiting?: number | undefined;
}

interface Known {
  readonly claims: JsonObject | undefined;
  readonly until: number;
}

/**
 * An authenticator for opaque tokens of one issuer. It takes every bearer token for its own, so
 * it stands last of those for bearer tokens.
 *
 * @throws TypeError when the endpoint is no https URL, except on this machine
 */
export function checkIntrospected(options: IntrospectionOptions): Authenticator {
  assertSecure("endpoint", options.endpoint);
  const introspector = new Introspector(options);
  return checkBearer((token, request) => introspector.verify(token, request), {
    authorizationServers: [options.issuer],
  });
}

class Introspector {
  readonly #options: IntrospectionOptions;
  readonly #asked: Asked;
  readonly #skewMs: number;
  /** By the token's digest: what is kept in memory lets nobody in. Oldest first. */
  readonly #known: Map<string, Known> = new Map();
  readonly #waiting: Map<string, Promise<Known>> = new Map();

  constructor(options: IntrospectionOptions) {
    this.#options = options;
    this.#asked = new Asked(options);
    this.#skewMs = (options.clockSkewSeconds ?? 30) * 1_000;
  }

  async verify(token: string, request: AuthRequest): Promise<Verdict> {
    const name = await nameOf(token);
    const known = this.#recall(name);
    if (known === undefined && this.#isFull(name)) {
      return unavailable("too many tokens are being verified");
    }
    try {
      return await after(known ?? this.#ask(name, token), ({ claims }) =>
        this.#judge(claims, request),
      );
    } catch (cause) {
      return unavailable("tokens cannot be verified at the moment", cause);
    }
  }

  #recall(name: string): Known | undefined {
    const known = this.#known.get(name);
    if (known === undefined || known.until > Date.now()) return known;
    this.#known.delete(name);
    return undefined;
  }

  #isFull(name: string): boolean {
    return !this.#waiting.has(name) && this.#waiting.size >= (this.#options.maxWaiting ?? 50);
  }

  /** One question for all that ask it at once. */
  #ask(name: string, token: string): Awaitable<Known> {
    const waiting = this.#waiting.get(name);
    if (waiting !== undefined) return waiting;
    const asking = this.#introspect(token)
      .then((claims) => this.#keep(name, claims))
      .finally(() => this.#waiting.delete(name));
    this.#waiting.set(name, asking);
    return asking;
  }

  async #introspect(token: string): Promise<JsonObject | undefined> {
    const { endpoint, clientId, clientSecret } = this.#options;
    const answer = await this.#asked.json(endpoint, {
      method: "POST",
      headers: {
        accept: "application/json",
        "content-type": "application/x-www-form-urlencoded",
        // Both are form-encoded before they are joined (RFC 6749 section 2.3.1).
        authorization: `Basic ${encodeText(`${toForm(clientId)}:${toForm(clientSecret)}`)}`,
      },
      body: new URLSearchParams({ token, token_type_hint: "access_token" }).toString(),
    });
    if (answer === undefined) throw new Error(`${endpoint} does not let this server ask`);
    return answer["active"] === true ? answer : undefined;
  }

  #keep(name: string, claims: JsonObject | undefined): Known {
    const { cacheMs = 30_000, maxCached = 1_000 } = this.#options;
    const known = { claims, until: Date.now() + cacheMs };
    if (cacheMs <= 0 || maxCached <= 0) return known;
    this.#known.set(name, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > maxCached && oldest !== undefined) this.#known.delete(oldest);
    return known;
  }

  #judge(claims: JsonObject | undefined, { resource }: AuthRequest): Verdict {
    if (claims === undefined) return refuseCredentials("the token is not active");
    const { issuer, audience = resource } = this.#options;
    const { iss = issuer, exp, nbf, token_type: type = "Bearer" } = claims;
    if (iss !== issuer) return refuseCredentials("the token is another issuer's");
    if (isBound(claims) || String(type).toLowerCase() !== "bearer") {
      return refuseCredentials("the token is bound to a key, whose proof is not taken here");
    }
    if (typeof exp === "number" && exp * 1_000 <= Date.now() - this.#skewMs) {
      return refuseCredentials("the token has expired");
    }
    if (typeof nbf === "number" && nbf * 1_000 > Date.now() + this.#skewMs) {
      return refuseCredentials("the token is not yet good");
    }
    const wanted = typeof audience === "string" ? [audience] : audience;
    if (audience !== "unchecked" && !readAudience(claims).some((aud) => wanted.includes(aud))) {
      return refuseCredentials("the token was issued for something else");
    }
    return toPrincipal(issuer, claims) ?? refuseCredentials("the token names nobody");
  }
}

function toForm(text: string): string {
  return new URLSearchParams({ _: text }).toString().slice(2);
}
