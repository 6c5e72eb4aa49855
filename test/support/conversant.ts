/**
 * A client that converses: over any wire, in any revision, answering what it is asked by
 * whatever way the question comes. All that it sends and hears is held against the schemas.
 */
import type { EndpointOptions, Server } from "anyrev/node";
import {
  headersFor,
  initializeParams,
  notification,
  type RawRequest,
  request,
} from "./messages.ts";
import { isObject, type JsonObject, type Revision } from "./schemas.ts";
import { readToldQuestions, textOf } from "./told-questions.ts";
import { assertClientMessage, assertReply, assertServerMessage } from "./wire.ts";
import { type Origin, openWire, type Sending, type Wire, type WireKind } from "./wires.ts";

export interface Question {
  readonly method: string;
  readonly params: JsonObject;
  /** What it is called within its call; undefined for a pushed one. */
  readonly key: string | undefined;
  /** The id of the request that pushed it. */
  readonly id?: unknown;
}

/** The result that answers a question, or an error; undefined leaves it without an answer. */
export type Answering = (question: Question) => JsonObject | { error: JsonObject } | undefined;

export interface ConversantOptions {
  readonly capabilities?: JsonObject | undefined;
  readonly answer?: Answering | undefined;
  readonly endpoint?: EndpointOptions | undefined;
  /** Replaces what each POST accepts. */
  readonly accept?: string | undefined;
}

export interface Reply {
  readonly message: JsonObject;
  readonly origin: Origin;
}

export interface Started {
  readonly id: string | number;
  readonly reply: Promise<Reply>;
  readonly sending: Sending;
}

interface Waiting {
  readonly request: RawRequest;
  readonly resolve: (reply: Reply) => void;
}

/** Everything that a client of the revision can say that it can be asked. */
export function everyCapability(revision: Revision): JsonObject {
  const elicitation =
    revision >= "2025-11-25" ? { elicitation: { form: {}, url: {} } } : { elicitation: {} };
  return { sampling: {}, roots: {}, ...(revision >= "2025-06-18" && elicitation) };
}

const patienceMs = 4_000;

export class Conversant implements AsyncDisposable {
  readonly revision: Revision;
  /** All notifications, in the order in which they came. */
  readonly heard: { readonly message: JsonObject; readonly origin: Origin }[] = [];
  /** All questions, in the order in which they were asked. */
  readonly questions: Question[] = [];
  /** How often the last call was made until it was done. */
  rounds = 0;
  sessionId: string | undefined;
  /** What the handshake answered. */
  opened: JsonObject | undefined;
  #wire: Wire | undefined;
  readonly #options: ConversantOptions;
  readonly #waiting: Map<unknown, Waiting> = new Map();
  readonly #faults: unknown[] = [];
  readonly #watching: Set<() => void> = new Set();
  readonly #settled: Set<unknown> = new Set();
  #forgetsRepeated = false;
  #lastId = 0;

  private constructor(revision: Revision, options: ConversantOptions) {
    this.revision = revision;
    this.#options = options;
  }

  static async open(
    kind: WireKind,
    revision: Revision,
    server: Server,
    options: ConversantOptions = {},
  ): Promise<Conversant> {
    const peer = new Conversant(revision, options);
    const hear = (message: JsonObject, origin: Origin): void => peer.#hear(message, origin);
    peer.#wire = await openWire(kind, server, hear, options.endpoint);
    if (revision !== "2026-07-28") await peer.#shakeHands();
    return peer;
  }

  get wire(): Wire {
    if (this.#wire === undefined) throw new Error("there is no wire yet");
    return this.#wire;
  }

  /** Sends a request and does not wait. */
  start(method: string, params: JsonObject = {}): Started {
    return this.#start(method, params, (message) => assertClientMessage(this.revision, message));
  }

  #start(method: string, params: JsonObject, check: (message: RawRequest) => void): Started {
    const id = ++this.#lastId;
    const capabilities = this.#capabilities;
    const message = request(this.revision, id, method, params, { capabilities });
    check(message);
    this.rounds++;
    const reply = new Promise<Reply>((resolve) => {
      this.#waiting.set(id, { request: message, resolve });
    });
    return { id, reply, sending: this.#send(message) };
  }

  /** Sends a request and gives its reply. */
  ask(method: string, params: JsonObject = {}): Promise<Reply> {
    return this.#await(method, this.start(method, params));
  }

  /** Sends a request that no client would send, and gives its reply. */
  askRaw(method: string, params: JsonObject): Promise<Reply> {
    return this.#await(
      method,
      this.#start(method, params, () => {}),
    );
  }

