/** What tests of the client's HTTP transports share: both senders, and who hears what comes. */

import { ClientError } from "../../src/client/errors.ts";
import { FetchSender } from "../../src/client/fetch-sender.ts";
import type { HttpSender } from "../../src/client/http-exchange.ts";
import { StreamableHttp, type StreamableHttpOptions } from "../../src/client/streamable-http.ts";
import type { Incoming, Received, Travel } from "../../src/client/transport.ts";
import type { RequestId, RpcNotification, RpcRequest } from "../../src/jsonrpc/message.ts";
import { NodeHttpSender } from "../../src/node/http-sender.ts";
import { headersFor, initializeParams, notification, request } from "./messages.ts";
import type { Revision } from "./wire.ts";

export const senderKinds = ["node", "fetch"] as const;
export type SenderKind = (typeof senderKinds)[number];

export function createSender(kind: SenderKind): HttpSender {
  return kind === "node" ? new NodeHttpSender() : new FetchSender();
}

export interface Heard {
  readonly message: RpcRequest | RpcNotification;
  readonly during: RequestId | undefined;
}

/** Keeps what a transport hands up. */
export class Recorder implements Incoming {
  readonly heard: Heard[] = [];
  readonly warnings: string[] = [];
  readonly closings: unknown[] = [];

  receive(message: RpcRequest | RpcNotification, during: RequestId | undefined): void {
    this.heard.push({ message, during });
  }

  warn(message: string): void {
    this.warnings.push(message);
  }

  closed(cause: unknown): void {
    this.closings.push(cause);
  }

  get methods(): string[] {
    return this.heard.map(({ message }) => message.method);
  }
}

/** A transport of one revision, and what it handed up. */
export class Link implements AsyncDisposable {
  readonly transport: StreamableHttp;
  readonly sender: HttpSender;
  readonly recorder: Recorder = new Recorder();
  readonly #revision: Revision;
  #id = 0;

  constructor(
    kind: SenderKind,
    url: string,
    revision: Revision,
    options: StreamableHttpOptions = {},
  ) {
    this.#revision = revision;
    this.sender = createSender(kind);
    this.transport = new StreamableHttp(url, this.sender, options);
    void this.transport.start(this.recorder);
  }

  /** The id of the last request. */
  get lastId(): number {
    return this.#id;
  }

  async ask(
    method: string,
    params?: Readonly<Record<string, unknown>>,
    travel: Partial<Travel> = {},
  ): Promise<Received> {
    const message = request(this.#revision, ++this.#id, method, params);
    return this.transport.request(
      { message: { ...message }, headers: this.#headers(message) },
      { signal: new AbortController().signal, resumption: "none", ...travel },
    );
  }

  tell(method: string, params?: Readonly<Record<string, unknown>>): Promise<void> {
    const message = notification(method, params);
    const { signal } = new AbortController();
    return this.transport.send({ ...message }, this.#headers(message), signal);
  }

  /** Handshakes, where the revision has that. */
  async open(): Promise<void> {
    if (this.#revision === "2026-07-28") return;
    await this.ask("initialize", initializeParams(this.#revision));
    await this.tell("notifications/initialized");
  }

  /** What the revision adds; content types are the transport's own. */
  #headers(message: unknown): Record<string, string> {
    const { accept, "content-type": type, ...headers } = headersFor(this.#revision, message);
    return headers;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.transport.close();
  }
}

/** Why something that must fail did. */
export async function failureOf(failing: Promise<unknown>): Promise<ClientError> {
  const outcome = await failing.then(
    (value) => new Error(`it succeeded: ${JSON.stringify(value)}`),
    (cause: unknown) => cause,
  );
  if (outcome instanceof ClientError) return outcome;
  throw outcome;
}
