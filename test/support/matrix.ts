/** The rows that behaviour is tested in: every revision over every bridge. */
import { type BridgeName, bridges } from "./bridges.ts";
import { type Revision, revisions } from "./wire.ts";

export interface Row {
  readonly revision: Revision;
  readonly bridge: BridgeName;
}

export const handshakes: readonly Revision[] = revisions.filter(
  (revision) => revision !== "2026-07-28",
);

/** For `it.each`, with `$revision` and `$bridge` in the name. */
export function rows(of: readonly Revision[] = revisions): Row[] {
  return of.flatMap((revision) => bridges.map((bridge) => ({ revision, bridge })));
}

/** The same with sessions kept and not kept; 2026-07-28 has none either way. */
export function sessionRows(of: readonly Revision[] = revisions): (Row & { session: boolean })[] {
  return [true, false].flatMap((session) => rows(of).map((row) => ({ ...row, session })));
}
