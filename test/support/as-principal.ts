/** Callers who say who they are. */

import type { EndpointOptions } from "anyrev/node";
import { fixtureAuth, fixtureTokens } from "../../fixture/auth.ts";
import { createFixture } from "../../fixture/declare.ts";
import type { Bridge, BridgeName } from "./bridges.ts";
import { openBridge as open } from "./bridges.ts";

export type Holder = keyof typeof fixtureTokens;

/** The same bridge, used by somebody. */
export function withHeaders(
  bridge: Bridge,
  own: Readonly<Record<string, string | readonly string[]>>,
): Bridge {
  return {
    ...bridge,
    send: (message) => bridge.send({ ...message, headers: { ...own, ...message.headers } }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

export function as(bridge: Bridge, holder: Holder): Bridge {
  return withHeaders(bridge, { authorization: `Bearer ${fixtureTokens[holder]}` });
}

/** The fixture, asking who is calling. */
export function openGuarded(name: BridgeName, options: EndpointOptions = {}): Promise<Bridge> {
  const server = createFixture({ restricted: true, log: () => undefined });
  return open(name, server, { path: "/mcp", auth: fixtureAuth, ...options });
}
