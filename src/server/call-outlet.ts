/** The reply to one POST: a body, or a stream from the first thing that is told before it. */
import type { Adapter } from "../revisions/adapter.ts";
import { sessionHeader } from "../revisions/preamble.ts";
import type { EventHub } from "../stores/event-hub.ts";
import type { SessionRecord } from "../stores/session-store.ts";
import { type Awaitable, isPromise } from "../util/awaitable.ts";
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

/** The outlet of one POST, and the reply it turns into a stream. */
export class CallOutlet {
  readonly #request: HttpRequest;
  readonly #adapter: Adapter;
  readonly #session: SessionRecord | undefined;
  readonly #hub: EventHub;
  readonly #onFault: (cause: unknown) => void;
  #outlet: PostOutlet | undefined;
  #onOutlet: ((outlet: PostOutlet) => void) | undefined;
  #answered = false;
  readonly factory: (() => PostOutlet) | undefined;

  constructor(
    request: HttpRequest,
    adapter: Adapter,
    session: SessionRecord | undefined,
    hub: EventHub,
    onFault: (cause: unknown) => void,
  ) {
    this.#request = request;
    this.#adapter = adapter;
    this.#session = session;
    this.#hub = hub;
    this.#onFault = onFault;
    this.factory = takesStream(request) ? () => this.#make() : undefined;
  }

  reply(answered: Awaitable<Answer>): Awaitable<HttpReply> {
    if (!isPromise(answered)) return this.#finish(answered) ?? toReply(answered, this.#request);
    return new Promise((resolve, reject) => {
      const onOutlet = (outlet: PostOutlet): void =>
        outlet.onOpen((stream) => resolve(streamReply(stream)));
      if (this.#outlet === undefined) this.#onOutlet = onOutlet;
      else onOutlet(this.#outlet);
      answered
        .then((found) => resolve(this.#finish(found) ?? toReply(found, this.#request)))
        .catch(reject);
    });
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
    const { resumption } = this.#adapter;
    const resumes = this.#session !== undefined && resumption !== "none";
    this.#outlet = new PostOutlet(
      resumes
        ? {
            hub: this.#hub,
            session: this.#session.id,
            primed: resumption === "primed",
            onFault: this.#onFault,
          }
        : undefined,
    );
    if (this.#answered) this.#outlet.close();
    this.#onOutlet?.(this.#outlet);
    return this.#outlet;
  }
}

export function takesStream(request: HttpRequest): boolean {
  return admitsStream(request.headers("accept"));
}

export function toReply({ status, text, sessionId }: Answer, request: HttpRequest): HttpReply {
  if (text === undefined) return emptyReply(status);
  const headers = sessionId === undefined ? undefined : { [sessionHeader]: sessionId };
  const reply = jsonReply(status, text, headers);
  const streamed = status === 200 && acceptable(request.headers("accept")) === "event-stream";
  return streamed ? asEventStream(reply) : reply;
}
