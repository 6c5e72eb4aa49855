/** Authentication as the endpoints have it: before anything is read, on every route. */
import { type AuthOptions, type Denial, Gate } from "../auth/gate.ts";
import type { Access } from "../core/access.ts";
import { failure } from "../core/outcome.ts";
import type { Server } from "../core/server.ts";
import type { Adapter } from "../revisions/adapter.ts";
import { type Awaitable, after } from "../util/awaitable.ts";
import { type Answer, refuse } from "./answer.ts";
import { toJsonReply } from "./call-outlet.ts";
import { preflight } from "./cors.ts";
import type { EndpointOptions } from "./endpoint-options.ts";
import { loopbackHosts } from "./guard.ts";
import { emptyReply, type HttpReply, type HttpRequest, jsonReply } from "./http.ts";

export interface EntranceOptions {
  readonly auth: AuthOptions;
  /** Where the endpoint is, if it knows. */
  readonly path: string | undefined;
  readonly allowedHosts: readonly string[] | undefined;
  readonly server: Server;
  /** Speaks where no revision is known. */
  readonly adapter: Adapter;
}

/** Taken without a rule for those who have none, a principal would let everybody else in as well. */
export const takenByAuth = "a principal was passed on to an endpoint that has no auth option";

/** How long clients wait that cannot be judged now, in seconds. */
const retryAfterSeconds = "5";

/** How long clients may keep the metadata. */
const metadataHeaders = { "cache-control": "max-age=300" };

export class Entrance {
  readonly #gate: Gate;
  readonly #server: Server;
  readonly #adapter: Adapter;

  /** @throws TypeError when it is not said, and cannot be told, what tokens are issued for */
  constructor({ auth, path, allowedHosts, server, adapter }: EntranceOptions) {
    // Under a name that others choose, a token for their server would be good here.
    const isLocal = (allowedHosts ?? loopbackHosts).every(isLoopback);
    this.#gate = new Gate(auth, isLocal ? path : undefined);
    this.#server = server;
    this.#adapter = adapter;
  }

  get metadataTarget(): string {
    return this.#gate.metadataTarget;
  }

  /** The answer to a request for the metadata, which is for everybody; undefined for others. */
  document(request: HttpRequest): HttpReply | undefined {
    const text = this.#gate.metadata(request);
    if (text === undefined) return undefined;
    switch (request.method) {
      case "GET":
        return jsonReply(200, text, metadataHeaders);
      case "HEAD":
        return emptyReply(200, { "content-type": "application/json", ...metadataHeaders });
      default:
        return preflight(request, "GET") ?? emptyReply(405, { allow: "GET, HEAD" });
    }
  }

  admit(request: HttpRequest): Awaitable<Access | HttpReply> {
    return after(this.#gate.admit(request), (admitted) =>
      "kind" in admitted ? this.#deny(admitted) : admitted,
    );
  }

  /** Tells a caller that lacks a scope how to get it. */
  challenge(answer: Answer, { host }: HttpRequest): Answer {
    const { scopes } = answer;
    if (scopes === undefined) return answer;
    const description = `this needs ${scopes.join(" ")}`;
    return { ...answer, challenge: this.#gate.challenge(scopes, description, host) };
  }

  #deny({ failure: kind, message, challenge, cause }: Denial): HttpReply {
    if (kind === "unavailable") {
      this.#server.log({ level: "error", message: `authentication: ${message}`, cause });
    }
    const answer = refuse(failure(kind, message), undefined, this.#adapter);
    const headers =
      challenge === undefined
        ? { "retry-after": retryAfterSeconds }
        : { "www-authenticate": challenge };
    return toJsonReply(answer, headers);
  }
}

function isLoopback(host: string): boolean {
  return loopbackHosts.some((each) => host === each || host.startsWith(`${each}:`));
}

/** The one that an endpoint has, if it has any. */
export function entranceOf(
  { auth, path, allowedHosts }: EndpointOptions,
  server: Server,
  adapter: Adapter,
): Entrance | undefined {
  return auth && new Entrance({ auth, path, allowedHosts, server, adapter });
}
