/** Asking an authorization server: over TLS, for so long, for so much, and not again at once. */
import { isObject, type JsonObject } from "../util/json.ts";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface FetchOptions {
  /** @default the runtime's own */
  readonly fetch?: Fetch | undefined;
  /** How long an authorization server is waited for, in milliseconds. @default 5000 */
  readonly timeoutMs?: number | undefined;
}

const maxBytes = 524_288;

/** How long a server that failed is left alone: callers cannot be let to drum on it through us. */
const restMs = 5_000;

const loopback = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/**
 * Whoever can change what an authorization server says decides who gets in.
 *
 * @throws TypeError when the URL is none over TLS, except to this machine
 */
export function assertSecure(what: string, url: string): void {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isLocal = parsed?.protocol === "http:" && loopback.test(parsed.hostname);
  if (parsed?.protocol === "https:" || isLocal) return;
  throw new TypeError(`${what} must be an https URL, not ${JSON.stringify(url)}`);
}

/** One authorization server, as far as it can be asked. */
export class Asked {
  readonly #fetch: Fetch;
  readonly #timeoutMs: number;
  #failure: { readonly cause: unknown; readonly until: number } | undefined;

  constructor(options: FetchOptions) {
    this.#fetch = options.fetch ?? ((url, init) => fetch(url, init));
    this.#timeoutMs = options.timeoutMs ?? 5_000;
  }

  /**
   * The object at a URL; undefined where the answer is no 200.
   *
   * @throws when it cannot be had, and for a while after that at once
   */
  async json(url: string, init: RequestInit = {}): Promise<JsonObject | undefined> {
    if (this.#failure !== undefined && Date.now() < this.#failure.until) throw this.#failure.cause;
    try {
      const found = await this.#ask(url, init);
      this.#failure = undefined;
      return found;
    } catch (cause) {
      this.#failure = { cause, until: Date.now() + restMs };
      throw cause;
    }
  }

  async #ask(url: string, init: RequestInit): Promise<JsonObject | undefined> {
    const signal = AbortSignal.timeout(this.#timeoutMs);
    // A redirect would lead to somewhere that nobody configured.
    const response = await this.#fetch(url, { ...init, redirect: "manual", signal });
    if (response.status !== 200) {
      await response.body?.cancel();
      if (response.status >= 500 || response.status === 429) {
        throw new Error(`${url} answered ${response.status}`);
      }
      return undefined;
    }
    const value: unknown = JSON.parse(await readText(response, url));
    if (isObject(value)) return value;
    throw new Error(`${url} answered with something that is no JSON object`);
  }
}

async function readText(response: Response, url: string): Promise<string> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  let length = 0;
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    length += value.byteLength;
    if (length > maxBytes) {
      reader.cancel().catch(() => undefined);
      throw new Error(`${url} answered with more than ${maxBytes} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}
