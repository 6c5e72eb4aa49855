/** Somebody who calls as they should, and is to be served soon whatever others do meanwhile. */
import { expect } from "vitest";
import { headersFor, request } from "./messages.ts";
import { RawSocket, rawRequest } from "./raw-socket.ts";
import { assertReply, type Revision, revisions } from "./wire.ts";

/** A whole POST of a request, as bytes of HTTP. */
export function postBytes(revision: Revision, method: string, params: object, id = 1): string {
  const message = request(revision, id, method, { ...params });
  const headers = { ...headersFor(revision, message), "mcp-protocol-version": revision };
  const lines = Object.entries({ host: "localhost", ...headers });
  return rawRequest("POST", "/mcp", lines, JSON.stringify(message));
}

/** How long an honest caller waits for each of so many calls, in milliseconds, sorted. */
export async function waits(port: number, count: number): Promise<number[]> {
  using socket = await RawSocket.open(port);
  const all: number[] = [];
  for (let call = 0; call < count; call++) {
    const revision = revisions[call % revisions.length] ?? "2026-07-28";
    const params = { name: "act", arguments: {} };
    const start = performance.now();
    socket.write(postBytes(revision, "tools/call", params, call));
    const answer = await socket.answer();
    all.push(performance.now() - start);
    expect(answer?.status).toBe(200);
    assertReply(
      revision,
      { method: "tools/call", id: call, params },
      JSON.parse(answer?.text ?? ""),
    );
  }
  return all.sort((a, b) => a - b);
}

export const p99 = (sorted: readonly number[]): number =>
  sorted[Math.floor(sorted.length * 0.99)] ?? 0;
