/** The client's Streamable HTTP against our own server: requests, sessions, streams. */
import { createServer, type Server, serve } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { Link, senderKinds } from "../support/http-client.ts";
import { revisions } from "../support/wire.ts";

const rows = senderKinds.flatMap((sender) => revisions.map((revision) => ({ sender, revision })));

function createCounter(): Server {
  const server = createServer({ name: "counter", version: "1.0.0" });
  server.tool("count", {}, async (_args, ex) => {
    await ex.progress(1, 2);
    await ex.progress(2, 2);
    return { counted: 2 };
  });
  return server;
}

describe.each(rows)("$sender, $revision", ({ sender, revision }) => {
  it("gets replies, and what is said before them", async () => {
    await using serving = await serve(createCounter(), { port: 0, drainMs: 100 });
    await using link = new Link(sender, serving.url, revision);
    await link.open();
    expect(link.transport.session !== undefined).toBe(revision !== "2026-07-28");
    const listed = await link.ask("tools/list");
    expect(listed.reply).toMatchObject({ id: link.lastId, result: { tools: [{ name: "count" }] } });
    expect(listed.status).toBe(200);
    const called = await link.ask("tools/call", {
      name: "count",
      arguments: {},
      _meta: { progressToken: "p" },
    });
    expect(called.reply.result).toMatchObject({ content: [{ type: "text" }] });
    expect(called.status).toBeUndefined();
    expect(link.recorder.methods).toEqual(["notifications/progress", "notifications/progress"]);
    expect(link.recorder.heard.every(({ during }) => during === link.lastId)).toBe(true);
    expect(link.recorder.warnings).toEqual([]);
  });
});
