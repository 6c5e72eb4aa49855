/** Headers that mirror the body of a request of 2026-07-28. */
import { createServer, type Server } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { bridges, openBridge } from "../support/bridges.ts";
import { handshakes, rows } from "../support/matrix.ts";
import { notification, request } from "../support/messages.ts";
import { openCaller, textOf } from "../support/raw-caller.ts";
import type { Revision } from "../support/wire.ts";

const modern: Revision = "2026-07-28";

function base64(bytes: string | Uint8Array): string {
  return `=?base64?${Buffer.from(bytes).toString("base64")}?=`;
}

/** Tools whose very names are traps for a decoder, and mirrored arguments of every kind. */
function mirrored(): { readonly server: Server; readonly runs: () => number } {
  let runs = 0;
  const server = createServer({ name: "mirrored", version: "1.0.0" });
  for (const name of ["echo", "=?base64?=", "=?base64??=", "=?base64?@@@?=", "caf\u00e9", "a, b"]) {
    server.tool(name, {}, () => `${++runs}`);
  }
  server.tool(
    "typed",
    {
      input: {
        type: "object",
        properties: {
          n: { type: "integer", "x-mcp-header": "N" },
          flag: { type: "boolean", "x-mcp-header": "Flag" },
          place: {
            type: "object",
            properties: { city: { type: "string", "x-mcp-header": "City" } },
          },
        },
      },
    },
    (args) => JSON.stringify(args),
  );
  // What is declared is no URI in the strict sense, so the answer names the one it stands for.
  server.resource("note://caf\u00e9", {}, () => ({ uri: "note://caf%C3%A9", text: "a note" }));
  server.prompt("gr\u00fc\u00dfe", {}, () => "hello");
  return { server, runs: () => runs };
}

