/** From what a user names to a client that speaks to it. */
import { ChannelTransport } from "./channel-transport.ts";
import { Client } from "./client.ts";
import type { Duplex } from "./duplex.ts";
import { type Fetch, FetchSender } from "./fetch-sender.ts";
import type { HttpSender } from "./http-exchange.ts";
import { LegacySseTransport, type LegacySseTransportOptions } from "./legacy-sse.ts";
import type { Target } from "./negotiate.ts";
import type { ClientOptions } from "./options.ts";
import { StreamableHttp, type StreamableHttpOptions } from "./streamable-http.ts";

/** Those of HTTP count for a URL only. */
export interface ConnectOptions
  extends ClientOptions,
    StreamableHttpOptions,
    LegacySseTransportOptions {
  /** Gives the attempt to connect up; afterwards it has no effect. */
  readonly signal?: AbortSignal | undefined;
}

export interface FetchConnectOptions extends ConnectOptions {
  /** What HTTP goes over. @default the `fetch` of the runtime */
  readonly fetch?: Fetch | undefined;
}

/**
 * Connects over `fetch` to the server at a URL, or over whatever a target of your own opens.
 *
 * @throws ClientError `unreachable`, `unsupported`, `unauthorized` and the rest
 * @throws TypeError for a URL that is not http or https, or that carries credentials
 */
export async function connect(
  to: string | URL | Target,
  options: FetchConnectOptions = {},
): Promise<Client> {
  const target =
    typeof to === "string" || to instanceof URL
      ? httpTarget(to, () => new FetchSender(options.fetch), options)
      : to;
  return connectTo(target, options);
}

export function connectTo(target: Target, options: ConnectOptions): Promise<Client> {
  const { authContext = contextOf(options), auth, signal } = options;
  const { extensions = auth?.extensions } = options;
  return Client.open(target, { ...options, authContext, extensions }, signal);
}

/** Whose the credentials are that a function makes cannot be known: it is never the same. */
function contextOf({ headers, auth }: ConnectOptions): ClientOptions["authContext"] {
  if (typeof headers === "function") return () => crypto.randomUUID();
  return auth === undefined ? undefined : () => auth.context?.() ?? crypto.randomUUID();
}

/**
 * A target reached over a duplex of your own, opened anew each time the one before is gone.
 *
 * @param key - what is learnt of the server is remembered under it. @default nothing is
 */
export function duplexTarget(open: () => Duplex, key?: string): Target {
  return { key, open: () => new ChannelTransport(open()) };
}

export function httpTarget(
  url: string | URL,
  sender: () => HttpSender,
  options: StreamableHttpOptions & LegacySseTransportOptions,
): Target {
  const { origin, pathname, search } = new URL(url);
  return {
    // Without the query, which may hold what is to be kept by nobody.
    key: `${origin}${pathname}`,
    cacheKey: `${origin}${pathname}${search}`,
    open: () => new StreamableHttp(url, sender(), options),
    openLegacySse: () => new LegacySseTransport(url, sender(), options),
  };
}
