/** A transport over a duplex, and all that it hands up. */
import { fileURLToPath } from "node:url";
import {
  ChannelTransport,
  type ChannelTransportOptions,
} from "../../src/client/channel-transport.ts";
import type { Duplex } from "../../src/client/duplex.ts";
import type { ClientError } from "../../src/client/errors.ts";
import type { RequestId, RpcReply } from "../../src/jsonrpc/message.ts";
import { type SpawnOptions, spawnServer } from "../../src/node/spawn.ts";
import type { JsonObject } from "./schemas.ts";

const program = fileURLToPath(new URL("./programs/fake-server.mjs", import.meta.url));

export class ChannelClient implements AsyncDisposable {
  readonly transport: ChannelTransport;
  readonly received: JsonObject[] = [];
  readonly warnings: string[] = [];
  /** What the transport said of the end of its server. */
  readonly gone: Promise<ClientError>;
  #isGone: (cause: ClientError) => void = () => undefined;
  #started: Promise<void> | undefined;

  constructor(duplex: Duplex, options: ChannelTransportOptions = {}) {
    this.transport = new ChannelTransport(duplex, options);
    this.gone = new Promise((resolve) => {
      this.#isGone = resolve;
    });
  }

  start(): Promise<void> {
    this.#started ??= this.transport.start({
      receive: (message) => this.received.push({ ...message }),
      warn: (message) => this.warnings.push(message),
      closed: (cause) => this.#isGone(cause as ClientError),
    });
    return this.#started;
  }

  async ask(
    id: RequestId,
    params: JsonObject = {},
    signal: AbortSignal = new AbortController().signal,
  ): Promise<RpcReply> {
    await this.start();
    const message = { jsonrpc: "2.0", id, method: "test", params };
    // Its own, so that requests that share a signal do not pile listeners up on it.
    const travel = { signal: AbortSignal.any([signal]), resumption: "none" } as const;
    const { reply } = await this.transport.request({ message, headers: {} }, travel);
    return reply;
  }

  say(message: JsonObject): Promise<void> {
    return this.transport.send({ jsonrpc: "2.0", ...message }, {}, new AbortController().signal);
  }

  close(): Promise<void> {
    return this.transport.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.transport.close();
  }
}

export interface FakeOptions extends ChannelTransportOptions {
  readonly argument?: string | number;
  readonly spawn?: Partial<SpawnOptions>;
}

/** A fake server in one of the ways that its program knows. */
export function fakeServer(mode: string, options: FakeOptions = {}): ChannelClient {
  const { argument, spawn, ...limits } = options;
  const args = argument === undefined ? [program, mode] : [program, mode, String(argument)];
  return new ChannelClient(spawnServer({ command: process.execPath, args, ...spawn }), limits);
}

/** Why a promise rejected. */
export async function refusal(promise: Promise<unknown>): Promise<ClientError> {
  try {
    await promise;
  } catch (cause) {
    return cause as ClientError;
  }
  throw new Error("it did not reject");
}
