/** What both HTTP transports do alike: whose headers go out, and how a body is read. */
import { type Awaitable, isPromise } from "../util/awaitable.ts";
import type { Ending } from "../util/ending.ts";
import { letGo } from "../util/timer.ts";
import { type AuthExchange, type ClientAuth, EitherEnd, maxRepeats } from "./client-auth.ts";
import { ClientError } from "./errors.ts";
import { EventSourceReader, type SourceEvent } from "./event-source.ts";
import { exchange, type HttpAnswer, type HttpOutgoing, type HttpSender } from "./http-exchange.ts";
import { isEventStream, type ReadAnswer } from "./http-failure.ts";
import { waitFor } from "./patience.ts";
import { parseMessages } from "./read-messages.ts";
import type { CallSignal } from "./transport.ts";

type HeaderRecord = Readonly<Record<string, string>>;

/** Headers of the user's own, such as credentials; a function is asked before each request. */
export type HeaderSource = HeaderRecord | (() => HeaderRecord | Promise<HeaderRecord>);

export interface HttpWayOptions {
  /**
   * Sent with every request, to the server's origin only. Those of the protocol win over
   * them.
   */
  readonly headers?: HeaderSource | undefined;
  /**
   * Who the client is to the server: asked for headers before each exchange, and told of each
   * answer, so that it can sign in, refresh or ask for more and have the request sent again.
   */
  readonly auth?: ClientAuth | undefined;
  /**
   * Bytes of one answer, and characters of one event of a stream; what is larger would fill
   * the memory. @default 16777216
   */
  readonly maxMessageBytes?: number | undefined;
  /**
   * Levels of nesting in a message at most: what is deeper overflows the stack of whoever walks
   * it. Schemas and results nest deeper than what a server is asked. @default 512
   */
  readonly maxDepth?: number | undefined;
  /**
   * How long an open stream may be silent before it counts as broken, in milliseconds. Any
   * byte is a sign of life, and servers of ours give one every 20 seconds; others give none,
   * so there is no default.
   */
  readonly idleTimeoutMs?: number | undefined;
}

export interface Going {
  readonly method: HttpOutgoing["method"];
  /** Where to, if not to the server's own URL. */
  readonly url?: URL | undefined;
  /** Those that the revision adds; names in lower case, as in all of these. */
  readonly headers: HeaderRecord;
  /** Those that every request of its kind has. */
  readonly common: HeaderRecord;
  /** Of a session, and of a place in a stream. */
  readonly place?: HeaderRecord | undefined;
  readonly body?: string | undefined;
  readonly signal: CallSignal;
  /** Stops clocks while a user is signing in. @default those of the signal */
  readonly hold?: CallSignal["hold"];
  readonly repeatable: boolean;
}

/** A user who takes longer has gone away, and so has what a `ClientAuth` of one's own waits for. */
const longestHoldMs = 900_000;

export class HttpWay {
  readonly url: URL;
  readonly sender: HttpSender;
  readonly maxMessageBytes: number;
  readonly maxDepth: number;
  readonly #idleTimeoutMs: number | undefined;
  readonly #own: HeaderRecord | (() => HeaderRecord | Promise<HeaderRecord>);
  readonly #auth: ClientAuth | undefined;
  readonly #ending: Ending;

  /** @throws TypeError for a URL that is not http or https, or that carries credentials */
  constructor(url: string | URL, sender: HttpSender, options: HttpWayOptions, ending: Ending) {
    this.url = toHttpUrl(url);
    this.sender = sender;
    this.maxMessageBytes = options.maxMessageBytes ?? 16_777_216;
    this.maxDepth = options.maxDepth ?? 512;
    this.#idleTimeoutMs = options.idleTimeoutMs;
    const { headers = {} } = options;
    this.#own = typeof headers === "function" ? headers : lowerCase(headers);
    this.#auth = options.auth;
    this.#ending = ending;
  }

