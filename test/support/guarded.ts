/** The fixture where users have to sign in, and clients that do so. */
import { type AuthRequest, checkJwt } from "anyrev/auth";
import type { Client, ConnectOptions, ToolResult } from "anyrev/client";
import { type OAuthOptions, oauth } from "anyrev/client/auth";
import { type ServeOptions, type Serving, serve } from "anyrev/node";
import { createFixture } from "../../fixture/declare.ts";
import { connect } from "./connecting.ts";
import type { SignIn } from "./sign-in.ts";
import type { Revision } from "./wire.ts";

export const redirectUri = "http://127.0.0.1:41234/callback";

export interface Guarded extends AsyncDisposable {
  readonly url: string;
  readonly serving: Serving;
  /** Every token that was seen, in order. */
  readonly seen: string[];
  /** Those that are no good any more. */
  readonly revoked: Set<string>;
  /** What came with a method other than POST, and its token. */
  readonly routes: string[];
}

export async function openGuarded(
  issuing: SignIn,
  options: Partial<ServeOptions> = {},
): Promise<Guarded> {
  const seen: string[] = [];
  const routes: string[] = [];
  const revoked = new Set<string>();
  const check = checkJwt({ issuer: issuing.issuer });
  const authenticate = (request: AuthRequest) => {
    const token = request.credentials?.value ?? "";
    seen.push(token);
    if (request.method !== "POST") routes.push(`${request.method} ${token !== ""}`);
    if (revoked.has(token)) return { kind: "refused", description: "revoked" } as const;
    return check.authenticate(request);
  };
  const serving = await serve(createFixture({ restricted: true, log: () => undefined }), {
    port: 0,
    drainMs: 100,
    auth: { scopes: ["read"], authenticators: [{ ...check, authenticate }] },
    ...options,
  });
  return {
    url: serving.url,
    serving,
    seen,
    revoked,
    routes,
    [Symbol.asyncDispose]: () => serving.close(),
  };
}

export function asUser(issuing: SignIn, options: Partial<OAuthOptions> = {}) {
  return oauth({ redirectUri, authorize: issuing.browse, ...options });
}

export function connectAs(
  url: string,
  revision: Revision,
  auth: ConnectOptions["auth"],
  options: ConnectOptions = {},
): Promise<Client> {
  return connect(url, { revisions: revision, auth, ...options });
}

/** Who the server thinks the client is. */
export async function principalOf(client: Client): Promise<unknown> {
  return JSON.parse(textOf(await client.call("whoami", {}))).principal;
}

export function textOf({ content }: ToolResult): string {
  const [first] = content;
  return first?.type === "text" ? first.text : "";
}
