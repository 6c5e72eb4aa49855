/**
 * The conversations that every revision is to hold over every wire. What a revision cannot do
 * of one is named, by its row in `docs/revisions.md`, and held to what that row says.
 */
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import { refusalOf } from "../support/carrying.ts";
import { Conversant, type ConversantOptions, within } from "../support/conversant.ts";
import {
  answerAll,
  type Column,
  createConversing,
  type Kind,
  mechanic,
  nameForm,
  page,
} from "../support/conversing.ts";
import type { Revision } from "../support/wire.ts";
import type { WireKind } from "../support/wires.ts";
import { missing, refusal } from "./unasked.ts";

export interface Conversation {
  readonly name: string;
  /** The row of the page that says what the column lacks; undefined where it lacks nothing. */
  readonly lacks?: (...column: Column) => string | undefined;
  /** Holds it, or what the row says that there is instead. */
  readonly hold: (...column: Column) => Promise<void>;
}

const modern = "2026-07-28";
const overHttp = (wire: WireKind) => wire === "socket" || wire === "fetch";
const accepted = { action: "accept", accepted: true, assumed: false };

async function open(wire: WireKind, revision: Revision, options: ConversantOptions = {}) {
  const { server, effects } = createConversing();
  const all = { answer: answerAll(), ...options };
  return { effects, peer: await Conversant.open(wire, revision, server, all) };
}

/** How often a call is made that asks so many times, one after the other. */
function roundsOf(revision: Revision, kind: Kind, asked: number): number {
  return mechanic(revision, kind) === "push" ? 1 : asked + 1;
}

const asking: readonly Conversation[] = [
  {
    name: "ask",
    hold: async (revision, wire) => {
      await using peer = (await open(wire, revision)).peer;
      expect(await peer.call("ask")).toEqual({ ...accepted, content: { name: "Ada" } });
      expect(peer.questions).toHaveLength(1);
      const [question] = peer.questions;
      expect(question?.method).toBe("elicitation/create");
      expect(question?.params).toMatchObject({ message: "who?", requestedSchema: nameForm });
      expect(peer.rounds).toBe(roundsOf(revision, "form", 1));
    },
  },
  {
    name: "ask twice",
    hold: async (revision, wire) => {
      const answer = answerAll((message) => `<${message}>`);
      await using peer = (await open(wire, revision, { answer })).peer;
      expect(await peer.call("ask_twice")).toMatchObject([
        { content: { name: "<first?>" } },
        { content: { name: "<second?>" } },
      ]);
      const asked = peer.questions.map(({ params }) => params["message"]);
      expect(asked).toEqual(["first?", "second?"]);
      expect(peer.rounds).toBe(roundsOf(revision, "form", 2));
    },
  },
  ...["decline", "cancel"].map((action) => ({
    name: action === "decline" ? "decline" : "decline: a question that is closed is told apart",
    hold: async (...[revision, wire]: Column) => {
      await using peer = (await open(wire, revision, { answer: () => ({ action }) })).peer;
      expect(await peer.call("ask")).toEqual({ action, accepted: false, assumed: false });
      expect(peer.questions).toHaveLength(1);
    },
  })),
  {
    name: "default",
    hold: async (revision, wire) => {
      await using peer = (await open(wire, revision, { capabilities: {} })).peer;
      const content = { name: "Nobody" };
      expect(await peer.call("ask_or_default")).toEqual({ ...accepted, assumed: true, content });
      expect(await peer.call("sample_or_default")).toMatchObject({ text: "no poem" });
      expect(await peer.call("roots_or_default")).toEqual([{ uri: "file:///default" }]);
      expect(peer.questions).toEqual([]);
    },
  },
  {
    name: "sample",
    hold: async (revision, wire) => {
      await using peer = (await open(wire, revision)).peer;
      const content = [{ type: "text", text: "A poem." }];
      const poem = { role: "assistant", content, text: "A poem." };
      expect(await peer.call("sample")).toMatchObject(poem);
      const messages = [{ role: "user", content: { type: "text", text: "Write." } }];
      expect(peer.questions).toMatchObject([
        { method: "sampling/createMessage", params: { messages, maxTokens: 10 } },
      ]);
      expect(peer.rounds).toBe(roundsOf(revision, "sample", 1));
    },
  },
  {
    name: "roots",
    hold: async (revision, wire) => {
      await using peer = (await open(wire, revision)).peer;
      expect(await peer.call("roots")).toEqual([{ uri: "file:///work", name: "work" }]);
      expect(peer.questions).toMatchObject([{ method: "roots/list" }]);
      expect(peer.rounds).toBe(roundsOf(revision, "roots", 1));
    },
  },
  {
    name: "URL",
    lacks: (revision) =>
      mechanic(revision, "url") === "never" ? "`ex.ask` with a `url`" : undefined,
    hold: async (revision, wire) => {
      await using peer = (await open(wire, revision)).peer;
      if (mechanic(revision, "url") === "never") {
        const needed = { elicitation: { url: {} } };
        expect(await refusal(peer, "url")).toEqual(missing(revision, wire, needed));
        expect(peer.questions).toEqual([]);
        return;
      }
      expect(await peer.call("url")).toEqual(accepted);
      expect(peer.questions).toMatchObject([
        { params: { mode: "url", message: "Sign in.", url: page } },
      ]);
      expect("elicitationId" in (peer.questions[0]?.params ?? {})).toBe(revision === "2025-11-25");
      expect(peer.rounds).toBe(roundsOf(revision, "url", 1));
    },
  },
  {
    name: "once",
    hold: async (revision, wire) => {
      const { peer, effects } = await open(wire, revision);
      await using _ = peer;
      expect(await peer.call("once")).toEqual({ before: 1, between: 1, after: 1 });
      expect(effects.counted).toBe(1);
      expect(effects.runs).toBe(roundsOf(revision, "form", 2));
    },
  },
];

