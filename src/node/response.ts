/** From the neutral reply to `node:http`. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpReply } from "../server/http.ts";

export function writeReply(
  reply: HttpReply,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): void {
  if (outgoing.destroyed || outgoing.headersSent) return;
  const { status, body } = reply;
  const headers: string[] = [];
  for (const [name, value] of Object.entries(reply.headers)) headers.push(name, value);
  if (body !== undefined) headers.push("content-length", String(Buffer.byteLength(body)));
  else if (status !== 204) headers.push("content-length", "0");
  // What was not read of a body would be taken for the next request, or be read for ever.
  if (!incoming.complete && announcesBody(incoming)) headers.push("connection", "close");
  outgoing.writeHead(status, headers);
  outgoing.end(body);
}

function announcesBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}