describe.each(bridges)("over the %s bridge", (name) => {
  it("R029: a wrapped name is decoded before it is compared", async () => {
    await using bridge = await openBridge(name, mirrored().server);
    const caller = await openCaller(bridge, modern);
    const headers = { "mcp-name": "=?base64?ZWNobw==?=" };
    const called = await caller.request("tools/call", { name: "echo", arguments: {} }, { headers });
    expect(textOf(called)).toBe("1");
    const uri = "note://caf\u00e9";
    const read = request(modern, "read", "resources/read", { uri });
    const wrapped = { headers: { "mcp-name": base64(uri) } };
    expect((await caller.send(read, wrapped)).status).toBe(200);
    const prompt = "gr\u00fc\u00dfe";
    const get = { headers: { "mcp-name": base64(prompt) } };
    expect((await caller.request("prompts/get", { name: prompt }, get)).status).toBe(200);
  });

  it("R029: a wrapped argument is decoded before it is compared, also one inside an object", async () => {
    await using bridge = await openBridge(name, mirrored().server);
    const caller = await openCaller(bridge, modern);
    const params = { name: "typed", arguments: { place: { city: "K\u00f6ln" }, flag: true } };
    const headers = { "mcp-param-city": base64("K\u00f6ln"), "mcp-param-flag": base64("true") };
    const called = await caller.request("tools/call", params, { headers });
    expect(textOf(called)).toBe(JSON.stringify(params.arguments));
    for (const spoiled of [base64("Bonn"), "Bonn", undefined]) {
      const refused = await caller.request("tools/call", params, {
        headers: { ...headers, "mcp-param-city": spoiled },
      });
      expect([refused.status, refused.error.code]).toEqual([400, -32020]);
    }
  });

  it("R030: markers that overlap wrap nothing, so a tool of that name is served", async () => {
    await using bridge = await openBridge(name, mirrored().server);
    const caller = await openCaller(bridge, modern);
    const call = (tool: string, header: string) =>
      caller.request("tools/call", { name: tool }, { headers: { "mcp-name": header } });
    expect((await call("=?base64?=", "=?base64?=")).status).toBe(200);
    expect((await call("=?base64?@@@?=", "=?base64?@@@?=")).status).toBe(200);
    expect((await call("=?base64??=", "=?base64??=")).error.code).toBe(-32020);
    expect((await call("=?base64??=", base64("=?base64??="))).status).toBe(200);
  });

  it.each([
    ["R030: a name that is no more than a marker", "=?base64?="],
    ["R030: a name of two markers", "=?base64??="],
    ["R030: a name that is a marker and a half", "=?base64?"],
    ["R030: a name that is the end of a marker", "?="],
    ["R032: a name with a bad alphabet", "=?base64?@@@?="],
    ["R032: a name with a missing padding", "=?base64?ZWNobw?="],
    ["R032: a name with a blank inside", "=?base64?ZWNo bw==?="],
    ["R032: a name with bits past the end", "=?base64?ZWNobx==?="],
    ["R032: a name with bytes that are not UTF-8", "=?base64?/w==?="],
    ["R032: a name with the marker in capitals", "=?BASE64?ZWNobw==?="],
    ["R032: a name with the letters of base64url", "=?base64?_w==?="],
    ["R032: a name with the wrong case", "Echo"],
    ["R032: a name of nothing", ""],
  ])("%s is refused before anything runs", async (_, header) => {
    const { server, runs } = mirrored();
    await using bridge = await openBridge(name, server);
    const caller = await openCaller(bridge, modern);
    const refused = await caller.request(
      "tools/call",
      { name: "echo" },
      {
        headers: { "mcp-name": header },
      },
    );
    expect([refused.status, refused.error.code]).toEqual([400, -32020]);
    expect(runs()).toBe(0);
  });

  it("R032: a raw byte past ASCII is refused though it reads like the name", async () => {
    const { server, runs } = mirrored();
    await using bridge = await openBridge(name, server);
    const caller = await openCaller(bridge, modern);
    // Both bridges put U+00E9 on the wire as the one byte 0xE9.
    const refused = await caller.request(
      "tools/call",
      { name: "caf\u00e9" },
      {
        headers: { "mcp-name": "caf\u00e9" },
      },
    );
    expect([refused.status, refused.error.code]).toEqual([400, -32020]);
    expect(runs()).toBe(0);
  });

  it("R032: blanks around a header are no part of its value", async () => {
    await using bridge = await openBridge(name, mirrored().server);
    const caller = await openCaller(bridge, modern);
    const called = await caller.request(
      "tools/call",
      { name: "echo" },
      {
        headers: {
          "mcp-protocol-version": `  ${modern} `,
          "mcp-method": " tools/call\t",
          "mcp-name": "\t echo ",
        },
      },
    );
    expect(called.status).toBe(200);
  });

  it.each([
    ["42", "42"],
    ["42", "42.0"],
    ["42.0", "42"],
    ["42.0", "42.0"],
    ["4.2e1", "42"],
    ["-7", "-7.00"],
    ["0", "0"],
  ])("R034: the integer %s in the body equals %s in the header", async (body, header) => {
    await using bridge = await openBridge(name, mirrored().server);
    const caller = await openCaller(bridge, modern);
    const params = { name: "typed", arguments: { n: 1234567 } };
    const message = request(modern, 1, "tools/call", params);
    const text = JSON.stringify(message).replace("1234567", body);
    const called = await caller.send(message, { headers: { "mcp-param-n": header }, text });
    expect(textOf(called)).toBe(JSON.stringify({ n: Number(body) }));
  });

  it.each(["43", "42abc", "0x2a", "", "42, 42", "NaN", "4.2e1"])(
    "R034: the header %j is not the integer 42",
    async (header) => {
      await using bridge = await openBridge(name, mirrored().server);
      const caller = await openCaller(bridge, modern);
      const params = { name: "typed", arguments: { n: 42 } };
      const refused = await caller.request("tools/call", params, {
        headers: { "mcp-param-n": header },
      });
      expect([refused.status, refused.error.code]).toEqual([400, -32020]);
    },
  );

  it("R034: a version repeated as one value is that value, as two it is refused", async () => {
    await using bridge = await openBridge(name, mirrored().server);
    const caller = await openCaller(bridge, modern);
    const list = (...versions: string[]) =>
      caller.request("tools/list", {}, { headers: { "mcp-protocol-version": versions } });
    expect((await list(modern, modern)).status).toBe(200);
    expect((await list(`${modern},${modern}`)).status).toBe(200);
    for (const older of handshakes) {
      for (const versions of [[older, modern], [modern, older], [`${older}, ${modern}`]]) {
        const refused = await list(...versions);
        expect([refused.status, refused.error.code]).toEqual([400, -32020]);
      }
    }
  });

  it("R034: a method or a name given twice is refused, whichever of the two would match", async () => {
    const { server, runs } = mirrored();
    await using bridge = await openBridge(name, server);
    const caller = await openCaller(bridge, modern);
    const spoiled = [
      { "mcp-name": ["echo", "other"] },
      { "mcp-name": ["other", "echo"] },
      { "mcp-name": "echo, echo" },
      { "mcp-method": ["tools/call", "tools/list"] },
      { "mcp-method": "tools/call, tools/call" },
    ];
    for (const headers of spoiled) {
      const refused = await caller.request("tools/call", { name: "echo" }, { headers });
      expect([refused.status, refused.error.code]).toEqual([400, -32020]);
    }
    expect(runs()).toBe(0);
    const headers = { "mcp-name": "a, b" };
    expect((await caller.request("tools/call", { name: "a, b" }, { headers })).status).toBe(200);
  });

  it("R036: a header equal to an argument of the wrong type is no mismatch; the argument is", async () => {
    await using bridge = await openBridge(name, mirrored().server);
    const caller = await openCaller(bridge, modern);
    const params = { name: "typed", arguments: { n: "abc" } };
    const called = await caller.request("tools/call", params, {
      headers: { "mcp-param-n": "abc" },
    });
    expect(called.status).toBe(200);
    expect(called.result["isError"]).toBe(true);
    expect(textOf(called)).toContain("n");
  });

  it("R040: a notification is accepted whatever headers it lacks, and does nothing", async () => {
    await using bridge = await openBridge(name, mirrored().server);
    const caller = await openCaller(bridge, modern);
    const cancel = notification("notifications/cancelled", { requestId: 3 });
    for (const headers of [{}, { "mcp-method": undefined }, { "mcp-method": "tools/list" }]) {
      const accepted = await caller.send(cancel, { headers });
      expect([accepted.status, accepted.text]).toEqual([202, ""]);
    }
  });
});

describe.each(rows(handshakes))("in $revision over $bridge", ({ revision, bridge: name }) => {
  it("R038: a tool with mirrored arguments is listed plainly and called without the headers", async () => {
    await using bridge = await openBridge(name, createFixture());
    const caller = await openCaller(bridge, revision);
    expect((await caller.request("tools/list")).text).not.toContain("x-mcp-header");
    for (const headers of [{}, { "mcp-param-region": "elsewhere", "mcp-param-tier": "9" }]) {
      const params = { name: "region", arguments: { region: "eu", tier: 2 } };
      const called = await caller.request("tools/call", params, { headers });
      expect(JSON.parse(textOf(called))).toEqual(params.arguments);
    }
  });
});
