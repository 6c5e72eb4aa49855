/** A server that asks for tokens, and whoever issues them: both say whatever a test wants. */
import type { ServerResponse } from "node:http";
import { type OAuthOptions, oauth } from "anyrev/client/auth";
import { FakeHttp, type FakeRequest, result, sendJson } from "./fake-http.ts";
import { discovery, textResult } from "./fake-peer.ts";

const redirectUri = "http://127.0.0.1:41234/callback";

interface Reply {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  /** @default nothing */
  readonly body?: unknown;
}

/** What a test may say otherwise; each is asked anew for every request. */
export interface Faking {
  /** The server's answer to a request that has a token, where it is no ordinary one. */
  serve?: (token: string, request: FakeRequest, response: ServerResponse) => boolean;
  /** What follows `Bearer` in the challenge of a 401. */
  challenge?: string;
  /** Documents of either, by path; `undefined` for none. */
  serverDocuments: Record<string, unknown>;
  issuerDocuments: Record<string, unknown>;
  token?: (form: URLSearchParams, request: FakeRequest) => Reply | Promise<Reply>;
  register?: (metadata: Record<string, unknown>) => Reply;
  /** What the user comes back with. */
  back?: (parameters: URLSearchParams) => Record<string, string>;
}

export class FakeIssuer implements AsyncDisposable {
  readonly server: FakeHttp;
  readonly issuing: FakeHttp;
  readonly issuer: string;
  readonly faking: Faking;
  /** Where users were sent. */
  readonly asked: URL[] = [];
  /** What users were to be asked, where that is not in the URL. */
  readonly pushed: URLSearchParams[] = [];
  /** What was posted for tokens. */
  readonly forms: URLSearchParams[] = [];
  #tokens = 0;

  private constructor(server: FakeHttp, issuing: FakeHttp) {
    this.server = server;
    this.issuing = issuing;
    this.issuer = new URL(issuing.url).origin;
    this.faking = {
      serverDocuments: {
        "/.well-known/oauth-protected-resource/mcp": this.resource(),
      },
      issuerDocuments: { "/.well-known/oauth-authorization-server": this.metadata() },
    };
  }

  static async open(change: (fake: FakeIssuer) => void = () => undefined): Promise<FakeIssuer> {
    let fake: FakeIssuer | undefined;
    const server = await FakeHttp.open((request, response) => fake?.serve(request, response));
    const issuing = await FakeHttp.open((request, response) => fake?.issue(request, response));
    fake = new FakeIssuer(server, issuing);
    change(fake);
    return fake;
  }

  get url(): string {
    return this.server.url;
  }

  resource(more: object = {}): object {
    return { resource: this.url, authorization_servers: [this.issuer], ...more };
  }

  metadata(more: object = {}, issuer: string = this.issuer): object {
    return {
      issuer,
      authorization_endpoint: `${this.issuer}/authorize`,
      token_endpoint: `${this.issuer}/token`,
      registration_endpoint: `${this.issuer}/register`,
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["none"],
      ...more,
    };
  }

  auth(options: Partial<OAuthOptions> = {}) {
    return oauth({
      redirectUri,
      authorize: async (url) => {
        this.asked.push(url);
        const { searchParams: sent } = url;
        const back = new URL(sent.get("redirect_uri") ?? redirectUri);
        const given = { code: "the-code", state: sent.get("state") ?? "" };
        const parameters = this.faking.back?.(sent) ?? given;
        for (const [name, value] of Object.entries(parameters)) back.searchParams.set(name, value);
        return back;
      },
      ...options,
    });
  }

  /** The documents that were looked for, in order. */
  get looked(): string[] {
    const of = (fake: FakeHttp, who: string) =>
      fake.requests.filter(isDocument).map(({ path, at }) => ({ at, what: `${who} ${path}` }));
    return [...of(this.server, "server"), ...of(this.issuing, "issuer")]
      .sort((one, other) => one.at - other.at)
      .map(({ what }) => what);
  }

  /** The scopes that users were asked for. */
  get scopes(): (string | null)[] {
    return this.asked.map(({ searchParams }) => searchParams.get("scope"));
  }

  private serve(request: FakeRequest, response: ServerResponse): unknown {
    const { serverDocuments, challenge, serve } = this.faking;
    if (isDocument(request)) return sendDocument(serverDocuments[request.path], response);
    if (!/^\/mcp(?:\?|$)/.test(request.path)) return this.issue(request, response);
    const [, token] = /^(?:Bearer|DPoP) (.+)$/.exec(request.headers.authorization ?? "") ?? [];
    if (token === undefined) {
      const hint = challenge === undefined ? "" : ` ${challenge}`;
      return response.writeHead(401, { "www-authenticate": `Bearer${hint}` }).end();
    }
    if (serve?.(token, request, response) === true) return undefined;
    const value =
      request.rpcMethod === "server/discover" ? discovery(["2026-07-28"]) : textResult("done");
    return sendJson(response, result(request.id, value));
  }

  private async issue(request: FakeRequest, response: ServerResponse): Promise<unknown> {
    if (isDocument(request)) {
      return sendDocument(this.faking.issuerDocuments[request.path], response);
    }
    if (request.path === "/register") {
      const made = this.faking.register?.(JSON.parse(request.body)) ?? {
        status: 201,
        body: { client_id: "made-on-the-spot" },
      };
      return send(made, response);
    }
    if (request.path === "/par") {
      this.pushed.push(new URLSearchParams(request.body));
      return send({ status: 201, body: { request_uri: "urn:pushed:1", expires_in: 60 } }, response);
    }
    if (request.path !== "/token") return response.writeHead(404).end();
    const form = new URLSearchParams(request.body);
    this.forms.push(form);
    const granted = { access_token: `token-${++this.#tokens}`, token_type: "Bearer" };
    return send((await this.faking.token?.(form, request)) ?? { body: granted }, response);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await this.issuing[Symbol.asyncDispose]();
  }
}

function isDocument({ path }: FakeRequest): boolean {
  return path.includes("/.well-known/");
}

/** A function answers itself. */
function sendDocument(document: unknown, response: ServerResponse): unknown {
  if (document === undefined) return response.writeHead(404).end();
  if (typeof document === "function")
    return (document as (to: ServerResponse) => unknown)(response);
  return sendJson(response, JSON.stringify(document));
}

function send({ status = 200, headers, body }: Reply, response: ServerResponse): void {
  const text = typeof body === "string" ? body : JSON.stringify(body ?? {});
  sendJson(response, text, status, headers);
}
