/** A session as the suites keep it. */
import type { SessionRecord } from "../stores/session-store.ts";

export function record(id: string, more: Partial<SessionRecord> = {}): SessionRecord {
  return {
    id,
    revision: "2025-06-18",
    client: { name: "suite", version: "1.0.0" },
    capabilities: { roots: {} },
    logLevel: undefined,
    subscriptions: [],
    principal: "",
    values: {},
    writeVersion: 0,
    ...more,
  };
}
