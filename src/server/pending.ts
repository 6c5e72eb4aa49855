/** Questions that were pushed and wait for their answers, on whichever worker those arrive. */
import { McpError } from "../core/errors.ts";
import type { PushOptions } from "../core/inquiry.ts";
import type { RpcReply } from "../jsonrpc/message.ts";
import type { EventHub, HubEvent } from "../stores/event-hub.ts";
import { type Awaitable, after } from "../util/awaitable.ts";
import { isObject, type JsonObject } from "../util/json.ts";
import { aliveMark, sayAlive } from "./alive.ts";
import type { Outlet } from "./outlet.ts";

const prefix = "ask-";
const idSyntax = /^ask-[0-9a-f-]{36}$/;

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

  /**
   * Sends a question and waits. Its id cannot be guessed: knowing it is what lets its owner
   * answer, and nobody else.
   */
  async ask(
    question: { readonly method: string; readonly params: JsonObject },
    outlet: Pick<Outlet, "send" | "onLost">,
    options: PushOptions,
    owner = "",
  ): Promise<unknown> {
    if (options.signal.aborted) throw new McpError("the call was over before it asked");
    const id = `${prefix}${crypto.randomUUID()}`;
    const name = nameOf(id, owner);
    const ended = new AbortController();
    const reply = new Promise<unknown>((resolve) => this.#waiting.set(name, resolve));
    let isAsked = false;
    const interrupted = interruption(options, ended.signal, (why) => {
      // Told at once, while there may still be somebody who hears it.
      if (isAsked) outlet.send(cancelNotice(id, why));
    });
    try {
      const hindered = await Promise.race([interrupted.promise, this.#open(name, ended.signal)]);
      if (hindered !== undefined) throw hindered;
      outlet.send({ jsonrpc: "2.0", id, ...question });
      isAsked = true;
      outlet.onLost?.(() => interrupted.now("the caller disconnected while it was asked"));
      const answered = await Promise.race([reply, interrupted.promise]);
      if (answered instanceof McpError) throw answered;
      return readReply(answered);
    } finally {
      ended.abort();
      this.#waiting.delete(name);
      void this.#forget(name);
    }
  }

  /** Takes an answer that arrived here; unknown ids are ignored, they may be late. */
  settle(reply: RpcReply, owner = ""): Awaitable<void> {
    const { id } = reply;
    if (typeof id !== "string" || !idSyntax.test(id)) return;
    const name = nameOf(id, owner);
    const waiting = this.#waiting.get(name);
    const { result, error } = reply;
    if (waiting !== undefined) {
      waiting({ result, error });
      return;
    }
    const hub = this.#hub;
    if (hub === undefined) return;
    const topic = topicOf(name);
    // Anybody can make up ids: an answer is kept only where it is waited for.
    return after(hub.exists(topic), (isAsked) => {
      if (isAsked) return after(hub.publish(topic, JSON.stringify({ result, error })), () => {});
    });
  }

  /** Begins a topic, and hears by it of the answer also where it arrives at another worker. */
  async #open(name: string, signal: AbortSignal): Promise<undefined> {
    const hub = this.#hub;
    if (hub === undefined) return;
    const topic = topicOf(name);
    const start = await hub.publish(topic, aliveMark);
    if (signal.aborted) return this.#forget(name);
    const onAnswer = ({ data }: HubEvent): void => {
      if (data !== aliveMark) this.#waiting.get(name)?.(JSON.parse(data));
    };
    signal.addEventListener("abort", this.#keep(topic), { once: true });
    if (await hub.follow(topic, start, onAnswer, signal)) return;
    throw new Error("the hub lost the topic of a question before it was asked");
  }

  /** Sees to it that a topic is found as long as its answer is waited for. */
  #keep(topic: string): () => void {
    return sayAlive(async () => {
      try {
        await this.#hub?.publish(topic, aliveMark);
      } catch {
        // Only an answer that arrives at another worker after minutes may be lost by it.
      }
    });
  }

  async #forget(name: string): Promise<undefined> {
    try {
      await this.#hub?.delete(topicOf(name));
    } catch {
      // One topic that holds an answer at most; it expires by itself.
    }
  }
}

/** What a question is known by: under another owner the same id is another question's. */
function nameOf(id: string, owner: string): string {
  return owner === "" ? id : `${id}:${owner}`;
}

function topicOf(name: string): string {
  return `answer:${name}`;
}

interface Interruption {
  /** Resolves, with the reason as an error, when waiting has no more sense. */
  readonly promise: Promise<McpError>;
  now(why: string): void;
}

/** A timer that is set for longer fires at once. */
const longestTimerMs = 2 ** 31 - 1;

/** The end of waiting that is no answer: the caller's, the call's, or that of the time for it. */
function interruption(
  { signal, timeoutMs }: PushOptions,
  ended: AbortSignal,
  onInterrupt: (why: string) => void,
): Interruption {
  let isOver = false;
  let now: Interruption["now"] = () => undefined;
  const promise = new Promise<McpError>((resolve) => {
    now = (why) => {
      if (ended.aborted || isOver) return;
      isOver = true;
      onInterrupt(why);
      resolve(new McpError(why));
    };
  });
  const onAbort = (): void => now("the call was over before the question was answered");
  const timer = setTimeout(
    () => {
      now(`the question was not answered within ${timeoutMs / 1000} seconds`);
    },
    Math.min(timeoutMs, longestTimerMs),
  );
  signal.addEventListener("abort", onAbort, { once: true });
  ended.addEventListener(
    "abort",
    () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    },
    { once: true },
  );
  return { promise, now };
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
