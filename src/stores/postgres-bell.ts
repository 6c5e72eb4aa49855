/** Looks for events now and then, and at once where the database tells that there is one. */
import { letGo, pause } from "../util/timer.ts";
import type { PostgresSql } from "./postgres-sql.ts";
import type { Statement } from "./sql.ts";
import type { Bell, Ringing } from "./topics.ts";

export interface PostgresBellOptions {
  /** What publishers notify; undefined where nobody does. */
  readonly channel: string | undefined;
  readonly pollMs: number;
}

/** Topics looked up by one statement at most. */
const maxNamed = 1_000;

/** How long it waits before it listens anew, at first and at most. */
const [firstPauseMs, longestPauseMs] = [100, 2_000];

export class PostgresBell implements Bell {
  readonly #sql: PostgresSql;
  readonly #ringing: Ringing;
  readonly #options: PostgresBellOptions;
  readonly #stand: Statement;
  #timer: ReturnType<typeof setInterval> | undefined;
  #isLooking = false;
  #isListening = false;
  #unlisten: (() => void) | undefined;
  #pauseMs = firstPauseMs;
  #isClosed = false;

  constructor(sql: PostgresSql, ringing: Ringing, options: PostgresBellOptions) {
    this.#sql = sql;
    this.#ringing = ringing;
    this.#options = options;
    this.#stand = sql.prepare(
      `SELECT topic, epoch, last FROM ${sql.tables.topics} WHERE topic IN (
         SELECT json_array_elements_text(CAST(CAST(:topics AS TEXT) AS JSON)))`,
    );
  }

  open(): void {
    if (this.#isClosed) return;
    if (this.#timer === undefined) {
      this.#timer = setInterval(() => void this.#look(), this.#options.pollMs);
      letGo(this.#timer);
    }
    if (!this.#isListening) void this.#listen();
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#unlisten?.();
  }

  /** Correct without being told anything: what stands elsewhere than it was read to is read. */
  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const topics = this.#ringing.topics();
      for (let at = 0; at < topics.length; at += maxNamed) {
        const rows = await this.#stand({ topics: JSON.stringify(topics.slice(at, at + maxNamed)) });
        for (const { topic, epoch, last } of rows) {
          this.#ringing.one(String(topic), { epoch: String(epoch), number: Number(last) });
        }
      }
    } catch (cause) {
      this.#ringing.fault(cause);
    } finally {
      this.#isLooking = false;
    }
  }

  async #listen(): Promise<void> {
    const { channel } = this.#options;
    if (channel === undefined) return;
    this.#isListening = true;
    const { connection, timeoutMs } = this.#sql;
    try {
      this.#unlisten = await connection.listen(
        channel,
        {
          onNotify: (payload) => this.#hear(payload),
          onListen: () => {
            this.#pauseMs = firstPauseMs;
            this.#ringing.all();
          },
          onLost: () => void this.#listenAgain(new Error("the listening connection was lost")),
        },
        timeoutMs,
      );
      if (this.#isClosed) this.#unlisten?.();
    } catch (cause) {
      await this.#listenAgain(cause);
    }
  }

  async #listenAgain(cause: unknown): Promise<void> {
    this.#unlisten = undefined;
    if (this.#isClosed) return;
    this.#ringing.fault(cause);
    await pause(this.#pauseMs);
    this.#pauseMs = Math.min(this.#pauseMs * 2, longestPauseMs);
    if (!this.#isClosed) await this.#listen();
  }

  /** `epoch-number topic`, as publishing notifies. */
  #hear(payload: string): void {
    const [, epoch, number, topic] = /^([^-]+)-(\d+) ([\s\S]*)$/.exec(payload) ?? [];
    if (epoch === undefined || topic === undefined) this.#ringing.all();
    else this.#ringing.one(topic, { epoch, number: Number(number) });
  }
}
