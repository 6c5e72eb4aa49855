/** Errors by which a client learns what it is talking to. */
import { isObject } from "../util/json.ts";
import { modernFailures } from "./failures.ts";

const [headerMismatch] = modernFailures["header-mismatch"];
const [missingCapability] = modernFailures["missing-capability"];
const [unsupportedRevision] = modernFailures["unsupported-revision"];

const [methodNotFound] = modernFailures["method-not-found"];
const [invalidParams] = modernFailures["invalid-params"];

export interface RefusedWith {
  readonly code: number | undefined;
  readonly data: unknown;
}

/** The versions that a server names when it does not speak the one it was asked in. */
export function readSupported({ code, data }: RefusedWith): readonly string[] | undefined {
  if (code !== unsupportedRevision) return undefined;
  const supported = isObject(data) ? data["supported"] : undefined;
  return Array.isArray(supported) ? supported.filter((each) => typeof each === "string") : [];
}

/**
 * Whether only a server without a handshake answers like this
 * (basic/transports/streamable-http, Backward Compatibility, 2026-07-28).
 */
export function isModernRefusal({ code }: RefusedWith): boolean {
  return code === headerMismatch || code === missingCapability || code === unsupportedRevision;
}

/** Whether the headers did not mirror what the server expects: its schemas may have changed. */
export function isHeaderMismatch({ code }: RefusedWith): boolean {
  return code === headerMismatch;
}

/** Whether a call was refused as one that the server's own listing would not have led to. */
export function isMisinformed({ code }: RefusedWith): boolean {
  return code === methodNotFound || code === invalidParams;
}
