/** The contract of whatever finds out who a caller is, and a list of them in order. */
import type { Principal } from "../core/access.ts";
import { type Awaitable, isPromise } from "../util/awaitable.ts";
import type { Credentials } from "./credentials.ts";

/** What an authenticator has to go by. The body has not been read. */
export interface AuthRequest {
  readonly method: string;
  /** The path with its query, as it came. */
  readonly target: string;
  /** Looked up in lower case; several values of one name are joined by commas. */
  readonly headers: (name: string) => string | undefined;
  /** The `Authorization` header, if there is one. */
  readonly credentials: Credentials | undefined;
  /** What a token must have been issued for: the URL of the endpoint, as its metadata has it. */
  readonly resource: string;
}

/** Credentials that are known and no good, or cannot be judged now. */
export interface Refusal {
  readonly kind: "refused" | "unavailable";
  /** For whoever holds the credentials; printable ASCII. */
  readonly description: string;
  /** For the log alone. */
  readonly cause?: unknown;
}

/** A principal, a refusal, or undefined for credentials that are for somebody else to judge. */
export type Verdict = Principal | Refusal | undefined;

/** Finds out who a caller is. */
export interface Authenticator {
  /** Which challenge leads a client here. */
  readonly scheme?: "Bearer" | "Basic" | undefined;
  /** Where a client gets a token from: URLs of authorization servers, for the metadata. */
  readonly authorizationServers?: readonly string[] | undefined;
  /**
   * Undefined leaves the credentials to the next of the list. Anything else decides: whoever
   * knows a token for its own and refuses it is not outvoted by one that knows less.
   */
  authenticate(request: AuthRequest): Awaitable<Verdict>;
}

/** The refusal of a credential that is known and no good. */
export function refuseCredentials(description: string): Refusal {
  return { kind: "refused", description };
}

/** The refusal of a credential that cannot be judged now, such as when a key server is away. */
export function unavailable(description: string, cause?: unknown): Refusal {
  return { kind: "unavailable", description, cause };
}

export function isRefusal(verdict: Principal | Refusal): verdict is Refusal {
  return "kind" in verdict;
}

/** Asks one after the other, until one decides. */
export function askInOrder(
  authenticators: readonly Authenticator[],
  request: AuthRequest,
  from = 0,
): Awaitable<Verdict> {
  for (let at = from; at < authenticators.length; at++) {
    const verdict = authenticators[at]?.authenticate(request);
    if (isPromise(verdict)) {
      return verdict.then((found) => found ?? askInOrder(authenticators, request, at + 1));
    }
    if (verdict !== undefined) return verdict;
  }
  return undefined;
}

/** An authenticator for bearer tokens of any kind, by a function. */
export function checkBearer(
  verify: (token: string, request: AuthRequest) => Awaitable<Verdict>,
  options: { readonly authorizationServers?: readonly string[] | undefined } = {},
): Authenticator {
  return {
    scheme: "Bearer",
    authorizationServers: options.authorizationServers,
    authenticate: (request) =>
      request.credentials?.scheme === "bearer"
        ? verify(request.credentials.value, request)
        : undefined,
  };
}
