/** The keys that an issuer signs with: given, at a URL, or wherever its own metadata says. */
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
} from "jose";
import { Asked, assertSecure, type FetchOptions } from "./bounded-fetch.ts";

export interface KeyOptions extends FetchOptions {
  /**
   * The issuer's public keys: the URL of its key set, or the set itself.
   * @default where the issuer's metadata says (RFC 8414, OpenID Connect Discovery)
   */
  readonly keys?: string | JSONWebKeySet | undefined;
  /**
   * How long after its keys were fetched a token with an unknown one does not have them
   * fetched again, in milliseconds: anybody can make up names of keys. A new key is known
   * after that time at the latest. @default 30000
   */
  readonly coolDownMs?: number | undefined;
  /** How long keys are taken for good, in milliseconds. @default 600000 */
  readonly cacheMs?: number | undefined;
}

/** Thrown where it cannot be told which keys there are. */
export class KeysUnavailable extends Error {
  override readonly name = "KeysUnavailable";
}

/** Finds the key that a token names. */
export function keysOf(issuer: string, options: KeyOptions): JWTVerifyGetKey {
  const { keys } = options;
  if (typeof keys === "object") return createLocalJWKSet(keys);
  if (typeof keys === "string") {
    assertSecure("keys", keys);
    return remoteKeys(keys, new Asked(options), options);
  }
  assertSecure("issuer", issuer);
  return discoveredKeys(issuer, new Asked(options), options);
}

function remoteKeys(url: string, asked: Asked, options: KeyOptions): JWTVerifyGetKey {
  return createRemoteJWKSet(new URL(url), {
    cooldownDuration: options.coolDownMs ?? 30_000,
    cacheMaxAge: options.cacheMs ?? 600_000,
    timeoutDuration: options.timeoutMs ?? 5_000,
    [customFetch]: async (_url, { headers }) => {
      const found = await orUnavailable(asked.json(url, { headers }));
      if (found === undefined) throw new KeysUnavailable(`there is no key set at ${url}`);
      return Response.json(found);
    },
  });
}

function discoveredKeys(issuer: string, asked: Asked, options: KeyOptions): JWTVerifyGetKey {
  let finding: Promise<JWTVerifyGetKey> | undefined;
  const find = async (): Promise<JWTVerifyGetKey> => {
    const url = await findKeySet(issuer, asked);
    return remoteKeys(url, asked, options);
  };
  return async (header, token) => {
    finding ??= find().catch((cause: unknown) => {
      finding = undefined;
      throw cause;
    });
    const keys = await finding;
    return keys(header, token);
  };
}

async function findKeySet(issuer: string, asked: Asked): Promise<string> {
  for (const url of metadataUrls(issuer)) {
    const found = await orUnavailable(asked.json(url));
    const keys = found?.["jwks_uri"];
    // Metadata of another issuer, at whatever place, is not this one's (RFC 8414 section 3.3).
    if (found?.["issuer"] !== issuer || typeof keys !== "string") continue;
    try {
      assertSecure("jwks_uri", keys);
    } catch (cause) {
      throw new KeysUnavailable("the issuer keeps its keys at no secure place", { cause });
    }
    return keys;
  }
  throw new KeysUnavailable(`${issuer} does not say where its keys are`);
}

/** In the order that clients look in (basic/authorization, Authorization Server Metadata). */
function metadataUrls(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    ...(path === "" ? [] : [`${origin}${path}/.well-known/openid-configuration`]),
  ];
}

async function orUnavailable<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (cause) {
    throw new KeysUnavailable("the issuer's keys cannot be had", { cause });
  }
}
