/** Listens: a server, a port, and nothing else to know. */
import cluster from "node:cluster";
import { createServer as createHttpServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Server } from "../core/server.ts";
import { createEndpoint, type Endpoint, type EndpointOptions } from "../server/endpoint.ts";
import { loopbackHosts } from "../server/guard.ts";
import { createLegacySse, type LegacySse } from "../server/legacy-sse.ts";
import { Connections } from "./connections.ts";
import { toNodeHandler } from "./handler.ts";
import { type HealthOptions, withHealth } from "./health.ts";
import {
  type HttpLimitOptions,
  limitServer,
  toHttpLimits,
  toServerOptions,
  withFewHeaders,
} from "./http-limits.ts";
import { within } from "./within.ts";
import { startWorkers } from "./workers.ts";

export interface ServeOptions extends EndpointOptions, HttpLimitOptions {
  /** 0 takes a free one. @default 8080 */
  readonly port?: number | undefined;
  /** The address to bind. One that others can reach needs `allowedHosts`. @default "127.0.0.1" */
  readonly host?: string | undefined;
  /** @default "/mcp" */
  readonly path?: string | undefined;
  /**
   * Also serves the HTTP+SSE transport of 2024-11-05 (basic/transports, HTTP with SSE), at
   * `/sse` and `/messages`, for clients that know nothing newer. @default false
   */
  readonly legacySse?: boolean | undefined;
  /** How long `close` waits for calls in flight, in milliseconds. @default 10000 */
  readonly drainMs?: number | undefined;
  /**
   * Tells at `/health` whether the process lives, and at `/ready` whether to send it requests:
   * not while it closes, or while its store is away. Other paths, or `false` for none.
   * @default true
   */
  readonly health?: HealthOptions | boolean | undefined;
  /**
   * Whether SIGTERM and SIGINT end the process: it takes nothing new, finishes what it has
   * within `drainMs`, runs `onClosed`, and exits with 0; at a second signal it exits at once.
   * @default false
   */
  readonly signals?: boolean | undefined;
  /**
   * Serves from so many processes on one port, for one machine with several processors: the
   * program runs once more in each of them, by `node:cluster`, and one that ends is started
   * again. They need `stores` that they share, such as those of `anyrev/stores/sqlite`, each
   * with a connection of its own. SIGTERM ends each, as `signals` says. @default one process
   */
  readonly workers?: number | undefined;
  /** Runs when serving has ended: the place to close stores and connections. */
  readonly onClosed?: (() => unknown) | undefined;
  /** Ends serving when it aborts. */
  readonly signal?: AbortSignal | undefined;
}

export interface Serving extends AsyncDisposable {
  /** Where clients connect, such as `http://127.0.0.1:8080/mcp`. */
  readonly url: string;
  readonly port: number;
  /** Takes no new work, lets calls in flight finish, and ends what lasts longer. */
  close(): Promise<void>;
}

/**
 * Serves over HTTP.
 *
 * @throws TypeError when the address is public and `allowedHosts` is not given: any web
 * page could then reach the server under a name of its own.
 */
export async function serve(server: Server, options: ServeOptions = {}): Promise<Serving> {
  const host = options.host ?? "127.0.0.1";
  const path = options.path ?? "/mcp";
  const url = (port: number): string => `http://${bracket(host)}:${port}${path}`;
  if (options.workers !== undefined && cluster.isPrimary) {
    return keepWorkers(options.workers, options, url);
  }
  const allowedHosts = options.allowedHosts ?? localHosts(host);
  const endpoint = createEndpoint(server, { ...options, path, allowedHosts });
  const legacy = options.legacySse
    ? createLegacySse(server, { ...options, path: undefined, allowedHosts })
    : undefined;
  const handler = toNodeHandler(legacy === undefined ? endpoint : both(endpoint, legacy));
  const { health = true } = options;
  const told = health === true ? {} : health;
  const limits = toHttpLimits(options);
  const whole = told === false ? handler : withHealth(told, endpoint, handler);
  const http = createHttpServer(toServerOptions(limits), withFewHeaders(limits, whole));
  limitServer(http, limits);
  const connections = new Connections(http);
  const { port } = await listen(http, options.port ?? 8080, host);
  const drainMs = options.drainMs ?? 10_000;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    endpoint.close();
    legacy?.close();
    closing ??= finish(connections, endpoint, drainMs, options.onClosed);
    return closing;
  };
  return serving(port, url(port), close, options);
}

/** What a program holds of it, and what else ends it. */
function serving(
  port: number,
  url: string,
  close: () => Promise<void>,
  { signal, signals, workers }: ServeOptions,
): Serving {
  const isWorker = workers !== undefined && cluster.isWorker;
  if (signals || isWorker) exitOnSignals(close, isWorker);
  signal?.addEventListener("abort", () => void close(), { once: true });
  return { url, port, close, [Symbol.asyncDispose]: close };
}

async function keepWorkers(
  count: number,
  options: ServeOptions,
  url: (port: number) => string,
): Promise<Serving> {
  if (!Number.isSafeInteger(count) || count < 1) {
    throw new RangeError(`workers is how many there are, not ${count}`);
  }
  const { stores, sessionStore, eventHub, sessions, onClosed } = options;
  const isShared = stores !== undefined || (sessionStore !== undefined && eventHub !== undefined);
  if (count > 1 && !isShared && sessions !== false) {
    throw new TypeError(
      "several workers need `stores` that they share: what one keeps in its memory the others do not find",
    );
  }
  const { port, close } = await startWorkers(count);
  let closing: Promise<void> | undefined;
  const closeAll = (): Promise<void> => {
    closing ??= close().then(async () => void (await onClosed?.()));
    return closing;
  };
  return serving(port, url(port), closeAll, options);
}

function both(endpoint: Endpoint, legacy: LegacySse): Pick<Endpoint, "handle"> {
  return {
    handle: (request) =>
      legacy.serves(request.target) ? legacy.handle(request) : endpoint.handle(request),
  };
}

function localHosts(host: string): readonly string[] {
  if (/^(?:localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host)) {
    return [...new Set([...loopbackHosts, bracket(host)])];
  }
  throw new TypeError(
    `${host} can be reached from outside, so say under which names: serve(server, { host: ${JSON.stringify(host)}, allowedHosts: ["mcp.example.com"] })`,
  );
}

function bracket(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

function listen(http: HttpServer, port: number, host: string): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    http.once("error", reject);
    http.listen(port, host, () => {
      http.off("error", reject);
      // Listening on a port, so the address is no pipe's name.
      resolve(http.address() as AddressInfo);
    });
  });
}

async function finish(
  connections: Connections,
  endpoint: Endpoint,
  drainMs: number,
  onClosed: (() => unknown) | undefined,
): Promise<void> {
  // Calls whose caller has gone are finished as well: it comes back for what they came to.
  await Promise.all([connections.end(drainMs), within(endpoint.settled(), drainMs)]);
  await onClosed?.();
}

/** @param isWorker - whether the process that started it tells it when to end */
function exitOnSignals(close: () => Promise<void>, isWorker: boolean): void {
  let isEnding = false;
  const end = (): void => {
    if (isEnding) process.exit(1);
    isEnding = true;
    close().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on("SIGTERM", end);
  // A terminal sends it to all processes at once, and each would hear of its end twice.
  process.on("SIGINT", isWorker ? () => undefined : end);
}
