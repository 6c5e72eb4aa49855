/** JSON-RPC 2.0 messages as they come in: one look at the envelope, nothing of MCP. */
import { isObject, type JsonObject } from "../util/json.ts";

export type RequestId = string | number;

export interface RpcRequest {
  readonly kind: "request";
  readonly id: RequestId;
  readonly method: string;
  readonly params: unknown;
}

export interface RpcNotification {
  readonly kind: "notification";
  readonly method: string;
  readonly params: unknown;
}

/** An answer to a request that this side sent. */
export interface RpcReply {
  readonly kind: "reply";
  readonly id: RequestId | null;
  readonly result: unknown;
  readonly error: unknown;
}

export interface MalformedMessage {
  readonly kind: "malformed";
  /** The id, where one could be read, so that the sender can tell which message failed. */
  readonly id: RequestId | undefined;
  readonly message: string;
}

export type RpcMessage = RpcRequest | RpcNotification | RpcReply | MalformedMessage;

/**
 * MCP narrows JSON-RPC: an id is a string or an integer, never null
 * (basic/index, Requests, every revision). Integers past 2^53 would be echoed
 * rounded, so that the caller could not match the answer.
 */
export function isRequestId(value: unknown): value is RequestId {
  return typeof value === "string" || Number.isSafeInteger(value);
}

export function readMessage(value: unknown): RpcMessage {
  if (!isObject(value)) {
    return malformed(undefined, `a message is a JSON object, not ${describe(value)}`);
  }
  const id = value["id"];
  const known = isRequestId(id) ? id : undefined;
  if (value["jsonrpc"] !== "2.0") return malformed(known, 'jsonrpc must be the string "2.0"');
  const method = value["method"];
  if (method === undefined) return readReply(value, known);
  if (typeof method !== "string") {
    return malformed(known, `method must be a string, not ${describe(method)}`);
  }
  if (id === undefined) return { kind: "notification", method, params: value["params"] };
  if (known === undefined) {
    return malformed(
      undefined,
      `id must be a string or an integer within ±(2^53 - 1), not ${describe(id)}`,
    );
  }
  return { kind: "request", id: known, method, params: value["params"] };
}

function readReply(value: JsonObject, id: RequestId | undefined): RpcMessage {
  if (!("result" in value) && !("error" in value)) return malformed(id, "method is missing");
  if (id === undefined && value["id"] !== null && value["id"] !== undefined) {
    return malformed(undefined, "the id of a reply must be the id of the request it answers");
  }
  return { kind: "reply", id: id ?? null, result: value["result"], error: value["error"] };
}

function malformed(id: RequestId | undefined, message: string): MalformedMessage {
  return { kind: "malformed", id, message };
}

/** Names a JSON value by its type, never by its content: it may be large or secret. */
export function describe(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  if (typeof value === "number") return Number.isInteger(value) ? "an integer" : "a fraction";
  return `a ${typeof value}`;
}
