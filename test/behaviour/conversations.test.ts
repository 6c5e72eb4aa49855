/** Everything that happens while a call runs, in every revision and over every wire. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { callers } from "../conversations/asking.ts";
import { listeners, sessionStreams, subscribers } from "../conversations/changes.ts";
import { cancelledCalls, lostConnections, pushedQuestions } from "../conversations/ending.ts";
import { forms } from "../conversations/forms.ts";
import { handlers } from "../conversations/handlers.ts";
import { conversations } from "../conversations/matrix.ts";
import { connections, lostStreams } from "../conversations/resuming.ts";
import { carriedStates, models, requestStates, rounds } from "../conversations/rounds.ts";
import { replies, tellingCalls } from "../conversations/telling.ts";
import { type Column, columns } from "../support/conversing.ts";
import { readRow } from "../support/revisions-table.ts";
import { revisions } from "../support/wire.ts";

const page = readFileSync(new URL("../../docs/revisions.md", import.meta.url), "utf8");

describe("The matrix", () => {
  it("has each of the conversations, in five revisions over five wires", () => {
    const names = conversations.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !name.includes(":"))).toEqual([
      ...["ask", "ask twice", "decline", "default", "sample", "roots", "URL", "once"],
      ...["progress", "log", "cancel", "change", "resume"],
    ]);
    expect(columns).toHaveLength(5 * 5 - 1);
    // The one that is left out is what that revision cannot do.
    expect(columns).not.toContainEqual(["2026-07-28", "sse"]);
    const [newest, ...older] = readRow(page, "HTTP+SSE, where it is switched on");
    expect([newest, ...new Set(older)]).toEqual(["–", "yes"]);
  });
});

describe.each(columns)("in %s over %s", (revision, wire) => {
  for (const { name, lacks, hold } of conversations) {
    it(name, async () => {
      const row = lacks?.(revision, wire);
      if (row !== undefined) expect(readRow(page, row)[revisions.indexOf(revision)]).toBe("–");
      await hold(revision, wire);
    });
  }
});

const groups = [
  ...[callers, forms, handlers, rounds, carriedStates, models, requestStates],
  ...[tellingCalls, replies, cancelledCalls, pushedQuestions, lostConnections],
  ...[subscribers, sessionStreams, listeners, lostStreams, connections],
];

describe.each(columns)("in %s over %s,", (revision, wire) => {
  const isHere = (column: Column): boolean => column[0] === revision && column[1] === wire;
  for (const { title, declare } of groups.filter((group) => group.columns.some(isHere))) {
    describe(title, () => declare(revision, wire));
  }
});
