/**
 * A way to a server that is listened in on: every message, in either direction, is held against
 * the schema of its revision, and every header against what the raw driver would have sent.
 */
import type { Incoming, Received, Target, Transport, Travel } from "anyrev/client";
import type { RpcNotification, RpcReply, RpcRequest } from "../../src/jsonrpc/message.ts";
import type { WrittenRequest } from "../../src/revisions/client-half.ts";
import { headersFor } from "./messages.ts";
import type { Revision } from "./wire.ts";
import { checkClientMessage, checkReply, checkServerMessage, type JsonObject } from "./wire.ts";

type Headers = Readonly<Record<string, string>>;

export class Recording {
  readonly revision: Revision;
  /** What is wrong with anything that was said: nothing, after a test. */
  readonly problems: string[] = [];
  /** All that the client said, in order. */
  readonly said: JsonObject[] = [];
  /** All that the server said, in order. */
  readonly heard: JsonObject[] = [];
  readonly warnings: string[] = [];
  /** Every transport that was opened. */
  readonly transports: Transport[] = [];

  constructor(revision: Revision) {
    this.revision = revision;
  }

  /** The same server, listened in on. */
  target(to: Target): Target {
    const keep = (transport: Transport): Transport => {
      const recorded = new RecordingTransport(transport, this);
      this.transports.push(recorded);
      return recorded;
    };
    const { key, openLegacySse } = to;
    return {
      key,
      open: () => keep(to.open()),
      ...(openLegacySse && { openLegacySse: () => keep(openLegacySse()) }),
    };
  }

  /** The methods of what the client said, answers left out. */
  get methods(): readonly unknown[] {
    return this.said.flatMap(({ method }) => (method === undefined ? [] : [method]));
  }

  count(method: string): number {
    return this.methods.filter((each) => each === method).length;
  }

  judge(what: string, message: unknown, problems: readonly string[]): void {
    for (const problem of problems) {
      this.problems.push(`${what}: ${problem}: ${JSON.stringify(message)}`);
    }
  }
}

class RecordingTransport implements Transport {
  readonly network: Transport["network"];
  readonly #inner: Transport;
  readonly #record: Recording;
  /** The requests of the server that are not answered yet. */
  readonly #asked: Map<unknown, JsonObject> = new Map();

  constructor(inner: Transport, record: Recording) {
    this.network = inner.network;
    this.#inner = inner;
    this.#record = record;
  }

  get kind(): Transport["kind"] {
    return this.#inner.kind;
  }

  get session(): string | undefined {
    return this.#inner.session;
  }

  get follow(): Transport["follow"] {
    return this.#inner.follow?.bind(this.#inner);
  }

  start(incoming: Incoming): Promise<void> {
    return this.#inner.start({
      receive: (message, during) => {
        this.#hear(message);
        incoming.receive(message, during);
      },
      warn: (message) => {
        this.#record.warnings.push(message);
        incoming.warn(message);
      },
      closed: (cause) => incoming.closed(cause),
    });
  }

  async request(written: WrittenRequest, travel: Travel): Promise<Received> {
    const { message, headers } = written;
    this.#say(message, headers);
    const received = await this.#inner.request(written, travel);
    const reply = toWire(received.reply);
    this.#record.heard.push(reply);
    const { id, method, params } = message;
    const problems = checkReply(
      this.#record.revision,
      { id, method: String(method), params },
      reply,
    );
    this.#record.judge("reply", reply, problems);
    return received;
  }

  async send(message: JsonObject, headers: Headers, signal: AbortSignal): Promise<void> {
    if ("method" in message) this.#say(message, headers);
    else this.#answer(message);
    await this.#inner.send(message, headers, signal);
  }

  forgetSession(): void {
    this.#inner.forgetSession();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  #say(message: JsonObject, headers: Headers): void {
    const { revision } = this.#record;
    this.#record.said.push(message);
    this.#record.judge("client", message, checkClientMessage(revision, message));
    const expected = headersFor(revision, message);
    for (const [name, value] of Object.entries(expected)) {
      const isCarriers = name === "content-type" || name === "accept";
      // A notification is held to none of the mirrors (SELECTION.md).
      const isMirror = name.startsWith("mcp-") && name !== "mcp-protocol-version";
      if (isCarriers || (isMirror && !("id" in message)) || headers[name] === value) continue;
      this.#record.judge("headers", headers, [`${name} must be ${value}`]);
    }
  }

  #answer(message: JsonObject): void {
    const { revision } = this.#record;
    this.#record.said.push(message);
    const asked = this.#asked.get(message["id"]);
    this.#asked.delete(message["id"]);
    if (asked === undefined) {
      this.#record.judge("answer", message, ["answers nothing that was asked"]);
      return;
    }
    const { id, method, params } = asked;
    const problems = checkReply(revision, { id, method: String(method), params }, message);
    this.#record.judge("answer", message, problems);
  }

  #hear(heard: RpcRequest | RpcNotification): void {
    const { method, params } = heard;
    const id = heard.kind === "request" ? { id: heard.id } : {};
    const message = { jsonrpc: "2.0", ...id, method, ...(params !== undefined && { params }) };
    if (heard.kind === "request") this.#asked.set(heard.id, message);
    this.#record.heard.push(message);
    const problems = checkServerMessage(this.#record.revision, message);
    this.#record.judge("server", message, problems);
  }
}

function toWire({ id, result, error }: RpcReply): JsonObject {
  const outcome = error === undefined ? { result } : { error };
  return { jsonrpc: "2.0", ...(id !== null && { id }), ...outcome };
}
