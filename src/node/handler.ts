/** The bridge for `node:http`, and so for Express, Fastify and whatever else stands on it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Principal } from "../core/access.ts";
import type { Endpoint } from "../server/endpoint.ts";
import type { HttpReply } from "../server/http.ts";
import { isPromise } from "../util/awaitable.ts";
import { NodeRequest } from "./request.ts";
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
    // What breaks while it is written must not end the process.
    const broken = (cause: unknown): void => {
      outgoing.destroy(cause instanceof Error ? cause : undefined);
    };
    const write = (reply: HttpReply): void => {
      try {
        writeReply(reply, incoming, outgoing);
      } catch (cause) {
        broken(cause);
      }
    };
    const find = principal && (() => principal(incoming));
    const replied = endpoint.handle(new NodeRequest(incoming, outgoing, find));
    if (isPromise(replied)) replied.then(write, broken);
    else write(replied);
  };
}
