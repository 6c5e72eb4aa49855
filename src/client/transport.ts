/** The way to one server, as the client sees it: whatever carries the messages. */
import type { Network } from "../core/telemetry.ts";
import type { RequestId, RpcNotification, RpcReply, RpcRequest } from "../jsonrpc/message.ts";
import type { Adapter } from "../revisions/adapter.ts";
import type { WrittenRequest } from "../revisions/client-half.ts";
import type { JsonObject } from "../util/json.ts";

/** What came back for a request. */
export interface Received {
  readonly reply: RpcReply;
  /** The HTTP status it came with; undefined where there is no HTTP, or it came on a stream. */
  readonly status: number | undefined;
}

/**
 * The part of an `AbortSignal` that a call needs. A real one for each call costs as much
 * again as the client's own work on it, most of it in collecting the garbage.
 */
export interface CallSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(
    type: "abort",
    listener: () => void,
    options?: { readonly once?: boolean },
  ): void;
  removeEventListener(type: "abort", listener: () => void): void;
  /**
   * Stops every clock of the call, while a user is signing in: that is not the server's delay.
   * Absent where no clock runs. @returns what lets them go on, however often it is called
   */
  hold?(): () => void;
}

/** How one request travels. */
export interface Travel {
  /** Ends the wait and lets go of whatever carries the reply; the promise rejects with its reason. */
  readonly signal: CallSignal;
  /** Whether and how its stream is resumed when it breaks before the reply has come. */
  readonly resumption: Adapter["resumption"];
}

/** What a transport hands up beside replies. Neither call throws. */
export interface Incoming {
  /**
   * Something the server says on its own: a notification, or a request of its own.
   *
   * @param during - the request on whose stream it came, where the transport can tell
   */
  receive(message: RpcRequest | RpcNotification, during: RequestId | undefined): void;
  /** Something that is no protocol and was passed over, such as a log line on standard output. */
  warn(message: string): void;
  /** The way is gone for good: every request under way has been rejected. Called once at most. */
  closed(cause: unknown): void;
}

/**
 * Carries messages to one server and back. It knows HTTP, sessions and streams, or lines and
 * processes; it does not know what the messages mean. All that comes in is bounded by it.
 */
export interface Transport {
  /** `stream-per-request`: Streamable HTTP. `channel`: one duplex for everything. */
  readonly kind: "stream-per-request" | "channel";
  /** What the messages come over, for whoever watches. @default it is not told */
  readonly network?: Network | undefined;
  /**
   * From then on the transport hands up what comes. Called once, before anything is sent.
   *
   * @param waiting - over when nobody waits for it any more
   */
  start(incoming: Incoming, waiting?: CallSignal): Promise<void>;
  /**
   * Sends a request and resolves with its reply, whichever HTTP status that had.
   *
   * @throws ClientError `http` for an HTTP answer that is no JSON-RPC reply, `session-lost` when
   *   the session is gone (404), `interrupted` when the reply can no longer come though the
   *   server may have received the request, `unreachable` when it certainly did not, `closed`.
   */
  request(written: WrittenRequest, travel: Travel): Promise<Received>;
  /** Sends what is not replied to: a notification, or an answer to a request of the server's. */
  send(
    message: JsonObject,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<void>;
  /**
   * Streamable HTTP of the handshake revisions: hears what the server says outside of any
   * request, over a stream that is opened again, where it left off, as often as it breaks.
   * Resolves when the signal aborts, or at once where the server offers no such stream;
   * undefined for a channel, which hears everything anyway.
   *
   * @throws ClientError `session-lost`, `unauthorized`, or `interrupted` after too many failures
   */
  readonly follow: ((options: FollowOptions) => Promise<void>) | undefined;
  /** The session that a handshake opened; undefined where there is none. */
  readonly session: string | undefined;
  /** Forgets a session that is gone, so that the next handshake is sent without one. */
  forgetSession(): void;
  /** Ends the session, where there is one, and lets go of every socket, timer and process. */
  close(): Promise<void>;
}

export interface FollowOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly resumption: Adapter["resumption"];
  /** Called each time the stream is open; what changed before may have been missed. */
  readonly onOpen?: (() => void) | undefined;
}
