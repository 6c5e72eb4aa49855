/** `anyrev/client/auth`: how a client is authorized where a server asks for that. */
export type { AskingOptions } from "./asking.ts";
export type { CameBack, CodeOptions } from "./code-grant.ts";
export type { AuthMethod, KnownClient, RegistrationOptions } from "./identity.ts";
export type {
  AssertedTo,
  AssertionSource,
  EnterpriseGrantOptions,
  IdentityProvider,
} from "./machine-grants.ts";
export {
  type ClientCredentialsOptions,
  clientCredentials,
  type EnterpriseOptions,
  enterpriseManaged,
  type OAuthOptions,
  oauth,
  type TokenOptions,
  type WorkloadOptions,
  workloadIdentity,
} from "./oauth.ts";
export { MemoryTokens, type MemoryTokensOptions, type TokenStore } from "./store.ts";
