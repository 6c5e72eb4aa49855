/** A client of one server, whichever revision that speaks. */
import type { ContentBlock, PromptMessage, ResourceContents } from "../core/model.ts";
import type { Change } from "../core/notice.ts";
import { isHeaderMismatch, isMisinformed } from "../revisions/refusals.ts";
import { toListener } from "../util/callback.ts";
import { isObject, type JsonObject } from "../util/json.ts";
import { kindsOf } from "./answering.ts";
import { ResponseCache } from "./cache.ts";
import { type Asking, type Completed, Connection } from "./connection.ts";
import { ClientError, isRefusal } from "./errors.ts";
import type { Link } from "./link.ts";
import { type Interests, Listeners, type Listening } from "./listening.ts";
import { type ListingName, listAll, listings } from "./listing.ts";
import type {
  Completion,
  Listings,
  PromptResult,
  ReadContents,
  ServerDescription,
  Tool,
  ToolResult,
} from "./model.ts";
import type { Target } from "./negotiate.ts";
import { type CallOptions, type ClientOptions, defaults, toAccepted } from "./options.ts";
import { type Fetched, Recall, type Recallable } from "./recall.ts";
import { ToolBook } from "./tool-book.ts";
import { MemoryVerdicts } from "./verdicts.ts";
import { untilAborted } from "./watch.ts";

/** What is completed: an argument of a prompt, or a variable of a resource template. */
export interface CompletionTarget {
  readonly of: "prompt" | "template";
  /** The prompt's name, or the template as it is listed. */
  readonly target: string;
  readonly argument: string;
  /** What the user has written so far. */
  readonly value: string;
  /** What is known of the other arguments. @default nothing */
  readonly others?: Readonly<Record<string, string>> | undefined;
}

type Requesting = (method: string, params: JsonObject) => Promise<Completed>;

/** What this process has learnt of servers: the same for every client that is given no other. */
const sharedVerdicts = new MemoryVerdicts();

/**
 * Speaks to one server until it is closed. Operations reject with a {@link ClientError}; a
 * session or a process that was lost is opened anew by the next one.
 */
export class Client implements AsyncDisposable {
  readonly #connection: Connection;
  readonly #listeners: Listeners;
  readonly #tools: ToolBook;
  readonly #options: ClientOptions;
  readonly #recall: Recall | undefined;
  readonly #warn: (message: string) => void;

