/** What an endpoint reads from a request beside its headers and body. */
import { type RequestId, readMessage } from "../jsonrpc/message.ts";
import type { Preamble } from "../revisions/preamble.ts";
import { isObject } from "../util/json.ts";
import type { EndpointOptions } from "./endpoint-options.ts";
import type { HttpRequest } from "./http.ts";
import { addressKey } from "./rate-limits.ts";

export function pathOf(target: string): string {
  const end = target.indexOf("?");
  return end < 0 ? target : target.slice(0, end);
}

export function queryOf(target: string): string {
  const start = target.indexOf("?");
  return start < 0 ? "" : target.slice(start + 1);
}

/** Whom a request of nobody in particular is counted for. */
export function fromOf(
  request: HttpRequest,
  { clientAddress }: Pick<EndpointOptions, "clientAddress">,
): string | undefined {
  const address = clientAddress === undefined ? request.address : clientAddress(request);
  return address === undefined ? undefined : addressKey(address);
}

/** The id that an answer goes by; undefined where there is none to be read. */
export function readId({ json }: Preamble): RequestId | undefined {
  if (!isObject(json)) return undefined;
  const message = readMessage(json);
  return message.kind === "request" ? message.id : undefined;
}
