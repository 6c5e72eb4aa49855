/** "Inside the handshake" of SELECTION.md, over both bridges, with sessions and without. */
import {
  type Adapter,
  AdapterSet,
  adapter2025_06_18,
  adapter2025_11_25,
  adapter2026_07_28,
} from "anyrev/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { type Bridge, bridgeKinds, openBridge } from "../support/bridge.ts";
import { type Answered, ask, type How, initialize, open, send } from "../support/caller.ts";
import { envelope, initializeParams, type RawRequest } from "../support/messages.ts";
import { type Revision, revisions } from "../support/schemas.ts";

const server = createFixture();
const handshakes = revisions.slice(1);
const strangers = ["2026-07-28", "1999-01-01", "2099-12-31", "", "latest", "2025-11-25 "];

const matrix = bridgeKinds.flatMap((kind) =>
  (["with", "without"] as const).map((mode) => [kind, mode] as const),
);

describe.each(matrix)("Over the %s bridge %s sessions", (kind, mode) => {
  const sessions = mode === "with";
  const bridges = new Map<string, Bridge>();
  const sets: readonly (readonly Revision[])[] = [
    revisions,
    handshakes,
    ["2025-06-18", "2025-03-26"],
    ["2026-07-28", "2024-11-05"],
    ["2026-07-28"],
  ];

  beforeAll(async () => {
    for (const set of sets) {
      bridges.set(set.join(), await openBridge(kind, server, { revisions: set, sessions }));
    }
  });

  afterAll(async () => {
    for (const bridge of bridges.values()) await bridge[Symbol.asyncDispose]();
  });

  const serving = (set: readonly Revision[]): Bridge => bridges.get(set.join())!;

  /** What was agreed on; and a session is opened exactly where there are any. */
  function agreed({ status, result, headers }: Answered): unknown {
    expect(status).toBe(200);
    if (sessions) expect(headers.get("mcp-session-id")).toMatch(/^[\x21-\x7e]+$/);
    else expect(headers.get("mcp-session-id")).toBeNull();
    return result?.["protocolVersion"];
  }

  describe.each(sets.slice(0, -1).map((set) => [set.join(" "), set] as const))(
    "serving %s",
    (_, set) => {
      const own: readonly Revision[] = set.filter((revision) => revision !== "2026-07-28");
      const headers = [undefined, ...own];

      test.each(own)(
        "initialize for %s is answered in it, whatever the header names",
        async (date) => {
          for (const named of headers) {
            const how = { headers: { "mcp-protocol-version": named } };
            const answered = await initialize(serving(set), date, how);
            expect(agreed(answered)).toBe(date);
            const [selection] = answered.selections;
            expect(selection?.reason).toBe(named === undefined ? "initialize" : "header");
            expect(selection?.revision).toBe(named ?? own[0]);
          }
        },
      );

      const unserved = [...strangers, ...handshakes.filter((date) => !own.includes(date))];
      test.each(unserved)(
        "initialize for %j is answered with the newest handshake",
        async (date) => {
          for (const named of headers) {
            const how = { headers: { "mcp-protocol-version": named }, answeredIn: own[0]! };
            expect(agreed(await send(serving(set), own[0]!, asking(date), how))).toBe(own[0]);
          }
        },
      );

      test.each(own)(
        "under a pin to %s every version asked for is answered with it",
        async (pin) => {
          for (const date of [...handshakes, ...strangers]) {
            for (const named of [undefined, "2025-11-25", "2026-07-28", "1999-01-01"]) {
              const how = { query: `mcp=${pin}`, headers: { "mcp-protocol-version": named } };
              const answered = await send(serving(set), pin, asking(date), how);
              expect(agreed(answered)).toBe(pin);
              expect(answered.selections[0]?.reason).toBe("pin");
            }
          }
        },
      );
    },
  );

  test.each([[undefined], [null], [20251125], [true], [{}], [["2025-11-25"]]])(
    "a protocolVersion of %j is refused by name and opens nothing",
    async (version) => {
      for (const revision of handshakes) {
        const how = { headers: { "mcp-protocol-version": revision } };
        const { status, error, headers } = await send(
          serving(revisions),
          revision,
          asking(version),
          how,
        );
        expect(status).toBe(200);
        expect(error?.["code"]).toBe(-32602);
        expect(error?.["message"]).toContain("protocolVersion");
        expect(headers.get("mcp-session-id")).toBeNull();
      }
    },
  );

  const declaring: readonly (readonly [where: string, how: How, meta: object | undefined])[] = [
    ["in the header", { headers: { "mcp-protocol-version": "2026-07-28" } }, undefined],
    ["in the body", {}, envelope("2026-07-28")!],
    ["in the pin", { query: "mcp=2026-07-28" }, undefined],
  ];

  test.each(declaring)(
    "initialize that declares 2026-07-28 %s is told the way out",
    async (_, how, meta) => {
      for (const set of sets.filter((each) => each.includes("2026-07-28"))) {
        const message = asking("2025-11-25", meta);
        const answered = await send(serving(set), "2025-11-25", message, {
          ...how,
          answeredIn: "2026-07-28",
        });
        expectWayOut(answered, set);
      }
    },
  );

  test("initialize where no handshake is served is told the way out", async () => {
    const set: readonly Revision[] = ["2026-07-28"];
    for (const date of [...handshakes, ...strangers]) {
      const how: How = { answeredIn: "2026-07-28" };
      const answered = await send(serving(set), "2025-11-25", asking(date), how);
      expectWayOut(answered, set);
      expect(answered.selections[0]?.reason).toBe("initialize");
    }
  });

  test.each(handshakes)("what was agreed on for %s is what the next request gets", async (date) => {
    const id = await open(serving(revisions), date);
    const { status, selections } = await ask(serving(revisions), date, "tools/list", undefined, {
      headers: id === undefined ? { "mcp-protocol-version": date } : { "mcp-session-id": id },
    });
    expect(status).toBe(200);
    expect(selections[0]?.revision).toBe(date);
  });

  describe("serving an adapter that claims a second date", () => {
    const claimed = "2025-10-15";
    let bridge: Bridge;

    beforeAll(async () => {
      const set = new AdapterSet([adapter2025_06_18, claiming(claimed), adapter2026_07_28]);
      bridge = await openBridge(kind, server, { revisions: set, sessions });
    });
    afterAll(() => bridge[Symbol.asyncDispose]());

    test("initialize for either date is answered with that date", async () => {
      for (const date of [claimed, "2025-11-25"]) {
        for (const named of [undefined, claimed, "2025-11-25", "2025-06-18"]) {
          const how = { headers: { "mcp-protocol-version": named } };
          expect(agreed(await send(bridge, "2025-11-25", asking(date), how))).toBe(date);
        }
      }
    });

    test("a pin to either date is the answer to every version", async () => {
      for (const pin of [claimed, "2025-11-25"]) {
        for (const date of [claimed, "2025-11-25", "2025-06-18", ...strangers]) {
          const how = { query: `mcp=${pin}` };
          expect(agreed(await send(bridge, "2025-11-25", asking(date), how))).toBe(pin);
        }
      }
    });

    test("both dates are listed where versions are", async () => {
      const { result } = await ask(bridge, "2025-11-25", "server/discover");
      expect(result?.["supportedVersions"]).toEqual([
        "2026-07-28",
        "2025-11-25",
        claimed,
        "2025-06-18",
      ]);
      const how = { headers: { "mcp-protocol-version": "2025-03-26" }, answeredIn: revisions[0]! };
      const { error } = await ask(bridge, "2025-11-25", "tools/list", undefined, how);
      expect(error?.["data"]).toEqual({
        requested: "2025-03-26",
        supported: ["2026-07-28", "2025-11-25", claimed, "2025-06-18"],
      });
    });
  });
});

function asking(protocolVersion: unknown, meta?: object): RawRequest {
  const params = {
    ...initializeParams("2025-11-25"),
    protocolVersion,
    ...(meta && { _meta: meta }),
  };
  return { jsonrpc: "2.0", id: 1, method: "initialize", params };
}

/** An older client shows its user this message and nothing else. */
function expectWayOut({ status, error, headers }: Answered, set: readonly Revision[]): void {
  expect(status).toBe(404);
  expect(error?.["code"]).toBe(-32601);
  expect(headers.get("mcp-session-id")).toBeNull();
  for (const part of ["server/discover", ...set]) expect(error?.["message"]).toContain(part);
  for (const date of revisions.filter((revision) => !set.includes(revision))) {
    expect(error?.["message"]).not.toContain(date);
  }
}

/** 2025-11-25, answering on one more date. */
function claiming(date: string): Adapter {
  return { ...adapter2025_11_25, claims: ["2025-11-25", date] };
}
