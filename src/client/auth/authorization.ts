/** The authorization of one client at one server: the tokens it has, and how it gets others. */
import type * as oauth from "oauth4webapi";
import type { Awaitable } from "../../util/awaitable.ts";
import type { AuthAnswer, AuthExchange } from "../client-auth.ts";
import { ClientError } from "../errors.ts";
import { excerpt } from "../excerpt.ts";
import type { CallSignal } from "../transport.ts";
import { type Asking, errorCode, toUnauthorized } from "./asking.ts";
import { type Said, unite, whatIsSaid } from "./challenges.ts";
import { type Discovered, discover, refuse, strings } from "./discovery.ts";
import { type Grant, type Granted, refresh, type Wanted } from "./grant.ts";
import { Possession } from "./possession.ts";
import { SharedWork } from "./shared-work.ts";
import { isSendable, parseTokens, type TokenStore, type Tokens } from "./store.ts";

export interface AuthorizationOptions {
  readonly store: TokenStore;
  /** Asked for where the server says nothing about scopes. */
  readonly scopes: readonly string[];
  readonly dpop: boolean | oauth.CryptoKeyPair;
  /** Called when the tokens may be somebody else's from then on. */
  readonly onGranted: () => void;
}

type HeaderRecord = Readonly<Record<string, string>>;

const none: HeaderRecord = {};
/** A token that ends so soon would end on its way. */
const leewayMs = 30_000;
/** How often one request is answered with a challenge until that is its answer. */
const maxRefusals = 4;
/** How often one request may take more scopes. */
const maxSteps = 2;
/** A grant that was no use is not asked for again so soon: nobody wants to sign in in a loop. */
const restMs = 60_000;
const quietRestMs = 5_000;
/** What says that the authorization server can grant nothing now, and nothing about a token. */
const ofTrouble: readonly string[] = ["temporarily_unavailable", "server_error", "slow_down"];
/** Steps that were no use, of which so many are remembered. */
const maxRemembered = 100;

export class Authorization {
  readonly #server: URL;
  readonly #grant: Grant;
  readonly #asking: Asking;
  readonly #options: AuthorizationOptions;
  /** Whether the server can be told a token without everybody on the way reading it. */
  readonly #isSafe: boolean;
  readonly #work: SharedWork = new SharedWork();
  /** When steps to sets of scopes were made last. */
  readonly #steps: Map<string, number> = new Map();
  #possession: Possession | undefined;
  #isLoaded = false;
  #tokens: Tokens | undefined;
  /** The headers for them, where they are the same for every exchange. */
  #headers: HeaderRecord = none;
  #discovered: Discovered | undefined;
  /** Since when tokens that were just granted have not been taken by the server yet. */
  #unprovenSince: number | undefined;
  /** Whether tokens that were just refreshed have not been taken yet. */
  #isRefreshed = false;
  /** An authorization server in trouble is not asked before each request. */
  #restsUntil = 0;

  constructor(server: URL, grant: Grant, asking: Asking, options: AuthorizationOptions) {
    this.#server = server;
    this.#grant = grant;
    this.#asking = asking;
    this.#options = options;
    this.#isSafe = asking.isSecure(server);
  }

