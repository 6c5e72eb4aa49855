/** A balancer as plain as can be: each request goes to the next worker, whoever sends it. */
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface RoundRobin extends AsyncDisposable {
  readonly port: number;
  /** Where the next requests go, in turn. */
  use(ports: readonly number[]): void;
  /** How many requests each worker was sent, by port. */
  readonly sent: ReadonlyMap<number, number>;
}

/** A worker that cannot be connected to is passed over, as nothing of the request has reached it. */
export async function openRoundRobin(first: readonly number[]): Promise<RoundRobin> {
  let ports = first;
  let turn = 0;
  const sent = new Map<number, number>();
  const forward = (
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    body: Buffer,
    tries = 0,
  ) => {
    const port = ports[turn++ % ports.length] ?? 0;
    const { method, url, headers } = incoming;
    const passed = request({ host: "127.0.0.1", port, method, path: url, headers, agent: false });
    passed.once("response", (answer) => {
      sent.set(port, (sent.get(port) ?? 0) + 1);
      outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      outgoing.flushHeaders();
      answer.pipe(outgoing);
      answer.once("error", () => outgoing.destroy());
    });
    passed.once("error", (cause: NodeJS.ErrnoException) => {
      if (outgoing.headersSent || outgoing.destroyed) return outgoing.destroy();
      if (cause.code === "ECONNREFUSED" && tries < ports.length) {
        return forward(incoming, outgoing, body, tries + 1);
      }
      outgoing.writeHead(502, { "content-length": 0 });
      outgoing.end();
    });
    outgoing.once("close", () => {
      if (!outgoing.writableFinished) passed.destroy();
    });
    passed.end(body);
  };
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.once("end", () => forward(incoming, outgoing, Buffer.concat(chunks)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    use: (next) => {
      ports = next;
    },
    sent,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
