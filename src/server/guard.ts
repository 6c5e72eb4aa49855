/**
 * What is checked before anything is read: which host was meant, which page asks, and
 * whether this is a request at all. On by default, because a server on a loopback address
 * is reached by any web page through DNS rebinding
 * (basic/transports, Security Warning, every revision since 2025-03-26).
 */
import { type Failure, failure } from "../core/outcome.ts";
import type { HttpRequest } from "./http.ts";
import { acceptable, isJson } from "./media.ts";

export interface GuardOptions {
  /**
   * Hosts that requests may name, such as `"mcp.example.com"` (any port) or
   * `"mcp.example.com:8443"`; `"*"` allows every host and gives up the protection against
   * DNS rebinding. @default localhost, 127.0.0.1 and [::1]
   */
  readonly allowedHosts?: readonly string[] | undefined;
  /**
   * Web origins that may call from a browser, such as `"https://app.example.com"`; `"*"`
   * allows every origin. A page from an allowed host itself may always call, and so may a
   * loopback page call a loopback server. @default none besides
   */
  readonly allowedOrigins?: readonly string[] | undefined;
  /** Bytes of a body at most; more is refused with 413. @default 4194304 */
  readonly maxBodyBytes?: number | undefined;
}

export const loopbackHosts: readonly string[] = Object.freeze(["localhost", "127.0.0.1", "[::1]"]);

const hostSyntax = /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::(\d{1,5}))?$/;

export class Guard {
  readonly maxBodyBytes: number;
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;
  /** The last host that passed: most servers are reached by one name. */
  #lastHost: string | undefined;

  constructor(options: GuardOptions) {
    this.maxBodyBytes = options.maxBodyBytes ?? 4_194_304;
    this.#hosts = new Set((options.allowedHosts ?? loopbackHosts).map(readAllowedHost));
    this.#origins = new Set(options.allowedOrigins?.map(readAllowedOrigin));
  }

  /** Target, host and origin: for every method and path. */
  check(request: HttpRequest): Failure | undefined {
    if (!request.target.startsWith("/")) {
      return failure("invalid-request", "the request target must be a path, as in POST /mcp");
    }
    return this.#checkHost(request.host) ?? this.#checkOrigin(request);
  }

  /** The media types and the announced length of a POST. */
  checkPost({ headers }: HttpRequest): Failure | undefined {
    const refused = this.checkContent(headers);
    if (refused !== undefined) return refused;
    if (acceptable(headers("accept")) === "neither") {
      return failure(
        "not-acceptable",
        "Accept admits neither application/json nor text/event-stream; send both",
      );
    }
    const length = headers("content-length");
    return length !== undefined && Number(length) > this.maxBodyBytes ? this.tooLarge() : undefined;
  }

  /** What a body is. A compressed one is refused: a few bytes of it can stand for gigabytes. */
  checkContent(headers: HttpRequest["headers"]): Failure | undefined {
    if (!isJson(headers("content-type"))) {
      return failure("unsupported-media-type", "Content-Type must be application/json");
    }
    const encoding = headers("content-encoding")?.trim().toLowerCase() ?? "identity";
    return encoding === "identity"
      ? undefined
      : failure("unsupported-media-type", "send the body as it is, without Content-Encoding");
  }

  tooLarge(): Failure {
    return failure("too-large", `the body is larger than ${this.maxBodyBytes} bytes`);
  }

  #checkHost(host: string | undefined): Failure | undefined {
    if (host !== undefined && host === this.#lastHost) return undefined;
    const found = host === undefined ? null : hostSyntax.exec(host.toLowerCase());
    if (host === undefined || found === null) {
      return failure("invalid-request", "the request must name one host in its Host header");
    }
    if (!this.#isAllowedHost(found[1] ?? "", found[2])) {
      return failure(
        "forbidden",
        "this host is not allowed; an operator can add it to allowedHosts",
      );
    }
    this.#lastHost = host;
    return undefined;
  }

  #isAllowedHost(name: string, port: string | undefined): boolean {
    if (this.#hosts.has("*") || this.#hosts.has(name)) return true;
    return port !== undefined && this.#hosts.has(`${name}:${port}`);
  }

  #checkOrigin({ headers, host }: HttpRequest): Failure | undefined {
    const origin = headers("origin");
    if (origin === undefined || this.#isAllowedOrigin(origin, host)) return undefined;
    return failure(
      "forbidden",
      "this origin is not allowed; an operator can add it to allowedOrigins",
    );
  }

  #isAllowedOrigin(origin: string, host: string | undefined): boolean {
    const lower = origin.toLowerCase();
    if (this.#origins.has("*") || this.#origins.has(lower)) return true;
    const authority = /^https?:\/\/(.+)$/.exec(lower)?.[1];
    if (authority === undefined || host === undefined) return false;
    const page = hostSyntax.exec(authority)?.[1];
    const server = hostSyntax.exec(host.toLowerCase())?.[1];
    if (page === undefined || server === undefined) return false;
    if (authority === host.toLowerCase()) return true;
    return loopbackHosts.includes(page) && loopbackHosts.includes(server);
  }
}

function readAllowedHost(host: string): string {
  const lower = host.toLowerCase();
  if (lower === "*") return lower;
  const found = hostSyntax.exec(lower.replace(/:\*$/, ""));
  if (found !== null) return found[0];
  throw new TypeError(
    `allowedHosts: ${JSON.stringify(host)} is no host; write "mcp.example.com", "mcp.example.com:8443" or "[::1]"`,
  );
}

function readAllowedOrigin(origin: string): string {
  if (origin === "*") return origin;
  if (URL.canParse(origin) && new URL(origin).origin === origin.toLowerCase()) {
    return origin.toLowerCase();
  }
  throw new TypeError(
    `allowedOrigins: ${JSON.stringify(origin)} is no origin; write "https://app.example.com", without a path`,
  );
}
