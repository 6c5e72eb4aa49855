/** What an endpoint can be told, and what it is to whoever mounts it. */
import type { AuthOptions } from "../auth/gate.ts";
import type { Principal } from "../core/access.ts";
import type { Telemetry } from "../core/telemetry.ts";
import type { AdapterSet } from "../revisions/adapter-set.ts";
import type { Selection } from "../revisions/selection.ts";
import type { Awaitable } from "../util/awaitable.ts";
import type { GuardOptions } from "./guard.ts";
import type { HttpReply, HttpRequest } from "./http.ts";
import type { StoreOptions } from "./kept.ts";
import type { LoadOptions } from "./load.ts";
import type { RateOptions } from "./rate-limits.ts";
import type { ReadyState } from "./readiness.ts";

export interface EndpointOptions extends GuardOptions, StoreOptions, LoadOptions, RateOptions {
  /**
   * The address of a caller, for `rateLimits`. Behind a proxy it is in a header that the proxy
   * sets; read that one alone, for every other is written by whoever calls, who would be counted
   * as somebody else each time. @default the address of the connection, where the bridge knows it
   */
  readonly clientAddress?: ((request: HttpRequest) => string | undefined) | undefined;
  /** The revisions served: dates, or a set with adapters of your own. @default all five */
  readonly revisions?: AdapterSet | readonly string[] | undefined;
  /**
   * Whether `initialize` opens a session. Without, no id is ever given out, one that
   * arrives is ignored, and any worker serves any request. @default true
   */
  readonly sessions?: boolean | undefined;
  /** Whether arrays of messages are served where the revision has them. @default true */
  readonly batch?: boolean | undefined;
  /** Levels of nesting in a message at most; deeper is refused. @default 64 */
  readonly maxDepth?: number | undefined;
  /**
   * How long a caller that takes a stream hears nothing at most, in milliseconds: proxies
   * cut off what is silent for longer, often after 60 seconds. @default 20000
   */
  readonly keepAliveMs?: number | undefined;
  /** The one path that is served; others are answered 404. @default every path */
  readonly path?: string | undefined;
  /**
   * Who may call, found out before anything of a request is read but its headers. Without it
   * nobody is asked, and what needs a scope is refused. @default nobody is asked
   */
  readonly auth?: AuthOptions | undefined;
  /** Watches each message, such as `openTelemetry` of `anyrev/telemetry`. @default nobody */
  readonly telemetry?: Telemetry | undefined;
  /** Hears which revision each message was taken to be written in, and why. */
  readonly onSelection?: ((selection: Selection, method: string | undefined) => void) | undefined;
}

/** What answers at one URL. */
export interface Endpoint {
  /** For runtimes and frameworks that speak the Fetch standard. */
  readonly fetch: (request: Request) => Promise<Response>;
  /**
   * The same for a caller that middleware in front has found out; undefined where it found
   * nobody. The endpoint has `auth`, which says what becomes of those.
   */
  readonly fetchAs: (principal: Principal | undefined, request: Request) => Promise<Response>;
  /** For bridges: one neutral request to one neutral reply. Never rejects. */
  readonly handle: (request: HttpRequest) => Awaitable<HttpReply>;
  /**
   * With `auth`, the path of the protected resource metadata (RFC 9728), which the endpoint
   * answers. It lies beside the endpoint's own, so a router in front must route it too.
   */
  readonly metadataPath: string | undefined;
  /** Whether it should be sent requests: not while it closes, or while its store is away. */
  readonly state: () => Promise<ReadyState>;
  /**
   * Ends what listens, gracefully, and stops hearing of changes. Calls in flight go on, and so
   * do their questions and cancels; new ones are refused, to be sent elsewhere.
   */
  readonly close: () => void;
  /** Resolves when every call is finished, and what it told and changed has been passed on. */
  readonly settled: () => Promise<void>;
}
