/** A caller in conversation: what is said while its call runs is read as it comes, and judged. */
import type { Begun, Live, StreamEvent, Worker } from "./live.ts";
import { readEvents } from "./live.ts";
import {
  type Caller,
  headersFor,
  initializeParams,
  notification,
  type RawRequest,
  request,
} from "./messages.ts";
import { isObject, type JsonObject, type Revision } from "./schemas.ts";
import { assertClientMessage, assertReply, assertServerMessage } from "./wire.ts";

/** One reply, message by message. */
export class Talk {
  /** Every message so far. */
  readonly messages: JsonObject[] = [];
  /** Every event so far, comments and events without a message included. */
  readonly events: StreamEvent[] = [];
  /** What it answers; undefined for a stream that answers nothing. */
  readonly request: RawRequest | undefined;
  readonly #revision: Revision;
  readonly #begun: Begun;
  #reading: AsyncGenerator<JsonObject> | undefined;
  #lastEventId: string | undefined;

  constructor(revision: Revision, asked: RawRequest | undefined, begun: Begun) {
    this.#revision = revision;
    this.request = asked;
    this.#begun = begun;
  }

  get live(): Promise<Live> {
    return this.#begun.live;
  }

  async status(): Promise<number> {
    return (await this.live).status;
  }

  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  /** The next message; undefined at the end. */
  async next(): Promise<JsonObject | undefined> {
    this.#reading ??= this.#read();
    const { value, done } = await this.#reading.next();
    return done ? undefined : value;
  }

  /** The next message of that method, which must be the next message. */
  async told(method: string): Promise<JsonObject> {
    const message = await this.next();
    if (message?.["method"] !== method) {
      throw new Error(`expected ${method}, not ${JSON.stringify(message)}`);
    }
    return message;
  }

  /** The rest, up to the end. */
  async rest(): Promise<readonly JsonObject[]> {
    const rest: JsonObject[] = [];
    for (let next = await this.next(); next !== undefined; next = await this.next()) {
      rest.push(next);
    }
    return rest;
  }

  /** The answer, which must be the last message. */
  async reply(): Promise<JsonObject> {
    await this.rest();
    const last = this.messages.at(-1);
    if (last === undefined || "method" in last) {
      throw new Error(`no reply came: ${JSON.stringify(this.messages)}`);
    }
    return last;
  }

  async result(): Promise<JsonObject> {
    const reply = await this.reply();
    if (isObject(reply["result"])) return reply["result"];
    throw new Error(`the call failed: ${JSON.stringify(reply)}`);
  }

  /** What the tool's first block says. */
  async text(): Promise<string> {
    return textOf(await this.result());
  }

  drop(): void {
    this.#begun.drop();
  }

  async *#read(): AsyncGenerator<JsonObject> {
    const { headers, chunks } = await this.live;
    if (!headers.get("content-type")?.startsWith("text/event-stream")) {
      let text = "";
      for (let next = await chunks.next(); !next.done; next = await chunks.next())
        text += next.value;
      if (text !== "") yield this.#judge(text);
      return;
    }
    for await (const event of readEvents(chunks)) {
      this.events.push(event);
      if (event.id !== undefined) this.#lastEventId = event.id;
      if (event.data) yield this.#judge(event.data);
    }
  }

  #judge(text: string): JsonObject {
    const message: unknown = JSON.parse(text);
    if (!isObject(message)) throw new Error(`no message: ${text}`);
    if ("method" in message) assertServerMessage(this.#revision, message);
    else assertReply(this.#revision, this.request ?? { method: "none" }, message);
    this.messages.push(message);
    return message;
  }
}

export interface Asking {
  /** @default a number of the caller's own */
  readonly id?: string | number;
  readonly token?: string | number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a caller can be asked, in the words of its revision. */
export function capabilitiesOf(revision: Revision): JsonObject {
  const older = { sampling: {}, roots: {} };
  if (revision < "2025-06-18") return older;
  const elicitation = revision < "2025-11-25" ? {} : { form: {}, url: {} };
  return { ...older, elicitation };
}

/** A caller of one revision, with its session where it has one. */
export class Talker {
  readonly revision: Revision;
  readonly session: string | undefined;
  readonly #worker: Worker;
  readonly #caller: Caller;
  #lastId = 0;

