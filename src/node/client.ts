/** The client on Node: `node:http` for URLs, servers that are started, servers of this program. */
import type { Client } from "../client/client.ts";
import { type ConnectOptions, connectTo, duplexTarget, httpTarget } from "../client/connect.ts";
import { memoryDuplex } from "../client/duplex.ts";
import type { Target } from "../client/negotiate.ts";
import { Server } from "../core/server.ts";
import { openMemoryChannel } from "../server/memory-channel.ts";
import { NodeHttpSender } from "./http-sender.ts";
import { type SpawnOptions, spawnServer } from "./spawn.ts";

export * from "../client/index.ts";
export { type SpawnOptions, spawnServer } from "./spawn.ts";

/**
 * Connects to a server: at a URL, over `node:http` with connections that are kept; one that is
 * started as a process; one of this program; or a target of your own.
 *
 * @throws ClientError `unreachable`, `unsupported`, `unauthorized` and the rest
 * @throws TypeError for a URL that is not http or https, or that carries credentials
 */
export async function connect(
  to: string | URL | SpawnOptions | Server | Target,
  options: ConnectOptions = {},
): Promise<Client> {
  return connectTo(toTarget(to, options), options);
}

function toTarget(
  to: string | URL | SpawnOptions | Server | Target,
  options: ConnectOptions,
): Target {
  if (typeof to === "string" || to instanceof URL) {
    return httpTarget(to, () => new NodeHttpSender(), options);
  }
  if (to instanceof Server) {
    return duplexTarget(() => memoryDuplex((receive) => openMemoryChannel(to, receive)));
  }
  if ("open" in to) return to;
  const key = JSON.stringify([to.command, ...(to.args ?? [])]);
  return duplexTarget(() => spawnServer(to), key);
}
