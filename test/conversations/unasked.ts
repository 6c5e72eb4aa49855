/** The refusal of a call whose caller cannot be asked, by the specification. */
import type { Conversant } from "../support/conversant.ts";
import { isObject, type JsonObject, type Revision } from "../support/wire.ts";
import type { WireKind } from "../support/wires.ts";

export interface Unasked {
  readonly status: number | undefined;
  readonly code: unknown;
  readonly data: unknown;
}

/** What a tool is refused with, when called to its end. */
export async function refusal(peer: Conversant, name: string): Promise<Unasked> {
  const { message, origin } = await peer.finish("tools/call", { name });
  const { error } = message;
  if (!isObject(error)) throw new Error(`was not refused: ${JSON.stringify(message)}`);
  return { status: origin.status, code: error["code"], data: error["data"] };
}

export function missing(
  revision: Revision,
  wire: WireKind,
  requiredCapabilities: JsonObject,
): Unasked {
  const modern = revision === "2026-07-28";
  const overHttp = wire === "socket" || wire === "fetch";
  return {
    status: overHttp ? (modern ? 400 : 200) : undefined,
    code: modern ? -32021 : -32603,
    data: { requiredCapabilities },
  };
}
