/** A wire between clients and a server that can be cut, held, or made deaf in one direction. */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

export class TcpProxy {
  readonly #target: number;
  readonly #pairs: Set<Pair> = new Set();
  #server: Server | undefined;
  #port = 0;
  #isHeld = false;
  #dropsReplies = false;

  private constructor(target: number) {
    this.#target = target;
  }

  static async open(target: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(target);
    for (;;) {
      // None that the system gives to whoever asks for a free one: it is let go, and taken again.
      proxy.#port = 20_000 + Math.floor(Math.random() * 10_000);
      try {
        await proxy.accept();
        return proxy;
      } catch (cause) {
        if (!(cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE"))
          throw cause;
      }
    }
  }

  get port(): number {
    return this.#port;
  }

  /** Breaks every connection. */
  cut(): void {
    for (const { client, server } of this.#pairs) {
      client.resetAndDestroy();
      server.destroy();
    }
  }

  /** Takes new connections again, at the same port. */
  async accept(): Promise<void> {
    const server = createServer((client) => this.#join(client));
    this.#server = server.listen(this.#port, "127.0.0.1");
    await once(server, "listening");
  }

  /** Breaks every connection, and takes none. */
  async refuse(): Promise<void> {
    const closed = this.#server === undefined ? undefined : once(this.#server, "close");
    this.#server?.close();
    this.cut();
    await closed;
  }

  /** Passes nothing on in either direction, while connections seem to be whole. */
  hold(): void {
    this.#isHeld = true;
    for (const { client, server } of this.#pairs) {
      client.pause();
      server.pause();
    }
  }

  release(): void {
    this.#isHeld = false;
    for (const { client, server } of this.#pairs) {
      client.resume();
      server.resume();
    }
  }

  /** Passes on what is asked, and nothing of what is answered. */
  set dropsReplies(drops: boolean) {
    this.#dropsReplies = drops;
  }

  async close(): Promise<void> {
    await this.refuse();
  }

  #join(client: Socket): void {
    const server = connect(this.#target, "127.0.0.1");
    const pair = { client, server };
    this.#pairs.add(pair);
    client.on("data", (data) => server.write(data));
    server.on("data", (data) => {
      if (!this.#dropsReplies) client.write(data);
    });
    for (const socket of [client, server]) {
      socket.on("error", () => undefined);
      socket.on("close", () => {
        this.#pairs.delete(pair);
        client.destroy();
        server.destroy();
      });
      if (this.#isHeld) socket.pause();
    }
  }
}

interface Proxied {
  readonly proxy: TcpProxy;
}

/** What any store behind a proxy may meet, by what is the case meanwhile. */
export const proxyFaults = {
  "connections break": async ({ proxy }: Proxied) => {
    for (let at = 0; at < 5; at++) {
      proxy.cut();
      await delay(100);
    }
  },
  "nothing gets through": async ({ proxy }: Proxied) => {
    proxy.hold();
    await delay(2_500);
    proxy.release();
  },
  "it cannot be reached": async ({ proxy }: Proxied) => {
    await proxy.refuse();
    await delay(2_500);
    await proxy.accept();
  },
};
