/** An endpoint behind one of its two bridges that tells why it took each message for what it did. */
import type { EndpointOptions, Selection, Server } from "anyrev/node";
import { type BridgeName, bridges, openBridge as openPlain } from "./bridges.ts";

export const bridgeKinds = bridges;
export type BridgeKind = BridgeName;

export interface Sent {
  /** @default "POST" */
  readonly method?: string | undefined;
  readonly query?: string | undefined;
  /** Names and values go out as they stand; a list becomes one header line each. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>> | undefined;
  /** Bytes or text as they stand; anything else as JSON. */
  readonly body?: unknown;
}

export interface Got {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; undefined when there is none. */
  readonly json: unknown;
  /** What the endpoint reported while it answered. */
  readonly selections: readonly Selection[];
}

export interface Bridge extends AsyncDisposable {
  readonly kind: BridgeKind;
  /** One exchange; the selections of concurrent ones are not told apart. */
  send(sent: Sent): Promise<Got>;
}

export async function openBridge(
  kind: BridgeKind,
  server: Server,
  options: EndpointOptions = {},
): Promise<Bridge> {
  let selections: Selection[] = [];
  const plain = await openPlain(kind, server, {
    ...options,
    onSelection: (selection) => selections.push(selection),
  });
  return {
    kind,
    send: async (sent) => {
      selections = [];
      const { status, headers, text } = await plain.send({
        method: sent.method,
        target: `/mcp${sent.query ? `?${sent.query}` : ""}`,
        headers: headersOf(sent),
        body: bytesOf(sent.body),
      });
      const json: unknown = text === "" ? undefined : JSON.parse(text);
      return { status, headers, text, json, selections };
    },
    [Symbol.asyncDispose]: () => plain[Symbol.asyncDispose](),
  };
}

/** What every client sends, unless the exchange says otherwise. */
function headersOf(sent: Sent): Record<string, string | readonly string[]> {
  const usual =
    sent.body === undefined
      ? {}
      : { "content-type": "application/json", accept: "application/json, text/event-stream" };
  return { ...usual, ...sent.headers };
}

function bytesOf(body: unknown): Uint8Array | undefined {
  if (body === undefined) return undefined;
  if (body instanceof Uint8Array) return body;
  return new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body));
}
