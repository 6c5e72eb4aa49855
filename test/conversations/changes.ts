/** Changes are told to those who asked for them, once, and on one stream. */
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { Conversant, within } from "../support/conversant.ts";
import { columns, createConversing } from "../support/conversing.ts";
import { isObject, type JsonObject, type Revision } from "../support/wire.ts";
import type { WireKind } from "../support/wires.ts";
import { group } from "./group.ts";

const updated = "notifications/resources/updated";
const toolsChanged = "notifications/tools/list_changed";
const promptsChanged = "notifications/prompts/list_changed";
const acknowledged = "notifications/subscriptions/acknowledged";
const subscriptionKey = "io.modelcontextprotocol/subscriptionId";
const overHttp = (wire: WireKind) => wire === "socket" || wire === "fetch";
/** Longer than changes are gathered for. */
const quiet = () => delay(40);

const handshakes = columns.filter(([revision]) => revision !== "2026-07-28");
const modern = columns.filter(([revision]) => revision === "2026-07-28");

const open = (wire: WireKind, revision: Revision) =>
  Conversant.open(wire, revision, createConversing().server);

export const subscribers = group("a client that subscribes", handshakes, (revision, wire) => {
  async function watch(peer: Conversant, ...uris: string[]): Promise<void> {
    for (const uri of uris) await peer.ask("resources/subscribe", { uri });
    if (overHttp(wire)) await peer.listen();
  }

  it("hears of a resource that it subscribed to, and of no other", async () => {
    await using peer = await open(wire, revision);
    await watch(peer, "note://1");
    await peer.call("touch");
    await peer.until(() => peer.heard.length > 0, "the change is told");
    await quiet();
    expect(peer.heard.map(({ message }) => message)).toEqual([
      { jsonrpc: "2.0", method: updated, params: { uri: "note://1" } },
    ]);
    expect(peer.heard[0]?.origin.via).toBe(overHttp(wire) ? "get" : "channel");
  });

  it("hears no more of a resource that it let go of", async () => {
    await using peer = await open(wire, revision);
    await watch(peer, "note://1", "note://2");
    await peer.ask("resources/unsubscribe", { uri: "note://1" });
    await peer.call("touch");
    await peer.until(() => peer.heard.length > 0, "the change is told");
    await quiet();
    expect(peer.told(updated)).toEqual([{ uri: "note://2" }]);
  });

  it("hears of each list that changed, once for many changes at once", async () => {
    await using peer = await open(wire, revision);
    await watch(peer);
    await peer.call("grow");
    await peer.until(() => peer.heard.length > 1, "the changes are told");
    await quiet();
    expect(peer.heard.map(({ message }) => message["method"]).toSorted()).toEqual([
      promptsChanged,
      toolsChanged,
    ]);
  });

  it("that asks for nothing hears nothing of resources", async () => {
    await using peer = await open(wire, revision);
    await watch(peer);
    await peer.call("touch");
    await quiet();
    expect(peer.heard).toEqual([]);
  });

  it("has no request to listen by", async () => {
    await using peer = await open(wire, revision);
    const { message } = await peer.askRaw("subscriptions/listen", { notifications: {} });
    expect(message["error"]).toMatchObject({ code: -32601 });
  });
});

export const sessionStreams = group(
  "the stream of a session",
  handshakes.filter(([, wire]) => overHttp(wire)),
  (revision, wire) => {
    it("is one: a new one takes the place of the one before", async () => {
      await using peer = await open(wire, revision);
      await peer.ask("resources/subscribe", { uri: "note://1" });
      const first = await peer.listen();
      await peer.listen();
      await within(first.over, "the first stream ends");
      await peer.call("touch");
      await peer.until(() => peer.heard.length > 0, "the change is told");
      await quiet();
      expect(peer.told(updated)).toHaveLength(1);
    });

    it("ends with its session, and when the server is shut", async () => {
      await using peer = await open(wire, revision);
      await using other = await open(wire, revision);
      const [ended, shut] = [await peer.listen(), await other.listen()];
      await peer.endSession();
      await within(ended.over, "it ends with its session");
      other.wire.shut();
      await within(shut.over, "it ends with the server");
    });

    it("is not there without sessions, and no change is announced that none could tell", async () => {
      const { server } = createConversing();
      const endpoint = { sessions: false };
      await using peer = await Conversant.open(wire, revision, server, { endpoint });
      const { response } = await peer.listen();
      expect((await response)?.status).toBe(405);
      expect(JSON.stringify(peer.opened)).not.toMatch(/listChanged|subscribe/);
    });
  },
);

