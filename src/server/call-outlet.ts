/** The reply to one POST: a body, or a stream from the first thing that is told before it. */
import type { Adapter } from "../revisions/adapter.ts";
import { sessionHeader } from "../revisions/preamble.ts";
import type { EventHub } from "../stores/event-hub.ts";
import type { SessionRecord } from "../stores/session-store.ts";
import { type Awaitable, isPromise } from "../util/awaitable.ts";
import { letGo } from "../util/timer.ts";
import type { Answer } from "./answer.ts";
import {
  asEventStream,
  emptyReply,
  type HttpReply,
  type HttpRequest,
  jsonReply,
  streamReply,
} from "./http.ts";
import { acceptable, admitsStream } from "./media.ts";
import { PostOutlet } from "./outlet.ts";

export interface CallOutletOptions {
  readonly request: HttpRequest;
  readonly adapter: Adapter;
  readonly session: SessionRecord | undefined;
  readonly hub: EventHub;
  readonly keepAliveMs: number;
  /** Whether the headers wait for the answer, however long it takes: they hold a part of it. */
  readonly headersWait: boolean;
  readonly onFault: (cause: unknown) => void;
  /** Given what is to be finished before the process may end. */
  readonly onEnding: (ending: Promise<unknown>) => void;
}

/** The outlet of one POST, and the reply it turns into a stream. */
export class CallOutlet {
  readonly #options: CallOutletOptions;
  #outlet: PostOutlet | undefined;
  #onOutlet: ((outlet: PostOutlet) => void) | undefined;
  #answered = false;
  readonly factory: (() => PostOutlet) | undefined;

  constructor(options: CallOutletOptions) {
    this.#options = options;
    this.factory = takesStream(options.request) ? () => this.#make() : undefined;
  }

  reply(answered: Awaitable<Answer>): Awaitable<HttpReply> {
    const { request } = this.#options;
    if (!isPromise(answered)) return this.#finish(answered) ?? toReply(answered, request);
    return new Promise((resolve, reject) => {
      const onOutlet = (outlet: PostOutlet): void =>
        outlet.onOpen((stream) => resolve(streamReply(stream)));
      if (this.#outlet === undefined) this.#onOutlet = onOutlet;
      else onOutlet(this.#outlet);
      const timer = this.#beginInTime();
      answered
        .then((found) => resolve(this.#finish(found) ?? toReply(found, request)))
        .catch(reject)
        .finally(() => clearTimeout(timer));
    });
  }

  /**
   * Whoever is silent for a minute is cut off by the proxies in between, also before its
   * first byte; a stream can say that it is alive.
   */
  #beginInTime(): ReturnType<typeof setTimeout> | undefined {
    const { factory } = this;
    if (factory === undefined || this.#options.headersWait) return undefined;
    const timer = setTimeout(() => factory().begin(), this.#options.keepAliveMs);
    letGo(timer);
    return timer;
  }

  /** Ends the stream with the answer, if there is a stream. */
  #finish({ text }: Answer): HttpReply | undefined {
    this.#answered = true;
    const stream = this.#outlet?.stream;
    if (stream === undefined) {
      this.#outlet?.close();
      return undefined;
    }
    this.#outlet?.finish(text);
    return streamReply(stream);
  }

  #make(): PostOutlet {
    if (this.#outlet !== undefined) return this.#outlet;
    const { adapter, session, hub, onFault, onEnding, keepAliveMs } = this.#options;
    const { resumption } = adapter;
    const resumes = session !== undefined && resumption !== "none";
    const primed = resumption === "primed";
    this.#outlet = new PostOutlet(
      resumes ? { hub, session: session.id, primed, onFault, onEnding } : undefined,
      keepAliveMs,
    );
    if (this.#answered) this.#outlet.close();
    this.#onOutlet?.(this.#outlet);
    return this.#outlet;
  }
}

export function takesStream(request: HttpRequest): boolean {
  return admitsStream(request.headers("accept"));
}

export function toReply(answer: Answer, request: HttpRequest): HttpReply {
  const { status, text } = answer;
  if (text === undefined) return emptyReply(status);
  const reply = toJsonReply(answer, headersOf(answer));
  const streamed = status === 200 && acceptable(request.headers("accept")) === "event-stream";
  return streamed ? asEventStream(reply) : reply;
}

export function toJsonReply(
  { status, text, refused }: Answer,
  headers?: Readonly<Record<string, string>>,
): HttpReply {
  const reply = jsonReply(status, text ?? "", headers);
  return refused === undefined ? reply : { ...reply, refused: refused.reason };
}

function headersOf(answer: Answer): Record<string, string> | undefined {
  const { sessionId, challenge, retryAfterSeconds } = answer;
  if (challenge !== undefined) return { "www-authenticate": challenge };
  if (sessionId !== undefined) return { [sessionHeader]: sessionId };
  if (retryAfterSeconds !== undefined) return { "retry-after": String(retryAfterSeconds) };
  return undefined;
}
