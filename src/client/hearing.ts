/** What a server says on its own: notices go to whoever listens, questions are answered. */
import { isLogLevel, type LogLevel } from "../core/call.ts";
import type { Change } from "../core/notice.ts";
import type { RequestId, RpcNotification, RpcRequest } from "../jsonrpc/message.ts";
import { onAbort } from "../util/abort.ts";
import { isObject, type JsonObject } from "../util/json.ts";
import { type AnswerHandlers, answerQuestion, Unanswered } from "./answering.ts";
import type { Link } from "./link.ts";
import { watchedAnswer } from "./watched.ts";

/** Something a server logged. A stranger's text: mind where it is shown. */
export interface ServerLog {
  readonly level: LogLevel;
  readonly logger: string | undefined;
  readonly data: unknown;
}

/** Where notices go. */
export interface Listeners {
  log(entry: ServerLog): void;
  change(change: Change, subscription: RequestId | undefined): void;
  /** A stream of changes is open, and for what. */
  acknowledged(filter: JsonObject, subscription: RequestId | undefined): void;
  warn(message: string): void;
}

/** Questions that are answered at a time; more would let a server fill the user's screen. */
const maxQuestions = 64;

const subscriptionKey = "io.modelcontextprotocol/subscriptionId";

const lists: Readonly<Record<string, Change>> = {
  "notifications/tools/list_changed": { kind: "list-changed", list: "tools" },
  "notifications/resources/list_changed": { kind: "list-changed", list: "resources" },
  "notifications/prompts/list_changed": { kind: "list-changed", list: "prompts" },
};

export class Hearing {
  readonly #link: Link;
  readonly #handlers: AnswerHandlers;
  readonly #listeners: Listeners;
  readonly #answering: Map<RequestId, AbortController> = new Map();

  constructor(link: Link, handlers: AnswerHandlers, listeners: Listeners) {
    this.#link = link;
    this.#handlers = handlers;
    this.#listeners = listeners;
  }

  hear(message: RpcRequest | RpcNotification, during: RequestId | undefined): void {
    if (message.kind === "request") {
      this.#answer(message, during).catch((cause: unknown) => {
        const why = cause instanceof Error ? cause.message : String(cause);
        this.#listeners.warn(`an answer to ${message.method} could not be sent: ${why}`);
      });
      return;
    }
    this.#notice(message.method, isObject(message.params) ? message.params : {});
  }

  /** Gives every question up that is still being answered. */
  end(): void {
    for (const answering of this.#answering.values()) answering.abort();
  }

  #notice(method: string, params: JsonObject): void {
    const meta = isObject(params["_meta"]) ? params["_meta"] : {};
    const subscription = readId(meta[subscriptionKey]);
    const list = Object.hasOwn(lists, method) ? lists[method] : undefined;
    if (list !== undefined) this.#listeners.change(list, subscription);
    else if (method === "notifications/progress") this.#link.progress(params);
    else if (method === "notifications/message") this.#log(params);
    else if (method === "notifications/resources/updated") {
      const { uri } = params;
      if (typeof uri === "string") {
        this.#listeners.change({ kind: "resource-updated", uri }, subscription);
      }
    } else if (method === "notifications/cancelled") {
      const id = readId(params["requestId"]);
      if (id !== undefined) this.#answering.get(id)?.abort();
    } else if (method === "notifications/subscriptions/acknowledged") {
      const { notifications } = params;
      this.#listeners.acknowledged(isObject(notifications) ? notifications : {}, subscription);
    }
    // Any other notification is of an extension or a later revision; none asks for an answer.
  }

  #log({ level, logger, data }: JsonObject): void {
    this.#listeners.log({
      level: isLogLevel(level) ? level : "info",
      logger: typeof logger === "string" ? logger : undefined,
      data,
    });
  }

  async #answer(request: RpcRequest, during: RequestId | undefined): Promise<void> {
    const { id, method } = request;
    if (method === "ping") return this.#link.answer(id, { result: {} });
    if (this.#link.adapter.era === "modern") {
      // Where nobody shook hands, a server asks in its results alone (basic/patterns/mrtr).
      this.#listeners.warn(`the server sent a request, ${method}, where its revision has none`);
      if (this.#link.transport.kind === "stream-per-request") return;
      return this.#link.answer(id, refusal(-32601, "requests to a client do not exist here"));
    }
    if (this.#answering.size >= maxQuestions || this.#answering.has(id)) {
      return this.#link.answer(id, refusal(-32603, "too many questions at once"));
    }
    const answering = new AbortController();
    this.#answering.set(id, answering);
    const resume = this.#link.pause(during);
    // A question that was taken back holds nobody up, however long its handler still takes.
    onAbort(answering.signal, resume);
    try {
      const { signal } = answering;
      const outcome =
        this.#link.telemetry === undefined
          ? await this.#find(request, signal)
          : await watchedAnswer(request, this.#link, () => this.#find(request, signal));
      // Whoever took the question back wants no answer.
      if (!answering.signal.aborted) await this.#link.answer(id, outcome);
    } finally {
      this.#answering.delete(id);
      resume();
    }
  }

  async #find(
    { method, params }: RpcRequest,
    signal: AbortSignal,
  ): Promise<Parameters<Link["answer"]>[1]> {
    try {
      const asked = { method, params: isObject(params) ? params : {} };
      return { result: await answerQuestion(asked, this.#handlers, { signal }) };
    } catch (cause) {
      if (!(cause instanceof Unanswered)) throw cause;
      if (cause.cause !== undefined) this.#warnOf(cause);
      return refusal(cause.code, cause.message);
    }
  }

  #warnOf({ message, cause }: Unanswered): void {
    this.#listeners.warn(`${message}: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}

function refusal(code: number, message: string): { readonly error: JsonObject } {
  return { error: { code, message } };
}

function readId(value: unknown): RequestId | undefined {
  return typeof value === "string" || typeof value === "number" ? value : undefined;
}