  headers(exchange: AuthExchange, signal: CallSignal): Awaitable<HeaderRecord> {
    // Nobody else is told, whoever asks.
    if (exchange.url.origin !== this.#server.origin || !this.#isSafe) return none;
    if (!this.#isLoaded || this.#isEnding()) return this.#freshHeaders(exchange, signal);
    return this.#headersFor(exchange);
  }

  #headersFor({ method, url }: AuthExchange): Awaitable<HeaderRecord> {
    const tokens = this.#tokens;
    if (tokens === undefined || tokens.type === "bearer") return this.#headers;
    return this.#possession?.prove(tokens.access, method, url) ?? none;
  }

  async #freshHeaders(exchange: AuthExchange, signal: CallSignal): Promise<HeaderRecord> {
    if (!this.#isLoaded) await this.#load();
    if (this.#isEnding()) {
      try {
        await this.#work.join(signal, (shared) => this.#renewQuietly(shared));
      } catch (cause) {
        if (signal.aborted) throw cause;
        this.#restsUntil = Date.now() + quietRestMs;
        // The server has the last word on the token that there is, and its challenge says more.
      }
    }
    return this.#headersFor(exchange);
  }

  answered(answer: AuthAnswer, signal: CallSignal): Awaitable<boolean> {
    const { status, url } = answer;
    this.#possession?.learn(url, answer.header("dpop-nonce"));
    if (status !== 401 && status !== 403) {
      if (answer.credentials["authorization"] !== undefined) {
        this.#unprovenSince = undefined;
        this.#isRefreshed = false;
      }
      return false;
    }
    if (url.origin !== this.#server.origin || answer.repeats >= maxRefusals) return false;
    const said = whatIsSaid(answer.header("www-authenticate"));
    if (status === 403 && !said.lacksScope) return false;
    return this.#refused(answer, said, signal).catch((cause: unknown) => {
      if (!(cause instanceof ClientError) || cause.kind !== "unauthorized") throw cause;
      const challenge = answer.header("www-authenticate");
      throw new ClientError("unauthorized", cause.message, { status, challenge });
    });
  }

  async #refused(answer: AuthAnswer, said: Said, signal: CallSignal): Promise<boolean> {
    const { status, repeats, method, credentials } = answer;
    const isBound = this.#tokens?.type === "dpop" && credentials["dpop"] !== undefined;
    if (status === 401 && isBound && said.asksForNonce) return repeats < 2;
    const sent = tokenOf(credentials);
    while (sent === this.#tokens?.access) {
      if (!this.#work.isRunning) {
        const renew = this.#choose(answer, said);
        if (renew === undefined) return false;
        // The end of a session is no time to ask a user anything.
        if (method === "DELETE" && this.#grant.asksUser) return false;
        await this.#work.join(signal, (shared) => renew(shared));
        return true;
      }
      await this.#work.join(signal, () => Promise.resolve());
    }
    return true;
  }

