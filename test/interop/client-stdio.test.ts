/** Our client with servers on other libraries as its children. */
import { describe, expect, test } from "vitest";
import { type ClientOptions, connect } from "../../src/node/client.ts";
import {
  allTraits,
  Heard,
  type PeerTraits,
  peerCommand,
  processTarget,
  strayed,
  usePeer,
} from "../support/peers.ts";
import type { Revision } from "../support/schemas.ts";
import { Traffic } from "../support/traffic.ts";

const handshakes = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;

interface Peer {
  readonly name: string;
  readonly mode: string;
  /** Newest first. */
  readonly revisions: readonly Revision[];
  readonly traits?: (revision: Revision) => PeerTraits;
  /** What a client that accepts everything speaks with it. */
  readonly found: Revision;
}

const peers: readonly Peer[] = [
  { name: "sdk-1", mode: "stdio", revisions: handshakes, found: "2025-11-25" },
  {
    name: "sdk-2",
    mode: "stdio",
    revisions: ["2026-07-28", ...handshakes],
    found: "2026-07-28",
    traits: () => ({ ...allTraits, asks: ["who", "twice", "imagine", "where"] }),
  },
  { name: "sdk-2", mode: "modern-stdio", revisions: ["2026-07-28"], found: "2026-07-28" },
  {
    name: "fastmcp",
    mode: "stdio",
    revisions: handshakes,
    found: "2025-11-25",
    traits: () => ({ ...allTraits, announces: "prompts" }),
  },
  {
    name: "tmcp",
    mode: "stdio",
    revisions: ["2026-07-28", "2025-06-18", "2025-03-26", "2024-11-05"],
    found: "2026-07-28",
    // Where requests stand alone, it has no way to ask for roots.
    traits: (revision) =>
      revision === "2026-07-28" ? { ...allTraits, asks: ["who", "imagine"] } : allTraits,
  },
];

/** Uses the peer as a client that accepts these revisions does. */
async function use(
  { name, mode, traits }: Peer,
  revisions: ClientOptions["revisions"],
  expected: Revision,
): Promise<Traffic> {
  const own = traits?.(expected);
  const traffic = new Traffic();
  const heard = new Heard();
  const target = processTarget(peerCommand(name, mode), traffic);
  const client = await connect(target, { ...heard.options, revisions });
  try {
    await usePeer(client, heard, expected, own);
  } finally {
    await client.close();
  }
  expect(strayed(traffic, expected, own)).toEqual([]);
  expect(heard.warnings).toEqual([]);
  return traffic;
}

describe.each(peers)("a server on $name over $mode", (peer) => {
  test.each([...peer.revisions])("is used in %s", async (revision) => {
    const traffic = await use(peer, revision, revision);
    const [first] = traffic.methods("client");
    expect(first).toBe(revision === "2026-07-28" ? "server/discover" : "initialize");
  });

  test("is found to speak its newest revision", async () => {
    const traffic = await use(peer, "auto", peer.found);
    expect(traffic.methods("client").includes("initialize")).toBe(peer.found !== "2026-07-28");
  });
});
