/**
 * For tests: of a server of yours, in every revision, without a socket; and the contracts of the
 * stores as suites, for backends of your own. All of it runs under any test runner, the suites
 * under those that have a `test(name, run)`.
 */

export { eventHubSuite, type OpenedHub } from "./event-hub.ts";
export {
  type Fault,
  type FaultyStores,
  type OpenedFaultyStores,
  storeFaultsSuite,
} from "./faults.ts";
export {
  type Check,
  connectInMemory,
  type EveryRevisionOptions,
  everyRevision,
  type InMemoryOptions,
  type Revision,
  revisions,
} from "./in-memory.ts";
export { keyStoreSuite, type OpenedKeyStore } from "./key-store.ts";
export { type OpenedOneTimeStore, oneTimeStoreSuite } from "./one-time.ts";
export type { Opened, SuiteRunner } from "./runner.ts";
export { sessionCapsSuite } from "./session-caps.ts";
export { type OpenedSessionStore, sessionStoreSuite } from "./session-store.ts";
