/** What a client has learnt of servers, so that it need not find out each time. */
import type { Awaitable } from "../util/awaitable.ts";
import { isObject } from "../util/json.ts";
import { excerpt } from "./excerpt.ts";

/** How a server is spoken to. */
export interface Verdict {
  /** The version that was spoken. */
  readonly revision: string;
  /** Whether it was reached over the HTTP+SSE transport of 2024-11-05. */
  readonly legacySse?: boolean | undefined;
}

/**
 * Keeps verdicts by server: an origin with its path, or a command with its arguments. A wrong
 * or old one does no harm: it is dropped and found anew when a connection fails under it
 * (basic/versioning, Backward Compatibility, 2026-07-28).
 */
export interface VerdictStore {
  get(server: string): Awaitable<Verdict | undefined>;
  set(server: string, verdict: Verdict): Awaitable<void>;
  delete(server: string): Awaitable<void>;
}

export interface MemoryVerdictsOptions {
  /** Servers remembered at most; the one set longest ago goes first. @default 1000 */
  readonly max?: number | undefined;
}

export class MemoryVerdicts implements VerdictStore {
  readonly #verdicts: Map<string, Verdict> = new Map();
  readonly #max: number;

  constructor({ max = 1_000 }: MemoryVerdictsOptions = {}) {
    this.#max = max;
  }

  get(server: string): Verdict | undefined {
    return this.#verdicts.get(server);
  }

  set(server: string, verdict: Verdict): void {
    this.#verdicts.delete(server);
    this.#verdicts.set(server, verdict);
    const [oldest] = this.#verdicts.keys();
    if (this.#verdicts.size > this.#max && oldest !== undefined) this.#verdicts.delete(oldest);
  }

  delete(server: string): void {
    this.#verdicts.delete(server);
  }
}

/**
 * A store that is asked no more than it can do: what it cannot give, or gives wrong, is found out
 * from the server, which takes longer and harms nobody.
 */
export function forgiving(store: VerdictStore, warn: (message: string) => void): VerdictStore {
  const attempt = async <T>(what: () => Awaitable<T>): Promise<T | undefined> => {
    try {
      return await what();
    } catch (cause) {
      const why = excerpt(cause instanceof Error ? cause.message : String(cause));
      warn(`how servers are spoken to can be neither read nor kept: ${why}`);
      return undefined;
    }
  };
  return {
    get: async (server) => {
      const verdict: unknown = await attempt(() => store.get(server));
      return isVerdict(verdict) ? verdict : undefined;
    },
    set: (server, verdict) => attempt(() => store.set(server, verdict)),
    delete: (server) => attempt(() => store.delete(server)),
  };
}

function isVerdict(value: unknown): value is Verdict {
  return isObject(value) && typeof value["revision"] === "string";
}
