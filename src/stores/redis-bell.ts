/** Hears of events by a stream that names the topic of each, on a connection of its own. */
import { pause } from "../util/timer.ts";
import type { RedisConnection } from "./redis-driver.ts";
import type { Bell, Ringing } from "./topics.ts";

export interface RedisBellOptions {
  /** What a connection of its own is made of. */
  readonly connection: RedisConnection;
  /** One that is there for this already. */
  readonly reader: RedisConnection | undefined;
  readonly key: string;
  readonly timeoutMs: number;
}

/** How long one command waits. A connection that says nothing for longer is taken for broken. */
const blockMs = 2_000;

/** Entries read at once at most: where there are so many, everybody reads for himself. */
const page = 500;

/** How long it waits before it connects anew, at first and at most. */
const [firstPauseMs, longestPauseMs] = [50, 1_000];

export class RedisBell implements Bell {
  readonly #ringing: Ringing;
  readonly #options: RedisBellOptions;
  #own: RedisConnection | undefined;
  #running: Promise<void> | undefined;
  #isClosed = false;

  constructor(ringing: Ringing, options: RedisBellOptions) {
    this.#ringing = ringing;
    this.#options = options;
  }

  open(): void {
    if (!this.#isClosed) this.#running ??= this.#run();
  }

  close(): void {
    this.#isClosed = true;
    this.#own?.close();
    this.#own = undefined;
  }

  async #run(): Promise<void> {
    for (let pauseMs = firstPauseMs; !this.#isClosed; ) {
      try {
        const { reader, connection, timeoutMs } = this.#options;
        this.#own = reader === undefined ? await connection.duplicate(timeoutMs) : undefined;
        await this.#listen(reader ?? this.#own, () => {
          pauseMs = firstPauseMs;
        });
      } catch (cause) {
        if (this.#isClosed) break;
        this.#ringing.fault(cause);
        this.#own?.close();
        await pause(pauseMs);
        pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      }
    }
    this.#own?.close();
  }

  async #listen(reader: RedisConnection | undefined, onHeard: () => void): Promise<void> {
    let last = await this.#end(reader);
    // Whatever was published while nobody listened.
    this.#ringing.all();
    onHeard();
    while (!this.#isClosed) {
      const entries = await this.#wait(reader, last);
      last = entries.at(-1)?.id ?? last;
      if (entries.length >= page) {
        last = await this.#end(reader);
        this.#ringing.all();
      } else for (const entry of entries) this.#ring(entry);
    }
  }

  async #end(reader: RedisConnection | undefined): Promise<string> {
    const { key, timeoutMs } = this.#options;
    const reply = await reader?.send(["XREVRANGE", key, "+", "-", "COUNT", "1"], timeoutMs);
    return toEntries(reply)[0]?.id ?? "0-0";
  }

  async #wait(reader: RedisConnection | undefined, last: string): Promise<Entry[]> {
    const { key, timeoutMs } = this.#options;
    const wait = ["XREAD", "COUNT", String(page), "BLOCK", String(blockMs), "STREAMS", key, last];
    return toEntries(streamOf(await reader?.send(wait, blockMs + timeoutMs)));
  }

  #ring({ fields }: Entry): void {
    const values = new Map<unknown, unknown>();
    for (let at = 0; at + 1 < fields.length; at += 2) values.set(fields[at], fields[at + 1]);
    const place = { epoch: String(values.get("e")), number: Number(values.get("n")) };
    this.#ringing.one(String(values.get("t")), place);
  }
}

interface Entry {
  readonly id: string;
  readonly fields: readonly unknown[];
}

/** The entries of the one stream that was asked for: RESP2 has them in a list, RESP3 in a map. */
function streamOf(reply: unknown): unknown {
  if (Array.isArray(reply)) {
    const [first] = reply;
    return Array.isArray(first) ? first[1] : reply[1];
  }
  if (reply instanceof Map) return [...reply.values()][0];
  return typeof reply === "object" && reply !== null ? Object.values(reply)[0] : undefined;
}

function toEntries(reply: unknown): Entry[] {
  if (!Array.isArray(reply)) return [];
  return reply.flatMap((entry: unknown) => {
    const [id, fields]: unknown[] = Array.isArray(entry) ? entry : [];
    return typeof id === "string" && Array.isArray(fields) ? [{ id, fields }] : [];
  });
}
