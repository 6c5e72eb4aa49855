/** Our client with servers on other libraries over HTTP. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ClientOptions, connect, MemoryVerdicts } from "../../src/node/client.ts";
import {
  allTraits,
  Heard,
  type PeerTraits,
  startPeer,
  strayed,
  usePeer,
} from "../support/peers.ts";
import type { Revision } from "../support/schemas.ts";
import { tapProxy } from "../support/tap-proxy.ts";
import { Traffic } from "../support/traffic.ts";

const handshakes = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;

interface Peer {
  readonly name: string;
  readonly mode: string;
  /** @default that of Streamable HTTP */
  readonly path?: string;
  readonly revisions: readonly Revision[];
  /** What a client that accepts everything speaks with it. */
  readonly found: Revision;
  /** Whether a handshake opens a session. */
  readonly sessions: boolean;
  readonly traits?: (revision: Revision) => PeerTraits;
}

/** Where there are no sessions, neither a change nor an answer would reach anybody. */
const mute: PeerTraits = { ...allTraits, asks: [], announces: undefined };

const twice: PeerTraits = { ...allTraits, asks: ["who", "twice", "imagine", "where"] };

const sdk1: readonly Peer[] = (["stateful", "stateless", "json"] as const).map((mode) => ({
  name: "sdk-1",
  mode,
  revisions: handshakes,
  found: "2025-11-25",
  sessions: mode === "stateful",
  traits: () =>
    ({
      stateful: allTraits,
      stateless: mute,
      // One JSON body holds the reply and nothing else.
      json: { ...mute, logs: false, progress: false },
    })[mode],
}));

/** The transport of 2024-11-05, which servers speak in later revisions too. */
const legacySse: readonly Peer[] = (
  [
    ["sdk-1", "sse", allTraits],
    ["fastmcp", "http", { ...allTraits, asks: ["who", "imagine"], announces: "prompts" }],
  ] as const
).map(([name, mode, traits]) => ({
  name,
  mode,
  path: "/sse",
  revisions: handshakes,
  found: "2025-11-25",
  sessions: false,
  traits: () => traits,
}));

const sdk2: readonly Peer[] = [
  {
    name: "sdk-2",
    mode: "http",
    revisions: ["2026-07-28", ...handshakes],
    found: "2026-07-28",
    sessions: false,
    traits: (revision) => (revision === "2026-07-28" ? twice : mute),
  },
  ...["modern", "sse"].map(
    (mode): Peer => ({
      name: "sdk-2",
      mode,
      revisions: ["2026-07-28"],
      found: "2026-07-28",
      sessions: false,
      traits: () => twice,
    }),
  ),
  {
    name: "sdk-2",
    mode: "stateful",
    revisions: handshakes,
    found: "2025-11-25",
    sessions: true,
    traits: () => twice,
  },
];

const others: readonly Peer[] = [
  {
    name: "fastmcp",
    mode: "http",
    revisions: handshakes,
    found: "2025-11-25",
    sessions: true,
    // It looks for what a client can do before it has read that, so it never asks for roots.
    traits: () => ({ ...allTraits, asks: ["who", "imagine"], announces: "prompts" }),
  },
  {
    name: "fastmcp",
    mode: "stateless",
    revisions: handshakes,
    found: "2025-11-25",
    sessions: false,
    traits: () => ({ ...mute, logs: false }),
  },
  {
    name: "tmcp",
    mode: "http",
    revisions: ["2026-07-28", "2025-06-18", "2025-03-26", "2024-11-05"],
    found: "2026-07-28",
    sessions: true,
    // Where requests stand alone, it has no way to ask for roots.
    traits: (revision) =>
      revision === "2026-07-28" ? { ...allTraits, asks: ["who", "imagine"] } : allTraits,
  },
  ...(["stateful", "stateless"] as const).map(
    (mode): Peer => ({
      name: "mcp-lite",
      mode,
      revisions: ["2025-06-18", "2025-03-26"],
      // It answers a version that it does not know with its oldest.
      found: "2025-03-26",
      sessions: mode === "stateful",
      traits: () => ({
        ...allTraits,
        asks: mode === "stateful" ? ["who", "imagine"] : [],
        completes: false,
        logs: false,
        instructions: false,
        announces: undefined,
        // It takes templates without a name, and lists them so.
        faults: [/resourceTemplates\[0\]: must have required property 'name'/],
      }),
    }),
  ),
];

describe.each([...sdk1, ...legacySse, ...sdk2, ...others])(
  "a server on $name over HTTP, $mode",
  ({ name, mode, path, revisions, found, sessions, traits }) => {
    let peer: Awaited<ReturnType<typeof startPeer>>;
    beforeAll(async () => {
      peer = await startPeer(name, mode);
    });
    afterAll(() => peer[Symbol.asyncDispose]());

    async function use(accepted: ClientOptions["revisions"], expected: Revision) {
      const own = traits?.(expected);
      const traffic = new Traffic();
      const heard = new Heard();
      await using proxy = await tapProxy(new URL(path ?? "/mcp", peer.url).href, traffic);
      const client = await connect(proxy.url, {
        ...heard.options,
        revisions: accepted,
        verdicts: new MemoryVerdicts(),
      });
      try {
        await usePeer(client, heard, expected, own);
      } finally {
        await client.close();
      }
      expect(strayed(traffic, expected, own)).toEqual([]);
      expect(heard.warnings).toEqual([]);
      const deleted = proxy.exchanges.filter(({ method }) => method === "DELETE").length;
      expect(deleted).toBe(sessions && expected !== "2026-07-28" ? 1 : 0);
    }

    test.each([...revisions])("is used in %s", (revision) => use(revision, revision));

    test("is found to speak its newest revision", () => use("auto", found));
  },
);
