/** A whole listing out of its pages, however a server cuts them. */
import type { ChangeableList } from "../core/call.ts";
import { isObject, type JsonObject } from "../util/json.ts";
import type { Completed } from "./connection.ts";
import { ClientError } from "./errors.ts";
import type { Listings } from "./model.ts";
import type { Fetched } from "./recall.ts";

export type ListingName = keyof Listings;

interface ListingKind {
  readonly method: string;
  /** The member of a result that holds the entries. */
  readonly member: string;
  /** What tells an entry from all others. */
  readonly key: string;
  /** The list whose changes it hears of. */
  readonly list: ChangeableList;
}

export const listings: Readonly<Record<ListingName, ListingKind>> = {
  tools: { method: "tools/list", member: "tools", key: "name", list: "tools" },
  resources: { method: "resources/list", member: "resources", key: "uri", list: "resources" },
  templates: {
    method: "resources/templates/list",
    member: "resourceTemplates",
    key: "uriTemplate",
    list: "resources",
  },
  prompts: { method: "prompts/list", member: "prompts", key: "name", list: "prompts" },
};

/** Against a server that never comes to an end. */
const maxPages = 1_000;
const maxEntries = 100_000;

/**
 * Fetches every page. Entries that are repeated or that have no name are left out. The whole may
 * be kept as long as each of its pages: asked for anew, it is one snapshot again.
 */
export async function listAll<Name extends ListingName>(
  name: Name,
  request: (method: string, params: JsonObject) => Promise<Completed>,
  warn: (message: string) => void,
): Promise<Fetched<readonly Listings[Name][]>> {
  const { method } = listings[name];
  const entries = new Map<string, Listings[Name]>();
  const seen = new Set<string>();
  const first = await request(method, {});
  let { cache } = first;
  let next = takePage(name, first.result, entries, warn);
  while (next !== undefined) {
    if (seen.has(next) || seen.size >= maxPages || entries.size >= maxEntries) {
      warn(`${method} was cut off: its cursor does not come to an end`);
      cache = undefined;
      break;
    }
    seen.add(next);
    const page = await request(method, { cursor: next });
    cache = shorter(cache, page.cache);
    next = takePage(name, page.result, entries, warn);
  }
  return { value: [...entries.values()], cache };
}

/** @returns the cursor of the next page, where there is one. */
function takePage<Name extends ListingName>(
  name: Name,
  result: JsonObject,
  entries: Map<string, Listings[Name]>,
  warn: (message: string) => void,
): string | undefined {
  const { method, member, key } = listings[name];
  const page = result[member];
  if (!Array.isArray(page)) {
    throw new ClientError("invalid-answer", `the result of ${method} has no list of ${member}`);
  }
  for (const entry of page) {
    const id = isObject(entry) ? entry[key] : undefined;
    if (typeof id !== "string" || !isEntry<Listings[Name]>(name, entry)) {
      warn(`${method} listed something without a usable ${key}`);
    } else if (!entries.has(id)) entries.set(id, entry);
  }
  const next = result["nextCursor"];
  return typeof next === "string" ? next : undefined;
}

/** Enough is checked that code which handles an entry does not stumble over it. */
function isEntry<T>(name: ListingName, entry: unknown): entry is T {
  if (!isObject(entry)) return false;
  if (name === "tools") return isObject(entry["inputSchema"]);
  return entry["name"] === undefined || typeof entry["name"] === "string";
}

function shorter(one: Completed["cache"], other: Completed["cache"]): Completed["cache"] {
  if (one === undefined || other === undefined) return undefined;
  return {
    ttlMs: Math.min(one.ttlMs, other.ttlMs),
    scope: one.scope === "private" ? "private" : other.scope,
  };
}
