/** A caller at one end of a connection that carries all it says and hears: many calls at once. */
import { PassThrough } from "node:stream";
import { type ChannelOptions, openMemoryChannel, type Server, serveStdio } from "anyrev/node";
import {
  type Caller,
  initializeParams,
  notification,
  type RawRequest,
  request,
} from "./messages.ts";
import { isObject, type JsonObject, type Revision } from "./schemas.ts";
import { assertClientMessage, assertReply, assertServerMessage } from "./wire.ts";

export type DuplexKind = "stdio" | "memory";

export interface Exchanged {
  readonly reply: JsonObject;
  /** What was told with the call's progress token, before its reply. */
  readonly told: readonly JsonObject[];
}

interface Asked {
  readonly message: RawRequest;
  readonly token: string | number | undefined;
  readonly told: JsonObject[];
  readonly resolve: (exchanged: Exchanged) => void;
}

export class Duplex implements AsyncDisposable {
  readonly revision: Revision;
  /** What nobody here asked for. */
  readonly foreign: JsonObject[] = [];
  /** What the server asked, or told outside of calls. */
  readonly heard: JsonObject[] = [];
  readonly #asked: Map<string | number, Asked> = new Map();
  #send: (message: unknown) => void = () => undefined;
  #close: () => Promise<void> = () => Promise.resolve();

  private constructor(revision: Revision) {
    this.revision = revision;
  }

  /** Connects, and shakes hands where the revision does. */
  static async open(
    kind: DuplexKind,
    server: Server,
    revision: Revision,
    caller: Caller = {},
    options: ChannelOptions = {},
  ): Promise<Duplex> {
    const duplex = new Duplex(revision);
    if (kind === "stdio") duplex.#overStdio(server, options);
    else duplex.#overMemory(server, options);
    if (revision === "2026-07-28") return duplex;
    const { reply } = await duplex.ask("hello", "initialize", initializeParams(revision, caller));
    if (!isObject(reply["result"])) throw new Error(`no handshake: ${JSON.stringify(reply)}`);
    duplex.say(notification("notifications/initialized"));
    return duplex;
  }

  /** Asks, under an id of the caller's choice. */
  ask(
    id: string | number,
    method: string,
    params?: JsonObject,
    token?: string | number,
  ): Promise<Exchanged> {
    const told = token === undefined ? params : { ...params, _meta: { progressToken: token } };
    const message = request(this.revision, id, method, told);
    assertClientMessage(this.revision, message);
    return new Promise((resolve) => {
      this.#asked.set(id, { message, token, told: [], resolve });
      this.#send(message);
    });
  }

  /** Sends anything else. */
  say(message: unknown): void {
    this.#send(message);
  }

  /** How many answers are still missing. */
  get missing(): number {
    return this.#asked.size;
  }

  close(): Promise<void> {
    return this.#close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close();
  }

  #overStdio(server: Server, options: ChannelOptions): void {
    const input = new PassThrough();
    const output = new PassThrough();
    const served = serveStdio(server, { ...options, input, output, drainMs: 50 });
    let rest = "";
    output.setEncoding("utf8");
    output.on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#take(JSON.parse(line));
    });
    this.#send = (message) => input.write(`${JSON.stringify(message)}\n`);
    this.#close = () => {
      input.end();
      return served;
    };
  }

  #overMemory(server: Server, options: ChannelOptions): void {
    const channel = openMemoryChannel(server, (message) => this.#take(message), options);
    this.#send = (message) => channel.send(message);
    this.#close = () => channel.close();
  }

  #take(message: unknown): void {
    if (!isObject(message)) throw new Error(`no message: ${JSON.stringify(message)}`);
    if ("method" in message) this.#hear(message);
    else this.#settle(message);
  }

  #hear(message: JsonObject): void {
    assertServerMessage(this.revision, message);
    const { method, params } = message;
    if (method !== "notifications/progress") {
      this.heard.push(message);
      return;
    }
    const token = isObject(params) ? params["progressToken"] : undefined;
    const asked = [...this.#asked.values()].find((each) => each.token === token);
    if (asked === undefined) this.foreign.push(message);
    else asked.told.push(message);
  }

  #settle(reply: JsonObject): void {
    const id = reply["id"] as string | number;
    const asked = this.#asked.get(id);
    if (asked === undefined) {
      this.foreign.push(reply);
      return;
    }
    assertReply(this.revision, asked.message, reply);
    this.#asked.delete(id);
    asked.resolve({ reply, told: asked.told });
  }
}
