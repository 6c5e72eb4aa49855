/** One duplex of messages, as little of it as a client needs: a process, a socket, a pair in memory. */
import type { Network } from "../core/telemetry.ts";
import type { JsonObject } from "../util/json.ts";

/** What a duplex hands over. Nothing of it throws, and all of it may be called at any time. */
export interface DuplexReader {
  /** Bytes of newline-delimited messages, in whatever pieces they come. */
  bytes(chunk: Uint8Array): void;
  /** One message as text: for what delimits messages itself, such as a WebSocket. */
  text(text: string): void;
  /** One message that is parsed already, from within this program: its nesting is not bounded. */
  message(message: unknown): void;
  /** Nothing comes any more. A `ClientError` says why best; what is under way is rejected with it. */
  closed(cause: unknown): void;
}

/**
 * A connection to one server that carries everything both ways. To reach servers over something
 * of your own, such as a WebSocket, implement this; it says nothing about what messages mean.
 */
export interface Duplex {
  /** What the messages come over, for whoever watches. @default it is not told */
  readonly network?: Network | undefined;
  /**
   * Opens the connection and reads from then on. Called once.
   *
   * @throws ClientError `unreachable` when there is no such server
   */
  open(reader: DuplexReader): Promise<void>;
  /**
   * Sends one message, as JSON on one line where lines delimit it, or keeps it to be sent soon.
   *
   * @throws ClientError `unreachable` when it certainly will not be sent
   */
  send(message: JsonObject): void;
  /** Ends the connection and lets go of everything it held; as often as it is called. */
  close(): Promise<void>;
}

/** The client's end of a connection in memory, such as `openMemoryChannel` gives. */
export interface MemoryEnd {
  send(message: unknown): void;
  close(): Promise<void>;
}

/**
 * A connection within one program.
 *
 * @param open - connects, and passes what the server says, parsed, to its argument
 */
export function memoryDuplex(open: (onMessage: (message: unknown) => void) => MemoryEnd): Duplex {
  let end: MemoryEnd | undefined;
  return {
    open: async (reader) => {
      end = open((message) => reader.message(message));
    },
    send: (message) => end?.send(message),
    close: async () => end?.close(),
  };
}
