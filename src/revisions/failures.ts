/** What each kind of failure is on the wire: the table that revisions share and amend. */
import type { Failure, FailureKind } from "../core/outcome.ts";
import type { WireError } from "./adapter.ts";

export type FailureTable = Readonly<Record<FailureKind, readonly [code: number, status: number]>>;

/**
 * The handshake revisions. An error that answers a request travels on 200, except where
 * the refusal is about the HTTP request itself.
 */
export const handshakeFailures: FailureTable = {
  "parse-error": [-32700, 400],
  "invalid-request": [-32600, 400],
  "malformed-envelope": [-32602, 400],
  "invalid-version": [-32602, 400],
  "unsupported-revision": [-32022, 400],
  "header-mismatch": [-32020, 400],
  "method-not-found": [-32601, 200],
  "invalid-params": [-32602, 200],
  "missing-capability": [-32603, 200],
  "resource-not-found": [-32002, 200],
  internal: [-32603, 200],
  // No revision has a code for it; the specification leaves what lies outside -32768 to
  // -32000 to implementations.
  cancelled: [-32800, 200],
  // Not done, and worth another try: over HTTP a 503 with its Retry-After says the same.
  unavailable: [-32603, 503],
  // The same, because its caller asks for too much rather than because the server is away.
  "rate-limited": [-32603, 429],
  "unknown-session": [-32001, 404],
  "missing-session": [-32600, 400],
  unauthorized: [-32600, 401],
  "insufficient-scope": [-32600, 403],
  forbidden: [-32600, 403],
  "not-found": [-32600, 404],
  "method-not-allowed": [-32600, 405],
  "not-acceptable": [-32600, 406],
  "too-large": [-32600, 413],
  "unsupported-media-type": [-32600, 415],
};

/** 2026-07-28: an unknown method has a status, a missing capability and resource other codes. */
export const modernFailures: FailureTable = {
  ...handshakeFailures,
  "method-not-found": [-32601, 404],
  "missing-capability": [-32021, 400],
  "resource-not-found": [-32602, 200],
};

export function toWireError(failure: Failure, table: FailureTable): WireError {
  const [code, status] = table[failure.failure];
  return { code, status, data: failure.data };
}
