/** A server with one of everything, for what stands around its operations. */
import {
  type CallResult,
  createServer,
  type LogEntry,
  McpError,
  type Middleware,
  type MiddlewareCall,
  type Server,
} from "anyrev/node";
import type { Conversant } from "./conversant.ts";
import { type Column, columns } from "./conversing.ts";
import { isObject, type JsonObject } from "./schemas.ts";

export const modern = "2026-07-28";
export const tried: readonly Column[] = columns.filter(([, wire]) =>
  ["socket", "fetch", "stdio"].includes(wire),
);

export function createShop(log: (entry: LogEntry) => void = () => {}): Server {
  const server = createServer({ name: "shop", version: "1", log });
  const output = {
    type: "object",
    properties: { total: { type: "number" } },
    required: ["total"],
  } as const;
  server.tool("sum", { output }, (args) => ({ total: Number(args["a"]) + Number(args["b"]) }));
  server.tool("say", {}, () => "hello");
  server.tool("fail", {}, () => {
    throw new McpError("no luck");
  });
  server.resource("shop://1", { name: "one" }, () => "first");
  server.resource("shop://2", { name: "two" }, () => "second");
  const size = { name: "size", complete: ["small", "large"] };
  server.prompt("greet", { arguments: { size } }, () => "hi");
  return server;
}

export const operations: Readonly<Record<string, readonly [method: string, params: JsonObject]>> = {
  "call-tool": ["tools/call", { name: "sum", arguments: { a: 1, b: 2 } }],
  "read-resource": ["resources/read", { uri: "shop://1" }],
  "get-prompt": ["prompts/get", { name: "greet" }],
  complete: [
    "completion/complete",
    { ref: { type: "ref/prompt", name: "greet" }, argument: { name: "size", value: "s" } },
  ],
  list: ["tools/list", {}],
};

export const sessionOperations: typeof operations = {
  ping: ["ping", {}],
  "set-log-level": ["logging/setLevel", { level: "error" }],
  subscribe: ["resources/subscribe", { uri: "shop://1" }],
  unsubscribe: ["resources/unsubscribe", { uri: "shop://1" }],
};

export interface Seen {
  readonly call: MiddlewareCall;
  readonly result: CallResult;
}

export function watching(seen: Seen[]): Middleware {
  return async (call, next) => {
    const result = await next();
    seen.push({ call, result });
    return result;
  };
}

export async function resultOf(
  peer: Conversant,
  method: string,
  params: JsonObject,
): Promise<JsonObject> {
  const { message } = await peer.ask(method, params);
  if (!isObject(message["result"])) throw new Error(`failed: ${JSON.stringify(message)}`);
  return message["result"];
}

export async function errorOf(
  peer: Conversant,
  method: string,
  params: JsonObject,
): Promise<JsonObject> {
  const { message } = await peer.ask(method, params);
  if (!isObject(message["error"])) throw new Error(`no error: ${JSON.stringify(message)}`);
  return message["error"];
}

export const sum = (peer: Conversant) => resultOf(peer, ...(operations["call-tool"] ?? ["", {}]));
export const say = (peer: Conversant) =>
  resultOf(peer, "tools/call", { name: "say", arguments: {} });
