/** What callers see of a hub or a store that fails: an answer, whatever happens. */
import {
  type EndpointOptions,
  type LogEntry,
  MemoryHub,
  MemorySessions,
  type Server,
} from "anyrev/node";
import { describe, expect, it } from "vitest";
import { Conversant } from "../support/conversant.ts";
import { answerAll, columns, createConversing, mechanic } from "../support/conversing.ts";
import { failures, type HubMethod, withMethods } from "../support/hubs.ts";
import { isObject, type Revision } from "../support/wire.ts";
import type { WireKind } from "../support/wires.ts";

const overHttp = columns.filter(([, wire]) => wire === "socket" || wire === "fetch");
const methods: readonly HubMethod[] = ["publish", "position", "follow", "delete"];

function declare() {
  const entries: LogEntry[] = [];
  const { server } = createConversing({ log: (entry) => entries.push(entry) });
  return { server, entries };
}

const opener =
  (revision: Revision, wire: WireKind) =>
  (server: Server, endpoint: EndpointOptions): Promise<Conversant> =>
    Conversant.open(wire, revision, server, { answer: answerAll(), endpoint });

describe.each(overHttp)("a caller of %s over %s", (revision, wire) => {
  const open = opener(revision, wire);

  describe.each(failures)("where the hub %s", (_, fail) => {
    it.each(methods)("at %s, gets the answers of calls that tell something", async (method) => {
      const { server } = declare();
      const eventHub = withMethods(new MemoryHub(), { [method]: fail });
      await using peer = await open(server, { eventHub });
      const told = await peer.call("progress", {}, { progressToken: 7 });
      expect(told).toBe("done");
      expect(peer.told("notifications/progress").length).toBeGreaterThan(0);
      expect(await peer.call("touch")).toBe("touched");
      expect(await peer.call("grow")).toBe("grown");
    });

    it.each(methods)("at %s, gets an answer of a call that asks", async (method) => {
      const { server } = declare();
      const eventHub = withMethods(new MemoryHub(), { [method]: fail });
      await using peer = await open(server, { eventHub });
      const { message } = await peer.finish("tools/call", { name: "ask", arguments: {} });
      const { result } = message;
      const isError = isObject(result) && result["isError"] === true;
      // A question that is pushed cannot do without being heard of; one that is carried can.
      const needsHub = method === "publish" || method === "follow";
      expect(isError).toBe(needsHub && mechanic(revision, "form") === "push");
    });
  });
});

const withSessions = overHttp.filter(([revision]) => revision !== "2026-07-28");

describe.each(withSessions)("a caller with a session of %s over %s", (revision, wire) => {
  const open = opener(revision, wire);

  describe.each(failures)("where the store %s", (_, fail) => {
    it("cannot open a session, and is told so", async () => {
      const { server, entries } = declare();
      const sessionStore = Object.assign(new MemorySessions(), { create: fail });
      await expect(open(server, { sessionStore })).rejects.toThrow(/refused: .*-32603/s);
      expect(entries).toContainEqual(expect.objectContaining({ level: "error" }));
    });

    it("is told so of what cannot be kept, under the id of its request", async () => {
      const { server } = declare();
      const sessionStore = new MemorySessions();
      await using peer = await open(server, { sessionStore });
      Object.assign(sessionStore, { save: fail });
      const { message, origin } = await peer.ask("logging/setLevel", { level: "error" });
      expect(message["error"]).toMatchObject({ code: -32603 });
      expect(origin.status).toBe(500);
      expect(await peer.call("touch")).toBe("touched");
    });
  });
});
