/** A user signs in with the browser of this machine, and comes back to a port of it (RFC 8252). */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onAbort } from "../util/abort.ts";
import type { Awaitable } from "../util/awaitable.ts";
import { letGo } from "../util/timer.ts";
import { openBrowser } from "./open-browser.ts";

export interface LoopbackSignInOptions {
  /**
   * The port to come back to; 0 takes a free one each time. Give one where the authorization
   * server knows the client beforehand and compares ports too, which it should not (RFC 8252
   * section 7.3). @default 0
   */
  readonly port?: number | undefined;
  /** The path to come back to. @default "/callback" */
  readonly path?: string | undefined;
  /** Opens the page to sign in at. @default the user's browser, never through a shell */
  readonly open?: ((url: URL) => Awaitable<void>) | undefined;
  /** Tells the user where to sign in, for when no browser opens. @default a line to standard error */
  readonly print?: ((text: string) => void) | undefined;
  /** How long the user may take, in milliseconds. @default 300000 */
  readonly timeoutMs?: number | undefined;
}

/** For `oauth` of `anyrev/client/auth`, which takes both. */
export interface LoopbackSignIn {
  /** Listens from then on. */
  readonly redirectUri: () => Promise<string>;
  /** @throws Error when the user takes too long; the signal's reason */
  readonly authorize: (
    url: URL,
    options: { readonly signal: AbortSignal },
  ) => Promise<URLSearchParams>;
}

/** Sign-ins that may wait at once: more are no user's. */
const maxWaiting = 20;

/** How long an answer that is on its way may still take when the last sign-in is over. */
const graceMs = 1_000;

/**
 * What a command line signs its user in with: `oauth({ ...loopbackSignIn() })`. It listens on
 * 127.0.0.1 only while somebody signs in, and takes one GET with the `state` of that sign-in:
 * another page of the user's browser can neither end it nor hand in a code of its own.
 */
export function loopbackSignIn(options: LoopbackSignInOptions = {}): LoopbackSignIn {
  const listening = new Listening(options);
  return {
    redirectUri: () => listening.open(),
    authorize: (url, { signal }) => listening.authorize(url, signal),
  };
}

class Listening {
  readonly #options: LoopbackSignInOptions;
  readonly #path: string;
  readonly #timeoutMs: number;
  /** By `state`. */
  readonly #waiting: Map<string, (came: URLSearchParams) => void> = new Map();
  /** Sign-ins that were told where to come back to, and have not begun: each until its time is over. */
  readonly #expected: Set<ReturnType<typeof setTimeout>> = new Set();
  #server: Promise<Server> | undefined;

