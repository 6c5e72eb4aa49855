/**
 * The contracts of the stores as test suites, for backends of your own. They run under any
 * test runner that has a `test(name, run)`.
 */

export { eventHubSuite, type OpenedHub } from "./event-hub.ts";
export {
  type Fault,
  type FaultyStores,
  type OpenedFaultyStores,
  storeFaultsSuite,
} from "./faults.ts";
export { keyStoreSuite, type OpenedKeyStore } from "./key-store.ts";
export { type OpenedOneTimeStore, oneTimeStoreSuite } from "./one-time.ts";
export type { Opened, SuiteRunner } from "./runner.ts";
export { sessionCapsSuite } from "./session-caps.ts";
export { type OpenedSessionStore, sessionStoreSuite } from "./session-store.ts";
