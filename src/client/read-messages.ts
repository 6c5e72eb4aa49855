/** JSON-RPC messages out of what a server sent, and which of them answers a request. */
import {
  type MalformedMessage,
  type RequestId,
  type RpcMessage,
  type RpcReply,
  readMessage,
} from "../jsonrpc/message.ts";
import { findFault } from "../jsonrpc/scan.ts";
import { ClientError } from "./errors.ts";
import type { Incoming } from "./transport.ts";

/**
 * The message, or the several of an array; undefined for what is no JSON.
 *
 * @param maxDepth - levels of nesting; what is deeper overflows the stack of whoever walks it
 */
export function parseMessages(text: string, maxDepth: number): readonly RpcMessage[] | undefined {
  const json = text.startsWith("\ufeff") ? text.slice(1) : text;
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    // Not JSON; the caller says what that means where it came from.
    return undefined;
  }
  const messages = Array.isArray(value) ? value.map(readMessage) : [readMessage(value)];
  const fault = findFault(json, maxDepth);
  return fault === undefined ? messages : messages.map((message) => spoil(message, fault.message));
}

/** Still says what it would have answered, so that nobody waits for that. */
function spoil(message: RpcMessage, why: string): MalformedMessage {
  const id = message.kind === "reply" || message.kind === "malformed" ? message.id : undefined;
  return { kind: "malformed", id: id ?? undefined, message: why };
}

/**
 * Hands up what the server says on its own, and finds the reply. Replies to anything else
 * are passed over: only what came for this very request may answer it.
 *
 * @param asked - undefined where nothing was asked, so that no reply belongs here
 * @throws ClientError `invalid-answer` for a message with the request's id that is no reply
 */
export function sortMessages(
  messages: readonly RpcMessage[],
  asked: RequestId | undefined,
  incoming: Incoming,
): RpcReply | undefined {
  let found: RpcReply | undefined;
  for (const message of messages) {
    switch (message.kind) {
      case "request":
      case "notification":
        incoming.receive(message, asked);
        break;
      case "reply":
        if (found === undefined && asked !== undefined && answers(message, asked)) found = message;
        else incoming.warn("passed over a reply to something that was not asked here");
        break;
      case "malformed":
        if (asked !== undefined && message.id === asked && found === undefined) {
          throw new ClientError("invalid-answer", `the reply is malformed: ${message.message}`);
        }
        incoming.warn(`passed over a message that is malformed: ${message.message}`);
        break;
    }
  }
  return found;
}

/** An error whose id is null or left out is about the one request that was sent. */
function answers({ id, error }: RpcReply, asked: RequestId): boolean {
  return id === asked || (id === null && error !== undefined);
}
