/** A connection without a socket: the same serving as over stdio, in one process. */
import type { Server } from "../core/server.ts";
import { Channel, type ChannelOptions } from "./channel.ts";

/** The client's end of a connection in memory. */
export interface MemoryChannel extends AsyncDisposable {
  /** Sends the server one message, or an array of them, as a client would write it. */
  send(message: unknown): void;
  /** Cancels what runs, ends what listens, and resolves when the server has nothing left to say. */
  close(): Promise<void>;
}

/**
 * Connects to a server in memory, for tests and for programs that host their own server.
 *
 * @param onMessage - gets what the server says, parsed, never within the call that caused it:
 * as over any wire, one side does not run inside the other. What it throws is uncaught.
 */
export function openMemoryChannel(
  server: Server,
  onMessage: (message: unknown) => void,
  options: ChannelOptions = {},
): MemoryChannel {
  const receive = (text: string): void => queueMicrotask(() => onMessage(JSON.parse(text)));
  const channel = new Channel(server, receive, options);
  const encoder = new TextEncoder();
  const close = (): Promise<void> => channel.close();
  return {
    send: (message) => {
      const bytes = encoder.encode(JSON.stringify(message));
      queueMicrotask(() => channel.receive(bytes));
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
