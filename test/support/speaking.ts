/** One visit of a client to a fake server, of which only the revision matters. */
import type { ClientOptions } from "anyrev/client";
import { expect } from "vitest";
import { connect } from "./connecting.ts";
import { type FakePeer, paramsOf } from "./fake-peer.ts";

/** Connects, lists, closes. @returns the revision that was spoken. */
export async function speak(peer: FakePeer, options: ClientOptions = {}): Promise<string> {
  const client = await connect(peer.target, { probeTimeoutMs: 50, ...options });
  try {
    await client.list("tools");
    return client.server.revision;
  } finally {
    await client.close();
    expect(peer.lines.every(({ isClosed }) => isClosed)).toBe(true);
  }
}

export function versionsAsked(peer: FakePeer): readonly unknown[] {
  return peer.heard("initialize").map((message) => paramsOf(message)["protocolVersion"]);
}
