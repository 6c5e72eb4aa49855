/** One server, many callers: no answer ever reaches another of them. */
import { describe, expect, it } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { openBridge } from "../support/bridges.ts";
import { sessionRows } from "../support/matrix.ts";
import { openCaller, textOf } from "../support/raw-caller.ts";

const pairs = 50;

describe.each(sessionRows())(
  "in $revision over $bridge with sessions $session",
  ({ revision, bridge: name, session }) => {
    it("R118: calls that overlap under one id are answered each to its own caller", async () => {
      await using bridge = await openBridge(name, createFixture(), { sessions: session });
      const ask = async (who: string, delayMs: number) => {
        const caller = await openCaller(bridge, revision, { session });
        const params = {
          name: "echo",
          arguments: { text: `for ${who}`, secret: `of ${who}`, delayMs },
          _meta: { progressToken: 1 },
        };
        const told = await caller.request("tools/call", params, { id: 1 });
        expect(told.headers.get("content-type")).toBe("application/json");
        return [who, JSON.parse(textOf(told))];
      };
      // The first of each pair finishes last, so that order cannot stand in for identity.
      const asked = Array.from({ length: pairs }, (_, pair) => [
        ask(`A${pair}`, 20 + (pair % 7)),
        ask(`B${pair}`, pair % 5),
      ]).flat();
      for (const [who, told] of await Promise.all(asked)) {
        expect(told).toEqual({ text: `for ${who}`, secret: `of ${who}` });
      }
    });

    it("R118: one caller's calls that overlap under one id lose no answer", async () => {
      await using bridge = await openBridge(name, createFixture(), { sessions: session });
      const caller = await openCaller(bridge, revision, { session });
      const ask = (text: string, delayMs: number) =>
        caller.request("tools/call", { name: "echo", arguments: { text, delayMs } }, { id: 1 });
      const told = await Promise.all([ask("slow", 20), ask("quick", 1), ask("at once", 0)]);
      const texts = told.map((each) => JSON.parse(textOf(each)).text);
      expect(texts).toEqual(["slow", "quick", "at once"]);
    });
  },
);
