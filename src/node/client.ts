/** The client on Node: also servers that are started as a process, and servers of this program. */
import type { Client } from "../client/client.ts";
import { type ConnectOptions, connectTo, duplexTarget } from "../client/connect.ts";
import { memoryDuplex } from "../client/duplex.ts";
import type { Target } from "../client/negotiate.ts";
import { Server } from "../core/server.ts";
import { openMemoryChannel } from "../server/memory-channel.ts";
import { type SpawnOptions, spawnServer } from "./spawn.ts";

export * from "../client/index.ts";
export { type SpawnOptions, spawnServer } from "./spawn.ts";

/**
 * Connects to a server: one that is started as a process, one of this program, or a target of
 * your own.
 *
 * @throws ClientError `unreachable`, `unsupported` and the rest
 */
export function connect(
  to: SpawnOptions | Server | Target,
  options: ConnectOptions = {},
): Promise<Client> {
  return connectTo(toTarget(to), options);
}

function toTarget(to: SpawnOptions | Server | Target): Target {
  if (to instanceof Server) {
    return duplexTarget(() => memoryDuplex((receive) => openMemoryChannel(to, receive)));
  }
  if ("open" in to) return to;
  const key = JSON.stringify([to.command, ...(to.args ?? [])]);
  return duplexTarget(() => spawnServer(to), key);
}