  constructor(worker: Worker, revision: Revision, caller: Caller, session: string | undefined) {
    this.#worker = worker;
    this.revision = revision;
    this.session = session;
    this.#caller = caller;
  }

  /** Shakes hands where the revision does. */
  static async open(
    worker: Worker,
    revision: Revision,
    caller: Caller = { capabilities: capabilitiesOf(revision) },
  ): Promise<Talker> {
    const stateless = new Talker(worker, revision, caller, undefined);
    if (revision === "2026-07-28") return stateless;
    const hello = stateless.ask("initialize", initializeParams(revision, caller));
    const { protocolVersion } = await hello.result();
    if (protocolVersion !== revision) throw new Error(`${protocolVersion} is not ${revision}`);
    const session = (await hello.live).headers.get("mcp-session-id") ?? undefined;
    const talker = new Talker(worker, revision, caller, session);
    const status = await talker.say(notification("notifications/initialized"));
    if (status !== 202) throw new Error(`notifications/initialized got ${status}`);
    return talker;
  }

  /** The same caller, whose requests land on another worker. */
  on(worker: Worker): Talker {
    return new Talker(worker, this.revision, this.#caller, this.session);
  }

  ask(method: string, params?: JsonObject, { id, token, headers }: Asking = {}): Talk {
    const meta = isObject(params?.["_meta"]) ? params["_meta"] : {};
    const told =
      token === undefined ? params : { ...params, _meta: { ...meta, progressToken: token } };
    const message = request(this.revision, id ?? ++this.#lastId, method, told, this.#caller);
    assertClientMessage(this.revision, message);
    return new Talk(this.revision, message, this.#post(message, headers));
  }

  call(name: string, args: JsonObject = {}, asking?: Asking): Talk {
    return this.ask("tools/call", { name, arguments: args }, asking);
  }

  /** Sends a notification or a reply. @returns the HTTP status */
  async say(message: object): Promise<number> {
    const { status, chunks } = await this.#post(message).live;
    const { value } = await chunks.next();
    if (status === 202 && value) throw new Error(`202 with a body: ${value}`);
    return status;
  }

  cancel(requestId: string | number): Promise<number> {
    return this.say(notification("notifications/cancelled", { requestId }));
  }

  /** Answers what the server asked. */
  answer(asked: JsonObject, result: JsonObject): Promise<number> {
    return this.say({ jsonrpc: "2.0", id: asked["id"], result });
  }

  /** Opens the stream of the session, or goes on with one. */
  listen(lastEventId?: string): Talk {
    const resuming: Record<string, string> =
      lastEventId === undefined ? {} : { "last-event-id": lastEventId };
    return new Talk(this.revision, undefined, this.#bare("GET", resuming));
  }

  /** Takes up the reply to a call where it was lost. */
  resume(lost: Talk): Talk {
    if (lost.lastEventId === undefined) throw new Error("nothing was read that has an id");
    const resuming = { "last-event-id": lost.lastEventId };
    return new Talk(this.revision, lost.request, this.#bare("GET", resuming));
  }

  async end(): Promise<number> {
    return (await this.#bare("DELETE").live).status;
  }

  #bare(method: string, more: Record<string, string> = {}): Begun {
    const headers = headersFor(this.revision, {});
    delete headers["content-type"];
    return this.#worker.begin({
      method,
      headers: { ...headers, accept: "text/event-stream", ...this.#naming(), ...more },
    });
  }

  #post(message: object, headers: Readonly<Record<string, string>> = {}): Begun {
    // Without a session nothing that these revisions send tells them from one another.
    const pinned = this.revision < "2025-06-18" && this.session === undefined;
    return this.#worker.begin({
      query: pinned ? `mcp=${this.revision}` : undefined,
      headers: { ...headersFor(this.revision, message), ...this.#naming(), ...headers },
      body: JSON.stringify(message),
    });
  }

  #naming(): Record<string, string> {
    return this.session === undefined ? {} : { "mcp-session-id": this.session };
  }
}

/** What the first block of a tool's result says. */
export function textOf(result: JsonObject): string {
  const [block] = (result["content"] ?? []) as readonly { readonly text?: string }[];
  return block?.text ?? "";
}
