/** A client of one server, whichever revision that speaks. */
import type { LogLevel } from "../core/call.ts";
import type {
  ContentBlock,
  Implementation,
  PromptMessage,
  ResourceContents,
} from "../core/model.ts";
import type { Change } from "../core/notice.ts";
import { AdapterSet } from "../revisions/adapter-set.ts";
import { allRevisions } from "../revisions/index.ts";
import { isHeaderMismatch } from "../revisions/refusals.ts";
import { isObject, type JsonObject } from "../util/json.ts";
import { type AnswerHandlers, kindsOf } from "./answering.ts";
import { type Asking, type Completed, Connection } from "./connection.ts";
import { ClientError } from "./errors.ts";
import type { ServerLog } from "./hearing.ts";
import type { Link, Progress } from "./link.ts";
import { type Interests, Listeners, type Listening } from "./listening.ts";
import { type ListingName, listAll } from "./listing.ts";
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
import { ToolBook } from "./tool-book.ts";
import { MemoryVerdicts, type VerdictStore } from "./verdicts.ts";

/** How a client presents itself, what it answers, and what it waits for. */
export interface ClientOptions extends AnswerHandlers {
  /** Who the client says it is. @default anyrev, with its version */
  readonly info?: Implementation | undefined;
  /**
   * The revisions that are accepted: `"auto"` for all five, one to pin it, a list, or a set with
   * adapters of your own. @default "auto"
   */
  readonly revisions?: AdapterSet | readonly string[] | string | undefined;
  /** How long a call may take without a sign of progress, in milliseconds. @default 60000 */
  readonly timeoutMs?: number | undefined;
  /** How long a call may take whatever it reports, in milliseconds. @default 600000 */
  readonly maxTimeoutMs?: number | undefined;
  /**
   * How long a process may be silent to the first request before it is taken for one that
   * needs a handshake, in milliseconds. @default 5000
   */
  readonly probeTimeoutMs?: number | undefined;
  /** How often one call may come back with questions. @default 10 */
  readonly maxRounds?: number | undefined;
  /** The least severe log entry that the server should send. @default none is asked for */
  readonly logLevel?: LogLevel | undefined;
  readonly onLog?: ((entry: ServerLog) => void) | undefined;
  /** Hears what was passed over: garbage, tools left out, streams lost. @default nobody */
  readonly onWarning?: ((message: string) => void) | undefined;
  /**
   * Whether structured results are held against the tool's output schema, once its listing is
   * known: a result that differs rejects the call instead of misleading it. @default true
   */
  readonly validateOutput?: boolean | undefined;
  /**
   * Whether headers mirror the body also in revisions that do not ask for it; some servers
   * want that. @default "as-specified"
   */
  readonly mirrors?: "as-specified" | "always" | undefined;
  /** Keeps how each server is spoken to. @default in memory, for this process */
  readonly verdicts?: VerdictStore | undefined;
}

/** What one call may override. */
export interface CallOptions {
  /** Gives the call up; the server is told, as its revision has it. */
  readonly signal?: AbortSignal | undefined;
  /** @default that of the client */
  readonly timeoutMs?: number | undefined;
  /** @default that of the client */
  readonly maxTimeoutMs?: number | undefined;
  /** Asks for progress, and hears it; each report starts `timeoutMs` anew. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /**
   * Whether the call is sent again when the connection broke before its reply came, where the
   * revision cannot resume a stream: the server may then do it twice. @default "always", as
   * 2026-07-28 requires
   */
  readonly reissue?: "always" | "never" | undefined;
  /** More for the request's `_meta`, such as a trace context. */
  readonly meta?: JsonObject | undefined;
}

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

