/** A load generator that costs less than what it measures: raw sockets and prepared bytes. */
import { connect, type Socket } from "node:net";

export interface Load {
  readonly port: number;
  /** The whole request as bytes. */
  readonly request: Buffer;
  readonly inFlight: number;
  readonly durationMs: number;
}

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** How long each took, in milliseconds. */
  readonly times: readonly number[];
}

export function httpRequest(port: number, headers: Record<string, string>, body: string): Buffer {
  const lines = [
    "POST /mcp HTTP/1.1",
    `host: 127.0.0.1:${port}`,
    "content-type: application/json",
    "accept: application/json, text/event-stream",
    `content-length: ${Buffer.byteLength(body)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`);
}

/** Keeps `inFlight` connections busy, one request at a time on each, until the time is over. */
export async function run(load: Load): Promise<LoadResult> {
  const started = performance.now();
  const end = started + load.durationMs;
  const all = await Promise.all(Array.from({ length: load.inFlight }, () => keepBusy(load, end)));
  const seconds = (performance.now() - started) / 1000;
  const times = all.flat();
  return { requests: times.length, seconds, times };
}

function keepBusy({ port, request }: Load, end: number): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(port, "127.0.0.1");
    const reader = new ReplyReader();
    const times: number[] = [];
    let sentAt = 0;
    const send = (): void => {
      sentAt = performance.now();
      socket.write(request);
    };
    socket.setNoDelay(true);
    socket.on("error", reject);
    socket.on("connect", send);
    socket.on("data", (chunk: Buffer) => {
      if (!reader.feed(chunk)) return;
      if (reader.status !== 200) {
        reject(new Error(`HTTP ${reader.status}`));
        socket.destroy();
        return;
      }
      const now = performance.now();
      times.push(now - sentAt);
      if (now >= end) {
        socket.destroy();
        resolve(times);
      } else send();
    });
  });
}

/** Finds the end of one reply: by its length, or by the last chunk. */
class ReplyReader {
  status = 0;
  #buffered: Buffer = Buffer.alloc(0);

  feed(chunk: Buffer): boolean {
    const all = this.#buffered.length === 0 ? chunk : Buffer.concat([this.#buffered, chunk]);
    const bodyStart = all.indexOf("\r\n\r\n");
    if (bodyStart < 0 || !isWhole(all, bodyStart + 4)) {
      this.#buffered = all;
      return false;
    }
    this.status = Number(all.toString("latin1", 9, 12));
    this.#buffered = Buffer.alloc(0);
    return true;
  }
}

function isWhole(all: Buffer, bodyStart: number): boolean {
  const head = all.toString("latin1", 0, bodyStart).toLowerCase();
  const at = head.indexOf("content-length:");
  if (at >= 0) return all.length >= bodyStart + Number.parseInt(head.slice(at + 15), 10);
  return all.subarray(-5).equals(lastChunk);
}

const lastChunk = Buffer.from("0\r\n\r\n");
