/** Declarations, each compiled once; lookups, and pages of listings that stay until a change. */
import { decodeToken, encodeToken } from "../util/base64.ts";
import { isObject } from "../util/json.ts";
import { toAsciiUri } from "../util/uri.ts";
import { type Access, findLack, holds, isVisible, type Restriction } from "./access.ts";
import type { PromptEntry, ResourceEntry, TemplateEntry, ToolEntry } from "./entries.ts";
import { DeclarationError } from "./errors.ts";
import type { Failure } from "./outcome.ts";

export type ListName = "tools" | "resources" | "templates" | "prompts";

export type Entry = ToolEntry | ResourceEntry | TemplateEntry | PromptEntry;

/** What a revision can see of the declarations; one object for each adapter. */
export interface View {
  offers(since: string | undefined): boolean;
}

/** Some of a listing, ready to be projected. The same object until the listing changes. */
export interface Page {
  readonly list: ListName;
  readonly entries: readonly Entry[];
  readonly nextCursor: string | undefined;
  /** Other callers may see another listing. */
  readonly isPrivate: boolean;
}

interface Listing {
  readonly entries: readonly Entry[];
  /** When each entry was declared, counted up; ascending, as the entries are. */
  readonly ordinals: readonly number[];
  readonly pages: Map<number, Page>;
}

/** Visibility sets whose listings are kept, for each list and view; the longest unused goes first. */
const maxKeptListings = 64;

