/** The bridge for `node:http`, and so for Express, Fastify and whatever else stands on it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Endpoint } from "../server/endpoint.ts";
import { after } from "../util/awaitable.ts";
import { toHttpRequest } from "./request.ts";
import { writeReply } from "./response.ts";

export type NodeHandler = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/**
 * Serves an endpoint from a `node:http` request listener. It reads the body itself, so
 * mount it before body parsers; what one of them has read already is taken from
 * `request.body`.
 */
export function toNodeHandler(endpoint: Pick<Endpoint, "handle">): NodeHandler {
  return (incoming, outgoing) => {
    const replied = after(endpoint.handle(toHttpRequest(incoming, outgoing)), (reply) =>
      writeReply(reply, incoming, outgoing),
    );
    // `handle` never rejects; a socket that breaks while writing must not end the process.
    Promise.resolve(replied).catch((cause: unknown) => {
      outgoing.destroy(cause instanceof Error ? cause : undefined);
    });
  };
}
