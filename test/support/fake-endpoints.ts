/** Fake servers over HTTP, and one visit of a client to them. */
import type { ClientOptions, Target } from "anyrev/client";
import { connect } from "./connecting.ts";
import {
  FakeHttp,
  type FakeRequest,
  type Respond,
  refusal,
  result,
  sendJson,
} from "./fake-http.ts";
import { discovery, initializeResult, textResult } from "./fake-peer.ts";

/** A modern server, which answers what is no discovery with `more`. */
export function modern(more: Respond, capabilities = {}): Promise<FakeHttp> {
  return FakeHttp.open((request, response) =>
    request.rpcMethod === "server/discover"
      ? sendJson(response, result(request.id, discovery(["2026-07-28"], capabilities)))
      : more(request, response),
  );
}

/** A server of the handshake without sessions, which answers what is no part of it with `more`. */
export function older(
  version: string,
  more: Respond,
  discover: Respond = notFound,
): Promise<FakeHttp> {
  return FakeHttp.open((request, response) => {
    const { rpcMethod, id, method } = request;
    if (rpcMethod === "server/discover") return discover(request, response);
    if (rpcMethod === "initialize")
      return sendJson(response, result(id, initializeResult(version)));
    if (method === "POST" && id === undefined) return response.writeHead(202).end();
    return more(request, response);
  });
}

export const notFound: Respond = ({ id }, response) => sendJson(response, refusal(id, -32601));
export const reply: Respond = ({ id }, response) =>
  sendJson(response, result(id, textResult("done")));
export const none: Respond = (_, response) => response.writeHead(405).end();
export const methods = (fake: FakeHttp) => fake.requests.map(({ rpcMethod }) => rpcMethod);
export const last = (fake: FakeHttp): FakeRequest => fake.requests.at(-1)!;

export async function using<T>(
  to: Target | string,
  run: (client: Awaited<ReturnType<typeof connect>>) => Promise<T>,
  options: ClientOptions = {},
): Promise<T> {
  const client = await connect(to as string, options);
  try {
    return await run(client);
  } finally {
    await client.close();
  }
}
