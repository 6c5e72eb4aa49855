import { describe, expect, it } from "vitest";
import {
  assertClientMessage,
  assertReply,
  assertServerMessage,
  checkClientMessage,
  checkServerMessage,
  revisions,
} from "../support/wire.ts";

type Fields = Record<string, unknown>;

describe.each(revisions)("a server's message of %s", (revision) => {
  const send = (method: string, params?: unknown, fields: Fields = {}) =>
    checkServerMessage(revision, { jsonrpc: "2.0", method, params, ...fields });

  it("is a notification that the revision defines", () => {
    expect(send("notifications/tools/list_changed")).toEqual([]);
    expect(send("notifications/resources/updated", { uri: "file:///a" })).toEqual([]);
    const log = { level: "info", data: { any: 1 }, _meta: {} };
    expect(send("notifications/message", log)).toEqual([]);
    expect(send("notifications/message", { ...log, level: "loud" })).not.toEqual([]);
    expect(send("notifications/message", { ...log, text: "a" })).toEqual([
      `params.text: not defined by ${revision}`,
    ]);
    expect(send("notifications/resources/updated")).not.toEqual([]);
    expect(send("notifications/initialized")).not.toEqual([]);
    expect(checkServerMessage(revision, { method: "notifications/tools/list_changed" })).toEqual([
      "message: must have required property 'jsonrpc'",
    ]);
    expect(send("notifications/tools/list_changed", undefined, { sentAt: 1 })).not.toEqual([]);
  });

  it("has a progress message since 2025-03-26", () => {
    const progress = { progressToken: "a", progress: 0.5, total: 1 };
    expect(send("notifications/progress", progress)).toEqual([]);
    const problems = send("notifications/progress", { ...progress, message: "half" });
    expect(problems.length === 0).toBe(revision >= "2025-03-26");
  });

  it("acknowledges a subscription in 2026-07-28 only", () => {
    const params = { notifications: { toolsListChanged: true } };
    const problems = send("notifications/subscriptions/acknowledged", params);
    expect(problems.length === 0).toBe(revision === "2026-07-28");
  });

  it("asks only where there is a handshake, elicits since 2025-06-18", () => {
    const isHandshake = revision !== "2026-07-28";
    expect(send("roots/list", undefined, { id: 1 }).length === 0).toBe(isHandshake);
    expect(send("ping", undefined, { id: "a" }).length === 0).toBe(isHandshake);
    const form = { message: "Name?", requestedSchema: { type: "object", properties: {} } };
    const elicits = send("elicitation/create", form, { id: 1 }).length === 0;
    expect(elicits).toBe(isHandshake && revision >= "2025-06-18");
    expect(send("tools/list", undefined, { id: 1 })).not.toEqual([]);
    expect(send("ping", undefined, { id: null })).not.toEqual([]);
  });
});

describe.each(revisions)("a client's message of %s", (revision) => {
  const isHandshake = revision !== "2026-07-28";
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": revision,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const send = (method: string, params?: Fields, id: unknown = 1) =>
    checkClientMessage(revision, {
      jsonrpc: "2.0",
      id,
      method,
      params: isHandshake ? params : { _meta, ...params },
    });

  it("is a request that the revision defines", () => {
    expect(send("tools/list")).toEqual([]);
    expect(send("tools/call", { name: "add", arguments: { a: 1 } })).toEqual([]);
    expect(send("tools/call", { arguments: {} })).not.toEqual([]);
    expect(send("tools/call", { name: "add", args: {} })).toEqual([
      `params.args: not defined by ${revision}`,
    ]);
    expect(send("ping").length === 0).toBe(isHandshake);
    expect(send("server/discover").length === 0).toBe(!isHandshake);
    expect(send("roots/list")).not.toEqual([]);
    expect(send("tools/list", {}, null)).not.toEqual([]);
  });

  it("carries a progress token", () => {
    const meta = isHandshake ? {} : _meta;
    const params = { name: "add", _meta: { ...meta, progressToken: "a" } };
    expect(send("tools/call", params)).toEqual([]);
  });

  it("is a notification that the revision defines", () => {
    const notify = (method: string, params?: Fields) =>
      checkClientMessage(revision, { jsonrpc: "2.0", method, params });
    expect(notify("notifications/cancelled", { requestId: 1, reason: "bored" })).toEqual([]);
    expect(notify("notifications/cancelled", { requestId: [] })).not.toEqual([]);
    expect(notify("notifications/initialized").length === 0).toBe(isHandshake);
    expect(notify("notifications/tools/list_changed")).not.toEqual([]);
  });
});

it("a client's message of 2026-07-28 introduces itself in that revision", () => {
  const send = (version: string, fields: Fields = {}) =>
    checkClientMessage("2026-07-28", {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/list",
      params: {
        _meta: {
          "io.modelcontextprotocol/protocolVersion": version,
          "io.modelcontextprotocol/clientCapabilities": {},
          ...fields,
        },
      },
    });
  expect(send("2026-07-28")).toEqual([]);
  expect(send("2025-11-25")).not.toEqual([]);
  const capabilities = "io.modelcontextprotocol/clientCapabilities";
  expect(send("2026-07-28", { [capabilities]: undefined })).not.toEqual([]);
  expect(send("2026-07-28", { [capabilities]: { tasks: {} } })).not.toEqual([]);
});

describe("assertions", () => {
  it("list the problems and show the message", () => {
    const result = { tools: [{ name: "a", title: "A" }] };
    const bad = { jsonrpc: "2.0", id: "1", result };
    const attempt = () => assertReply("2024-11-05", { method: "tools/list", id: 1 }, bad);
    expect(attempt).toThrow(/inputSchema[\s\S]*title: not defined[\s\S]*"tools"/);
    expect(() => assertServerMessage("2026-07-28", {})).toThrow(/jsonrpc/);
    expect(() => assertClientMessage("2026-07-28", {})).toThrow(/jsonrpc/);
  });

  it("are silent about valid messages", () => {
    assertReply("2024-11-05", { method: "ping", id: 1 }, { jsonrpc: "2.0", id: 1, result: {} });
    assertServerMessage("2024-11-05", { jsonrpc: "2.0", id: 1, method: "ping" });
    assertClientMessage("2024-11-05", { jsonrpc: "2.0", id: 1, method: "ping" });
  });
});
