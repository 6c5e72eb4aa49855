/**
 * A TCP connection that says exactly what a test writes, and reads HTTP answers off it one by
 * one: for hosts, framings and bytes that no HTTP client would send.
 */
import { connect, type Socket } from "node:net";

export interface RawAnswer {
  readonly status: number;
  /** By lower-case name; repeated ones joined with ", ". */
  readonly headers: Readonly<Record<string, string>>;
  /** Empty for an event stream, which is let go of once its headers are there. */
  readonly text: string;
}

interface Head extends Omit<RawAnswer, "text"> {
  /** Where the body begins. */
  readonly end: number;
}

export class RawSocket implements Disposable {
  readonly #socket: Socket;
  #buffer: Buffer = Buffer.alloc(0);
  #wake: (() => void) | undefined;
  #closed = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => {
      this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk]);
      this.#wake?.();
    });
    // A reset is an end like another: whoever waits is told that no answer came.
    socket.on("error", () => undefined);
    socket.on("end", () => this.#onClose());
    socket.on("close", () => this.#onClose());
  }

  static open(port: number): Promise<RawSocket> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: "127.0.0.1", noDelay: true });
      socket.once("error", reject);
      socket.once("connect", () => {
        socket.off("error", reject);
        resolve(new RawSocket(socket));
      });
    });
  }

  /** Whether nothing more can be sent on it. */
  get isClosed(): boolean {
    return this.#closed || this.#socket.destroyed;
  }

  write(bytes: string | Uint8Array): void {
    this.#socket.write(bytes);
  }

  /** Ends what it says; the other side may go on. */
  end(): void {
    this.#socket.end();
  }

  /** Reads no more. */
  pause(): void {
    this.#socket.pause();
  }

  /**
   * The next answer; undefined where the connection ended without one.
   *
   * @param isHead - whether it answers a HEAD, and so has no body
   */
  async answer(isHead: boolean = false): Promise<RawAnswer | undefined> {
    const head = await this.#until(() => this.#head());
    if (head === undefined) return undefined;
    const { status, headers, end } = head;
    this.#buffer = this.#buffer.subarray(end);
    if (
      headers["content-type"] === "text/event-stream" &&
      headers["content-length"] === undefined
    ) {
      this[Symbol.dispose]();
      return { status, headers, text: "" };
    }
    const hasBody = !isHead && status >= 200 && status !== 204 && status !== 304;
    const text = hasBody ? await this.#until(() => this.#body(headers)) : "";
    if (text === undefined) return undefined;
    if (headers["connection"] === "close") this[Symbol.dispose]();
    return { status, headers, text };
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
    this.#onClose();
  }

  #onClose(): void {
    this.#closed = true;
    this.#wake?.();
  }

  async #until<T>(read: () => T | undefined): Promise<T | undefined> {
    for (;;) {
      const found = read();
      if (found !== undefined || this.#closed) return found;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }

  #head(): Head | undefined {
    const end = this.#buffer.indexOf("\r\n\r\n");
    if (end < 0) return undefined;
    const [first = "", ...lines] = this.#buffer.toString("latin1", 0, end).split("\r\n");
    const headers: Record<string, string> = {};
    for (const line of lines) {
      const colon = line.indexOf(":");
      const name = line.slice(0, colon).toLowerCase();
      const value = line.slice(colon + 1).trim();
      headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
    }
    return { status: Number(first.split(" ")[1]), headers, end: end + 4 };
  }

  #body(headers: Readonly<Record<string, string>>): string | undefined {
    if (headers["transfer-encoding"] === "chunked") return this.#chunks();
    const length = Number(headers["content-length"] ?? 0);
    return this.#buffer.length < length ? undefined : this.#take(length);
  }

  #chunks(): string | undefined {
    const parts: Buffer[] = [];
    for (let at = 0; ; ) {
      const line = this.#buffer.indexOf("\r\n", at);
      if (line < 0) return undefined;
      const length = Number.parseInt(this.#buffer.toString("latin1", at, line), 16);
      const end = line + 2 + length + 2;
      if (this.#buffer.length < end) return undefined;
      parts.push(this.#buffer.subarray(line + 2, end - 2));
      at = end;
      if (length > 0) continue;
      this.#buffer = this.#buffer.subarray(at);
      return Buffer.concat(parts).toString("utf8");
    }
  }

  #take(length: number): string {
    const text = this.#buffer.toString("utf8", 0, length);
    this.#buffer = this.#buffer.subarray(length);
    return text;
  }
}

/** The bytes of a request, its header lines as they are given. */
export function rawRequest(
  method: string,
  target: string,
  lines: readonly (readonly [name: string, value: string])[],
  body: string = "",
): string {
  const length: readonly (readonly [string, string])[] =
    body === "" ? [] : [["Content-Length", String(Buffer.byteLength(body))]];
  const all = [...lines, ...length].map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${target} HTTP/1.1\r\n${all.join("")}\r\n${body}`;
}
