/** What each backend makes of one connection. */
import type { OneTimeStore } from "../core/one-time.ts";
import type { EventHub } from "./event-hub.ts";
import type { KeyStore } from "./key-store.ts";
import type { SessionStore } from "./session-store.ts";

/** Four stores over one connection, for all that workers have to agree on. */
export interface SharedStores {
  /** For `sessionStore` of an endpoint. */
  readonly sessions: SessionStore;
  /** For `eventHub` of an endpoint. */
  readonly hub: EventHub;
  /** For `singleUse` of the request state. */
  readonly oneTime: OneTimeStore;
  readonly keys: KeyStore;
  /** Ends what runs on its own. The caller's connection stays open: it is the caller's. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
