/** What one client may take from a cache: by which server, in which words, and for whom. */
import type { ChangeableList } from "../core/call.ts";
import type { CacheHints } from "../core/model.ts";
import type { Change } from "../core/notice.ts";
import { isObject, type JsonObject } from "../util/json.ts";
import type { CacheSubject, Expected, ResponseCache } from "./cache.ts";
import { ClientError } from "./errors.ts";

export interface RecallOptions {
  readonly cache: ResponseCache;
  /** Undefined where nobody else is to be taken for a client of the same server. */
  readonly server: string | undefined;
  /** Undefined where nobody else is to be taken for the same caller. */
  readonly context: string | (() => string) | undefined;
}

/** A request whose result may be kept. */
export interface Recallable {
  /** How the server is spoken to: revision, and what this side declares. */
  readonly spoken: readonly unknown[];
  readonly method: string;
  readonly params: JsonObject;
  /** Which list it is of. */
  readonly list?: ChangeableList | undefined;
  /** Which resource it is of. */
  readonly uri?: string | undefined;
}

export interface Fetched<T> {
  readonly value: T;
  readonly cache: CacheHints | undefined;
  /** The resources that it tells of. */
  readonly uris?: readonly string[] | undefined;
}

/**
 * Asks a server.
 *
 * @param received - to be called with each answer: what is pieced together ages with its first
 */
export type Fetching<T> = (received: () => void) => Promise<Fetched<T>>;

/** Of a request's `_meta`, what no result depends on (basic/index, 2026-07-28). */
const traceKeys: ReadonlySet<string> = new Set(["traceparent", "tracestate", "baggage"]);

export class Recall {
  readonly #cache: ResponseCache;
  readonly #server: string;
  readonly #context: () => string;

  constructor({ cache, server, context = crypto.randomUUID() }: RecallOptions) {
    this.#cache = cache;
    this.#server = server ?? crypto.randomUUID();
    this.#context = typeof context === "function" ? context : () => context;
  }

  /** What is kept, unless `fresh` is wanted; else what is fetched, which is kept where it may be. */
  async through<T>(
    asked: Recallable,
    fresh: boolean,
    fetch: Fetching<T>,
  ): Promise<Omit<Fetched<T>, "uris">> {
    const subject = this.#subject(asked);
    const recalled = fresh ? undefined : this.#cache.recall(subject);
    // What is kept was put in by this class under the same method, so it is of the same type.
    if (recalled !== undefined) return { value: recalled.value as T, cache: recalled.cache };
    const expected = this.#cache.expect(subject);
    try {
      const fetched = await this.#fetch(expected, fetch);
      expected.keep(fetched.value, this.#allowed(fetched, subject), fetched.uris);
      return fetched;
    } finally {
      expected.end();
    }
  }

  /** Hears what has changed, before anybody else who may ask again because of it. */
  change(change: Change): void {
    this.#cache.invalidate(this.#server, change);
  }

  async #fetch<T>(expected: Expected, fetch: Fetching<T>): Promise<Fetched<T>> {
    try {
      return await fetch(() => expected.received());
    } catch (cause) {
      if (cause instanceof ClientError && cause.kind === "refused") expected.refused();
      throw cause;
    }
  }

  /** Whoever asked may have become somebody else meanwhile: then it is unknown whose it is. */
  #allowed({ cache }: Fetched<unknown>, { context }: CacheSubject): CacheHints | undefined {
    return cache?.scope === "public" || this.#context() === context ? cache : undefined;
  }

  #subject({ spoken, method, params, list, uri }: Recallable): CacheSubject {
    const { _meta, ...own } = params;
    const meta = Object.entries(isObject(_meta) ? _meta : {}).filter(
      ([key]) => !traceKeys.has(key),
    );
    const request = JSON.stringify([method, own, meta, spoken]);
    return { server: this.#server, request, context: this.#context(), list, uri };
  }
}