  send(going: Going): Promise<HttpAnswer> {
    if (this.#auth !== undefined) return this.#sendAs(this.#auth, going);
    if (typeof this.#own !== "function") return this.#sendWith(this.#own, going);
    return this.#ask(this.#own, going).then((own) => this.#sendWith(own, going));
  }

  #sendWith(own: HeaderRecord, going: Going): Promise<HttpAnswer> {
    const { method, url = this.url, body, signal, repeatable } = going;
    const headers = compose(own, going);
    return exchange(this.sender, { method, url, headers, body, signal, repeatable });
  }

  /** With credentials, and again with others as long as those who give them see any use in it. */
  async #sendAs(auth: ClientAuth, going: Going): Promise<HttpAnswer> {
    const { method, url = this.url, body, repeatable } = going;
    // What ends a session is sent when all else has ended.
    const signal = new EitherEnd(going.signal, method === "DELETE" ? undefined : this.#ending);
    let credentials: HeaderRecord = {};
    const headersFor = async (to: URL): Promise<HeaderRecord> => {
      const own = typeof this.#own === "function" ? await this.#ask(this.#own, going) : this.#own;
      const exchanging: AuthExchange = { method, url: to, server: this.url };
      const given = (): Awaitable<HeaderRecord> => auth.headers(exchanging, signal);
      credentials = await this.#credentials(going, given, (promise) =>
        this.#unlessOver(going, promise),
      );
      return compose(own, going, credentials);
    };
    for (let repeats = 0; ; repeats++) {
      const headers = await headersFor(url);
      const outgoing = { method, url, headers, body, signal: going.signal, repeatable };
      const answer = await exchange(this.sender, outgoing, headersFor);
      const told = {
        method,
        url: answer.url,
        server: this.url,
        status: answer.status,
        header: (name: string) => answer.header(name),
        credentials,
        repeats,
      };
      try {
        const judge = (): Awaitable<boolean> => auth.answered(told, signal);
        const held = (promise: Promise<boolean>): Promise<boolean> => this.#held(going, promise);
        const isToRepeat = await this.#credentials(going, judge, held);
        if (!isToRepeat || repeats >= maxRepeats) return answer;
      } catch (cause) {
        answer.discard();
        throw cause;
      }
      answer.discard();
    }
  }

