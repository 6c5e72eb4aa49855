/** Any string as text that every backend keeps as it is. */
import { StoreError } from "../core/store-error.ts";

const mark = "\u0001";
/** PostgreSQL keeps no U+0000, and nothing that encodes as UTF-8 keeps half a pair. */
const unkept = /[\0\p{Surrogate}]/u;

export function toKept(text: string): string {
  return unkept.test(text) || text.startsWith(mark) ? mark + JSON.stringify(text) : text;
}

/** What {@link toKept} made. */
export function fromKept(kept: string): string {
  return kept.startsWith(mark) ? String(JSON.parse(kept.slice(1))) : kept;
}

/** Longer names do not fit in an index of every backend, and have no business to be. */
const maxName = 512;

/**
 * A name as it is kept and looked for.
 *
 * @throws StoreError `too-large`
 */
export function toName(what: string, name: string): string {
  const kept = toKept(name);
  if (kept.length <= maxName) return kept;
  throw new StoreError("too-large", `${what} takes ${kept.length} characters; it can have 512`);
}
