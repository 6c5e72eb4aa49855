/** What a `node:http` server takes from the network before a request is anybody's. */
import type { Server as HttpServer, ServerOptions } from "node:http";
import type { NodeHandler } from "./handler.ts";

export interface HttpLimitOptions {
  /**
   * Connections at once; one more is closed as soon as it is there. A flood then takes no file
   * descriptors from the rest of the process. @default 10000
   */
  readonly maxConnections?: number | undefined;
  /**
   * How long the headers of a request may take, in milliseconds; then 408. Who drips them holds
   * a connection no longer. @default 10000
   */
  readonly headersTimeoutMs?: number | undefined;
  /** How long a whole request may take to arrive, in milliseconds; then 408. @default 60000 */
  readonly requestTimeoutMs?: number | undefined;
  /** Headers of a request at most; more is 431. Node by itself would leave out the rest. @default 100 */
  readonly maxHeaders?: number | undefined;
  /** Bytes of the headers of a request at most; more is 431. @default 16384 */
  readonly maxHeaderBytes?: number | undefined;
}

export type HttpLimits = { readonly [K in keyof HttpLimitOptions]-?: number };

/** @throws RangeError for what is no positive number. */
export function toHttpLimits(options: HttpLimitOptions): HttpLimits {
  const limits = {
    maxConnections: options.maxConnections ?? 10_000,
    headersTimeoutMs: options.headersTimeoutMs ?? 10_000,
    requestTimeoutMs: options.requestTimeoutMs ?? 60_000,
    maxHeaders: options.maxHeaders ?? 100,
    maxHeaderBytes: options.maxHeaderBytes ?? 16_384,
  };
  for (const [name, value] of Object.entries(limits)) {
    if (!(Number.isSafeInteger(value) && value > 0)) {
      throw new RangeError(`${name} is a positive whole number, not ${value}`);
    }
  }
  return limits;
}

export function toServerOptions(limits: HttpLimits): ServerOptions {
  const { headersTimeoutMs, requestTimeoutMs, maxHeaderBytes } = limits;
  return {
    maxHeaderSize: maxHeaderBytes,
    // Node takes a request that must be there sooner than its headers for a mistake.
    headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
    requestTimeout: requestTimeoutMs,
    // How late it may be noticed.
    connectionsCheckingInterval: Math.min(1_000, headersTimeoutMs, requestTimeoutMs),
  };
}

/** What can be set only on a server that is there. */
export function limitServer(http: HttpServer, { maxConnections, maxHeaders }: HttpLimits): void {
  http.maxConnections = maxConnections;
  // One more than is let in, so that too many show.
  http.maxHeadersCount = maxHeaders + 1;
}

const tooMany = JSON.stringify({
  jsonrpc: "2.0",
  error: { code: -32600, message: "the request has too many headers" },
});

/** Lets `next` answer what has few enough headers. */
export function withFewHeaders({ maxHeaders }: HttpLimits, next: NodeHandler): NodeHandler {
  return (incoming, outgoing) => {
    // A name and a value each.
    if (incoming.rawHeaders.length <= 2 * maxHeaders) return next(incoming, outgoing);
    outgoing.writeHead(431, { "content-type": "application/json", connection: "close" });
    outgoing.end(tooMany);
  };
}