const defaults = Object.freeze({
  info: { name: "anyrev", version: "0.1.0" },
  timeoutMs: 60_000,
  maxTimeoutMs: 600_000,
  probeTimeoutMs: 5_000,
  maxRounds: 10,
});

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
  readonly #warn: (message: string) => void;

  private constructor(target: Target, options: ClientOptions) {
    this.#options = options;
    const warn = options.onWarning ?? ((): void => undefined);
    this.#warn = warn;
    this.#tools = new ToolBook(warn);
    this.#connection = new Connection(target, {
      info: options.info ?? defaults.info,
      accepted: toAccepted(options.revisions),
      handlers: options,
      listeners: {
        log: (entry) => options.onLog?.(entry),
        change: (change, subscription) => this.#listeners.change(change, subscription),
        acknowledged: (_filter, subscription) => this.#listeners.acknowledged(subscription),
        warn,
      },
      logLevel: options.logLevel,
      mirrors: options.mirrors ?? "as-specified",
      verdicts: options.verdicts ?? sharedVerdicts,
      timeoutMs: options.timeoutMs ?? defaults.timeoutMs,
      probeTimeoutMs: options.probeTimeoutMs ?? defaults.probeTimeoutMs,
      maxRounds: options.maxRounds ?? defaults.maxRounds,
      onOpen: (link) => this.#opened(link),
    });
    const hears = kindsOf(options).length > 0 || options.onLog !== undefined;
    this.#listeners = new Listeners(this.#connection, hears, warn);
  }

  /** Connects; the client is of no use to anybody before. @throws ClientError */
  static async open(
    target: Target,
    options: ClientOptions = {},
    signal?: AbortSignal,
  ): Promise<Client> {
    const client = new Client(target, options);
    try {
      await client.#connection.link(signal);
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
    const asking = this.#asking(options);
    const request = (method: string, params: JsonObject): Promise<Completed> =>
      this.#connection.request(method, withMeta(params, options), asking);
    const { entries } = await listAll(name, request, this.#warn);
    if (name === "tools") {
      const usable = this.#tools.learn(entries as readonly Tool[], this.#isMirroring());
      return usable as readonly Listings[Name][];
    }
    return entries;
  }

  /** Calls a tool. A tool that failed is a result with `isError`, not a rejection. */
  async call(name: string, args: JsonObject = {}, options: CallOptions = {}): Promise<ToolResult> {
    const params = withMeta({ name, arguments: args }, options);
    const call = (): Promise<Completed> =>
      this.#connection.request("tools/call", params, {
        ...this.#asking(options),
        paramHeaders: this.#tools.paramHeaders(name),
      });
    const { result } = await call().catch(async (cause: unknown) => {
      if (!(cause instanceof ClientError) || !isHeaderMismatch(cause)) throw cause;
      // Its schema may say meanwhile that other arguments are mirrored.
      await this.list("tools", { signal: options.signal });
      return call();
    });
    const read = readToolResult(result);
    if (this.#options.validateOutput !== false && !read.isError) {
      await this.#tools.check(name, read.structured);
    }
    return read;
  }

  /** Reads a resource. */
  async read(uri: string, options: CallOptions = {}): Promise<ReadContents> {
    const { result, cache } = await this.#request("resources/read", { uri }, options);
    const { contents } = result;
    if (!Array.isArray(contents) || !contents.every(isObject)) {
      throw new ClientError("invalid-answer", "the result of resources/read has no contents");
    }
    return { contents: contents as unknown as readonly ResourceContents[], cache };
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
    await link.notify("notifications/roots/list_changed");
  }

  /** Ends the session and lets go of everything; calls under way reject. */
  close(): Promise<void> {
    return this.#connection.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
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
      await link.exchange("logging/setLevel", { level: logLevel }, this.#connection.patience);
    }
    await this.#listeners.restore(link);
  }
}

function toAccepted(revisions: ClientOptions["revisions"] = "auto"): AdapterSet {
  if (revisions instanceof AdapterSet) return revisions;
  if (revisions === "auto") return allRevisions;
  return allRevisions.narrow(typeof revisions === "string" ? [revisions] : revisions);
}

function withMeta(params: JsonObject, { meta }: CallOptions): JsonObject {
  return meta === undefined ? params : { ...params, _meta: meta };
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
  const texts = blocks.flatMap((block) => (block.type === "text" ? [String(block.text)] : []));
  return {
    content: blocks,
    structured: structuredContent,
    isError: isError === true,
    text: texts.join("\n"),
    meta: isObject(_meta) ? _meta : undefined,
  };
}
