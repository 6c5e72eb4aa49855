/**
 * Finds out who grants access to a server (basic/authorization/authorization-server-discovery,
 * 2026-07-28), also where that is said as in 2025-03-26.
 */
import * as oauth from "oauth4webapi";
import { isObject, type JsonObject } from "../../util/json.ts";
import { ClientError } from "../errors.ts";
import { excerpt } from "../excerpt.ts";
import { type Asking, toUnauthorized } from "./asking.ts";

export interface Discovered {
  /** What tokens are to be good for, letter by letter as the server says it. */
  readonly resource: string;
  /** The scopes that the server lists; undefined where it lists none. */
  readonly scopes: readonly string[] | undefined;
  readonly takesOnlyBoundTokens: boolean;
  readonly issuing: oauth.AuthorizationServer;
  /** Whether the authorization server publishes nothing, and is where 2025-03-26 assumes it. */
  readonly isAssumed: boolean;
}

export interface DiscoveryOptions {
  /** What the challenge says where the metadata is. */
  readonly hint: string | undefined;
  /** The issuer that the user names: chosen among several, and asked where the server names none. */
  readonly configured: string | undefined;
  /** The one that granted the tokens that there are, chosen next. */
  readonly kept: string | undefined;
}

interface Resource {
  readonly resource: string;
  readonly issuers: readonly string[];
  readonly scopes: readonly string[] | undefined;
  readonly takesOnlyBoundTokens: boolean;
}

const accept = "application/json";
/** What servers list may be endless. */
const maxListed = 1_000;

/** @throws ClientError `unauthorized` where that leads nowhere, or to somebody who is not meant */
export async function discover(
  server: URL,
  asking: Asking,
  { hint, configured, kept }: DiscoveryOptions,
  signal: AbortSignal,
): Promise<Discovered> {
  const resource = await findResource(server, asking, hint, signal);
  if (resource === undefined) return assume(server, asking, configured, signal);
  const { issuers } = resource;
  const chosen = [configured, kept].find((each) => each !== undefined && issuers.includes(each));
  const issuer = chosen ?? issuers[0];
  if (issuer === undefined) {
    throw refuse(`the server names no authorization server for ${excerpt(resource.resource)}`);
  }
  const issuing = await findIssuing(issuer, asking, signal);
  if (issuing === undefined) {
    throw refuse(`the authorization server ${excerpt(issuer)} publishes no metadata`);
  }
  return { ...resource, issuing, isAssumed: false };
}

async function findResource(
  server: URL,
  asking: Asking,
  hint: string | undefined,
  signal: AbortSignal,
): Promise<Resource | undefined> {
  const options = asking.with(server.href, signal);
  const ways = [
    () => oauth.resourceDiscoveryRequest(withoutHash(server), options),
    ...(server.pathname === "/" && server.search === ""
      ? []
      : [() => oauth.resourceDiscoveryRequest(new URL(server.origin), options)]),
  ];
  if (hint !== undefined) {
    if (!URL.canParse(hint)) throw refuse(`the server's metadata is at no URL: ${excerpt(hint)}`);
    ways.unshift(() => asking.ask(new URL(hint), { headers: { accept } }, signal));
  }
  for (const way of ways) {
    const found = await readObject(way);
    if (found !== undefined) return readResource(found, server);
  }
  return undefined;
}

function withoutHash(url: URL): URL {
  const plain = new URL(url);
  plain.hash = "";
  return plain;
}

/** Undefined where there is no such document, whatever is there in its place. */
async function readObject(way: () => Promise<Response>): Promise<JsonObject | undefined> {
  let response: Response;
  try {
    response = await way();
  } catch (cause) {
    throw toUnauthorized("the server's metadata cannot be had", cause);
  }
  if (response.status !== 200) return undefined;
  try {
    const found: unknown = await response.json();
    return isObject(found) ? found : undefined;
  } catch {
    return undefined;
  }
}

/** @throws ClientError for the metadata of another: tokens for it are none of this server's */
function readResource(found: JsonObject, server: URL): Resource {
  const { resource } = found;
  if (typeof resource !== "string" || !covers(resource, server)) {
    throw refuse(
      `the server's metadata is that of ${excerpt(String(resource))}, not of ${server.origin}${server.pathname}`,
    );
  }
  return {
    resource,
    issuers: strings(found["authorization_servers"]) ?? [],
    scopes: strings(found["scopes_supported"]),
    takesOnlyBoundTokens: found["dpop_bound_access_tokens_required"] === true,
  };
}

