/**
 * A client at the other end of a pipe, one message a line. It writes what it is told,
 * unchanged, and holds every line it reads against the schemas.
 */
import { PassThrough, type Readable, type Writable } from "node:stream";
import { type Server, type StdioOptions, serveStdio } from "anyrev/node";
import { type Caller, initializeParams, notification, request } from "./messages.ts";
import {
  checkReply,
  checkServerMessage,
  isObject,
  type JsonObject,
  type RequestOutline,
  type Revision,
} from "./wire.ts";

type Wanted = (message: JsonObject) => boolean;

interface Waiting {
  readonly wanted: Wanted;
  readonly resolve: (message: JsonObject) => void;
}

export interface Replied {
  readonly message: JsonObject;
  readonly result: JsonObject | undefined;
  readonly error: JsonObject | undefined;
}

export class PipeEnd {
  /** Every message that was read, in order; the elements of an array one by one. */
  readonly received: JsonObject[] = [];
  /** What is wrong with anything that was read: nothing, after a test. */
  readonly problems: string[] = [];
  /** How many lines were read. */
  lines = 0;
  readonly #input: Writable;
  readonly #asked: Map<unknown, { readonly revision: Revision; readonly outline: RequestOutline }> =
    new Map();
  readonly #spoken: Set<Revision> = new Set();
  readonly #waiting: Set<Waiting> = new Set();
  #rest = "";
  #lastId = 0;

  constructor(input: Writable, output: Readable) {
    this.#input = input;
    output.setEncoding("utf8");
    output.on("data", (text: string) => this.#read(text));
  }

  /** Writes bytes or text as they stand. */
  write(bytes: string | Uint8Array): void {
    this.#input.write(bytes);
  }

  /** Ends what the server reads. */
  end(): void {
    this.#input.end();
  }

  /** Writes one message, as a caller of `revision`, whose answer will be judged by that. */
  send(revision: Revision, message: JsonObject): void {
    this.expect(revision, message);
    this.write(`${JSON.stringify(message)}\n`);
  }

  /** Judges what answers a message that is written by other means. */
  expect(revision: Revision, message: JsonObject): void {
    this.#spoken.add(revision);
    const { id, method, params } = message;
    if (id !== undefined && typeof method === "string") {
      this.#asked.set(id, { revision, outline: { id, method, params } });
    }
  }

  notify(revision: Revision, method: string, params?: JsonObject): void {
    this.send(revision, { ...notification(method, params) });
  }

  /** Starts a request. @returns its id. */
  start(revision: Revision, method: string, params?: JsonObject, caller?: Caller): number {
    const id = ++this.#lastId;
    this.send(revision, { ...request(revision, id, method, params, caller) });
    return id;
  }

  ask(revision: Revision, method: string, params?: JsonObject, caller?: Caller): Promise<Replied> {
    return this.reply(this.start(revision, method, params, caller));
  }

  /** Shakes hands. @returns the result of `initialize`. */
  async open(revision: Revision, caller?: Caller): Promise<JsonObject> {
    if (revision === "2026-07-28") return {};
    const { result } = await this.ask(revision, "initialize", initializeParams(revision, caller));
    if (result?.["protocolVersion"] !== revision) throw new Error(`${revision} was not agreed on`);
    this.notify(revision, "notifications/initialized");
    return result;
  }

  /** Answers a request of the server. */
  answer(asked: JsonObject, result: JsonObject): void {
    this.write(`${JSON.stringify({ jsonrpc: "2.0", id: asked["id"], result })}\n`);
  }

  async reply(id: unknown): Promise<Replied> {
    const message = await this.next((each) => each["id"] === id && !("method" in each));
    const { result, error } = message;
    return {
      message,
      result: isObject(result) ? result : undefined,
      error: isObject(error) ? error : undefined,
    };
  }

  /** The first message, of those that were read and those to come, that is wanted. */
  next(wanted: Wanted, patienceMs = 5_000): Promise<JsonObject> {
    const there = this.received.find(wanted);
    if (there !== undefined) return Promise.resolve(there);
    return new Promise((resolve, reject) => {
      const heard = JSON.stringify(this.received.slice(-3));
      const timer = setTimeout(() => {
        this.#waiting.delete(waiting);
        reject(new Error(`nothing came for ${patienceMs} ms; before it ${heard}`));
      }, patienceMs);
      const waiting: Waiting = {
        wanted,
        resolve: (message) => {
          clearTimeout(timer);
          resolve(message);
        },
      };
      this.#waiting.add(waiting);
    });
  }

  /** The first request of the server with that method. */
  asked(method: string): Promise<JsonObject> {
    return this.next((message) => message["method"] === method && "id" in message);
  }

  /** All notifications with that method so far. */
  told(method: string): JsonObject[] {
    return this.received.filter((message) => message["method"] === method && !("id" in message));
  }

  #read(text: string): void {
    // A long line comes in many pieces; it is looked through once.
    if (!text.includes("\n")) {
      this.#rest += text;
      return;
    }
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#take(line);
  }

  #take(line: string): void {
    this.lines++;
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      this.problems.push(`no JSON: ${line.slice(0, 200)}`);
      return;
    }
    for (const each of Array.isArray(message) ? message : [message]) this.#keep(each);
  }

  #keep(message: unknown): void {
    if (!isObject(message)) {
      this.problems.push(`no message: ${JSON.stringify(message)}`);
      return;
    }
    this.problems.push(...this.#judge(message));
    this.received.push(message);
    for (const waiting of [...this.#waiting]) {
      if (!waiting.wanted(message)) continue;
      this.#waiting.delete(waiting);
      waiting.resolve(message);
    }
  }

  #judge(message: JsonObject): string[] {
    if ("method" in message) {
      // Both eras share one pipe: what the server says of itself is valid in one spoken on it.
      const found = [...this.#spoken].map((revision) => checkServerMessage(revision, message));
      return found.some((problems) => problems.length === 0) ? [] : found.flat();
    }
    const { id } = message;
    const asked = this.#asked.get(id);
    if (asked !== undefined) return judgeReply(asked.revision, asked.outline, message);
    // What could not be read was taken for one of those that may be on this pipe.
    const outline = { method: "unreadable", id: id ?? undefined };
    const found = [...new Set<Revision>(["2026-07-28", "2025-03-26", ...this.#spoken])].map(
      (revision) => judgeReply(revision, outline, message),
    );
    return found.some((problems) => problems.length === 0) ? [] : found.flat();
  }
}

function judgeReply(revision: Revision, outline: RequestOutline, message: JsonObject): string[] {
  return checkReply(revision, outline, message).map(
    (problem) => `${outline.method} in ${revision}: ${problem}`,
  );
}

export interface Piped extends AsyncDisposable {
  readonly end: PipeEnd;
  readonly input: PassThrough;
  readonly output: PassThrough;
  /** Resolves when the server has ended. */
  readonly served: Promise<void>;
}

/** Serves over two streams of this process. */
export function openPipe(server: Server, options: StdioOptions = {}): Piped {
  const input = new PassThrough();
  const output = new PassThrough();
  const served = serveStdio(server, { drainMs: 50, ...options, input, output });
  return {
    end: new PipeEnd(input, output),
    input,
    output,
    served,
    [Symbol.asyncDispose]: () => {
      input.end();
      return served;
    },
  };
}
