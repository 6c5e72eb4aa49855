/** Probes on a connection that both eras share. */
import { openMemoryChannel } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { handshakes } from "../support/matrix.ts";
import { initializeParams, request } from "../support/messages.ts";
import { openPipe } from "../support/pipe.ts";
import { isObject, type JsonObject } from "../support/schemas.ts";
import { until } from "../support/signals.ts";
import { assertReply } from "../support/wire.ts";

const modern = "2026-07-28";

describe.each(handshakes)("of a server that is then spoken to in %s", (revision) => {
  const probe = request(modern, 0, "server/discover");
  const hello = request(revision, 1, "initialize", initializeParams(revision));
  const old = request(revision, 2, "tools/list");
  const current = request(modern, 3, "tools/list");
  const orders = [
    [probe, hello, old, current],
    [hello, probe, current, old],
    [probe, hello, current, old],
  ];

  it.each(orders.map((order) => [order.map(({ method }) => method).join(", "), order] as const))(
    "R021: over stdio, discovery selects nothing: %s",
    async (_, order) => {
      await using pipe = openPipe(createFixture({ log: () => undefined }));
      const { end } = pipe;
      for (const message of order) {
        end.expect(message === probe || message === current ? modern : revision, { ...message });
      }
      end.write(order.map((message) => `${JSON.stringify(message)}\n`).join(""));
      const replies = await Promise.all(order.map(({ id }) => end.reply(id)));
      expect(end.problems).toEqual([]);
      expectEras(new Map(replies.map(({ message }) => [message["id"], message])), revision);
    },
  );

  it("R021: in memory, discovery selects nothing", async () => {
    const server = createFixture({ log: () => undefined });
    for (const order of orders) {
      const replies = new Map<unknown, JsonObject>();
      await using channel = openMemoryChannel(server, (message) => {
        if (isObject(message)) replies.set(message["id"], message);
      });
      for (const message of order) channel.send(message);
      await until("all are answered", () => replies.size === order.length);
      for (const message of order) {
        const era = message === probe || message === current ? modern : revision;
        assertReply(era, message, replies.get(message.id));
      }
      expectEras(replies, revision);
    }
  });
});

function expectEras(replies: ReadonlyMap<unknown, JsonObject>, revision: string): void {
  const [discovered, opened, old, current] = [0, 1, 2, 3].map((id) => {
    const result = replies.get(id)?.["result"];
    return isObject(result) ? result : {};
  });
  expect(discovered?.["supportedVersions"]).toContain(modern);
  expect(opened?.["protocolVersion"]).toBe(revision);
  expect(old).toHaveProperty("tools");
  expect(old).not.toHaveProperty("resultType");
  expect(current).toMatchObject({ resultType: "complete" });
}
