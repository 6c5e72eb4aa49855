/** The bridge for `node:http`, and so for Express, Fastify and whatever else stands on it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Principal } from "../core/access.ts";
import type { Endpoint } from "../server/endpoint.ts";
import type { HttpRequest } from "../server/http.ts";
import { after } from "../util/awaitable.ts";
import { toHttpRequest } from "./request.ts";
import { writeReply } from "./response.ts";

export type NodeHandler<Incoming extends IncomingMessage = IncomingMessage> = (
  incoming: Incoming,
  outgoing: ServerResponse,
) => void;

export interface NodeHandlerOptions<Incoming extends IncomingMessage = IncomingMessage> {
  /**
   * Whom middleware in front has found out, by what it left on the request; undefined where it
   * found nobody. The endpoint has `auth`, which says what becomes of those.
   */
  readonly principal?: ((incoming: Incoming) => Principal | undefined) | undefined;
}

/**
 * Serves an endpoint from a `node:http` request listener. It reads the body itself, so
 * mount it before body parsers; what one of them has read already is taken from
 * `request.body`.
 */
export function toNodeHandler<Incoming extends IncomingMessage = IncomingMessage>(
  endpoint: Pick<Endpoint, "handle">,
  options: NodeHandlerOptions<Incoming> = {},
): NodeHandler<Incoming> {
  const { principal } = options;
  return (incoming, outgoing) => {
    const request = toHttpRequest(incoming, outgoing);
    const asked = principal === undefined ? request : as(request, () => principal(incoming));
    const replied = after(endpoint.handle(asked), (reply) => writeReply(reply, incoming, outgoing));
    // `handle` never rejects; a socket that breaks while writing must not end the process.
    Promise.resolve(replied).catch((cause: unknown) => {
      outgoing.destroy(cause instanceof Error ? cause : undefined);
    });
  };
}

/** Found out only when the endpoint asks, which answers for it if that fails. */
function as(request: HttpRequest, find: () => Principal | undefined): HttpRequest {
  return Object.defineProperty({ ...request }, "principal", { get: find });
}
