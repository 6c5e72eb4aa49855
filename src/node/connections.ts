/**
 * The connections of an HTTP server, so that it can end without breaking a request off. Node's
 * own `close` resets connections whose first request it has not read yet: their callers cannot
 * know that nothing was done, and a balancer does not send a call twice.
 */
import type { Server as HttpServer, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";

/** How often connections that have nothing to wait for any more are closed, in milliseconds. */
const sweepMs = 20;

/** How long a connection may take to send its first request while the server ends. */
const freshMs = 1_000;

/** Turns of the event loop for connections that wait to be taken: more than a system queues. */
const maxTurns = 10_000;

export class Connections {
  readonly #http: HttpServer;
  /** With the last reply on each; undefined where none was asked for yet. */
  readonly #replies: Map<Socket, ServerResponse | undefined> = new Map();
  #isEnding = false;
  /** How many connections there have been. */
  #taken = 0;

  constructor(http: HttpServer) {
    this.#http = http;
    http.on("connection", (socket) => {
      this.#taken++;
      this.#replies.set(socket, undefined);
      socket.once("close", () => this.#replies.delete(socket));
    });
    http.prependListener("request", ({ socket }, outgoing) => {
      this.#replies.set(socket, outgoing);
      if (this.#isEnding) outgoing.shouldKeepAlive = false;
    });
  }

  /** Takes no more, and lets what is asked be answered, for so long at most. */
  async end(withinMs: number): Promise<void> {
    this.#isEnding = true;
    for (const reply of this.#replies.values()) {
      if (reply?.headersSent === false) reply.shouldKeepAlive = false;
    }
    await this.#takeAccepted();
    const endedAt = performance.now();
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => this.#http.closeAllConnections(), withinMs);
      const sweeping = setInterval(() => this.#sweep(endedAt), sweepMs);
      this.#http.closeIdleConnections = () => this.#sweep(endedAt);
      this.#http.close(() => {
        clearTimeout(timer);
        clearInterval(sweeping);
        resolve();
      });
    });
  }

  /**
   * Takes what the system has accepted already, before the port is closed. An event loop takes
   * one connection a turn.
   */
  async #takeAccepted(): Promise<void> {
    for (let quiet = 0, turns = 0; quiet < 2 && turns < maxTurns; turns++) {
      const before = this.#taken;
      await nextTurn();
      quiet = this.#taken === before ? quiet + 1 : 0;
    }
  }

  #sweep(endedAt: number): void {
    for (const [socket, reply] of this.#replies) {
      const isIdle = reply === undefined ? performance.now() - endedAt > freshMs : isDone(reply);
      if (isIdle) socket.end();
    }
  }
}

/** Whether nothing of it is left to be written. */
function isDone(reply: ServerResponse): boolean {
  return reply.writableFinished || reply.destroyed;
}
