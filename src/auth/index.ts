/** `anyrev/auth`: who is calling, and what they may do. */
export { type Access, anyone, type Principal, type Visibility } from "../core/access.ts";
export {
  type Authenticator,
  type AuthRequest,
  checkBearer,
  type Refusal,
  refuseCredentials,
  unavailable,
  type Verdict,
} from "./authenticator.ts";
export type { Fetch, FetchOptions } from "./bounded-fetch.ts";
export type { Credentials } from "./credentials.ts";
export type { AuthOptions } from "./gate.ts";
export { checkIntrospected, type IntrospectionOptions } from "./introspection.ts";
export { checkJwt, type JwtOptions } from "./jwt.ts";
export type { KeyOptions } from "./keys.ts";
export { nameResource, type ResourceNames } from "./metadata.ts";
export { accessOf } from "./owners.ts";
export { checkPasswords, checkTokens, type StaticToken, type StaticUser } from "./secrets.ts";
