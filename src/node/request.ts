/** From `node:http` to the neutral request, without a web object in between. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Principal } from "../core/access.ts";
import type { HeaderLookup } from "../revisions/preamble.ts";
import type { HttpRequest } from "../server/http.ts";

/** What a body parser that ran before may have left on the request. */
type Incoming = IncomingMessage & { readonly body?: unknown };

export class NodeRequest implements HttpRequest {
  readonly method: string;
  readonly target: string;
  readonly host: string | undefined;
  readonly headers: HeaderLookup;
  readonly #incoming: IncomingMessage;
  readonly #outgoing: ServerResponse;
  readonly #find: (() => Principal | undefined) | undefined;

  /** @param find - whom middleware in front has found out; asked when the endpoint asks */
  constructor(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    find: (() => Principal | undefined) | undefined,
  ) {
    const { headers } = incoming;
    this.method = incoming.method ?? "GET";
    this.target = incoming.url ?? "/";
    this.host = isHostRepeated(incoming.rawHeaders) ? undefined : headers.host;
    this.headers = (name) => {
      if (name === "authorization") return readAuthorization(incoming);
      const value = headers[name];
      return Array.isArray(value) ? value.join(", ") : value;
    };
    this.#incoming = incoming;
    this.#outgoing = outgoing;
    this.#find = find;
  }

  get principal(): Principal | undefined {
    return this.#find?.();
  }

  get address(): string | undefined {
    return this.#incoming.socket.remoteAddress;
  }

  body(maxBytes: number): Promise<Uint8Array | "too-large"> {
    return readBody(this.#incoming, maxBytes);
  }

  onDisconnect(callback: () => void): void {
    const outgoing = this.#outgoing;
    if (outgoing.destroyed) callback();
    else {
      outgoing.once("close", () => {
        if (!outgoing.writableFinished) callback();
      });
    }
  }
}

/** Node keeps the first and drops the rest; a proxy in front may have judged the last. */
function readAuthorization({ rawHeaders }: IncomingMessage): string | undefined {
  const values = rawHeaders.filter(
    (_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === "authorization",
  );
  return values.length === 0 ? undefined : values.join(", ");
}

/** Node keeps the first Host and drops the rest; a proxy in front may have read the last. */
function isHostRepeated(rawHeaders: readonly string[]): boolean {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === "host") count++;
  }
  return count > 1;
}

function readBody(incoming: Incoming, maxBytes: number): Promise<Uint8Array | "too-large"> {
  if (incoming.readableEnded) return Promise.resolve(readParsed(incoming.body, maxBytes));
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const onData = (chunk: Buffer): void => {
      length += chunk.length;
      if (length <= maxBytes) {
        chunks.push(chunk);
        return;
      }
      incoming.off("data", onData);
      incoming.pause();
      resolve("too-large");
    };
    const onEnd = (): void => {
      const [first] = chunks;
      resolve(first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks));
    };
    incoming.on("data", onData);
    incoming.on("end", onEnd);
    // A body that breaks off is no message; the caller is gone and its reply goes nowhere.
    incoming.on("close", onEnd);
  });
}

/** A framework's body parser came first: what it left is written back, so that none hangs. */
function readParsed(body: unknown, maxBytes: number): Uint8Array | "too-large" {
  if (body === undefined) return new Uint8Array();
  const bytes =
    body instanceof Uint8Array
      ? body
      : Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  return bytes.byteLength > maxBytes ? "too-large" : bytes;
}
