/** A server whose every answer is the test's, at the end of a line without bytes. */
import { type Duplex, type DuplexReader, duplexTarget, type Target } from "anyrev/client";
import { isObject, type JsonObject } from "./schemas.ts";

/** `undefined` says nothing. */
export type Answer = { readonly result: unknown } | { readonly error: unknown } | undefined;

/** @param line - what the message came over, to say more than its answer */
export type Script = (message: JsonObject, line: Line) => Answer | Promise<Answer>;

/** One connection. */
export class Line {
  /** All that the client said over it, in order. */
  readonly heard: JsonObject[] = [];
  isClosed = false;
  #reader: DuplexReader | undefined;

  open(reader: DuplexReader): void {
    this.#reader = reader;
  }

  /** Says something on its own. */
  say(message: unknown): void {
    queueMicrotask(() => this.#reader?.message(structuredClone(message)));
  }

  /** Bytes as a process writes them. */
  write(text: string | Uint8Array): void {
    const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
    queueMicrotask(() => this.#reader?.bytes(bytes));
  }

  /** The server goes away. */
  gone(cause: unknown = new Error("the server ended")): void {
    queueMicrotask(() => this.#reader?.closed(cause));
  }

  close(): void {
    this.isClosed = true;
    this.#reader = undefined;
  }

  get methods(): readonly unknown[] {
    return this.heard.flatMap(({ method }) => (method === undefined ? [] : [method]));
  }
}

export class FakePeer {
  /** Every connection that was opened. */
  readonly lines: Line[] = [];
  readonly target: Target;
  /** May be replaced, as a server is by its next version. */
  script: Script;

  constructor(script: Script, key?: string) {
    this.script = script;
    this.target = duplexTarget(() => this.#open(), key);
  }

  /** The methods that were heard, connection by connection. */
  get methods(): readonly (readonly unknown[])[] {
    return this.lines.map((line) => line.methods);
  }

  get last(): Line {
    const line = this.lines.at(-1);
    if (line === undefined) throw new Error("nobody has connected");
    return line;
  }

  /** The messages of that method, over all connections. */
  heard(method: string): readonly JsonObject[] {
    return this.lines.flatMap(({ heard }) => heard.filter((each) => each["method"] === method));
  }

  #open(): Duplex {
    const line = new Line();
    return {
      open: async (reader) => {
        this.lines.push(line);
        line.open(reader);
      },
      send: (message) => {
        // As over any wire: what is sent is what it is as JSON.
        const sent = JSON.parse(JSON.stringify(message)) as JsonObject;
        line.heard.push(sent);
        void this.#answer(sent, line);
      },
      close: async () => line.close(),
    };
  }

  async #answer(message: JsonObject, line: Line): Promise<void> {
    const answer = await this.script(message, line);
    if (answer !== undefined) line.say({ jsonrpc: "2.0", id: message["id"], ...answer });
  }
}

const notFound = { error: { code: -32601, message: "Method not found" } } as const;

/** A server of the handshake: asked for any version, it answers with this one. */
export function handshaking(version: unknown, more: Script = () => notFound): Script {
  return (message, line) => {
    if (message["method"] === "initialize") return { result: initializeResult(version) };
    return message["method"] === "notifications/initialized" ? undefined : more(message, line);
  };
}

export function initializeResult(version: unknown, capabilities: JsonObject = {}): JsonObject {
  return { protocolVersion: version, capabilities, serverInfo: { name: "fake", version: "1" } };
}

/** A server without handshake that serves these versions, and answers requests that state one. */
export function discoverable(versions: unknown, more: Script = () => notFound): Script {
  return (message, line) => {
    if (message["method"] === "server/discover") return { result: discovery(versions) };
    return message["method"] === "initialize" ? notFound : more(message, line);
  };
}

export function discovery(versions: unknown, capabilities: JsonObject = {}): JsonObject {
  return complete({ supportedVersions: versions, capabilities, ttlMs: 0, cacheScope: "private" });
}

export function complete(result: JsonObject): JsonObject {
  return { resultType: "complete", ...result };
}

/** What a tool says that answers in one text. */
export function textResult(text: unknown): JsonObject {
  return complete({ content: [{ type: "text", text }] });
}

/** The params of a message, as far as it has any. */
export function paramsOf({ params }: JsonObject): JsonObject {
  return isObject(params) ? params : {};
}

/** Refuses to be discovered, and says nothing else. */
export function refusing(code: unknown, data?: unknown): Script {
  const error = { code, message: "No.", ...(data !== undefined && { data }) };
  return ({ method }) => (method === "server/discover" ? { error } : undefined);
}

/** What the first script has no answer for is the second's to answer. */
export function either(first: Script, second: Script): Script {
  return async (message, line) => (await first(message, line)) ?? (await second(message, line));
}

/** Takes discovery as `how` does, without an answer, and everything else as `then` does. */
export function unanswering(how: (line: Line) => void, then: Script): Script {
  return (message, line) => {
    if (message["method"] !== "server/discover") return then(message, line);
    how(line);
    return undefined;
  };
}

/** Answers to `tools/list`. */
export const noTools = { result: { tools: [] } } as const;
export const noToolsNow = {
  result: complete({ tools: [], ttlMs: 0, cacheScope: "private" }),
} as const;