const telling: readonly Conversation[] = [
  {
    name: "progress",
    lacks: (revision) => (revision === "2024-11-05" ? "`message` of progress" : undefined),
    hold: async (revision, wire) => {
      await using peer = (await open(wire, revision)).peer;
      expect(await peer.call("progress", {}, { progressToken: "t" })).toBe("done");
      const words = (message: string) => (revision === "2024-11-05" ? {} : { message });
      // What does not rise is no progress.
      expect(peer.told("notifications/progress")).toEqual([
        { progressToken: "t", progress: 1, total: 3, ...words("first") },
        { progressToken: "t", progress: 3, total: 3, ...words("last") },
      ]);
      expect(peer.heard).toHaveLength(2);
    },
  },
  {
    name: "log",
    hold: async (revision, wire) => {
      await using peer = (await open(wire, revision)).peer;
      const level = "error";
      if (revision !== modern) await peer.ask("logging/setLevel", { level });
      const asked = { "io.modelcontextprotocol/logLevel": level };
      expect(await peer.call("log", {}, revision === modern ? asked : undefined)).toBe("done");
      expect(peer.told("notifications/message")).toEqual([{ level, data: null }]);
    },
  },
  {
    name: "cancel",
    hold: async (revision, wire) => {
      const { peer, effects } = await open(wire, revision);
      await using _ = peer;
      const params = { name: "wait", _meta: { progressToken: 1 } };
      const { id, reply, sending } = peer.start("tools/call", params);
      await peer.until(() => peer.heard.length > 0, "the call runs");
      const byDisconnect = revision === modern && overHttp(wire);
      if (byDisconnect) sending.disconnect();
      else {
        const reason = "enough";
        await peer.notify("notifications/cancelled", { requestId: id, reason }).over;
      }
      await within(effects.isCancelled(), "the handler hears of it");
      expect(effects.cancelled).toEqual([byDisconnect ? "the caller disconnected" : "enough"]);
      // HTTP owes every request an answer; a connection has nobody left who waits for one.
      if (overHttp(wire) && !byDisconnect) {
        expect(refusalOf(await within(reply, "it is answered"))).toMatchObject({ code: -32800 });
        return;
      }
      expect(await Promise.race([reply, delay(30, "silence")])).toBe("silence");
    },
  },
  {
    name: "change",
    hold: async (revision, wire) => {
      await using peer = (await open(wire, revision)).peer;
      const uri = "note://1";
      if (revision === modern) {
        const notifications = { resourceSubscriptions: [uri], toolsListChanged: true };
        peer.start("subscriptions/listen", { notifications });
        await peer.until(() => peer.heard.length > 0, "it is acknowledged");
      } else {
        await peer.ask("resources/subscribe", { uri });
        if (overHttp(wire)) await peer.listen();
      }
      await peer.call("touch");
      const updated = () => peer.told("notifications/resources/updated");
      await peer.until(() => updated().length > 0, "the change is told");
      await peer.call("grow");
      const grown = () => peer.told("notifications/tools/list_changed");
      await peer.until(() => grown().length > 0, "the new list is told");
      // Longer than changes are gathered for.
      await delay(40);
      expect(updated()).toMatchObject([{ uri }]);
      expect(grown()).toHaveLength(1);
    },
  },
];

export const resumption = "A stream that was lost is resumed after its last event";
export const reconnection = "A lost connection of stdio, of HTTP+SSE or in memory is resumed";

const resuming: Conversation = {
  name: "resume",
  lacks: (revision, wire) => {
    if (!overHttp(wire)) return reconnection;
    return revision === modern || revision === "2024-11-05" ? resumption : undefined;
  },
  hold: async (revision, wire) => {
    const { peer, effects } = await open(wire, revision);
    await using _ = peer;
    const params = { name: "slow", _meta: { progressToken: 1 } };
    const { reply, sending } = peer.start("tools/call", params);
    const reports = () => peer.told("notifications/progress");
    await peer.until(() => reports().length > 0, "the call runs");
    const id = peer.wire.events.findLast((event) => event.id !== undefined)?.id;
    const isLacking = resuming.lacks?.(revision, wire) !== undefined;
    expect(id === undefined).toBe(isLacking);
    if (id !== undefined) sending.disconnect();
    effects.proceed();
    if (id !== undefined) await peer.listen({ "last-event-id": id });
    // What nobody could take up again is heard to its end where it began.
    const via = overHttp(wire) ? (isLacking ? "post" : "get") : "channel";
    expect((await within(reply, "it is answered")).origin.via).toBe(via);
    expect(reports()).toMatchObject([{ progress: 1 }, { progress: 2 }]);
    const ids = peer.wire.events.flatMap((event) => event.id ?? []);
    expect(new Set(ids).size).toBe(ids.length);
  },
};

/** In the order in which a server is likely to meet them. */
export const conversations: readonly Conversation[] = [...asking, ...telling, resuming];
