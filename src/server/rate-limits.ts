/** How often callers may ask, over a limiter of the operator's choice. */
import type { Access } from "../core/access.ts";
import type { Call } from "../core/call.ts";
import type { Log } from "../core/log.ts";
import { type Failure, failure } from "../core/outcome.ts";
import { unavailable } from "../core/unavailable.ts";
import { isObject } from "../util/json.ts";

/**
 * Counts points by key. The limiters of `rate-limiter-flexible` are such, in memory, Redis or
 * PostgreSQL: a promise that is rejected with `msBeforeNext` where too many were taken.
 */
export interface RateLimiter {
  consume(key: string, points?: number): Promise<unknown>;
}

export interface RateLimitOptions {
  /** For all that one caller asks. */
  readonly limiter: RateLimiter;
  /** The points that a call of a tool takes; every other request takes one. @default 1 each */
  readonly weights?: Readonly<Record<string, number>> | undefined;
  /** Limiters of their own for tools, beside the one for all. @default none */
  readonly tools?: Readonly<Record<string, RateLimiter>> | undefined;
  /**
   * What becomes of requests while the limiter fails, or says nothing for 1.5 seconds: `refuse`
   * tells them to come back (503 over HTTP), so that who breaks its store gains nothing; `serve`
   * serves them. @default "refuse"
   */
  readonly onFailure?: "refuse" | "serve" | undefined;
}

export interface RateOptions {
  /**
   * Limits how often one principal may ask, else one address, else one connection; of what
   * nobody can tell apart, all together. Refused before any handler, with 429 and `Retry-After`
   * over HTTP, and `data.retryAfterMs` everywhere. @default no limit
   */
  readonly rateLimits?: RateLimitOptions | undefined;
}

/**
 * Drivers keep what they are asked while their store is away, some for ever: whoever waits here
 * takes no place among the calls yet, so nothing else would end it.
 */
const patienceMs = 1_500;

/** Where nothing else tells callers apart. */
const everyone = "everyone";

export class RateLimits {
  readonly #options: RateLimitOptions;
  readonly #log: Log;

  constructor(options: RateLimitOptions, log: Log) {
    for (const [tool, weight] of Object.entries(options.weights ?? {})) {
      if (weight >= 0 && Number.isSafeInteger(weight)) continue;
      throw new RangeError(`rateLimits.weights: ${tool} takes whole points, not ${weight}`);
    }
    this.#options = options;
    this.#log = log;
  }

  /** @returns why the call is refused; undefined where it may go on. */
  async check(
    { operation }: Call,
    { owner }: Access,
    from: string | undefined,
  ): Promise<Failure | undefined> {
    const { limiter, weights, tools, onFailure } = this.#options;
    const tool = operation.kind === "call-tool" ? operation.target : undefined;
    const points = tool === undefined ? 1 : (own(weights, tool) ?? 1);
    if (points === 0) return undefined;
    const key = owner === "" ? (from ?? everyone) : `principal:${owner}`;
    try {
      // The narrower one first: what it refuses takes nothing from the other.
      const narrow = tool === undefined ? undefined : own(tools, tool);
      if (narrow !== undefined) await take(narrow, `${key}:${tool}`, points);
      await take(limiter, key, points);
      return undefined;
    } catch (cause) {
      if (isObject(cause) && typeof cause["msBeforeNext"] === "number") {
        return limited(cause["msBeforeNext"]);
      }
      this.#log({ level: "error", message: "a rate limiter failed", cause });
      if (onFailure === "serve") return undefined;
      return unavailable("requests cannot be counted just now; send this one again later", 1_000);
    }
  }
}

/** What comes later is let go. */
function take(limiter: RateLimiter, key: string, points: number): Promise<unknown> {
  const taking = limiter.consume(key, points);
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new Error(`it did not answer within ${patienceMs} ms`));
    const timer = setTimeout(late, patienceMs);
    taking.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function limited(msBeforeNext: number): Failure {
  const retryAfterMs = Math.max(1, Math.ceil(msBeforeNext));
  return failure("rate-limited", `too many requests; try again in ${retryAfterMs} ms`, {
    retryAfterMs,
  });
}

/** A tool may be called `constructor`. */
function own<T>(of: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return of !== undefined && Object.hasOwn(of, name) ? of[name] : undefined;
}

/**
 * The address as a key: whoever has an IPv6 network of their own has 2^64 addresses in it, so
 * what counts is the network.
 */
export function addressKey(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
  if (!plain.includes(":")) return `address:${plain}`;
  const [head = "", tail] = plain.split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  const groups = [...before, ...Array<string>(zeros).fill("0"), ...after];
  const network = groups.slice(0, 4).map((group) => group.toLowerCase().replace(/^0+(?=.)/, ""));
  return `address:${network.join(":")}::/64`;
}
