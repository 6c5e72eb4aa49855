/** What watches messages go by: a narrow door, so that nothing here needs to know who stands behind it. */
import type { RequestId } from "../jsonrpc/message.ts";
import type { JsonObject } from "../util/json.ts";

/** How the messages travel, as far as that is known. */
export interface Network {
  readonly transport: "tcp" | "pipe";
  /** What is spoken below MCP. */
  readonly protocol?: "http" | undefined;
  /** The server's host and port, as a client knows them. */
  readonly address?: string | undefined;
  readonly port?: number | undefined;
}

/** One message, as whoever watches is told of it. No arguments, no results, no credentials. */
export interface Operation {
  /** A method of the protocol; `_OTHER` for what a stranger made up, of which there is no end. */
  readonly method: string;
  /** Undefined for a notification. */
  readonly id: RequestId | undefined;
  /** The tool, where it is one that there is. */
  readonly tool: string | undefined;
  /** The prompt, where it is one that there is. */
  readonly prompt: string | undefined;
  /** The URI of the resource as it was sent, at most 1000 characters of it. */
  readonly uri: string | undefined;
  /** The revision it is written in. */
  readonly revision: string;
  /** Why it was taken to be that; undefined where this side chose it. */
  readonly selected: string | undefined;
  readonly network: Network | undefined;
  /** The session it belongs to, as it is: hash it before it goes anywhere. */
  readonly sessionId: string | undefined;
  /** Whose call it is, as {@link Exchange.owner} tells; "" where nobody was asked. */
  readonly owner: string;
  /** Its `_meta` as it came; what a stranger wrote. */
  readonly meta: JsonObject | undefined;
}

/** What a message came to. */
export interface Ended {
  /** The session, where a handshake opened one meanwhile. */
  readonly sessionId?: string | undefined;
  /** The revision that a handshake settled on. */
  readonly revision?: string | undefined;
  /** The HTTP status, where there is HTTP. */
  readonly status?: number | undefined;
  /** Why it was refused or failed, as one of few words; undefined for what went well. */
  readonly reason?: string | undefined;
  /** The JSON-RPC error code it was answered with. */
  readonly code?: number | undefined;
  /** The message beside that code. */
  readonly message?: string | undefined;
  /** Whether a tool told that it failed. */
  readonly isError?: boolean | undefined;
}

/** One message while it is watched. */
export interface Watching {
  /** Does the work so that what it does in turn can be told to belong to it. */
  run<T>(work: () => T): T;
  /** Called once. */
  end(ended: Ended): void;
}

export interface WatchingSent extends Watching {
  /** What is to travel in `_meta`, beside what is there. */
  readonly carried: JsonObject | undefined;
}

/** A session that a handshake opened. */
export interface OpenedSession {
  readonly side: "server" | "client";
  readonly revision: string;
  readonly network: Network | undefined;
}

/** Watches messages. No method throws: a fault of whoever watches is no fault of a call. */
export interface Telemetry {
  /** A message that came in; undefined to let it pass. */
  received(operation: Operation): Watching | undefined;
  /** A request that is about to be sent; undefined to let it pass. */
  sent(operation: Operation): WatchingSent | undefined;
  /**
   * A session begins. What is returned is called once at its end, with why, where that is a
   * fault; never for sessions whose end nobody sees.
   */
  opened?(session: OpenedSession): (reason?: string) => void;
}

/** Both watch; the first stands outside. */
export function together(
  first: Telemetry | undefined,
  second: Telemetry | undefined,
): Telemetry | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  return {
    received: (operation) => nested(first.received(operation), second.received(operation)),
    sent(operation) {
      const [outer, inner] = [first.sent(operation), second.sent(operation)];
      const both = nested(outer, inner);
      return both && { ...both, carried: { ...inner?.carried, ...outer?.carried } };
    },
    opened(session) {
      const overs = [first.opened?.(session), second.opened?.(session)];
      return (reason) => {
        for (const over of overs) over?.(reason);
      };
    },
  };
}

function nested(outer: Watching | undefined, inner: Watching | undefined): Watching | undefined {
  if (outer === undefined || inner === undefined) return outer ?? inner;
  return {
    run: (work) => outer.run(() => inner.run(work)),
    end(ended) {
      outer.run(() => inner.end(ended));
      outer.end(ended);
    },
  };
}