  async #await(method: string, { reply }: Started): Promise<Reply> {
    const found = await within(reply, `${method} is answered`, () => this.#check());
    this.#check();
    return found;
  }

  /** Sends a request as often as it takes until nothing more is asked. */
  async finish(method: string, params: JsonObject): Promise<Reply> {
    this.rounds = 0;
    let given = params;
    while (this.rounds < 20) {
      const reply = await this.ask(method, given);
      const next = this.#nextRound(params, reply);
      if (next === undefined) return reply;
      given = next;
    }
    throw new Error(`${method} was sent ${this.rounds} times and is still not done`);
  }

  /** Calls a tool to its end. @returns its text, parsed. */
  async call(name: string, args: JsonObject = {}, meta?: JsonObject): Promise<unknown> {
    const { message } = await this.finish("tools/call", {
      name,
      arguments: args,
      ...(meta && { _meta: meta }),
    });
    if (!isObject(message["result"])) throw new Error(`failed: ${JSON.stringify(message)}`);
    return JSON.parse(textOf(message["result"]));
  }

  notify(method: string, params?: JsonObject): Sending {
    const message = notification(method, params);
    assertClientMessage(this.revision, message);
    return this.#send(message);
  }

  /** Answers a pushed question by hand. */
  answer(id: unknown, result: JsonObject): Sending {
    return this.#send({ jsonrpc: "2.0", id, result });
  }

  /** From here on a reply that was heard may be heard again. */
  forgetRepeated(): void {
    this.#forgetsRepeated = true;
  }

  /** Opens the stream of a session, where there is one. */
  async listen(more: Readonly<Record<string, string>> = {}): Promise<Sending> {
    const sending = this.wire.listen({
      accept: "text/event-stream",
      ...(this.revision >= "2025-06-18" && { "mcp-protocol-version": this.revision }),
      ...this.#session,
      ...more,
    });
    await sending.response;
    return sending;
  }