/** Whether a resource is the server, or the whole of which it is a part. */
export function covers(resource: string, server: URL): boolean {
  if (!URL.canParse(resource)) return false;
  const { origin, pathname, search, hash, username, password } = new URL(resource);
  if (origin !== server.origin || `${hash}${username}${password}` !== "") return false;
  if (search !== "" && search !== server.search) return false;
  return withSlash(server.pathname).startsWith(withSlash(pathname));
}

function withSlash(path: string): string {
  return path.endsWith("/") ? path : `${path}/`;
}

export function strings(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.slice(0, maxListed).filter((each) => typeof each === "string");
}

/** The name of a server by which tokens are asked for, where it says none itself. */
export function canonical({ origin, pathname, search }: URL): string {
  return pathname === "/" ? `${origin}${search}` : `${origin}${pathname}${search}`;
}

/**
 * Before 2025-06-18, a server was its own authorization server, at the root of its origin and
 * without a document to say so (basic/authorization, 2025-03-26).
 */
async function assume(
  server: URL,
  asking: Asking,
  configured: string | undefined,
  signal: AbortSignal,
): Promise<Discovered> {
  const unsaid = { resource: canonical(server), scopes: undefined, takesOnlyBoundTokens: false };
  const issuer = configured ?? server.origin;
  const version = { "mcp-protocol-version": "2025-03-26" };
  const issuing = await findIssuing(issuer, asking, signal, version);
  if (issuing !== undefined) return { ...unsaid, issuing, isAssumed: false };
  if (configured !== undefined) {
    throw refuse(`the authorization server ${excerpt(configured)} publishes no metadata`);
  }
  return {
    ...unsaid,
    issuing: {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      registration_endpoint: `${issuer}/register`,
      code_challenge_methods_supported: ["S256"],
    },
    isAssumed: true,
  };
}

/** Undefined where it publishes nothing. @throws ClientError where what is there is another's */
export async function findIssuing(
  issuer: string,
  asking: Asking,
  signal: AbortSignal,
  headers: Readonly<Record<string, string>> = {},
): Promise<oauth.AuthorizationServer | undefined> {
  if (!URL.canParse(issuer)) {
    throw refuse(`the authorization server has no URL: ${excerpt(issuer)}`);
  }
  const url = new URL(issuer);
  for (const way of documentsOf(url, asking, signal, headers)) {
    const found = await readIssuing(way, issuer);
    if (found !== undefined) return found;
  }
  return undefined;
}

type Way = () => Promise<Response>;

function documentsOf(
  issuer: URL,
  asking: Asking,
  signal: AbortSignal,
  headers: Readonly<Record<string, string>>,
): readonly Way[] {
  const options = { ...asking.with(issuer.href, signal), headers: { ...headers } };
  const ways: Way[] = [() => oauth.discoveryRequest(issuer, { ...options, algorithm: "oauth2" })];
  if (issuer.pathname !== "/") {
    const inserted = new URL(issuer);
    const path = issuer.pathname.replace(/\/$/, "");
    inserted.pathname = `/.well-known/openid-configuration${path}`;
    ways.push(() => asking.ask(inserted, { headers: { ...headers, accept } }, signal));
  }
  ways.push(() => oauth.discoveryRequest(issuer, { ...options, algorithm: "oidc" }));
  return ways;
}

async function readIssuing(
  way: Way,
  issuer: string,
): Promise<oauth.AuthorizationServer | undefined> {
  const what = `the metadata of the authorization server ${excerpt(issuer)}`;
  let response: Response;
  try {
    response = await way();
  } catch (cause) {
    throw toUnauthorized(what, cause);
  }
  if (response.status !== 200) return undefined;
  let found: oauth.AuthorizationServer;
  try {
    found = await oauth.processDiscoveryResponse(new URL(issuer), response);
  } catch (cause) {
    const isOther =
      cause instanceof oauth.OperationProcessingError &&
      cause.code === oauth.JSON_ATTRIBUTE_COMPARISON;
    // A page of another kind, as servers have for any path, is no document.
    if (!isOther) return undefined;
    throw refuse(`${what} is that of another issuer`);
  }
  // The library compares what URLs make of both, and no two spellings are to be one (RFC 8414
  // section 3.3).
  if (withoutSlash(found.issuer) === withoutSlash(issuer)) return found;
  throw refuse(`${what} is that of another issuer`);
}

/** An origin is written both ways, by servers and by what they are configured with. */
function withoutSlash(issuer: string): string {
  return /^[a-z]+:\/\/[^/?#]+\/$/i.test(issuer) ? issuer.slice(0, -1) : issuer;
}

export function refuse(why: string): ClientError {
  return new ClientError("unauthorized", `cannot sign in: ${why}`);
}