  /** What is to be done about a refusal; undefined where nothing is of use. */
  #choose(
    { status, repeats }: AuthAnswer,
    said: Said,
  ): ((signal: AbortSignal) => Promise<void>) | undefined {
    if (status === 403) {
      if (repeats >= maxSteps) return undefined;
      return (signal) => this.#stepUp(said, signal);
    }
    const since = this.#unprovenSince;
    if (since !== undefined && performance.now() - since < restMs) return undefined;
    return (signal) => this.#renew(said, signal);
  }

  /** Tokens that the server takes no more. */
  async #renew(said: Said, signal: AbortSignal): Promise<void> {
    const discovered = await this.#discover(said, signal);
    const scopes = this.#scopesFor(said, discovered);
    const wanted = this.#want(discovered, scopes, signal);
    // One that was only just refreshed, and was never taken, is not helped by doing it again.
    if (!this.#isRefreshed && (await this.#refresh(wanted))) return;
    signal.throwIfAborted();
    await this.#obtain(wanted);
  }

  /** Tokens that do not reach as far as the operation. */
  async #stepUp(said: Said, signal: AbortSignal): Promise<void> {
    const before = this.#tokens?.scopes ?? [];
    const discovered = await this.#discover(said, signal);
    const scopes = unite(before, said.scopes ?? discovered.scopes ?? this.#options.scopes);
    const step = [...scopes].sort().join(" ");
    const last = this.#steps.get(step);
    if (last !== undefined && performance.now() - last < restMs) {
      const which = excerpt(step);
      throw refuse(`the server refuses although these scopes were asked for: ${which}`);
    }
    if (this.#steps.size >= maxRemembered) this.#steps.clear();
    this.#steps.set(step, performance.now());
    await this.#obtain(this.#want(discovered, scopes, signal));
  }

  /** What is needed for the request, and what was needed before. */
  #scopesFor(said: Said, { scopes }: Discovered): readonly string[] {
    return unite(this.#tokens?.scopes ?? [], said.scopes ?? scopes ?? this.#options.scopes);
  }

  #want(discovered: Discovered, scopes: readonly string[], signal: AbortSignal): Wanted {
    const { issuing, resource } = discovered;
    const offers = strings(issuing.scopes_supported)?.includes("offline_access") === true;
    return {
      issuing,
      resource,
      scopes: offers && this.#grant.wantsRefresh ? unite(scopes, ["offline_access"]) : scopes,
      asking: this.#asking,
      possession: this.#possession,
      signal,
    };
  }

  /** Anew each time: servers move from one authorization server to another. */
  async #discover(said: Said, signal: AbortSignal): Promise<Discovered> {
    const { known } = this.#grant;
    const kept = this.#tokens;
    this.#asking.assertSecure(this.#server);
    const found = await discover(
      this.#server,
      this.#asking,
      { hint: said.metadata, configured: known?.issuer, kept: kept?.issuer },
      signal,
    );
    const { issuer } = found.issuing;
    const bound =
      kept ?? (known && this.#discovered && { issuer: this.#discovered.issuing.issuer });
    if (bound !== undefined && bound.issuer !== issuer) {
      if (known !== undefined && known.issuer === undefined) {
        throw refuse(
          "the server names another authorization server than the one that knows the client",
        );
      }
      // What one granted is of no use, and no business, of another.
      this.#use(undefined);
    }
    this.#discovered = found;
    const { dpop } = this.#options;
    if (dpop !== false || found.takesOnlyBoundTokens) {
      this.#possession ??= await Possession.of(typeof dpop === "boolean" ? undefined : dpop);
    }
    return found;
  }

  /** @returns whether that gave a token */
  async #refresh(wanted: Wanted): Promise<boolean> {
    const kept = await this.#latest(wanted.issuing.issuer);
    if (kept !== undefined && kept.access !== this.#tokens?.access) {
      this.#adopt(kept);
      if (!this.#isEnding()) return true;
    }
    if (kept?.refresh === undefined) return false;
    const identity = this.#grant.refreshAs(wanted.issuing, kept);
    if (identity === undefined) return false;
    try {
      const answer = await refresh(wanted, identity, kept.refresh);
      const tokens = this.#take(wanted, { identity, answer }, kept);
      this.#isRefreshed = true;
      await this.#keep(tokens);
      return true;
    } catch (cause) {
      const code = errorCode(cause);
      if (code === undefined || ofTrouble.includes(code)) {
        throw toUnauthorized("refreshing the token", cause);
      }
      const latest = await this.#latest(wanted.issuing.issuer);
      if (latest !== undefined && latest.access !== kept.access) {
        // Another process was faster, with what can be used once only.
        this.#adopt(latest);
        return true;
      }
      // It was used up, or taken back: whatever can be asked for anew is.
      this.#use({ ...kept, refresh: undefined });
      return false;
    }
  }

  /** What another process was granted: by refreshing, or as somebody signed in there. */
  #adopt(tokens: Tokens): void {
    const isSame = tokens.grant !== undefined && tokens.grant === this.#tokens?.grant;
    this.#use(tokens);
    if (!isSame) this.#options.onGranted();
  }

  /** Another process may have refreshed since, with what can be used once only. */
  async #latest(issuer: string): Promise<Tokens | undefined> {
    const stored = await this.#read();
    const mine = this.#tokens;
    const latest = stored !== undefined && stored.issuedAt > (mine?.issuedAt ?? 0) ? stored : mine;
    return latest?.issuer === issuer ? latest : undefined;
  }

  async #obtain(wanted: Wanted): Promise<void> {
    let granted: Granted;
    try {
      granted = await this.#grant.obtain(wanted);
    } catch (cause) {
      if (wanted.signal.aborted) throw wanted.signal.reason;
      throw toUnauthorized("no token was granted", cause);
    }
    const tokens = this.#take(wanted, granted, undefined);
    this.#isRefreshed = false;
    this.#unprovenSince = performance.now();
    this.#options.onGranted();
    await this.#keep(tokens);
  }

  /** Before a token ends, where nobody has to be asked. */
  async #renewQuietly(signal: AbortSignal): Promise<void> {
    const said: Said = {
      metadata: undefined,
      scopes: undefined,
      lacksScope: false,
      asksForNonce: false,
    };
    const discovered = this.#discovered ?? (await this.#discover(said, signal));
    const wanted = this.#want(discovered, this.#tokens?.scopes ?? [], signal);
    if (await this.#refresh(wanted)) {
      this.#isRefreshed = false;
      return;
    }
    if (!this.#grant.asksUser) await this.#obtain(wanted);
  }

  #isEnding(): boolean {
    const tokens = this.#tokens;
    if (tokens?.expiresAt === undefined || Date.now() < this.#restsUntil) return false;
    if (tokens.refresh === undefined && this.#grant.asksUser) return false;
    const leeway = Math.min(leewayMs, (tokens.expiresAt - tokens.issuedAt) / 10);
    return Date.now() >= tokens.expiresAt - leeway;
  }

  #take(
    { issuing, scopes, possession }: Wanted,
    { identity, answer }: Granted,
    before: Tokens | undefined,
  ): Tokens {
    const type = answer.token_type === "dpop" ? "dpop" : "bearer";
    if (possession !== undefined && type === "bearer") {
      throw refuse("the authorization server does not bind tokens to a key");
    }
    const { access_token: access, expires_in: seconds, refresh_token: next } = answer;
    if (!isSendable(access)) {
      throw refuse("the authorization server granted a token that cannot be sent");
    }
    const issuedAt = Date.now();
    const tokens: Tokens = {
      issuer: issuing.issuer,
      clientId: identity.client.client_id,
      registration: identity.registration,
      grant: before === undefined ? crypto.randomUUID() : before.grant,
      access,
      type,
      key: possession?.thumbprint,
      refresh: next ?? before?.refresh,
      // Those of a refresh are the ones of before, however many could be asked for now.
      scopes: before?.scopes ?? scopes,
      issuedAt,
      expiresAt: seconds === undefined ? undefined : issuedAt + seconds * 1_000,
    };
    this.#use(tokens);
    return tokens;
  }

  async #keep(tokens: Tokens): Promise<void> {
    await this.#options.store.set(this.#name, JSON.stringify(tokens));
  }

  #use(tokens: Tokens | undefined): void {
    this.#tokens = tokens;
    this.#headers = tokens?.type === "bearer" ? { authorization: `Bearer ${tokens.access}` } : none;
  }

  get #name(): string {
    return `tokens for ${this.#server.href}`;
  }

  async #load(): Promise<void> {
    const { dpop } = this.#options;
    if (typeof dpop === "object") this.#possession ??= await Possession.of(dpop);
    const stored = await this.#read();
    if (this.#isLoaded) return;
    this.#isLoaded = true;
    this.#use(stored);
  }

  /** What cannot be used, for the key or the client it was for is another now, is not there. */
  async #read(): Promise<Tokens | undefined> {
    const tokens = parseTokens(await this.#options.store.get(this.#name));
    const { known } = this.#grant;
    if (tokens === undefined || tokens.key !== this.#possession?.thumbprint) return undefined;
    if (known === undefined) return tokens;
    const { clientId, issuer = tokens.issuer } = known;
    return clientId === tokens.clientId && issuer === tokens.issuer ? tokens : undefined;
  }
}

function tokenOf({ authorization }: HeaderRecord): string | undefined {
  return authorization?.split(" ")[1];
}