  /** Ends the session, over HTTP. */
  async endSession(): Promise<void> {
    const response = await this.wire.drop({ ...this.#session }).response;
    if (response?.status !== 204) throw new Error(`DELETE got ${response?.status}`);
  }

  /** The params of the notifications of one method. */
  told(method: string): unknown[] {
    return this.heard
      .filter(({ message }) => message["method"] === method)
      .map(({ message }) => message["params"]);
  }

  /** Waits until something holds that is looked at whenever a message comes. */
  async until(holds: () => boolean, what: string): Promise<void> {
    if (holds()) return;
    const held = new Promise<void>((resolve) => {
      const look = (): void => {
        if (!holds()) return;
        this.#watching.delete(look);
        resolve();
      };
      this.#watching.add(look);
    });
    await within(held, what, () => this.#check());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.wire.close();
    this.#check();
  }

  get #capabilities(): JsonObject {
    return this.#options.capabilities ?? everyCapability(this.revision);
  }

  get #session(): Record<string, string> {
    return this.sessionId === undefined ? {} : { "mcp-session-id": this.sessionId };
  }

  async #shakeHands(): Promise<void> {
    const params = initializeParams(this.revision, { capabilities: this.#capabilities });
    const { message, origin } = await this.ask("initialize", { ...params });
    if (!isObject(message["result"])) throw new Error(`refused: ${JSON.stringify(message)}`);
    this.opened = message["result"];
    this.sessionId = origin.headers?.get("mcp-session-id") ?? undefined;
    await this.notify("notifications/initialized").over;
  }

  #send(message: object): Sending {
    const { accept } = this.#options;
    const headers = {
      ...headersFor(this.revision, message),
      ...(accept !== undefined && { accept }),
      ...this.#session,
    };
    // Without a session nothing that these revisions send tells them from one another.
    const isPinned =
      this.revision < "2025-06-18" &&
      this.sessionId === undefined &&
      this.opened !== undefined &&
      ["socket", "fetch"].includes(this.wire.kind);
    return this.wire.send(message, headers, isPinned ? `?mcp=${this.revision}` : "");
  }

  /** Never throws: what is wrong comes out where the test waits. */
  #hear(message: JsonObject, origin: Origin): void {
    try {
      if ("method" in message) this.#take(message, origin);
      else this.#settle(message, origin);
    } catch (cause) {
      this.#faults.push(cause);
    }
    for (const look of [...this.#watching]) look();
  }

  #settle(message: JsonObject, origin: Origin): void {
    const waiting = this.#waiting.get(message["id"]);
    if (waiting === undefined && this.#settled.has(message["id"]) && this.#forgetsRepeated) return;
    if (waiting === undefined) throw new Error(`nobody asked for ${JSON.stringify(message)}`);
    this.#waiting.delete(message["id"]);
    this.#settled.add(message["id"]);
    assertReply(this.revision, waiting.request, message);
    waiting.resolve({ message, origin });
  }

  #take(message: JsonObject, origin: Origin): void {
    assertServerMessage(this.revision, message);
    if (!("id" in message)) {
      this.heard.push({ message, origin });
      return;
    }
    const { id, method, params } = message;
    const result = this.#answer({
      id,
      key: undefined,
      method: String(method),
      params: isObject(params) ? params : {},
    });
    if (result === undefined) return;
    const reply = { jsonrpc: "2.0", id, ...("error" in result ? result : { result }) };
    assertReply(this.revision, { id, method: String(method), params }, reply);
    this.#send(reply);
  }

  #answer(question: Question): ReturnType<Answering> {
    this.questions.push(question);
    return this.#options.answer?.(question);
  }

  #nextRound(first: JsonObject, { message }: Reply): JsonObject | undefined {
    const result = message["result"];
    if (!isObject(result)) return undefined;
    if (result["resultType"] === "input_required") return this.#nextInput(first, result);
    return "content" in result ? this.#nextArguments(first, result) : undefined;
  }

  #nextInput(first: JsonObject, { inputRequests, requestState }: JsonObject): JsonObject {
    const responses = Object.entries(isObject(inputRequests) ? inputRequests : {}).flatMap(
      ([key, asked]) => {
        const { method, params } = isObject(asked) ? asked : {};
        const question = { key, method: String(method), params: isObject(params) ? params : {} };
        const result = this.#answer(question);
        return result === undefined ? [] : [[key, result]];
      },
    );
    return { ...first, inputResponses: Object.fromEntries(responses), requestState };
  }

  #nextArguments(first: JsonObject, result: JsonObject): JsonObject | undefined {
    const told = readToldQuestions(textOf(result));
    if (told === undefined) return undefined;
    const answers = told.questions.flatMap(({ key, message, schema }) => {
      const params = { message, requestedSchema: schema };
      const found: JsonObject | undefined = this.#answer({
        key,
        method: "elicitation/create",
        params,
      });
      if (found === undefined) return [];
      // A model writes what its user said, or that the user said no.
      return [[key, found["action"] === "accept" ? found["content"] : found["action"]]];
    });
    const args = isObject(first["arguments"]) ? first["arguments"] : {};
    const more = { _answers: Object.fromEntries(answers), _state: told.state };
    return { ...first, arguments: { ...args, ...more } };
  }

  #check(): void {
    if (this.#faults.length > 0) throw this.#faults[0];
  }
}

/** Waits for something, but not for ever, and says for what. */
export async function within<T>(
  awaited: Promise<T>,
  what: string,
  check: () => void = () => {},
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      try {
        check();
        reject(new Error(`waited ${patienceMs} ms until ${what}`));
      } catch (cause) {
        reject(cause);
      }
    }, patienceMs);
  });
  try {
    return await Promise.race([awaited, late]);
  } finally {
    clearTimeout(timer);
  }
}
