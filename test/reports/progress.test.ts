/** Progress: for callers that asked for it, under the token they gave. */
import { setTimeout as delay } from "node:timers/promises";
import { createServer, type Server } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { Duplex } from "../support/duplex.ts";
import { openWorker } from "../support/live.ts";
import { sessionRows } from "../support/matrix.ts";
import { isObject, type JsonObject, revisions } from "../support/schemas.ts";
import { Talker } from "../support/talk.ts";

const tokens = [0, "", "abc", 7, "7", "0"] as const;

/** Tells less than it says: only what rises counts. */
function declare(): Server {
  const server = createServer({ name: "progress", version: "1.0.0", log: () => undefined });
  server.tool("climb", { description: "Climbs, and slips." }, async (_, ex) => {
    for (const [step, total] of [[1], [1], [0.5], [2, 4], [Number.NaN, 4], [1, 1], [3]] as const) {
      await ex.progress(step, total);
      await delay(25);
    }
    return "there";
  });
  return server;
}

function expectClimb(told: readonly JsonObject[], token: string | number): void {
  const params = told.map((message) => {
    expect(message["method"]).toBe("notifications/progress");
    return isObject(message["params"]) ? message["params"] : {};
  });
  expect(params.map(({ progressToken }) => progressToken)).toEqual([token, token, token]);
  expect(params.map(({ progress }) => progress)).toEqual([1, 2, 3]);
  expect(params.map((each) => ("total" in each ? each["total"] : "none"))).toEqual([
    "none",
    4,
    "none",
  ]);
}

describe.each(sessionRows())(
  "in $revision over $bridge with sessions $session",
  ({ revision, bridge, session }) => {
    it("R082: a call without a token is told no progress, and answered as JSON", async () => {
      await using worker = await openWorker(bridge, declare(), { sessions: session });
      const call = (await Talker.open(worker, revision)).call("climb");
      expect(await call.text()).toBe("there");
      expect(call.messages).toHaveLength(1);
      expect((await call.live).headers.get("content-type")).toBe("application/json");
    });

    it("R082: each token comes back as it was, with progress that only rises", async () => {
      await using worker = await openWorker(bridge, declare(), { sessions: session });
      const talker = await Talker.open(worker, revision);
      await Promise.all(
        tokens.map(async (token) => {
          const call = talker.call("climb", {}, { token });
          expect(await call.text()).toBe("there");
          expectClimb(call.messages.slice(0, -1), token);
        }),
      );
    });
  },
);

describe.each(revisions)("in %s", (revision) => {
  it.each(["stdio", "memory"] as const)("R082: the same holds over %s", async (kind) => {
    await using duplex = await Duplex.open(kind, declare(), revision);
    const climb = { name: "climb", arguments: {} };
    const silent = duplex.ask("silent", "tools/call", climb);
    const asked = tokens.map(async (token, index) => {
      const { told } = await duplex.ask(index, "tools/call", climb, token);
      expectClimb(told, token);
    });
    expect((await silent).told).toEqual([]);
    await Promise.all(asked);
    expect(duplex.foreign).toEqual([]);
  });
});
