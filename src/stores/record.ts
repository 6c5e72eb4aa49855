/** Session records as the text that is kept of them. */
import { StoreError } from "../core/store-error.ts";
import type { SessionRecord } from "./session-store.ts";

/**
 * A record as JSON, without what a store keeps beside it.
 *
 * @throws StoreError `too-large` when it takes more than so many characters
 */
export function writeRecord(record: SessionRecord, maxLength: number): string {
  const { id: _, writeVersion: __, ...kept } = record;
  const text = JSON.stringify(kept);
  if (text.length <= maxLength) return text;
  throw new StoreError(
    "too-large",
    `a session takes ${text.length} characters; ${maxLength} are kept`,
  );
}

/** What {@link writeRecord} wrote. Only this package writes it. */
export function readRecord(id: string, text: string, writeVersion: number): SessionRecord {
  const kept = JSON.parse(text) as Omit<SessionRecord, "id" | "writeVersion">;
  return {
    id,
    revision: kept.revision,
    client: kept.client,
    capabilities: kept.capabilities,
    logLevel: kept.logLevel,
    subscriptions: kept.subscriptions,
    principal: kept.principal,
    values: kept.values,
    writeVersion,
  };
}
