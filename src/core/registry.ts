/** Declarations, each compiled once; lookups, and pages of listings that stay until a change. */
import { decodeToken, encodeToken } from "../util/base64.ts";
import { isObject } from "../util/json.ts";
import { toAsciiUri } from "../util/uri.ts";
import type { PromptEntry, ResourceEntry, TemplateEntry, ToolEntry } from "./entries.ts";
import { DeclarationError } from "./errors.ts";

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
}

interface Listing {
  readonly entries: readonly Entry[];
  /** When each entry was declared, counted up; ascending, as the entries are. */
  readonly ordinals: readonly number[];
  readonly pages: Map<number, Page>;
}

export class Registry {
  readonly #tools: Map<string, ToolEntry> = new Map();
  readonly #resources: Map<string, ResourceEntry> = new Map();
  readonly #templates: Map<string, TemplateEntry> = new Map();
  readonly #prompts: Map<string, PromptEntry> = new Map();
  readonly #listings: Record<ListName, WeakMap<View, Listing>> = {
    tools: new WeakMap(),
    resources: new WeakMap(),
    templates: new WeakMap(),
    prompts: new WeakMap(),
  };
  readonly #declared: Set<ListName> = new Set();
  readonly #ordinals: WeakMap<Entry, number> = new WeakMap();
  #lastOrdinal = 0;
  #completes = false;
  readonly #pageSize: number;
  #frozen = false;
  #generation = 0;

  constructor(pageSize: number) {
    this.#pageSize = pageSize;
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
    this.#changed(entry.list);
    return true;
  }

  tool(name: string, view: View): ToolEntry | undefined {
    return visible(this.#tools.get(name), view);
  }

  resource(uri: string, view: View): ResourceEntry | undefined {
    return visible(this.#resources.get(toAsciiUri(uri)), view);
  }

  template(source: string, view: View): TemplateEntry | undefined {
    return visible(this.#templates.get(source), view);
  }

  *templates(view: View): Generator<TemplateEntry> {
    for (const entry of this.#templates.values()) {
      if (view.offers(entry.since)) yield entry;
    }
  }

  prompt(name: string, view: View): PromptEntry | undefined {
    return visible(this.#prompts.get(name), view);
  }

  /** The page that a cursor names, in declaration order; undefined for a cursor not of ours. */
  page(list: ListName, cursor: string | undefined, view: View): Page | undefined {
    const listing = this.#listing(list, view);
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

  #listing(list: ListName, view: View): Listing {
    const kept = this.#listings[list].get(view);
    if (kept !== undefined) return kept;
    const all = [...this.#map(list).values()];
    const entries = all.filter((entry) => view.offers(entry.since));
    const listing: Listing = {
      entries,
      ordinals: entries.map((entry) => this.#ordinals.get(entry) ?? 0),
      pages: new Map(),
    };
    this.#listings[list].set(view, listing);
    return listing;
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

function visible<E extends Entry>(entry: E | undefined, view: View): E | undefined {
  return entry !== undefined && view.offers(entry.since) ? entry : undefined;
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