  constructor(options: LoopbackSignInOptions) {
    this.#options = options;
    this.#path = options.path ?? "/callback";
    this.#timeoutMs = options.timeoutMs ?? 300_000;
    if (new URL(this.#path, "http://127.0.0.1").pathname !== this.#path) {
      throw new TypeError(`path must be that of a URL, such as "/callback"`);
    }
  }

  async open(): Promise<string> {
    this.#server ??= this.#listen();
    const expected = setTimeout(() => {
      this.#expected.delete(expected);
      this.#closeIfIdle();
    }, this.#timeoutMs);
    letGo(expected);
    this.#expected.add(expected);
    return this.#uri(await this.#server);
  }

  async authorize(url: URL, signal: AbortSignal): Promise<URLSearchParams> {
    const { print = toStandardError, open = openBrowser } = this.#options;
    if (url.protocol !== "https:" && url.protocol !== "http:") {
      throw new TypeError(`${url.protocol} is no page to sign in at`);
    }
    const state = url.searchParams.get("state") ?? "";
    if (state === "") throw new TypeError("a sign-in must have a state");
    const server = await this.#server;
    if (server === undefined || url.searchParams.get("redirect_uri") !== this.#uri(server)) {
      throw new TypeError("a sign-in must come back to what redirectUri gave for it");
    }
    if (this.#waiting.size >= maxWaiting) throw new Error("too many sign-ins wait already");
    try {
      this.#begun();
      signal.throwIfAborted();
      // It may fail: nothing is waited for before.
      print(`Sign in at ${url.href}`);
      const came = this.#wait(state, signal);
      // Without a browser the user can still follow what was printed.
      Promise.resolve(url)
        .then(open)
        .catch(() => undefined);
      return await came;
    } finally {
      this.#waiting.delete(state);
      this.#closeIfIdle();
    }
  }

  /** One that was expected is here. */
  #begun(): void {
    const [expected] = this.#expected;
    clearTimeout(expected);
    if (expected !== undefined) this.#expected.delete(expected);
  }

  #uri(server: Server): string {
    return uriOf((server.address() as AddressInfo).port, this.#path);
  }

  #wait(state: string, signal: AbortSignal): Promise<URLSearchParams> {
    return new Promise((resolve, reject) => {
      const late = `nobody signed in within ${this.#timeoutMs / 1_000} seconds`;
      const timer = setTimeout(() => end(() => reject(new Error(late))), this.#timeoutMs);
      let forget = (): void => undefined;
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        forget();
        settle();
      };
      // Calls back at once where the signal was aborted by what told the user.
      forget = onAbort(signal, () => end(() => reject(signal.reason)));
      this.#waiting.set(state, (came) => end(() => resolve(came)));
    });
  }

  #closeIfIdle(): void {
    if (this.#waiting.size > 0 || this.#expected.size > 0) return;
    const closing = this.#server;
    this.#server = undefined;
    void closing?.then((server) => {
      server.close();
      server.closeIdleConnections();
      // Browsers connect ahead of what they ask, and a server that closes looks after no time limit:
      // one such connection would keep a command line from ending. The page has come by then.
      letGo(setTimeout(() => server.closeAllConnections(), graceMs));
    });
  }

  async #listen(): Promise<Server> {
    // As often as that, or its time limits come half a minute late.
    const server = createServer({ connectionsCheckingInterval: 1_000 }, (incoming, outgoing) =>
      this.#answer(incoming, outgoing),
    );
    server.maxConnections = 50;
    server.headersTimeout = 5_000;
    server.requestTimeout = 5_000;
    try {
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen(this.#options.port ?? 0, "127.0.0.1", resolve);
      });
    } catch (cause) {
      this.#server = undefined;
      throw cause;
    }
    server.unref();
    return server;
  }

  #answer(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { status, words, came } = this.#judge(incoming);
    outgoing.writeHead(status, headers);
    // Nothing of the request stands in it.
    outgoing.end(
      `<!doctype html><html lang="en"><title>${words}</title><p>${words} You can close this page.`,
    );
    came?.();
  }

  #judge({ method, url = "", headers, socket }: IncomingMessage): Judged {
    const { port } = socket.address() as AddressInfo;
    if (!isHere(headers.host, port) || !url.startsWith("/"))
      return { status: 403, words: "Not here." };
    const end = url.indexOf("?");
    const path = end < 0 ? url : url.slice(0, end);
    if (path !== this.#path) return { status: 404, words: "Not here." };
    if (method !== "GET") return { status: 405, words: "Not like this." };
    const parameters = new URLSearchParams(end < 0 ? "" : url.slice(end));
    const [state = "", ...more] = parameters.getAll("state");
    const finish = more.length === 0 ? this.#waiting.get(state) : undefined;
    if (finish === undefined) return { status: 400, words: "Nobody is waiting for this sign-in." };
    const words = parameters.has("error") ? "The sign-in failed." : "You are signed in.";
    return { status: 200, words, came: () => finish(parameters) };
  }
}

/** As clients write it, who compare it letter by letter: without the port of the scheme. */
export function uriOf(port: number, path: string): string {
  return new URL(path, `http://127.0.0.1:${port}`).href;
}

/**
 * Whether a request is for this listener. A page that made its own name lead here (DNS rebinding)
 * says that name.
 */
export function isHere(host: string | undefined, port: number): boolean {
  const [, end] = /^(?:127\.0\.0\.1|localhost)(?::(\d+))?$/i.exec(host ?? "") ?? [];
  if (end !== undefined) return end === String(port);
  // Browsers leave out the port of the scheme, and no other.
  return port === 80 && /^(?:127\.0\.0\.1|localhost)$/i.test(host ?? "");
}

interface Judged {
  readonly status: number;
  readonly words: string;
  /** Hands over what the user came back with. */
  readonly came?: () => void;
}

const headers = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  allow: "GET",
  connection: "close",
};

function toStandardError(text: string): void {
  process.stderr.write(`${text}\n`);
}
