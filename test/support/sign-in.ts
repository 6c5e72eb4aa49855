/** A real authorization server in this process where users sign in, and one who agrees to all. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair } from "jose";
import Provider from "oidc-provider";

export interface SignIn extends AsyncDisposable {
  readonly issuer: string;
  /** What it did: the grants that it gave tokens for, and `register`. */
  readonly done: string[];
  /** The requests that users were sent with. */
  readonly asked: URL[];
  /** What a resource server asks with what tokens are. */
  readonly asker: { readonly clientId: string; readonly clientSecret: string };
  /** A browser, and a user who signs in and agrees: resolves with where they are sent back to. */
  browse(url: URL, options?: { readonly signal?: AbortSignal }): Promise<URL>;
}

export interface SignInOptions {
  readonly format?: "jwt" | "opaque";
  /** @default 300 */
  readonly ttlSeconds?: number;
  /** Who signs in. @default "ada" */
  readonly user?: string;
  /** Clients that it knows. */
  readonly clients?: readonly object[];
}

export async function openSignIn(options: SignInOptions = {}): Promise<SignIn> {
  const http = createServer();
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const asker = { clientId: "mcp-server", clientSecret: "the secret of the server" };
  const provider = new Provider(issuer, await configure(options, asker));
  const done: string[] = [];
  const asked: URL[] = [];
  provider.on("grant.success", ({ oidc }) => done.push(String(oidc.params?.["grant_type"])));
  provider.on("registration_create.success", () => done.push("register"));
  const serve = provider.callback();
  http.on("request", (request, response) => {
    if (!request.url?.startsWith("/interaction/")) return serve(request, response);
    agree(provider, options.user ?? "ada", request, response).catch((cause: unknown) => {
      response.writeHead(500).end(String(cause));
    });
  });
  return {
    issuer,
    done,
    asked,
    asker,
    browse: (url, { signal } = {}) => {
      asked.push(url);
      return browse(url, signal);
    },
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
}

async function configure(
  { format = "jwt", ttlSeconds = 300, clients = [] }: SignInOptions,
  asker: SignIn["asker"],
) {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const key = { ...(await exportJWK(privateKey)), kid: "first", alg: "RS256", use: "sig" };
  return {
    jwks: { keys: [key] },
    cookies: { keys: ["for tests"] },
    ttl: { AccessToken: ttlSeconds, Grant: 3600, IdToken: 300, RefreshToken: 3600, Session: 3600 },
    scopes: ["openid", "offline_access", "read", "write", "admin"],
    findAccount: (_: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    clients: [
      {
        client_id: asker.clientId,
        client_secret: asker.clientSecret,
        grant_types: [],
        redirect_uris: [],
        response_types: [],
      },
      ...clients,
    ],
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      clientCredentials: { enabled: true },
      introspection: { enabled: true, allowedPolicy: () => true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_: unknown, resource: string) => ({
          scope: "read write admin",
          audience: resource,
          accessTokenFormat: format,
          accessTokenTTL: ttlSeconds,
        }),
      },
    },
  };
}

async function agree(
  provider: Provider,
  user: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { prompt, params, grantId, session } = await provider.interactionDetails(request, response);
  let result: Readonly<Record<string, unknown>> = { login: { accountId: user } };
  if (prompt.name === "consent") {
    const known = grantId === undefined ? undefined : await provider.Grant.find(grantId);
    const grant =
      known ?? new provider.Grant({ accountId: session?.accountId, clientId: params["client_id"] });
    const { missingOIDCScope = [], missingResourceScopes = {} } = prompt.details;
    if (missingOIDCScope.length > 0) grant.addOIDCScope(missingOIDCScope.join(" "));
    for (const [resource, scopes] of Object.entries(missingResourceScopes)) {
      grant.addResourceScope(resource, scopes.join(" "));
    }
    result = { consent: { grantId: await grant.save() } };
  }
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
}

/** Follows redirects with cookies, as far as they lead to the authorization server. */
async function browse(from: URL, signal: AbortSignal | undefined): Promise<URL> {
  const cookies = new Map<string, string>();
  let url = from;
  for (let hops = 0; url.origin === from.origin; hops++) {
    if (hops > 10) throw new Error(`the browser goes round in circles: ${url}`);
    const response = await fetch(url, {
      redirect: "manual",
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
      ...(signal && { signal }),
    });
    const text = await response.text();
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get("location");
    if (location === null) throw new Error(`HTTP ${response.status} at ${url}: ${text}`);
    url = new URL(location, url);
  }
  return url;
}
