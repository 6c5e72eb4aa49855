/** Progress and log entries of one call: only what was asked for, and never too much. */
import { type LogLevel, logLevels } from "./call.ts";
import type { Notice } from "./notice.ts";

/** The shortest time between two reports of progress, in milliseconds. */
const progressIntervalMs = 20;

/** Log entries of one call at most: a loop that logs must not fill a reader's memory. */
const maxLogEntries = 1_000;

export interface TellingOptions {
  readonly token: string | number | undefined;
  /** The least severe entry that is sent; undefined sends none. */
  readonly logLevel: LogLevel | undefined;
  readonly send: (notice: Notice) => void;
}

export class Telling {
  readonly #options: TellingOptions;
  #ended = false;
  #progress = Number.NEGATIVE_INFINITY;
  #reportedAt = Number.NEGATIVE_INFINITY;
  #logged = 0;

  constructor(options: TellingOptions) {
    this.#options = options;
  }

  /** Nothing is told after the result. */
  end(): void {
    this.#ended = true;
  }

  /** Reports that do not rise are dropped, and so are those that follow too soon on another. */
  progress(progress: number, total: number | undefined, message: string | undefined): void {
    const { token, send } = this.#options;
    // What is not finite is not JSON.
    if (this.#ended || token === undefined || !Number.isFinite(progress)) return;
    if (progress <= this.#progress) return;
    const now = performance.now();
    if (progress !== total && now - this.#reportedAt < progressIntervalMs) return;
    this.#progress = progress;
    this.#reportedAt = now;
    send({
      kind: "progress",
      token,
      progress,
      total: Number.isFinite(total) ? total : undefined,
      message,
    });
  }

  log(level: LogLevel, data: unknown, logger: string | undefined): void {
    const { logLevel, send } = this.#options;
    if (this.#ended || logLevel === undefined || this.#logged >= maxLogEntries) return;
    if (logLevels.indexOf(level) < logLevels.indexOf(logLevel)) return;
    this.#logged++;
    send({ kind: "log", level, data, logger });
  }
}