  private constructor(target: Target, options: ClientOptions) {
    this.#options = options;
    const warn = toListener(options.onWarning);
    this.#warn = warn;
    this.#tools = new ToolBook(warn);
    this.#recall = toRecall(target, options);
    this.#connection = new Connection(target, {
      info: options.info ?? defaults.info,
      accepted: toAccepted(options.revisions),
      handlers: options,
      extensions: options.extensions,
      listeners: {
        log: toListener(options.onLog),
        change: (change, subscription) => {
          this.#changed(change);
          this.#listeners.change(change, subscription);
        },
        acknowledged: (filter, subscription) => this.#listeners.acknowledged(filter, subscription),
        warn,
      },
      logLevel: options.logLevel,
      mirrors: options.mirrors ?? "as-specified",
      telemetry: options.telemetry,
      verdicts: options.verdicts ?? sharedVerdicts,
      timeoutMs: options.timeoutMs ?? defaults.timeoutMs,
      probeTimeoutMs: options.probeTimeoutMs ?? defaults.probeTimeoutMs,
      maxRounds: options.maxRounds ?? defaults.maxRounds,
      recall: this.#recall,
      onOpen: (link) => this.#opened(link),
    });
    this.#listeners = new Listeners(this.#connection, {
      alwaysFollows: kindsOf(options).length > 0 || options.onLog !== undefined,
      missed: (change) => this.#changed(change),
      warn,
    });
  }

  /** Connects; the client is of no use to anybody before. @throws ClientError */
  static async open(
    target: Target,
    options: ClientOptions = {},
    signal?: AbortSignal,
  ): Promise<Client> {
    const client = new Client(target, options);
    try {
      await client.#connection.link(untilAborted(signal));
      return client;
    } catch (cause) {
      await client.close();
      throw cause;
    }
  }

  /** Who the server is, what it can do, and the revision that is spoken. */
  get server(): ServerDescription {
    return this.#connection.description;
  }

  /** A whole listing, all of its pages. */
  async list<Name extends ListingName>(
    name: Name,
    options: CallOptions = {},
  ): Promise<readonly Listings[Name][]> {
    const { method, list } = listings[name];
    const { value } = await this.#through({ method, params: {}, list }, options, (request) =>
      listAll(name, request, this.#warn),
    );
    if (name === "tools") {
      const usable = this.#tools.learn(value as readonly Tool[], this.#isMirroring());
      return usable as readonly Listings[Name][];
    }
    return value;
  }

  /** Calls a tool. A tool that failed is a result with `isError`, not a rejection. */
  async call(name: string, args: JsonObject = {}, options: CallOptions = {}): Promise<ToolResult> {
    const params = withMeta({ name, arguments: args }, options);
    const call = (): Promise<Completed> =>
      this.#connection.request("tools/call", params, {
        ...this.#asking(options),
        paramHeaders: this.#tools.paramHeaders(name),
      });
    const relist = (): Promise<unknown> =>
      this.list("tools", { signal: options.signal, fresh: true });
    const { result } = await call().catch(async (cause: unknown) => {
      if (!(cause instanceof ClientError)) throw cause;
      if (isHeaderMismatch(cause)) {
        // Its schema may say meanwhile that other arguments are mirrored.
        await relist();
        return call();
      }
      // What was listed may be why (server/utilities/caching, Freshness, 2026-07-28).
      if (isMisinformed(cause)) this.#changed({ kind: "list-changed", list: "tools" });
      throw cause;
    });
    const read = readToolResult(result);
    if (this.#options.validateOutput === false || read.isError) return read;
    await this.#tools.check(name, read.structured).catch(async (cause: unknown) => {
      if (!this.#tools.isOutdated) throw cause;
      await relist();
      await this.#tools.check(name, read.structured);
    });
    return read;
  }

  /** Reads a resource. */
  async read(uri: string, options: CallOptions = {}): Promise<ReadContents> {
    const asked = { method: "resources/read", params: { uri }, uri };
    const { value, cache } = await this.#through(asked, options, async (request) => {
      const { result, cache } = await request(asked.method, asked.params);
      const contents = readContents(result);
      return { value: contents, cache, uris: urisOf(contents) };
    });
    return { contents: value, cache };
  }

  /** Gets a prompt, filled with its arguments. */
  async get(
    name: string,
    args: Readonly<Record<string, string>> = {},
    options: CallOptions = {},
  ): Promise<PromptResult> {
    const { result } = await this.#request("prompts/get", { name, arguments: args }, options);
    const { description, messages } = result;
    if (!Array.isArray(messages) || !messages.every(isObject)) {
      throw new ClientError("invalid-answer", "the result of prompts/get has no messages");
    }
    return {
      description: typeof description === "string" ? description : undefined,
      messages: messages as unknown as readonly PromptMessage[],
    };
  }

  /** Suggests values for an argument of a prompt, or a variable of a template. */
  async complete(
    { of, target, argument, value, others }: CompletionTarget,
    options: CallOptions = {},
  ): Promise<Completion> {
    const ref =
      of === "prompt"
        ? { type: "ref/prompt", name: target }
        : { type: "ref/resource", uri: target };
    const context = others === undefined ? {} : { context: { arguments: others } };
    const params = { ref, argument: { name: argument, value }, ...context };
    const { result } = await this.#request("completion/complete", params, options);
    const completion = isObject(result["completion"]) ? result["completion"] : {};
    const { values, total, hasMore } = completion;
    if (!Array.isArray(values)) {
      throw new ClientError("invalid-answer", "the result of completion/complete has no values");
    }
    return {
      values: values.filter((each) => typeof each === "string"),
      total: typeof total === "number" ? total : undefined,
      hasMore: hasMore === true,
    };
  }

  /**
   * Hears of changes until it is closed, through lost streams and sessions; after each of those
   * everything listened to is reported as changed, since it may have. Resolves once no later
   * change can be missed.
   */
  listen(
    interests: Interests,
    onChange: (change: Change) => void,
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Listening> {
    return this.#listeners.add(interests, onChange, options.signal);
  }

  /**
   * Asks whether the server is there: by `ping`, where the revision has it, else by asking what
   * it serves.
   */
  async ping(options: CallOptions = {}): Promise<void> {
    const hasPing = this.#connection.adapter.client.speaks("ping");
    await this.#request(hasPing ? "ping" : "server/discover", {}, options);
  }

  /** Tells the server that the roots are others now; nothing, where the revision has no such word. */
  async rootsChanged(): Promise<void> {
    const link = await this.#connection.link();
    if (link.adapter.era === "modern" || this.#options.onRoots === undefined) return;
    const { session } = link.transport;
    try {
      await link.notify("notifications/roots/list_changed", undefined, this.#connection.patience);
    } catch (cause) {
      if (!(cause instanceof ClientError) || cause.kind !== "session-lost") throw cause;
      // A new session knows of no roots yet, and asks for them when it needs them.
      await this.#connection.renew(link, session);
    }
  }

  /** Ends the session and lets go of everything; calls under way reject. */
  close(): Promise<void> {
    return this.#connection.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Whatever is known of it is old, before anybody hears of it who may ask again. */
  #changed(change: Change): void {
    this.#recall?.change(change);
    if (change.kind === "list-changed" && change.list === "tools") this.#tools.outdate();
  }

  /** What is kept of an earlier answer, or what `fetch` makes of new ones. */
  #through<T>(
    asked: Omit<Recallable, "spoken">,
    options: CallOptions,
    fetch: (request: Requesting) => Promise<Fetched<T>>,
  ): Promise<Fetched<T>> {
    const recall = this.#recall;
    if (recall === undefined) {
      return fetch((method, params) => this.#request(method, params, options));
    }
    this.#connection.assertWanted(options.signal);
    const { spoken } = this.#connection;
    const recallable = { ...asked, params: withMeta(asked.params, options), spoken };
    return recall.through(recallable, options.fresh === true, (received) =>
      fetch(async (method, params) => {
        const completed = await this.#request(method, params, options);
        received();
        return completed;
      }),
    );
  }

  #request(method: string, params: JsonObject, options: CallOptions): Promise<Completed> {
    return this.#connection.request(method, withMeta(params, options), this.#asking(options));
  }

  #asking({ signal, timeoutMs, maxTimeoutMs, onProgress, reissue }: CallOptions): Asking {
    const own = this.#options;
    const patienceMs = timeoutMs ?? own.timeoutMs ?? defaults.timeoutMs;
    // What is said of one call outweighs what is said of all, and that what nobody said.
    const ownMostMs = own.maxTimeoutMs ?? Math.max(defaults.maxTimeoutMs, own.timeoutMs ?? 0);
    const mostMs = maxTimeoutMs ?? Math.max(ownMostMs, timeoutMs ?? 0);
    return { signal, timeoutMs: patienceMs, maxTimeoutMs: mostMs, onProgress, reissue };
  }

  #isMirroring(): boolean {
    const { adapter } = this.#connection;
    return this.#connection.hasHeaders && adapter.era === "modern";
  }

  async #opened(link: Link): Promise<void> {
    const { logLevel } = this.#options;
    const { logging } = this.#connection.description.capabilities;
    if (
      logLevel !== undefined &&
      logging !== undefined &&
      link.adapter.client.logging === "per-session"
    ) {
      await link
        .exchange("logging/setLevel", { level: logLevel }, this.#connection.patience)
        .catch((cause: unknown) => {
          if (!(cause instanceof ClientError) || !isRefusal(cause)) throw cause;
          this.#warn(`the server does not take the level to log from: ${cause.message}`);
        });
    }
    await this.#listeners.restore(link);
  }
}

