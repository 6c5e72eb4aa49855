import { describe, expect, it } from "vitest";
import {
  envelope,
  headersFor,
  headerValue,
  initializeParams,
  notification,
  request,
} from "../support/messages.ts";
import { assertClientMessage, revisions } from "../support/wire.ts";

const handshake = revisions.filter((revision) => revision !== "2026-07-28");
const versionKey = "io.modelcontextprotocol/protocolVersion";
const infoKey = "io.modelcontextprotocol/clientInfo";
const capabilitiesKey = "io.modelcontextprotocol/clientCapabilities";

describe.each(revisions)("messages of %s", (revision) => {
  it("are valid", () => {
    assertClientMessage(revision, request(revision, 1, "tools/list"));
    assertClientMessage(revision, request(revision, "a", "tools/call", { name: "add" }));
    assertClientMessage(revision, notification("notifications/cancelled", { requestId: 1 }));
  });

  it("carry content headers", () => {
    expect(headersFor(revision, request(revision, 1, "tools/list"))).toMatchObject({
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    });
  });

  it("name the revision in a header since 2025-06-18", () => {
    const headers = headersFor(revision, request(revision, 1, "tools/list"));
    const expected = revision >= "2025-06-18" ? revision : undefined;
    expect(headers["mcp-protocol-version"]).toBe(expected);
    const reply = { jsonrpc: "2.0", id: 1, result: {} };
    expect(headersFor(revision, reply)["mcp-protocol-version"]).toBe(expected);
  });
});

describe.each(handshake)("the handshake of %s", (revision) => {
  it("begins with a valid initialize, without the header it settles", () => {
    const hello = request(revision, 0, "initialize", initializeParams(revision));
    assertClientMessage(revision, hello);
    expect(headersFor(revision, hello)).not.toHaveProperty("mcp-protocol-version");
    assertClientMessage(revision, notification("notifications/initialized"));
  });

  it("leaves requests without an envelope or mirrored headers", () => {
    const params = { name: "add", _meta: { progressToken: 1 } };
    const message = request(revision, 1, "tools/call", params);
    expect(envelope(revision)).toBeUndefined();
    expect(message).toEqual({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    expect(request(revision, 1, "ping")).toEqual({ jsonrpc: "2.0", id: 1, method: "ping" });
    expect(Object.keys(headersFor(revision, message)).join()).not.toMatch(/mcp-(method|name)/);
  });
});

describe("an envelope of 2026-07-28", () => {
  it("names the revision, the client and its capabilities", () => {
    const clientInfo = { name: "a", version: "2" };
    const capabilities = { elicitation: { form: {} } };
    expect(envelope("2026-07-28", { clientInfo, capabilities })).toEqual({
      [versionKey]: "2026-07-28",
      [infoKey]: clientInfo,
      [capabilitiesKey]: capabilities,
    });
  });

  it("is merged under what the request says itself", () => {
    const _meta = { [versionKey]: "2099-01-01", progressToken: 1 };
    const { params } = request("2026-07-28", 1, "tools/call", { name: "add", _meta });
    expect(params).toMatchObject({
      name: "add",
      _meta: { [versionKey]: "2099-01-01", [capabilitiesKey]: {}, progressToken: 1 },
    });
  });
});

describe("headers of 2026-07-28", () => {
  const headersOf = (method: string, params?: Record<string, unknown>) =>
    headersFor("2026-07-28", request("2026-07-28", 1, method, params));

  it("mirror the method, and the name where there is one", () => {
    expect(headersOf("tools/call", { name: "add" })).toMatchObject({
      "mcp-method": "tools/call",
      "mcp-name": "add",
    });
    expect(headersOf("prompts/get", { name: "ask" })["mcp-name"]).toBe("ask");
    expect(headersOf("resources/read", { uri: "file:///a", name: "b" })["mcp-name"]).toBe(
      "file:///a",
    );
    expect(headersOf("tools/list", { name: "add" })).not.toHaveProperty("mcp-name");
    expect(headersOf("toString", { name: "add" })).not.toHaveProperty("mcp-name");
    expect(headersOf("tools/call", { name: 1 })).not.toHaveProperty("mcp-name");
  });

  it.each([
    ["us-west1", "us-west1"],
    ["two words", "two words"],
    ["Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="],
    [" padded ", "=?base64?IHBhZGRlZCA=?="],
    ["line1\nline2", "=?base64?bGluZTEKbGluZTI=?="],
    ["=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="],
    ["=?base64?", "=?base64?"],
  ])("carry %j as %s", (text, value) => {
    expect(headerValue(text)).toBe(value);
    expect(headersOf("tools/call", { name: text })["mcp-name"]).toBe(value);
    expect(new Headers({ name: value }).get("name")).toBe(value);
  });
});
