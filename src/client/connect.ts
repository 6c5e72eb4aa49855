/** From what a user names to a client that speaks to it. */
import { ChannelTransport } from "./channel-transport.ts";
import { Client } from "./client.ts";
import type { Duplex } from "./duplex.ts";
import type { Target } from "./negotiate.ts";
import type { ClientOptions } from "./options.ts";

export interface ConnectOptions extends ClientOptions {
  /** Gives the attempt to connect up; afterwards it has no effect. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A target reached over a duplex of your own, opened anew each time the one before is gone.
 *
 * @param key - what is learnt of the server is remembered under it. @default nothing is
 */
export function duplexTarget(open: () => Duplex, key?: string): Target {
  return {
    key,
    open: () => new ChannelTransport(open()),
  };
}

export function connectTo(target: Target, options: ConnectOptions): Promise<Client> {
  return Client.open(target, options, options.signal);
}
