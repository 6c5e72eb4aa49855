/** The shape of an answer depends on the revision, not on whether there is a session. */
import { describe, expect, it } from "vitest";
import { bridges, type Line, matrix, openLine, Peer } from "../support/peer.ts";
import { createShowcase, values } from "../support/showcase.ts";
import { isObject, type JsonObject, type Revision } from "../support/wire.ts";

const asked: readonly (readonly [string, JsonObject])[] = [
  ["server/discover", {}],
  ["tools/list", {}],
  ["resources/list", {}],
  ["resources/templates/list", {}],
  ["prompts/list", {}],
  ...[...Object.keys(values).map((name) => `value_${name}`), "audio", "link", "newcomer"].map(
    (name) => ["tools/call", { name }] as const,
  ),
  ["resources/read", { uri: "note://1" }],
  ["resources/read", { uri: "note://nowhere" }],
  ["prompts/get", { name: "greet", arguments: { name: "Ann" } }],
  ["prompts/get", { name: "nope" }],
  ["no/such", {}],
];

/** What a server says of itself, but for what only a session could be told of. */
function untold(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(untold);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(
    ([name]) => !["listChanged", "subscribe", "logging"].includes(name),
  );
  return Object.fromEntries(kept.map(([name, item]) => [name, untold(item)]));
}

async function hear(line: Line, revision: Revision): Promise<unknown[]> {
  const peer = await Peer.open(line, revision);
  const heard: unknown[] = [peer.opened];
  for (const [method, params] of asked) heard.push(await peer.ask(method, params));
  return heard;
}

describe.each(matrix)("%s over %s", (revision, bridge) => {
  it("answers without sessions as it does with them", async () => {
    const server = createShowcase();
    const lines = [
      await openLine(bridge, server),
      await openLine(bridge, server, { sessions: false }),
    ] as const;
    try {
      const [inSession, without] = [await hear(lines[0], revision), await hear(lines[1], revision)];
      if (revision === "2026-07-28") {
        expect(without).toEqual(inSession);
        return;
      }
      // Nobody is there to be told of a change or an entry, so none is promised.
      expect(JSON.stringify(inSession)).toMatch(/logging.*listChanged.*subscribe/);
      expect(without).toEqual(untold(inSession));
    } finally {
      for (const line of lines) await line.close();
    }
  });
});

describe.each(bridges)("an array of messages over %s", (bridge) => {
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };

  async function send(items: readonly unknown[]): Promise<unknown> {
    const line = await openLine(bridge, createShowcase());
    try {
      const headers = { "content-type": "application/json" };
      return JSON.parse((await line.send({ headers, body: JSON.stringify(items) })).text);
    } finally {
      await line.close();
    }
  }

  it.each([
    ["two requests", ping],
    ["a request and a malformed message", { ...ping, jsonrpc: "1.0" }],
    ["a request and a message without a method", { jsonrpc: "2.0", id: 1 }],
  ])("is refused whole when %s have one id", async (_, other) => {
    for (const items of [
      [ping, other],
      [other, ping],
    ]) {
      const reply = await send(items);
      expect(isObject(reply) && reply["error"]).toMatchObject({ code: -32600 });
    }
  });

  it("tells ids of different types apart, and forgives many that have none", async () => {
    const replies = await send([ping, { ...ping, id: "1" }, { a: 1 }, { b: 2 }]);
    if (!Array.isArray(replies)) throw new Error(`is no array: ${JSON.stringify(replies)}`);
    expect(replies.map(({ id }) => id)).toEqual([1, "1", null, null]);
  });
});