export class Registry {
  readonly #tools: Map<string, ToolEntry> = new Map();
  readonly #resources: Map<string, ResourceEntry> = new Map();
  readonly #templates: Map<string, TemplateEntry> = new Map();
  readonly #prompts: Map<string, PromptEntry> = new Map();
  /** By what the caller can see of the entries that not everyone sees. */
  readonly #listings: Record<ListName, WeakMap<View, Map<string, Listing>>> = {
    tools: new WeakMap(),
    resources: new WeakMap(),
    templates: new WeakMap(),
    prompts: new WeakMap(),
  };
  /** The entries that are not in everyone's listing. */
  readonly #partial: Record<ListName, Set<Entry>> = {
    tools: new Set(),
    resources: new Set(),
    templates: new Set(),
    prompts: new Set(),
  };
  readonly #hidesLacking: boolean;
  #restricted = false;
  readonly #declared: Set<ListName> = new Set();
  readonly #ordinals: WeakMap<Entry, number> = new WeakMap();
  #lastOrdinal = 0;
  #completes = false;
  readonly #pageSize: number;
  #frozen = false;
  #generation = 0;

  constructor(pageSize: number, hidesLacking = false) {
    this.#pageSize = pageSize;
    this.#hidesLacking = hidesLacking;
  }

  get frozen(): boolean {
    return this.#frozen;
  }

  /** Grows with every change, so that what was derived from the declarations can be kept. */
  get generation(): number {
    return this.#generation;
  }

  freeze(): void {
    if (this.#frozen) return;
    this.#frozen = true;
    this.#generation++;
  }

  /** Whether the server ever declared one of these: a capability does not come and go. */
  has(list: ListName): boolean {
    return this.#declared.has(list);
  }

  /** Whether anything ever declared has suggestions for its arguments. */
  get completes(): boolean {
    return this.#completes;
  }

  /** @throws DeclarationError when its key is taken, or the declarations are frozen. */
  add(entry: Entry): void {
    this.#assertOpen();
    if (this.#map(entry.list).has(entry.key)) {
      throw new DeclarationError(
        `${JSON.stringify(entry.key)} is already declared among the ${entry.list}; remove it first, or give this one another name`,
      );
    }
    switch (entry.list) {
      case "tools":
        this.#tools.set(entry.key, entry);
        break;
      case "resources":
        this.#resources.set(entry.key, entry);
        break;
      case "templates":
        this.#templates.set(entry.key, entry);
        break;
      case "prompts":
        this.#prompts.set(entry.key, entry);
        break;
    }
    this.#declared.add(entry.list);
    if (entry.restriction !== undefined) this.#restrict(entry, entry.restriction);
    this.#completes ||= "completers" in entry && entry.completers.size > 0;
    this.#ordinals.set(entry, ++this.#lastOrdinal);
    this.#changed(entry.list);
  }

  /** Takes back this very entry; one declared later under the same key stays. */
  remove(entry: Entry): boolean {
    this.#assertOpen();
    const map = this.#map(entry.list);
    if (map.get(entry.key) !== entry) return false;
    map.delete(entry.key);
    this.#partial[entry.list].delete(entry);
    this.#changed(entry.list);
    return true;
  }

  /** Whether anything was ever declared that not everyone may see or use. */
  get restricted(): boolean {
    return this.#restricted;
  }

  tool(name: string, view: View, access: Access): ToolEntry | undefined {
    return visible(this.#tools.get(name), view, access);
  }

  resource(uri: string, view: View, access: Access): ResourceEntry | undefined {
    return visible(this.#resources.get(toAsciiUri(uri)), view, access);
  }

  template(source: string, view: View, access: Access): TemplateEntry | undefined {
    return visible(this.#templates.get(source), view, access);
  }

  *templates(view: View, access: Access): Generator<TemplateEntry> {
    for (const entry of this.#templates.values()) {
      if (visible(entry, view, access) !== undefined) yield entry;
    }
  }

  prompt(name: string, view: View, access: Access): PromptEntry | undefined {
    return visible(this.#prompts.get(name), view, access);
  }

  /** Why a caller may not watch what it can see; undefined where it may. */
  watchable(uri: string, view: View, access: Access): Failure | undefined {
    if (!this.#restricted) return undefined;
    const entry = this.#serving(uri, (each) => visible(each, view, access) !== undefined);
    return entry && findLack(`the resource ${entry.name}`, entry.restriction, access);
  }

  /** Whether a caller may hear of a resource: one that it cannot read tells it nothing. */
  tells(uri: string, access: Access): boolean {
    if (!this.#restricted) return true;
    const entry = this.#serving(uri, () => true);
    if (entry?.restriction === undefined) return true;
    return isVisible(entry.restriction, access) && holds(access, entry.restriction.scopes);
  }

  #serving(
    uri: string,
    isSeen: (entry: ResourceEntry | TemplateEntry) => boolean,
  ): ResourceEntry | TemplateEntry | undefined {
    const declared = this.#resources.get(toAsciiUri(uri));
    if (declared !== undefined && isSeen(declared)) return declared;
    for (const entry of this.#templates.values()) {
      if (isSeen(entry) && entry.template.match(uri) !== undefined) return entry;
    }
    return undefined;
  }

  /** The page that a cursor names, in declaration order; undefined for a cursor not of ours. */
  page(list: ListName, cursor: string | undefined, view: View, access: Access): Page | undefined {
    const listing = this.#listing(list, view, access);
    const start = cursor === undefined ? 0 : findStart(list, cursor, listing.ordinals);
    if (start === undefined) return undefined;
    const kept = listing.pages.get(start);
    if (kept !== undefined) return kept;
    const end = start + this.#pageSize;
    const last = listing.ordinals[end - 1];
    const page: Page = {
      list,
      entries: listing.entries.slice(start, end),
      nextCursor:
        last === undefined || end >= listing.entries.length ? undefined : writeCursor(list, last),
      isPrivate: this.#partial[list].size > 0,
    };
    // Made-up cursors may point anywhere; only the pages of a walk from the start are kept.
    if (start % this.#pageSize === 0) listing.pages.set(start, page);
    return page;
  }

  #map(list: ListName): Pick<Map<string, Entry>, "get" | "has" | "delete" | "values"> {
    switch (list) {
      case "tools":
        return this.#tools;
      case "resources":
        return this.#resources;
      case "templates":
        return this.#templates;
      case "prompts":
        return this.#prompts;
    }
  }

  #listing(list: ListName, view: View, access: Access): Listing {
    const partial = this.#partial[list];
    const seen = partial.size === 0 ? "" : this.#seenOf(partial, access);
    const kept = this.#listings[list].get(view) ?? new Map<string, Listing>();
    const known = kept.get(seen);
    if (known !== undefined) {
      if (partial.size > 0) touch(kept, seen, known);
      return known;
    }
    const listing = this.#makeListing(list, view, access);
    touch(kept, seen, listing);
    const [oldest] = kept.keys();
    if (kept.size > maxKeptListings && oldest !== undefined) kept.delete(oldest);
    this.#listings[list].set(view, kept);
    return listing;
  }

  #makeListing(list: ListName, view: View, access: Access): Listing {
    const partial = this.#partial[list];
    const all = [...this.#map(list).values()];
    const entries = all.filter(
      (entry) => view.offers(entry.since) && (!partial.has(entry) || this.#isListed(entry, access)),
    );
    return {
      entries,
      ordinals: entries.map((entry) => this.#ordinals.get(entry) ?? 0),
      pages: new Map(),
    };
  }

  /** One letter for each entry: callers with the same text have the same listing. */
  #seenOf(partial: ReadonlySet<Entry>, access: Access): string {
    let seen = "";
    for (const entry of partial) seen += this.#isListed(entry, access) ? "1" : "0";
    return seen;
  }

  #isListed({ restriction }: Entry, access: Access): boolean {
    if (!isVisible(restriction, access)) return false;
    return !this.#hidesLacking || restriction === undefined || holds(access, restriction.scopes);
  }

  #restrict(entry: Entry, { scopes, visibleTo }: Restriction): void {
    this.#restricted = true;
    const isPartial = visibleTo !== undefined || (this.#hidesLacking && scopes.length > 0);
    if (isPartial) this.#partial[entry.list].add(entry);
  }

  #changed(list: ListName): void {
    this.#generation++;
    this.#listings[list] = new WeakMap();
  }

  #assertOpen(): void {
    if (!this.#frozen) return;
    throw new DeclarationError("the declarations are frozen; declare before freeze()");
  }
}

function visible<E extends Entry>(entry: E | undefined, view: View, access: Access): E | undefined {
  if (entry === undefined || !view.offers(entry.since)) return undefined;
  return isVisible(entry.restriction, access) ? entry : undefined;
}

/** Puts a key last, so that those that nobody asks for come first. */
function touch<V>(kept: Map<string, V>, key: string, value: V): void {
  kept.delete(key);
  kept.set(key, value);
}

/**
 * A cursor names the declaration that came last, by its place in the order of declaring:
 * any worker that declares the same can follow it, and a listing that changed meanwhile
 * neither repeats nor skips what it still holds.
 */
function writeCursor(list: ListName, after: number): string {
  return encodeToken(JSON.stringify({ list, after }));
}

function findStart(
  list: ListName,
  cursor: string,
  ordinals: readonly number[],
): number | undefined {
  const read = parseCursor(cursor);
  if (read === undefined || read.list !== list) return undefined;
  const start = ordinals.findIndex((ordinal) => ordinal > read.after);
  return start < 0 ? ordinals.length : start;
}

function parseCursor(cursor: string): { list: unknown; after: number } | undefined {
  const text = decodeToken(cursor);
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value)) return undefined;
    const { list, after } = value;
    return Number.isSafeInteger(after) && Number(after) > 0
      ? { list, after: Number(after) }
      : undefined;
  } catch {
    // Not one of ours; the caller answers with an invalid cursor.
    return undefined;
  }
}