export const listeners = group("a listener", modern, (_, wire) => {
  const everything = { toolsListChanged: true, promptsListChanged: true };

  async function listen(peer: Conversant, notifications: JsonObject) {
    const started = peer.start("subscriptions/listen", { notifications });
    const isOwn = (params: unknown): boolean =>
      isObject(params) &&
      isObject(params["_meta"]) &&
      params["_meta"][subscriptionKey] === started.id;
    const own = () =>
      peer.heard.filter(({ message }) => isOwn(message["params"])).map(({ message }) => message);
    await peer.until(() => own().length > 0, "it is acknowledged");
    return { ...started, own };
  }

  const methods = (messages: readonly JsonObject[]) => messages.map(({ method }) => method);

  it("is told first what it will hear of, and then that alone", async () => {
    await using peer = await open(wire, "2026-07-28");
    const notifications = { toolsListChanged: true, resourceSubscriptions: ["note://1"] };
    const { id, own } = await listen(peer, notifications);
    await peer.call("touch");
    await peer.call("grow");
    await peer.until(() => own().length > 2, "the changes are told");
    await quiet();
    const meta = { [subscriptionKey]: id };
    expect(own()).toEqual([
      { jsonrpc: "2.0", method: acknowledged, params: { _meta: meta, notifications } },
      { jsonrpc: "2.0", method: updated, params: { _meta: meta, uri: "note://1" } },
      { jsonrpc: "2.0", method: toolsChanged, params: { _meta: meta } },
    ]);
    expect(peer.heard).toHaveLength(3);
  });

  it("hears each of several subscriptions under its own id", async () => {
    await using peer = await open(wire, "2026-07-28");
    const tools = await listen(peer, { toolsListChanged: true });
    const all = await listen(peer, everything);
    await peer.call("grow");
    await peer.until(() => all.own().length > 2, "the changes are told");
    await quiet();
    expect(methods(tools.own())).toEqual([acknowledged, toolsChanged]);
    expect(methods(all.own()).toSorted()).toEqual([promptsChanged, acknowledged, toolsChanged]);
  });

  it("hears no more once it has cancelled, while others still do", async () => {
    await using peer = await open(wire, "2026-07-28");
    const gone = await listen(peer, { toolsListChanged: true });
    const still = await listen(peer, { toolsListChanged: true });
    if (overHttp(wire)) gone.sending.disconnect();
    else peer.notify("notifications/cancelled", { requestId: gone.id });
    await peer.ask("server/discover");
    await peer.call("grow");
    await peer.until(() => still.own().length > 1, "the others are told");
    await quiet();
    expect(methods(gone.own())).toEqual([acknowledged]);
    expect(await Promise.race([gone.reply, delay(1, "silence")])).toBe("silence");
  });

  it("is answered when the server is shut, which tells an end from a loss", async () => {
    await using peer = await open(wire, "2026-07-28");
    const { id, reply } = await listen(peer, everything);
    peer.wire.shut();
    const { message } = await within(reply, "it is answered");
    expect(message["result"]).toEqual({
      resultType: "complete",
      _meta: expect.objectContaining({ [subscriptionKey]: id }),
    });
  });

  it("that asks for nothing is acknowledged and answered", async () => {
    await using peer = await open(wire, "2026-07-28");
    const { own, reply } = await listen(peer, {});
    expect(own()).toMatchObject([{ params: { notifications: {} } }]);
    expect((await within(reply, "it is answered")).message).toHaveProperty("result");
  });

  it("is not promised changes of lists that are frozen", async () => {
    const { server } = createConversing();
    server.freeze();
    await using peer = await Conversant.open(wire, "2026-07-28", server);
    const { own } = await listen(peer, { ...everything, resourceSubscriptions: ["note://1"] });
    expect(own()).toMatchObject([
      { params: { notifications: { resourceSubscriptions: ["note://1"] } } },
    ]);
  });

  it.each([undefined, 5, { resourceSubscriptions: "note://1" }, { resourceSubscriptions: [1] }])(
    "is refused a filter that is none (%j)",
    async (notifications) => {
      await using peer = await open(wire, "2026-07-28");
      const { message, origin } = await peer.askRaw("subscriptions/listen", { notifications });
      expect(message["error"]).toMatchObject({ code: -32602 });
      expect(origin.status).toBe(overHttp(wire) ? 200 : undefined);
    },
  );

  it("cannot subscribe as clients of a session do", async () => {
    await using peer = await open(wire, "2026-07-28");
    const { message } = await peer.askRaw("resources/subscribe", { uri: "note://1" });
    expect(message["error"]).toMatchObject({ code: -32601 });
  });
});
