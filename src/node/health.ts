/** Two paths for balancers and supervisors: whether the process lives, and whether to send it requests. */
import type { Endpoint } from "../server/endpoint.ts";
import type { NodeHandler } from "./handler.ts";

export interface HealthOptions {
  /** 200 as long as the process answers at all. @default "/health" */
  readonly health?: string | undefined;
  /** 200 while it should be sent requests; 503 while it closes or its store is away. @default "/ready" */
  readonly ready?: string | undefined;
}

/**
 * Answers at these paths, and lets `next` answer at all others. No host is checked: who probes
 * a container knows its address alone, and learns no more than one word.
 */
export function withHealth(
  { health = "/health", ready = "/ready" }: HealthOptions,
  endpoint: Pick<Endpoint, "state">,
  next: NodeHandler,
): NodeHandler {
  return (incoming, outgoing) => {
    const { method, url } = incoming;
    const isAsked = (url === health || url === ready) && (method === "GET" || method === "HEAD");
    if (!isAsked) return next(incoming, outgoing);
    const answer = (status: number, word: string): void => {
      const text = `{"status":"${word}"}`;
      outgoing.writeHead(status, {
        "content-type": "application/json",
        "content-length": text.length,
        "cache-control": "no-store",
      });
      outgoing.end(method === "HEAD" ? undefined : text);
    };
    if (url === health) return answer(200, "alive");
    // Never rejects.
    void endpoint.state().then((state) => answer(state === "ready" ? 200 : 503, state));
  };
}
