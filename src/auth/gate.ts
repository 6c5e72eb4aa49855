/** Where a request is let in as somebody, or told what it lacks, before its body is read. */
import { type Access, holds, isScope, type Principal } from "../core/access.ts";
import { type Awaitable, after } from "../util/awaitable.ts";
import type { JsonObject } from "../util/json.ts";
import {
  type Authenticator,
  type AuthRequest,
  askInOrder,
  isRefusal,
  type Verdict,
} from "./authenticator.ts";
import { type Challenge, writeChallenges } from "./challenge.ts";
import { type Credentials, hasTokenInQuery, parseCredentials } from "./credentials.ts";
import { asksForMetadata, nameResource, type ResourceNames, writeMetadata } from "./metadata.ts";
import { Owners } from "./owners.ts";

/** Who may call, and how they show it. */
export interface AuthOptions {
  /**
   * Asked in this order; the first that knows the credentials decides. With none, only those
   * are let in that a framework's own middleware found out and a bridge passes on.
   * @default none
   */
  readonly authenticators?: readonly Authenticator[] | undefined;
  /**
   * The URL that clients were given, verbatim: what tokens are issued for. With a proxy in
   * front that is the public one. @default the host of the request with `path`, over http, for
   * an endpoint that serves loopback hosts alone
   */
  readonly resource?: string | undefined;
  /** What every request needs; clients are told to ask for it first. @default none */
  readonly scopes?: readonly string[] | undefined;
  /** Scopes that hold others: `{ admin: ["read", "write"] }`. @default none do */
  readonly implies?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Where clients get a token. @default what the authenticators say */
  readonly authorizationServers?: readonly string[] | undefined;
  /** What clients may ask for without having been told. @default `scopes` */
  readonly scopesSupported?: readonly string[] | undefined;
  /** More members of the metadata, such as `resource_name` or `resource_documentation`. */
  readonly metadata?: JsonObject | undefined;
}

/** What a gate sees of a request. */
export interface GateRequest extends Pick<AuthRequest, "method" | "target" | "headers"> {
  readonly host: string | undefined;
  /** Whom middleware in front has found out. */
  readonly principal?: Principal | undefined;
}

/** Why a request is not let in. */
export interface Denial {
  readonly kind: "denied";
  readonly failure: "unauthorized" | "insufficient-scope" | "unavailable";
  readonly message: string;
  readonly challenge: string | undefined;
  readonly cause: unknown;
}

export class Gate {
  readonly #options: AuthOptions;
  readonly #authenticators: readonly Authenticator[];
  readonly #scopes: readonly string[];
  readonly #resource: ResourceNames | undefined;
  readonly #path: string;
  readonly #owners: Owners;

  /**
   * @param path - of the endpoint, for a resource that is named by the host of each request
   * @throws TypeError when the resource is not named, or is no URL
   */
  constructor(options: AuthOptions, path: string | undefined) {
    const { authenticators = [], resource, scopes = [], implies = {} } = options;
    if (resource === undefined && path === undefined) {
      throw new TypeError(
        'auth: say which URL tokens are issued for: { resource: "https://mcp.example.com/mcp" }',
      );
    }
    const bad = scopes.find((scope) => !isScope(scope));
    if (bad !== undefined) throw new TypeError(`auth: ${JSON.stringify(bad)} is no scope`);
    this.#options = options;
    this.#authenticators = authenticators;
    this.#scopes = scopes;
    this.#resource = resource === undefined ? undefined : nameResource(resource);
    this.#path = path ?? "";
    this.#owners = new Owners(implies);
  }

  /** The path and query of the metadata, for a router in front; its host does not matter. */
  get metadataTarget(): string {
    return this.#name("localhost").metadataTarget;
  }

