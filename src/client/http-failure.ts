/** What an HTTP answer that is no reply means to the caller. */
import type { RequestId, RpcMessage } from "../jsonrpc/message.ts";
import { isObject } from "../util/json.ts";
import { ClientError } from "./errors.ts";
import { excerpt } from "./excerpt.ts";
import type { HttpAnswer } from "./http-exchange.ts";

/** An answer whose body was read. */
export interface ReadAnswer {
  readonly answer: HttpAnswer;
  readonly text: string;
  /** What the text holds; undefined when it is no JSON. */
  readonly messages: readonly RpcMessage[] | undefined;
}

/**
 * Refusals of the request as such, whatever the body says: who sends it, how often, and a
 * server that takes none at the moment.
 */
export function findRefusal(read: ReadAnswer): ClientError | undefined {
  const { status } = read.answer;
  if (status === 401 || status === 403) return unauthorized(read);
  return status === 429 || status === 503 ? toHttpError(read) : undefined;
}

function unauthorized({ answer, text }: ReadAnswer): ClientError {
  const { status } = answer;
  return new ClientError("unauthorized", describeAnswer(status, text), {
    status,
    challenge: answer.header("www-authenticate"),
  });
}

export function toHttpError({ answer, text, messages }: ReadAnswer): ClientError {
  const { status } = answer;
  const error = errorOf(messages);
  const code = error?.["code"];
  const location = answer.header("location");
  const moved = status >= 300 && status < 400 && location !== undefined;
  return new ClientError(
    "http",
    moved
      ? `HTTP ${status}: the server redirects to ${excerpt(location)}; connect to that URL`
      : describeAnswer(status, typeof error?.["message"] === "string" ? error["message"] : text),
    {
      status,
      code: typeof code === "number" ? code : undefined,
      data: error?.["data"],
      retryAfterMs: readRetryAfter(answer.header("retry-after")),
    },
  );
}

/**
 * A session that is gone is answered 404 (basic/transports, Session Management, 2025-11-25).
 * A reply by id with -32601 is about the method instead: 2026-07-28 answers that with 404
 * too. Servers built after the example of the official SDK's earlier versions answer 400
 * with an error that has no id and speaks of the session, or of a handshake that is missing.
 */
export function isSessionLost({ answer, messages }: ReadAnswer, asked?: RequestId): boolean {
  const own = messages?.find((message) => message.kind === "reply");
  const error = errorOf(messages);
  if (answer.status === 404) {
    const isReply = own?.kind === "reply" && own.id !== null && own.id === asked;
    return !isReply || (error !== undefined && error["code"] !== -32601);
  }
  if (answer.status !== 400 || own?.kind !== "reply" || own.id !== null) return false;
  const message = error?.["message"];
  return (
    error?.["code"] === -32000 &&
    typeof message === "string" &&
    /\bsession\b|not initialized/i.test(message)
  );
}

export function sessionLost(status: number): ClientError {
  return new ClientError("session-lost", "the server does not know the session any more", {
    status,
  });
}

function errorOf(messages: readonly RpcMessage[] | undefined) {
  const reply = messages?.find((message) => message.kind === "reply");
  return reply?.kind === "reply" && isObject(reply.error) ? reply.error : undefined;
}

function describeAnswer(status: number, text: string): string {
  return text.trim() === "" ? `HTTP ${status}` : `HTTP ${status}: ${excerpt(text.trim())}`;
}

const longestWaitMs = 86_400_000;

/** Seconds, or the date until which to wait (RFC 9110 section 10.2.3), at most a day. */
export function readRetryAfter(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const seconds = /^\s*\d+\s*$/.test(value) ? Number(value) * 1_000 : undefined;
  const ms = seconds ?? Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), longestWaitMs);
}

export function isEventStream(answer: HttpAnswer): boolean {
  return mediaType(answer) === "text/event-stream";
}

export function mediaType(answer: HttpAnswer): string {
  const value = answer.header("content-type") ?? "";
  const end = value.indexOf(";");
  return (end < 0 ? value : value.slice(0, end)).trim().toLowerCase();
}

const passingStatuses: readonly number[] = [408, 409, 425, 429];

/** What may be over at the next try. */
export function isPassing({ kind, status }: ClientError): boolean {
  if (kind === "unreachable" || kind === "interrupted") return true;
  if (kind !== "http" || status === undefined || status === 501) return false;
  return status >= 500 || passingStatuses.includes(status);
}
