/** Replies of our own server through connections that break on the way. */

import type { AddressInfo } from "node:net";
import { connect, createServer as createNetServer, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { createServer, serve } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { failureOf, Link, senderKinds } from "../support/http-client.ts";
import { createGate, until } from "../support/signals.ts";

/** Passes bytes on, and can break every connection there is. */
async function openRelay(port: number) {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => sockets.delete(socket));
  };
  const net = createNetServer((near) => {
    const far = connect(port, "127.0.0.1");
    keep(near);
    keep(far);
    near.pipe(far).pipe(near);
    near.once("close", () => far.destroy());
    far.once("close", () => near.destroy());
  });
  await new Promise<void>((resolve) => net.listen(0, "127.0.0.1", resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(net.address() as AddressInfo).port}/mcp`,
    cut,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => net.close(resolve));
      cut();
      await closed;
    },
  };
}

const rows = senderKinds.flatMap((sender) =>
  (
    [
      ["2025-11-25", "primed"],
      ["2025-06-18", "plain"],
      ["2025-03-26", "plain"],
    ] as const
  ).map(([revision, resumption]) => ({ sender, revision, resumption })),
);

describe.each(rows)("$sender, $revision", ({ sender, revision, resumption }) => {
  it("a call whose stream breaks, and breaks again, gets its progress and its reply", async () => {
    const [first, second] = [createGate(), createGate()];
    const server = createServer({ name: "s", version: "1" });
    server.tool("slow", {}, async (_args, ex) => {
      await ex.progress(1, 3);
      await first.opened;
      // Of reports that come faster only the last is told.
      await delay(30);
      await ex.progress(2, 3);
      await second.opened;
      await ex.progress(3, 3);
      return { done: true };
    });
    await using serving = await serve(server, { port: 0, drainMs: 100 });
    await using relay = await openRelay(serving.port);
    await using link = new Link(sender, relay.url, revision);
    await link.open();
    const asked = link.ask(
      "tools/call",
      { name: "slow", arguments: {}, _meta: { progressToken: 1 } },
      { resumption },
    );
    asked.catch(() => undefined);
    const progress = (count: number) =>
      until(`progress ${count}`, () => link.recorder.heard.length === count, 10_000);
    await progress(1);
    relay.cut();
    first.open();
    await progress(2);
    relay.cut();
    second.open();
    const { reply } = await asked;
    expect(reply.error).toBeUndefined();
    expect(link.recorder.heard.map(({ message, during }) => [message.params, during])).toEqual(
      [1, 2, 3].map((done) => [expect.objectContaining({ progress: done }), link.lastId]),
    );
  });

  it("a call that is not to be resumed is interrupted", async () => {
    const server = createServer({ name: "s", version: "1" });
    server.tool("slow", {}, async (_args, ex) => {
      await ex.progress(1, 2);
      await new Promise((resolve) => ex.signal.addEventListener("abort", resolve));
      return {};
    });
    await using serving = await serve(server, { port: 0, drainMs: 10 });
    await using relay = await openRelay(serving.port);
    await using link = new Link(sender, relay.url, revision);
    await link.open();
    const asked = failureOf(
      link.ask("tools/call", { name: "slow", arguments: {}, _meta: { progressToken: 1 } }),
    );
    await until("it began", () => link.recorder.heard.length === 1);
    relay.cut();
    expect((await asked).kind).toBe("interrupted");
  });
});
