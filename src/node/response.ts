/** From the neutral reply to `node:http`. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { EventStream } from "../server/event-stream.ts";
import type { HttpReply } from "../server/http.ts";

export function writeReply(
  reply: HttpReply,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): void {
  const { status, body, stream } = reply;
  if (outgoing.destroyed || outgoing.headersSent) {
    stream?.disconnect();
    return;
  }
  const headers: string[] = [];
  for (const name of Object.keys(reply.headers)) headers.push(name, reply.headers[name] ?? "");
  if (stream !== undefined) {
    outgoing.writeHead(status, headers);
    pour(stream, outgoing);
    return;
  }
  if (body !== undefined) headers.push("content-length", String(Buffer.byteLength(body)));
  else if (status !== 204) headers.push("content-length", "0");
  // What was not read of a body would be taken for the next request, or be read for ever.
  if (!incoming.complete && announcesBody(incoming)) headers.push("connection", "close");
  outgoing.writeHead(status, headers);
  outgoing.end(body);
}

function pour(stream: EventStream, outgoing: ServerResponse): void {
  // The reader waits for the headers before it waits for the first event.
  outgoing.flushHeaders();
  outgoing.once("close", () => stream.disconnect());
  stream.attach({
    write: (text) => void outgoing.write(text),
    waiting: () => outgoing.writableLength,
    end: () => outgoing.end(),
    destroy: () => outgoing.destroy(),
  });
}

function announcesBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}
