/** What is kept for a listing is kept once, however often it is asked for. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createEndpoint, createServer } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { toRequest } from "../support/bridges.ts";
import { headersFor, request } from "../support/messages.ts";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

function heapBytes(): number {
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

describe.each(["2026-07-28", "2025-11-25"] as const)("in %s", (revision) => {
  it("R096: ten thousand listings leave the heap as it was", async () => {
    const server = createServer({ name: "s", version: "1" });
    const output = { type: "object", properties: { n: { type: "number" } } };
    server.tool("t", { output }, () => ({ n: 1 }));
    const { fetch } = createEndpoint(server);
    const list = async (count: number) => {
      for (let id = 0; id < count; id++) {
        const message = request(revision, id, "tools/list");
        const headers = { ...headersFor(revision, message), "mcp-protocol-version": revision };
        const response = await fetch(toRequest({ headers, body: JSON.stringify(message) }));
        await response.text();
      }
    };
    await list(1000);
    const before = heapBytes();
    await list(10_000);
    // One kept validator of four kilobytes a listing would be forty megabytes.
    expect(heapBytes() - before).toBeLessThan(2_000_000);
  });
});
