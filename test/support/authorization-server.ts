/** A real authorization server in this process, with a client, and users who agreed to it. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair } from "jose";
import Provider from "oidc-provider";

const client = { id: "editor", secret: "the secret of the editor" };
const tokenTtlSeconds = 300;

export interface AuthorizationServer extends AsyncDisposable {
  readonly issuer: string;
  /** What a resource server asks with what tokens are. */
  readonly asker: { readonly clientId: string; readonly clientSecret: string };
  /** A token that the client gets for itself. */
  forClient(resource: string, scope?: string): Promise<string>;
  /** What a user's agreement got the client: something to refresh with. */
  agree(user: string, resource: string, scope: string): Promise<string>;
  /** A token for the user, and what gets the next one. */
  refresh(refreshToken: string, resource: string): Promise<{ access: string; refresh: string }>;
  revoke(token: string): Promise<void>;
}

/** @param format - whether its tokens can be read by others than itself */
export async function openAuthorizationServer(
  format: "jwt" | "opaque",
): Promise<AuthorizationServer> {
  const http = createServer();
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, await configuration(format));
  http.on("request", provider.callback());
  const post = async (path: string, form: Record<string, string>) => {
    const basic = [client.id, client.secret].map(encodeURIComponent).join(":");
    const response = await fetch(`${issuer}${path}`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(basic)}` },
      body: new URLSearchParams(form),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
    return text === "" ? {} : JSON.parse(text);
  };
  return {
    issuer,
    asker: { clientId: "mcp-server", clientSecret: "the secret of the server" },
    forClient: async (resource, scope = "read") =>
      (await post("/token", { grant_type: "client_credentials", scope, resource })).access_token,
    agree: (user, resource, scope) => agree(provider, user, resource, scope),
    refresh: async (token, resource) => {
      const form = { grant_type: "refresh_token", refresh_token: token, resource };
      const { access_token: access, refresh_token: refresh } = await post("/token", form);
      return { access, refresh };
    },
    revoke: async (token) => void (await post("/token/revocation", { token })),
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
}

async function configuration(format: "jwt" | "opaque") {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const key = { ...(await exportJWK(privateKey)), kid: "first", alg: "RS256", use: "sig" };
  const ttl = Object.fromEntries(
    ["AccessToken", "ClientCredentials", "Grant", "IdToken", "RefreshToken"].map((name) => [
      name,
      tokenTtlSeconds,
    ]),
  );
  return {
    jwks: { keys: [key] },
    cookies: { keys: ["for tests"] },
    ttl,
    scopes: ["openid", "offline_access", "read", "write"],
    findAccount: (_: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        grant_types: ["client_credentials", "refresh_token", "authorization_code"],
        redirect_uris: ["http://127.0.0.1/callback"],
      },
      {
        client_id: "mcp-server",
        client_secret: "the secret of the server",
        grant_types: [],
        redirect_uris: [],
        response_types: [],
      },
    ],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true, allowedPolicy: () => true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_: unknown, resource: string) => ({
          scope: "read write",
          audience: resource,
          accessTokenFormat: format,
          accessTokenTTL: tokenTtlSeconds,
        }),
      },
    },
  };
}

/** The user has signed in and agreed: what the code would be that the client exchanges. */
async function agree(
  provider: Provider,
  user: string,
  resource: string,
  scope: string,
): Promise<string> {
  const grant = new provider.Grant({ accountId: user, clientId: client.id });
  grant.addResourceScope(resource, scope);
  grant.addOIDCScope("openid offline_access");
  const refresh = new provider.RefreshToken({
    accountId: user,
    client: await provider.Client.find(client.id),
    grantId: await grant.save(),
    scope: `openid offline_access ${scope}`,
    resource,
    gty: "authorization_code",
    expiresWithSession: false,
    rotations: 0,
    iiat: Math.floor(Date.now() / 1_000),
  });
  return refresh.save();
}
