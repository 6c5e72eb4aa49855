/** Codes that tell a caller what to do next. */
import { createServer } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { openBridge } from "../support/bridges.ts";
import { rows } from "../support/matrix.ts";
import { openCaller } from "../support/raw-caller.ts";

describe.each(rows())("in $revision over $bridge", ({ revision, bridge: name }) => {
  it("R098: an unknown or hidden tool or prompt is -32602, and its status is no 404", async () => {
    const server = createServer({ name: "s", version: "1" });
    server.tool("known", {}, () => "known");
    server.tool("later", { since: "2027-01-01" }, () => "later");
    server.prompt("known", {}, () => "known");
    server.prompt("later", { since: "2027-01-01" }, () => "later");
    await using bridge = await openBridge(name, server);
    const caller = await openCaller(bridge, revision);
    for (const method of ["tools/call", "prompts/get"]) {
      const messages = [];
      for (const target of ["nope", "later", "Known", "known ", ""]) {
        const refused = await caller.request(method, { name: target, arguments: {} });
        expect([refused.status, refused.error.code]).toEqual([200, -32602]);
        messages.push(refused.error.message.replaceAll(target, "?"));
      }
      // A hidden name must not be told from one that never was.
      expect(messages[1]).toBe(messages[0]);
    }
  });
});
