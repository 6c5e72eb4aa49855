/** Questions that were pushed and wait for their answers, on whichever worker those arrive. */
import { McpError } from "../core/errors.ts";
import type { PushOptions } from "../core/inquiry.ts";
import type { RpcReply } from "../jsonrpc/message.ts";
import type { EventHub } from "../stores/event-hub.ts";
import { type Awaitable, after } from "../util/awaitable.ts";
import { isObject, type JsonObject } from "../util/json.ts";

const prefix = "ask-";

export class PendingQuestions {
  readonly #waiting: Map<string, (reply: unknown) => void> = new Map();
  /** Undefined where no other worker can have asked. */
  readonly #hub: EventHub | undefined;

  constructor(hub: EventHub | undefined) {
    this.#hub = hub;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Sends a question and waits. Its id cannot be guessed: knowing it is what lets one answer. */
  async ask(
    question: { readonly method: string; readonly params: JsonObject },
    send: (message: JsonObject) => void,
    options: PushOptions,
  ): Promise<unknown> {
    const id = `${prefix}${crypto.randomUUID()}`;
    const { signal, timeoutMs } = options;
    if (signal.aborted) throw new McpError("the call was cancelled before it asked");
    const ended = new AbortController();
    const reply = new Promise<unknown>((resolve) => this.#waiting.set(id, resolve));
    const over = interruption(signal, timeoutMs, ended.signal);
    try {
      await this.#follow(id, ended.signal);
      send({ jsonrpc: "2.0", id, ...question });
      const answered = await Promise.race([reply, over]);
      if (answered instanceof McpError) {
        send(cancelNotice(id, answered.message));
        throw answered;
      }
      return readReply(answered);
    } finally {
      ended.abort();
      this.#waiting.delete(id);
    }
  }

  /** Takes an answer that arrived here; unknown ids are ignored, they may be late. */
  settle(reply: RpcReply): Awaitable<void> {
    const { id } = reply;
    if (typeof id !== "string" || !id.startsWith(prefix)) return;
    const waiting = this.#waiting.get(id);
    const { result, error } = reply;
    if (waiting !== undefined) {
      waiting({ result, error });
      return;
    }
    if (this.#hub === undefined || id.length > 64) return;
    return after(this.#hub.publish(topicOf(id), JSON.stringify({ result, error })), () => {});
  }

  #follow(id: string, signal: AbortSignal): Awaitable<unknown> {
    const hub = this.#hub;
    if (hub === undefined) return;
    const topic = topicOf(id);
    signal.addEventListener("abort", () => void hub.delete(topic), { once: true });
    return after(hub.position(topic), (start) =>
      hub.follow(topic, start, ({ data }) => this.#waiting.get(id)?.(JSON.parse(data)), signal),
    );
  }
}

function topicOf(id: string): string {
  return `answer:${id}`;
}

/** Resolves, with the reason as an error, when waiting has no more sense. */
function interruption(
  signal: AbortSignal,
  timeoutMs: number,
  ended: AbortSignal,
): Promise<McpError> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      resolve(new McpError(`the question was not answered within ${timeoutMs / 1000} seconds`));
    }, timeoutMs);
    const onAbort = (): void => resolve(new McpError("the call was cancelled while it was asking"));
    signal.addEventListener("abort", onAbort, { once: true });
    ended.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
      },
      { once: true },
    );
  });
}

function readReply(reply: unknown): unknown {
  if (!isObject(reply)) return undefined;
  const { error, result } = reply;
  if (error === undefined) return result;
  const message = isObject(error) && typeof error["message"] === "string" ? error["message"] : "";
  throw new McpError(`the client refused the question: ${message.slice(0, 500)}`);
}

function cancelNotice(requestId: string, reason: string): JsonObject {
  return { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId, reason } };
}
