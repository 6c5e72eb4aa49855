/** The stream on which the server of a session speaks on its own: one, for all who listen. */
import { onAbort } from "../util/abort.ts";
import type { Connection } from "./connection.ts";
import { ClientError } from "./errors.ts";
import type { Link } from "./link.ts";

export interface FollowingOptions {
  /** It was broken off and is open again; what was said meanwhile may be lost. */
  reopened(link: Link): void;
  /** It is gone for good. */
  lost(link: Link, cause: unknown): void;
}

interface Followed {
  readonly link: Link;
  readonly session: string | undefined;
  /** Resolves when it is open, or will not be: false where the server has none. */
  readonly open: Promise<boolean>;
  readonly stopped: AbortController;
}

export class Following {
  readonly #connection: Connection;
  readonly #options: FollowingOptions;
  #followed: Followed | undefined;

  constructor(connection: Connection, options: FollowingOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  /**
   * Opens the stream of the session as it is now, if it is not open. Never rejects.
   *
   * @returns false where the server has none
   */
  follow(link: Link): Promise<boolean> {
    const { session } = link.transport;
    const before = this.#followed;
    if (before?.link === link && before.session === session) return before.open;
    this.stop();
    const stopped = new AbortController();
    const open = new Promise<boolean>((resolve) => this.#open(link, stopped, resolve));
    this.#followed = { link, session, open, stopped };
    return open;
  }

  /** Lets go of the stream: nobody listens any more. */
  stop(): void {
    this.#followed?.stopped.abort();
    this.#followed = undefined;
  }

  #open(link: Link, stopped: AbortController, settle: (isThere: boolean) => void): void {
    const { transport, adapter } = link;
    const { session, follow } = transport;
    if (follow === undefined) {
      settle(true);
      return;
    }
    let opened = 0;
    const options = {
      headers: adapter.client.headers,
      signal: stopped.signal,
      resumption: adapter.resumption,
      onOpen: () => {
        if (opened++ > 0) this.#options.reopened(link);
        settle(true);
      },
    };
    const forget = onAbort(this.#connection.closing, () => stopped.abort());
    follow
      .call(transport, options)
      .then(() => settle(false))
      .finally(forget)
      .catch((cause: unknown) => {
        // Before a new session is opened, which waits for this.
        settle(true);
        if (!stopped.signal.aborted) void this.#lost(link, session, cause);
      });
  }

  async #lost(link: Link, session: string | undefined, cause: unknown): Promise<void> {
    // Whoever listens next opens one anew.
    if (this.#followed?.link === link && this.#followed.session === session) {
      this.#followed = undefined;
    }
    if (this.#connection.closing.aborted || link.gone !== undefined) return;
    try {
      if (!(cause instanceof ClientError) || cause.kind !== "session-lost") throw cause;
      await this.#connection.renew(link, session);
    } catch (final) {
      this.#options.lost(link, final);
    }
  }
}
