/** Why a client could not do what it was asked to. */

/**
 * - `refused`: the server answered with a JSON-RPC error: `code`, `data`.
 * - `http`: an HTTP answer that is no reply: `status`, and the start of its text in the message.
 * - `unauthorized`: 401 or 403; `challenge` is what the server says about it.
 * - `timeout`: no reply within the time given.
 * - `aborted`: the caller's own signal ended the wait.
 * - `interrupted`: the connection broke before the reply came; the server may have acted.
 * - `unreachable`: nothing was sent: no such host, connection refused, no such command.
 * - `session-lost`: the server does not know the session any more.
 * - `unsupported`: the two sides have no revision in common, or the revision lacks the operation.
 * - `invalid-answer`: the reply is not what the specification says it must be.
 * - `too-large`: a message of the server's is larger than the cap.
 * - `closed`: the client was closed, or its server has gone.
 */
export type ClientErrorKind =
  | "refused"
  | "http"
  | "unauthorized"
  | "timeout"
  | "aborted"
  | "interrupted"
  | "unreachable"
  | "session-lost"
  | "unsupported"
  | "invalid-answer"
  | "too-large"
  | "closed";

export interface ClientErrorOptions {
  /** The JSON-RPC error code. */
  readonly code?: number | undefined;
  /** The JSON-RPC error's `data`. A stranger's: check it before acting on it. */
  readonly data?: unknown;
  /** The HTTP status. */
  readonly status?: number | undefined;
  /** The `WWW-Authenticate` header of a 401 or 403. */
  readonly challenge?: string | undefined;
  /** How long the server asks to wait before another try, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** The one error that operations of a client reject with; `kind` says what to do about it. */
export class ClientError extends Error {
  override readonly name = "ClientError";
  readonly kind: ClientErrorKind;
  readonly code: number | undefined;
  readonly data: unknown;
  readonly status: number | undefined;
  readonly challenge: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(kind: ClientErrorKind, message: string, options: ClientErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.code = options.code;
    this.data = options.data;
    this.status = options.status;
    this.challenge = options.challenge;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** Whether the server did not do what it was asked, and is there as it was before. */
export function isRefusal({ kind }: ClientError): boolean {
  return (
    kind === "refused" ||
    kind === "http" ||
    kind === "timeout" ||
    kind === "invalid-answer" ||
    kind === "too-large"
  );
}

/** Why nothing comes of what is still under way, and of what comes later. */
export function clientClosed(): ClientError {
  return new ClientError("closed", "the client was closed");
}