function toRecall(
  { key, cacheKey = key }: Target,
  { cache, authContext }: ClientOptions,
): Recall | undefined {
  if (cache === undefined || cache === false) return undefined;
  return new Recall({
    cache: cache === true ? new ResponseCache() : cache,
    server: cacheKey,
    context: authContext,
  });
}

function withMeta(params: JsonObject, { meta }: CallOptions): JsonObject {
  return meta === undefined ? params : { ...params, _meta: meta };
}

function readContents({ contents }: JsonObject): readonly ResourceContents[] {
  if (!Array.isArray(contents) || !contents.every(isObject)) {
    throw new ClientError("invalid-answer", "the result of resources/read has no contents");
  }
  return contents as unknown as readonly ResourceContents[];
}

function urisOf(contents: readonly ResourceContents[]): readonly string[] {
  return contents.map(({ uri }) => uri).filter((uri) => typeof uri === "string");
}

function readToolResult(result: JsonObject): ToolResult {
  const { content = [], structuredContent, isError, _meta } = result;
  if (!Array.isArray(content) || !content.every(isObject)) {
    throw new ClientError(
      "invalid-answer",
      "the content of a tool's result must be a list of blocks",
    );
  }
  const blocks = content as unknown as readonly ContentBlock[];
  const texts = blocks.flatMap((block) =>
    block.type === "text" && typeof block.text === "string" ? [block.text] : [],
  );
  return {
    content: blocks,
    structured: structuredContent,
    isError: isError === true,
    text: texts.join("\n"),
    meta: isObject(_meta) ? _meta : undefined,
  };
}
