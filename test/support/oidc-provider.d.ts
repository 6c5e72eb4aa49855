/** What the tests use of a package that brings no types. */
declare module "oidc-provider" {
  import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";

  interface Saved {
    save(): Promise<string>;
  }

  interface GrantOf extends Saved {
    addResourceScope(resource: string, scope: string): void;
    addOIDCScope(scope: string): void;
  }

  /** What a user is asked for. */
  interface Interaction {
    readonly prompt: {
      readonly name: string;
      readonly details: {
        readonly missingOIDCScope?: readonly string[];
        readonly missingResourceScopes?: Readonly<Record<string, readonly string[]>>;
      };
    };
    readonly params: Readonly<Record<string, unknown>>;
    readonly grantId?: string;
    readonly session?: { readonly accountId: string };
  }

  interface Context {
    readonly oidc: { readonly params?: Readonly<Record<string, unknown>> };
  }

  export default class Provider {
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>);
    callback(): RequestListener;
    readonly Client: { find(id: string): Promise<unknown> };
    on(event: string, listener: (context: Context) => void): void;
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<Interaction>;
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: Readonly<Record<string, unknown>>,
      options: { readonly mergeWithLastSubmission: boolean },
    ): Promise<void>;
    readonly Grant: (new (
      of: Readonly<Record<string, unknown>>,
    ) => GrantOf) & { find(id: string): Promise<GrantOf | undefined> };
    readonly RefreshToken: new (
      of: Readonly<Record<string, unknown>>,
    ) => Saved;
  }
}
