/** Who the client is to a server, as the HTTP transports see it. */
import type { Awaitable } from "../util/awaitable.ts";
import type { Ending } from "../util/ending.ts";
import type { JsonObject } from "../util/json.ts";
import { clientClosed } from "./errors.ts";
import type { CallSignal } from "./transport.ts";

/** One HTTP exchange that is about to take place. */
export interface AuthExchange {
  readonly method: "POST" | "GET" | "DELETE";
  /** Where it goes: of the server's own origin, always. */
  readonly url: URL;
  /** The URL that the client was connected to. */
  readonly server: URL;
}

/** What came of it. */
export interface AuthAnswer extends AuthExchange {
  readonly status: number;
  /** @param name - in lower case */
  header(name: string): string | undefined;
  /** What `headers` gave for it. */
  readonly credentials: Readonly<Record<string, string>>;
  /** How often the request has been sent again already. */
  readonly repeats: number;
}

/**
 * Credentials for every exchange with a server, over each of its routes. Made by the functions of
 * `anyrev/client/auth`; an object of your own does as well. One may serve several clients.
 */
export interface ClientAuth {
  /**
   * The headers that tell who is asking, names in lower case; they win over those of `headers`.
   * Asked before each exchange: give what is at hand, without a promise where it is.
   */
  headers(exchange: AuthExchange, signal: CallSignal): Awaitable<Readonly<Record<string, string>>>;
  /**
   * Told of every answer, whatever its status.
   *
   * @returns whether the request is to be sent again, with headers that are asked for anew
   * @throws ClientError `unauthorized` with what a user can do about it
   */
  answered(answer: AuthAnswer, signal: CallSignal): Awaitable<boolean>;
  /** Extensions of the protocol that it takes part in, to be declared by the client. */
  readonly extensions?: Readonly<Record<string, JsonObject>> | undefined;
  /**
   * Names whoever the credentials stand for. It changes when they may be somebody else's, so that
   * nothing private is given from a cache to another. @default nothing private is kept
   */
  context?(): string;
}

/** No `ClientAuth` can make an exchange go round in circles for longer. */
export const maxRepeats = 6;

/** Over when a call is, or when the transport that carries it is closed. */
export class EitherEnd implements CallSignal {
  readonly #signal: CallSignal;
  readonly #ending: Ending | undefined;
  #forget: Map<() => void, () => void> | undefined;

  constructor(signal: CallSignal, ending: Ending | undefined) {
    this.#signal = signal;
    this.#ending = ending;
  }

  get aborted(): boolean {
    return this.#signal.aborted || this.#ending?.over === true;
  }

  get reason(): unknown {
    return this.#signal.aborted || !this.aborted ? this.#signal.reason : clientClosed();
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  addEventListener(type: "abort", listener: () => void): void {
    this.#signal.addEventListener(type, listener, { once: true });
    if (this.#ending === undefined) return;
    this.#forget ??= new Map();
    this.#forget.set(listener, this.#ending.onEnd(listener));
  }

  removeEventListener(type: "abort", listener: () => void): void {
    this.#signal.removeEventListener(type, listener);
    this.#forget?.get(listener)?.();
    this.#forget?.delete(listener);
  }
}