  /** Whatever goes wrong with credentials is one kind of error. */
  async #credentials<T>(
    { signal }: Going,
    ask: () => Awaitable<T>,
    wait: (promise: Promise<T>) => Promise<T>,
  ): Promise<T> {
    try {
      const value = ask();
      return isPromise(value) ? await wait(value) : value;
    } catch (cause) {
      if (signal.aborted || cause instanceof ClientError) throw cause;
      throw new ClientError("unauthorized", "the credentials for a request failed", { cause });
    }
  }

  /** What takes a user their time, and at most so much of it. */
  async #held<T>(going: Going, promise: Promise<T>): Promise<T> {
    const { signal, hold } = going;
    const release = hold === undefined ? signal.hold?.() : hold();
    const late = release && setTimeout(release, longestHoldMs);
    letGo(late);
    try {
      return await this.#unlessOver(going, promise);
    } finally {
      clearTimeout(late);
      release?.();
    }
  }

  #unlessOver<T>({ signal, method }: Going, promise: Promise<T>): Promise<T> {
    // What ends a session is sent when all else has ended.
    return waitFor(promise, signal, method === "DELETE" ? undefined : this.#ending);
  }

  async #ask(
    headers: () => HeaderRecord | Promise<HeaderRecord>,
    going: Going,
  ): Promise<HeaderRecord> {
    try {
      const made = headers();
      return lowerCase(isPromise(made) ? await this.#unlessOver(going, made) : made);
    } catch (cause) {
      if (going.signal.aborted || cause instanceof ClientError) throw cause;
      throw new ClientError("unreachable", "the headers for a request could not be made", {
        cause,
      });
    }
  }

  /** The body of an answer that is no stream; nothing of a refusal that is too large to be one. */
  async read(answer: HttpAnswer): Promise<ReadAnswer> {
    let text = "";
    try {
      // One that is a stream may never end.
      if (isEventStream(answer)) answer.discard();
      else text = await answer.text(this.maxMessageBytes);
    } catch (cause) {
      const isTooLarge = cause instanceof ClientError && cause.kind === "too-large";
      if (!isTooLarge || answer.status < 400) throw cause;
    }
    return {
      answer,
      text,
      messages: text === "" ? undefined : parseMessages(text, this.maxDepth),
    };
  }

  /**
   * The events of one connection; `position` is kept up to date with them.
   *
   * @throws what the answer's chunks throw
   */
  async *events(answer: HttpAnswer, position: Position): AsyncGenerator<SourceEvent> {
    const reader = new EventSourceReader(this.maxMessageBytes);
    const idle = this.#watch(answer);
    try {
      for await (const chunk of answer.chunks()) {
        idle.alive();
        const events = reader.feed(chunk);
        const { lastEventId } = reader;
        if (lastEventId !== undefined && lastEventId !== position.lastEventId) {
          position.lastEventId = lastEventId;
          position.news++;
        }
        position.retryMs = reader.retryMs ?? position.retryMs;
        position.news += events.length;
        yield* events;
      }
    } finally {
      idle.stop();
    }
  }

  #watch(answer: HttpAnswer): { alive(): void; stop(): void } {
    const ms = this.#idleTimeoutMs;
    if (ms === undefined) return { alive: () => undefined, stop: () => undefined };
    let timer = setTimeout(() => answer.discard(), ms);
    return {
      alive: () => {
        clearTimeout(timer);
        timer = setTimeout(() => answer.discard(), ms);
      },
      stop: () => clearTimeout(timer),
    };
  }
}

/**
 * The data of an event that carries a message. Those of other names are for readers who know
 * them, such as a ping; one without data tells its id.
 */
export function messageOf(event: SourceEvent): string | undefined {
  return event.kind === "event" && event.name === "message" && event.data !== ""
    ? event.data
    : undefined;
}

/** Where a stream stands: what it takes to go on with it over another connection. */
export interface Position {
  lastEventId: string | undefined;
  retryMs: number | undefined;
  /** How many events brought something. */
  news: number;
}

export function createPosition(): Position {
  return { lastEventId: undefined, retryMs: undefined, news: 0 };
}

/** Longer ones are no place to go on from: they would make headers that no server takes. */
const maxIdLength = 4_096;

/**
 * An event id as a header carries it: its UTF-8, byte for byte (HTML standard, 9.2.3). An
 * empty one is no place to go on from, and one with control characters no header.
 */
export function toLastEventId({ lastEventId: id }: Position): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
  if (!id || id.length > maxIdLength || /[\x00-\x1f\x7f]/.test(id)) return undefined;
  return String.fromCharCode(...new TextEncoder().encode(id));
}

function toHttpUrl(given: string | URL): URL {
  const url = new URL(given);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new TypeError(`a server's URL begins with http: or https:, not ${url.protocol}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new TypeError("credentials belong into the headers option, not into the URL");
  }
  return url;
}

function compose(own: HeaderRecord, going: Going, credentials?: HeaderRecord): HeaderRecord {
  // Filled by hand: spreading would make objects that are slow to read, once for each call.
  const headers: Record<string, string> = {};
  fill(headers, own);
  fill(headers, going.headers);
  fill(headers, going.common);
  if (going.place !== undefined) fill(headers, going.place);
  if (credentials !== undefined) fill(headers, credentials);
  return headers;
}

function fill(headers: Record<string, string>, more: HeaderRecord): void {
  for (const name in more) {
    const value = more[name];
    if (value !== undefined) headers[name] = value;
  }
}

/** @throws TypeError for what no header can carry: a line break in it would forge another */
function lowerCase(headers: HeaderRecord): HeaderRecord {
  return Object.fromEntries(new Headers(headers));
}
