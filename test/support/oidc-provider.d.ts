/** What the tests use of a package that brings no types. */
declare module "oidc-provider" {
  import type { RequestListener } from "node:http";

  interface Saved {
    save(): Promise<string>;
  }

  export default class Provider {
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>);
    callback(): RequestListener;
    readonly Client: { find(id: string): Promise<unknown> };
    readonly Grant: new (
      of: Readonly<Record<string, unknown>>,
    ) => Saved & {
      addResourceScope(resource: string, scope: string): void;
      addOIDCScope(scope: string): void;
    };
    readonly RefreshToken: new (
      of: Readonly<Record<string, unknown>>,
    ) => Saved;
  }
}
