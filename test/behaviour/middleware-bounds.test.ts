/** What middleware cannot do, and where it ends. */
import { createServer, type LogEntry, type Middleware } from "anyrev/node";
import { connectInMemory } from "anyrev/testing";
import { describe, expect, it } from "vitest";
import { Conversant } from "../support/conversant.ts";
import {
  createShop,
  errorOf,
  modern,
  resultOf,
  type Seen,
  tried,
  watching,
} from "../support/shop.ts";

describe.each(tried.filter(([revision]) => revision === modern))(
  "listening in %s over %s",
  (revision, wire) => {
    const notifications = { toolsListChanged: true };

    it("is refused before anything is told, where a middleware says so", async () => {
      const server = createShop();
      server.use((call, next) => {
        if (call.operation !== "listen") return next();
        const data = { retryAfterMs: 2_500 };
        return { kind: "failure", failure: "rate-limited", message: "too many", data };
      });
      await using peer = await Conversant.open(wire, revision, server);
      const { message, origin } = await peer.ask("subscriptions/listen", { notifications });
      expect(message["error"]).toMatchObject({ code: -32603, data: { retryAfterMs: 2_500 } });
      if (wire !== "stdio") expect(origin.status).toBe(429);
      if (wire !== "stdio") expect(origin.headers?.get("retry-after")).toBe("3");
      expect(peer.heard).toEqual([]);
    });

    it("goes on as ever inside of one, and what it came to is told at its end", async () => {
      const server = createShop();
      const seen: Seen[] = [];
      server.use(watching(seen));
      await using peer = await Conversant.open(wire, revision, server);
      const { reply } = peer.start("subscriptions/listen", { notifications });
      await peer.until(() => peer.heard.length > 0, "it is acknowledged");
      server.tool("new", {}, () => "new");
      await peer.until(() => peer.heard.length > 1, "the change is told");
      expect(seen).toEqual([]);
      peer.wire.shut();
      await reply;
      expect(seen).toMatchObject([
        { call: { operation: "listen", filter: { lists: ["tools"] } }, result: { kind: "empty" } },
      ]);
    });
  },
);

describe("middleware and who may see what", () => {
  it("gives nobody what is hidden from them, whatever it answers with", async () => {
    const server = createShop();
    const visibleTo = () => false;
    server.tool("secret", { visibleTo }, () => "for few");
    server.tool("scoped", { scopes: ["admin"] }, () => "for fewer");
    server.resource("secret://1", { name: "secret", visibleTo }, () => "for few");
    server.prompt("secret", { visibleTo }, () => "for few");
    server.use((call, next) => {
      switch (call.operation) {
        case "call-tool":
          return { kind: "tool", content: [{ type: "text", text: "leaked" }] };
        case "read-resource":
          return {
            kind: "contents",
            contents: [{ uri: call.target, text: "leaked" }],
            cache: { ttlMs: 1, scope: "public" },
          };
        case "get-prompt":
          return { kind: "messages", description: "leaked", messages: [] };
        default:
          return next();
      }
    });
    await using peer = await Conversant.open("fetch", modern, server);
    const told = [
      await errorOf(peer, "tools/call", { name: "secret", arguments: {} }),
      await errorOf(peer, "tools/call", { name: "scoped", arguments: {} }),
      await errorOf(peer, "resources/read", { uri: "secret://1" }),
      await errorOf(peer, "prompts/get", { name: "secret" }),
    ];
    expect(JSON.stringify(told)).not.toContain("leaked");
    expect(await resultOf(peer, "tools/call", { name: "say", arguments: {} })).toMatchObject({
      content: [{ text: "leaked" }],
    });
  });

  it("puts nothing on a page of a listing that was not there", async () => {
    const logged: LogEntry[] = [];
    const server = createShop((entry) => logged.push(entry));
    server.use(async (_, next) => {
      const result = await next();
      if (result.kind !== "list") return result;
      const made = { key: "made", name: "made", title: undefined, description: undefined };
      return { ...result, entries: [...result.entries, made] };
    });
    await using peer = await Conversant.open("fetch", modern, server);
    expect(await errorOf(peer, "tools/list", {})).toMatchObject({ code: -32603 });
    expect(String(logged[0]?.cause)).toContain("no other entries");
  });
});

describe("a server whose handler calls another", () => {
  it("has middleware of its own, as the other has", async () => {
    const seen: string[] = [];
    const note =
      (name: string): Middleware =>
      (call, next) => {
        if (call.operation === "call-tool") seen.push(`${name}: ${call.target}`);
        return next();
      };
    const inner = createShop();
    inner.use(note("inner"));
    const outer = createServer({ name: "outer", version: "1" });
    outer.use(note("outer"));
    outer.tool("pass", {}, async () => {
      await using client = await connectInMemory(inner);
      const result = await client.call("say", {});
      return JSON.stringify(result.content);
    });
    await using client = await connectInMemory(outer);
    const { content } = await client.call("pass", {});
    expect(JSON.stringify(content)).toContain("hello");
    expect(seen).toEqual(["outer: pass", "inner: say"]);
  });
});
