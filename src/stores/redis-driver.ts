/** One way to send commands to Redis, whichever driver it is. */
import { StoreError } from "../core/store-error.ts";
import { Deadline, within } from "./deadline.ts";

/** As much of a client of `redis` (node-redis) as is used. */
export interface NodeRedisClient {
  sendCommand(args: string[], options?: { timeout?: number }): Promise<unknown>;
  duplicate(): NodeRedisClient;
  connect(): Promise<unknown>;
  destroy(): void;
  on(event: "error", listener: (cause: Error) => void): unknown;
}

/** As much of a cluster of `redis` (node-redis) as is used. */
export interface NodeRedisCluster {
  readonly slots: unknown;
  sendCommand(
    key: string | undefined,
    isReadonly: boolean | undefined,
    args: string[],
  ): Promise<unknown>;
  duplicate(): NodeRedisCluster;
  connect(): Promise<unknown>;
  destroy(): void;
  on(event: "error", listener: (cause: Error) => void): unknown;
}

/** As much of a client or a cluster of `ioredis` or `iovalkey` as is used. */
export interface IoRedisClient {
  readonly status: string;
  call(command: string, ...args: string[]): Promise<unknown>;
  duplicate(): IoRedisClient;
  connect(): Promise<unknown>;
  disconnect(): void;
  on(event: "error", listener: (cause: Error) => void): unknown;
  on(event: "ready" | "end", listener: () => void): unknown;
  off(event: "ready" | "end", listener: () => void): unknown;
}

/** Any other driver, once somebody has written these three functions for it. */
export interface RedisSender {
  /** Sends one command, its name first. @returns the reply, with strings as strings */
  send(command: readonly string[]): Promise<unknown>;
  /** Opens another connection to the same place. */
  duplicate(): Promise<RedisSender>;
  /** Closes a connection that {@link RedisSender.duplicate} opened, also while it waits for a reply. */
  close(): unknown;
}

export type RedisClient = NodeRedisClient | NodeRedisCluster | IoRedisClient | RedisSender;

/** A connection as the stores use it. */
export interface RedisConnection {
  /** @throws StoreError `away` when there is no reply in time */
  send(command: readonly string[], timeoutMs: number): Promise<unknown>;
  duplicate(timeoutMs: number): Promise<RedisConnection>;
  close(): void;
}

/** @throws TypeError when it is no client of a driver that is known. */
export function toConnection(client: RedisClient): RedisConnection {
  if (typeof client !== "object" || client === null) throw unknownClient();
  if ("call" in client && "status" in client) return ioRedis(client);
  if ("sendCommand" in client) {
    return "slots" in client ? nodeRedisCluster(client) : nodeRedis(client);
  }
  if ("send" in client && "duplicate" in client) return sender(client);
  throw unknownClient();
}

function unknownClient(): TypeError {
  return new TypeError(
    "the client is none of redis, ioredis or iovalkey, and has no send and duplicate of its own",
  );
}

function nodeRedis(client: NodeRedisClient): RedisConnection {
  const deadline = new Deadline();
  return {
    send: (command, timeoutMs) =>
      // By its own timeout the driver takes back what it has not sent.
      translated(
        deadline.wait(timeoutMs, () => client.sendCommand([...command], { timeout: timeoutMs })),
      ),
    duplicate: async (timeoutMs) => {
      const own = client.duplicate();
      own.on("error", ignore);
      return nodeRedis(await opened(own, own.connect(), () => own.destroy(), timeoutMs));
    },
    close: () => client.destroy(),
  };
}

function nodeRedisCluster(cluster: NodeRedisCluster): RedisConnection {
  const deadline = new Deadline();
  return {
    send: (command, timeoutMs) =>
      translated(
        deadline.wait(timeoutMs, () => cluster.sendCommand(keyOf(command), false, [...command])),
      ),
    duplicate: async (timeoutMs) => {
      const own = cluster.duplicate();
      own.on("error", ignore);
      return nodeRedisCluster(await opened(own, own.connect(), () => own.destroy(), timeoutMs));
    },
    close: () => cluster.destroy(),
  };
}

function ioRedis(client: IoRedisClient): RedisConnection {
  const deadline = new Deadline();
  let readying: Promise<void> | undefined;
  const ready = (): Promise<void> => {
    readying ??= untilReady(client).finally(() => {
      readying = undefined;
    });
    return readying;
  };
  return {
    send: async (command, timeoutMs) => {
      // What is not sent at once would wait in the driver's queue, and be sent after the
      // caller was told that it failed.
      const end = Date.now() + timeoutMs;
      if (client.status !== "ready") await translated(deadline.wait(timeoutMs, ready));
      const [name = "", ...args] = command;
      const leftMs = Math.max(1, end - Date.now());
      return translated(deadline.wait(leftMs, () => client.call(name, ...args)));
    },
    duplicate: async (timeoutMs) => {
      const own = client.duplicate();
      own.on("error", ignore);
      return ioRedis(await opened(own, untilReady(own), () => own.disconnect(), timeoutMs));
    },
    close: () => client.disconnect(),
  };
}

function sender(client: RedisSender): RedisConnection {
  const deadline = new Deadline();
  return {
    send: (command, timeoutMs) => translated(deadline.wait(timeoutMs, () => client.send(command))),
    duplicate: async (timeoutMs) => sender(await translated(within(timeoutMs, client.duplicate()))),
    close: () => void client.close(),
  };
}

/** Where a command is sent in a cluster; all that is sent here has its one key there. */
function keyOf(command: readonly string[]): string | undefined {
  switch (command[0]) {
    case "EVAL":
    case "EVALSHA":
      return command[3];
    case "XREAD":
      return command[command.indexOf("STREAMS") + 1];
    default:
      return command[1];
  }
}

/** Rejects when the client has given up. */
function untilReady(client: IoRedisClient): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      client.off("ready", settle);
      client.off("end", settle);
      if (client.status === "ready") resolve();
      else reject(new Error("the client was disconnected"));
    };
    if (client.status === "ready" || client.status === "end") return settle();
    client.on("ready", settle);
    client.on("end", settle);
    if (client.status === "wait") client.connect().catch(reject);
  });
}

async function opened<T>(
  own: T,
  opening: Promise<unknown>,
  discard: () => void,
  timeoutMs: number,
): Promise<T> {
  try {
    await translated(within(timeoutMs, opening));
    return own;
  } catch (cause) {
    // Or it would go on to try for ever.
    discard();
    throw cause;
  }
}

async function translated<T>(replied: Promise<T>): Promise<T> {
  try {
    return await replied;
  } catch (cause) {
    throw translate(cause);
  }
}

/** What a connection that is given up fails with is told to whoever waits for it. */
function ignore(): void {}

/** Replies by which Redis says that it cannot do anything just now. */
const passing = /^(?:LOADING|CLUSTERDOWN|MASTERDOWN|READONLY|TRYAGAIN|BUSY|MISCONF|NOREPLICAS)\b/;

function translate(cause: unknown): unknown {
  if (cause instanceof StoreError) return cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  if (message.startsWith("OOM ")) {
    return new StoreError("full", "Redis has no memory left", { cause, retryAfterMs: 60_000 });
  }
  // Any other reply is about what was asked, and would be the same the next time.
  if (/^[A-Z]{2,} /.test(message) && !passing.test(message)) return cause;
  return new StoreError("away", "Redis could not be reached", { cause, retryAfterMs: 1_000 });
}
