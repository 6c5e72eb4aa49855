/** A proxy in front of a server over HTTP that notes the messages which cross it, and nothing else. */
import { createServer, request as httpRequest, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { Traffic } from "./traffic.ts";

export interface TapProxy extends AsyncDisposable {
  /** The server's URL, by way of the proxy. */
  readonly url: string;
  /** Each HTTP request, with its answer's status. */
  readonly exchanges: { readonly method: string; readonly path: string; readonly status: number }[];
}

export async function tapProxy(target: string, traffic: Traffic): Promise<TapProxy> {
  const to = new URL(target);
  const exchanges: TapProxy["exchanges"] = [];
  const server = createServer((incoming, outgoing) => {
    const { method = "GET", url: path = "/" } = incoming;
    noteBody(incoming, (text) => noteText(traffic, "client", text));
    const onward = httpRequest(
      {
        host: to.hostname,
        port: to.port,
        method,
        path,
        headers: { ...incoming.headers, host: to.host },
      },
      (answer) => {
        exchanges.push({ method, path, status: answer.statusCode ?? 0 });
        outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
        outgoing.flushHeaders();
        if (answer.headers["content-type"]?.startsWith("text/event-stream"))
          noteEvents(answer, traffic);
        else noteBody(answer, (text) => noteText(traffic, "server", text));
        answer.on("data", (chunk: Buffer) => outgoing.write(chunk));
        answer.on("end", () => outgoing.end());
        answer.on("error", () => outgoing.destroy());
      },
    );
    onward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => onward.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${to.pathname}${to.search}`,
    exchanges,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function noteBody(stream: IncomingMessage, note: (text: string) => void): void {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("end", () => note(Buffer.concat(chunks).toString("utf8")));
}

function noteText(traffic: Traffic, from: "client" | "server", text: string): void {
  try {
    traffic.note(from, JSON.parse(text));
  } catch {
    // An empty body, or a page for people: no message.
  }
}

function noteEvents(stream: IncomingMessage, traffic: Traffic): void {
  let rest = "";
  const decoder = new TextDecoder();
  stream.on("data", (chunk: Buffer) => {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split(/\r?\n/);
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith("data:")) noteText(traffic, "server", line.slice(5));
    }
  });
}
