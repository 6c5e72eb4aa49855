/** The errors of the public surface. Refusals inside the library are data, not throws. */
import type { JsonObject } from "../util/json.ts";
import type { Failure } from "./outcome.ts";

export type McpErrorCode = "failed" | "not-found" | "invalid-params";

/**
 * Thrown by a handler to tell its caller what went wrong. Any other error is a bug: the
 * caller learns only that the call failed, and the cause goes to the log, so that no
 * stack, path or secret reaches the wire.
 *
 * - `failed`: from a tool, a result marked `isError` with this message, which the model
 *   can act on; from a resource or a prompt, an internal error with this message.
 * - `not-found`: from a resource, the revision's resource-not-found error.
 * - `invalid-params`: an invalid-params error (`-32602`).
 */
export class McpError extends Error {
  override readonly name = "McpError";
  readonly code: McpErrorCode;
  readonly data: JsonObject | undefined;

  constructor(message: string, options: McpErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = options.code ?? "failed";
    this.data = options.data;
  }
}

export interface McpErrorOptions {
  /** @default "failed" */
  readonly code?: McpErrorCode | undefined;
  /** The JSON-RPC error's `data`. */
  readonly data?: JsonObject | undefined;
  /** For the log only. */
  readonly cause?: unknown;
}

/** Carries a {@link Failure} across a throw, to callers of the pure functions. */
export class Rejection extends Error {
  override readonly name = "Rejection";
  readonly failure: Failure;

  constructor(refused: Failure) {
    super(refused.message);
    this.failure = refused;
  }

  /** Why, in terms that no revision owns. */
  get kind(): Failure["failure"] {
    return this.failure.failure;
  }

  /** The version that was asked for, where the refusal is about one. */
  get requested(): string | undefined {
    const requested = this.failure.data?.["requested"];
    return typeof requested === "string" ? requested : undefined;
  }

  /** Every version that is served, newest first, where the refusal is about one. */
  get supported(): readonly string[] | undefined {
    const supported = this.failure.data?.["supported"];
    return Array.isArray(supported) ? supported : undefined;
  }
}

/** A declaration that cannot be served as it stands; thrown while declaring, never later. */
export class DeclarationError extends Error {
  override readonly name = "DeclarationError";
}