  /** The metadata, if the request is for it. Everybody may read it. */
  metadata({ target, host }: Pick<GateRequest, "target" | "host">): string | undefined {
    // Nearly every request is for the endpoint, whose names need not be put together for that.
    if (!target.startsWith("/.well-known/")) return undefined;
    const names = this.#name(host);
    if (!asksForMetadata(names, target)) return undefined;
    const { authorizationServers, scopesSupported = this.#scopes, metadata } = this.#options;
    const servers = this.#authenticators.flatMap((each) => each.authorizationServers ?? []);
    return writeMetadata(names.resource, {
      authorizationServers: authorizationServers ?? [...new Set(servers)],
      scopesSupported,
      more: metadata,
    });
  }

  admit(request: GateRequest): Awaitable<Access | Denial> {
    if (hasTokenInQuery(request.target)) return this.#malformed(request, "tokens in the URL");
    const { principal } = request;
    if (principal !== undefined) return this.#enterPassed(principal, request);
    const credentials = parseCredentials(request.headers("authorization"));
    if (credentials === "malformed") return this.#malformed(request, "this Authorization header");
    const { method, target, headers, host } = request;
    const { resource } = this.#name(host);
    const verdict = askInOrder(this.#authenticators, {
      method,
      target,
      headers,
      credentials,
      resource,
    });
    return after(verdict, (found) => this.#decide(found, credentials, request));
  }

  /** What leads a client to more scopes than it has. */
  challenge(scopes: readonly string[], description: string, host: string | undefined): string {
    return this.#challenge({ scopes, error: "insufficient_scope", description }, host);
  }

  #decide(
    verdict: Verdict,
    credentials: Credentials | undefined,
    request: GateRequest,
  ): Awaitable<Access | Denial> {
    if (verdict === undefined) {
      return this.#takes(credentials)
        ? this.#refuse(request, "the credentials are unknown")
        : this.#unauthorized(request, {}, "say who you are");
    }
    if (!isRefusal(verdict)) return this.#enter(verdict, request);
    if (verdict.kind === "refused") return this.#refuse(request, verdict.description);
    return {
      kind: "denied",
      failure: "unavailable",
      message: verdict.description,
      challenge: undefined,
      cause: verdict.cause,
    };
  }

  /** Whether a client that sends these does what a challenge of ours asks for. */
  #takes(credentials: Credentials | undefined): boolean {
    const scheme = credentials?.scheme;
    if (this.#authenticators.length === 0) return scheme === "bearer";
    return this.#authenticators.some(
      (each) => scheme !== undefined && each.scheme?.toLowerCase() === scheme,
    );
  }

  #enter(principal: Principal, request: GateRequest): Awaitable<Access | Denial> {
    return after(this.#owners.accessOf(principal), (access) =>
      holds(access, this.#scopes) ? access : this.#lacking(request),
    );
  }

  /** The clocks that an authenticator allows for are its own business; nobody has looked here. */
  #enterPassed(principal: Principal, request: GateRequest): Awaitable<Access | Denial> {
    const { expiresAt } = principal;
    if (expiresAt !== undefined && expiresAt <= Date.now()) {
      return this.#refuse(request, "the credentials have expired");
    }
    return this.#enter(principal, request);
  }

  #lacking({ host }: GateRequest): Denial {
    const message = `this needs the scopes ${this.#scopes.join(" ")}`;
    const challenge = this.challenge(this.#scopes, message, host);
    return {
      kind: "denied",
      failure: "insufficient-scope",
      message,
      challenge,
      cause: undefined,
    };
  }

  #malformed(request: GateRequest, what: string): Denial {
    const description = `${what} cannot be taken; send one header, Authorization: Bearer and the token`;
    return this.#unauthorized(request, { error: "invalid_request", description }, description);
  }

  #refuse(request: GateRequest, description: string): Denial {
    return this.#unauthorized(request, { error: "invalid_token", description }, description);
  }

  #unauthorized(
    { host }: GateRequest,
    told: Pick<Challenge, "error" | "description">,
    message: string,
  ): Denial {
    const challenge = this.#challenge({ scopes: this.#scopes, ...told }, host);
    return { kind: "denied", failure: "unauthorized", message, challenge, cause: undefined };
  }

  #challenge(told: Omit<Challenge, "metadata">, host: string | undefined): string {
    const metadata = this.#name(host).metadataUrl;
    return writeChallenges(this.#authenticators, { metadata, ...told });
  }

  #name(host: string | undefined): ResourceNames {
    return this.#resource ?? nameResource(`http://${host?.toLowerCase() ?? ""}${this.#path}`);
  }
}
