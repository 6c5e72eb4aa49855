/** One server, many callers with equal ids and tokens: no stream carries what is another's. */
import { createServer, type Server } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { Duplex } from "../support/duplex.ts";
import { openWorker } from "../support/live.ts";
import { rows, sessionRows } from "../support/matrix.ts";
import { isObject, type JsonObject, revisions } from "../support/schemas.ts";
import { Talker, textOf } from "../support/talk.ts";

const pairs = 50;

function declare(): Server {
  const server = createServer({ name: "shared", version: "1.0.0", log: () => undefined });
  const input = {
    type: "object",
    properties: { who: { type: "integer" }, delayMs: { type: "integer" } },
    required: ["who", "delayMs"],
  } as const;
  server.tool("slow", { description: "Tells who asked.", input }, async (args, ex) => {
    const { who, delayMs } = args;
    await ex.progress(who);
    ex.log("emergency", who);
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    await ex.progress(who + 0.5, who + 0.5);
    return `for ${who}`;
  });
  server.tool("roots", { description: "Asks who asked.", input }, async ({ who, delayMs }, ex) => {
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    const roots = await ex.roots({ timeoutMs: 20_000 });
    return `for ${who}: ${roots.map(({ uri }) => uri).join()}`;
  });
  return server;
}

/** The first of each pair finishes last, so that order cannot stand in for identity. */
const callers = Array.from({ length: pairs }, (_, pair) => [
  { who: 2 * pair, delayMs: 20 + (pair % 7) },
  { who: 2 * pair + 1, delayMs: pair % 5 },
]).flat();

function expectOwn(who: number, told: readonly JsonObject[]): void {
  const progress: unknown[] = [];
  for (const { method, params } of told) {
    if (!isObject(params)) throw new Error(`${method} says nothing`);
    if (method === "notifications/message") expect(params["data"]).toBe(who);
    else {
      expect(method).toBe("notifications/progress");
      expect(params["progressToken"]).toBe(1);
      progress.push(params["progress"]);
    }
  }
  expect(progress).toEqual([who, who + 0.5]);
}

describe.each(sessionRows())(
  "in $revision over $bridge with sessions $session",
  ({ revision, bridge, session }) => {
    it("R118: each of 100 overlapping streams carries its own progress, log and result", async () => {
      await using worker = await openWorker(bridge, declare(), { sessions: session });
      await Promise.all(
        callers.map(async ({ who, delayMs }) => {
          const talker = await Talker.open(worker, revision);
          const call = talker.call("slow", { who, delayMs }, { id: 1, token: 1 });
          expect(await call.text()).toBe(`for ${who}`);
          expectOwn(who, call.messages.slice(0, -1));
        }),
      );
    });
  },
);

describe.each(rows())("in $revision over $bridge", ({ revision, bridge }) => {
  it("R118: what is asked in one call is asked of its caller, and answered by it alone", async () => {
    await using worker = await openWorker(bridge, declare());
    await Promise.all(
      callers.map(async ({ who, delayMs }) => {
        const talker = await Talker.open(worker, revision);
        const roots = { roots: [{ uri: `file:///${who}` }] };
        const args = { who, delayMs };
        const call = talker.call("roots", args, { id: 1, token: 1 });
        if (revision !== "2026-07-28") {
          const question = await call.told("roots/list");
          expect(await talker.answer(question, roots)).toBe(202);
          expect(await call.text()).toBe(`for ${who}: file:///${who}`);
          expect(call.messages).toHaveLength(2);
          return;
        }
        const { requestState } = await call.result();
        const again = { name: "roots", arguments: args, requestState };
        const second = talker.ask("tools/call", { ...again, inputResponses: { roots } }, { id: 1 });
        expect(await second.text()).toBe(`for ${who}: file:///${who}`);
      }),
    );
  });
});

describe.each(revisions)("in %s", (revision) => {
  it.each(["stdio", "memory"] as const)(
    "R118: each of 100 connections over %s carries its own progress, log and result",
    async (kind) => {
      const server = declare();
      await Promise.all(
        callers.map(async ({ who, delayMs }) => {
          await using duplex = await Duplex.open(kind, server, revision);
          const params = { name: "slow", arguments: { who, delayMs } };
          const { reply, told } = await duplex.ask(1, "tools/call", params, 1);
          const { result } = reply;
          expect(isObject(result) && textOf(result)).toBe(`for ${who}`);
          expectOwn(who, [...told, ...duplex.heard]);
          expect(duplex.foreign).toEqual([]);
        }),
      );
    },
  );
});
