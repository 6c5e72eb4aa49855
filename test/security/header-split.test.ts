/**
 * Headers that say one thing and a body that says another: what a router in front was shown is
 * what is done, or nothing is done. Held against a second reading of the pages.
 */
import { createServer, type Server } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { type BridgeName, bridges, openBridge } from "../support/bridges.ts";
import { headersFor, headerValue, request } from "../support/messages.ts";
import { type Annotated, type Finding, find } from "../support/mirror-oracle.ts";
import { Random, seedOf } from "../support/random.ts";
import { toExchanged } from "../support/raw-caller.ts";
import { assertReply, isObject, type JsonObject, revisions } from "../support/wire.ts";

const seed = seedOf(process.env);
console.log(`header split: FUZZ_SEED=${seed}`);

const pairs: Readonly<Record<BridgeName, number>> = { fetch: 3_000, node: 1_500 };

const annotated: readonly Annotated[] = [
  { name: "region", path: ["region"], isInteger: false },
  { name: "tier", path: ["tier"], isInteger: true },
  { name: "flag", path: ["flag"], isInteger: false },
  { name: "city", path: ["place", "city"], isInteger: false },
];

const names = [
  "act",
  "áct",
  "=?base64?YWN0?=",
  "=?base64?=",
  "a, b",
  " act",
  "constructor",
  "none",
];
const uris = ["note://1", "note://é", "note://2", "=?base64?bm90ZTovLzE=?="];

/** Counts what was done, by the name that it was done under. */
function declare(done: string[]): Server {
  const server = createServer({ name: "split", version: "1", log: () => undefined });
  const input = {
    type: "object",
    properties: {
      region: { type: "string", "x-mcp-header": "Region" },
      tier: { type: "integer", "x-mcp-header": "Tier" },
      flag: { type: "boolean", "x-mcp-header": "Flag" },
      place: {
        type: "object",
        properties: { city: { type: "string", "x-mcp-header": "City" } },
      },
    },
  };
  for (const name of names.slice(0, -1)) {
    server.tool(name, { input }, () => `${done.push(`tools/call ${name}`)}`);
    server.prompt(name, {}, () => `${done.push(`prompts/get ${name}`)}`);
  }
  for (const uri of uris.slice(0, 2)) {
    server.resource(uri, { name: uri }, () => {
      done.push(`resources/read ${uri}`);
      return { uri: encodeURI(uri), text: "note" };
    });
  }
  return server;
}

interface Sent {
  readonly headers: Record<string, string | string[]>;
  readonly message: { readonly method: string; readonly params: JsonObject };
}

const values: Readonly<Record<"region" | "tier" | "flag" | "city", readonly unknown[]>> = {
  region: ["eu", "us", "", " eu ", "kö", "=?base64?ZXU=?=", null, 7],
  tier: [0, 42, -7, 1.5, null, "42", 2 ** 40],
  flag: [true, false, null, "true"],
  city: ["Oslo", "Köln", null],
};

function createSent(random: Random): Sent {
  const method = random.pick([
    ...Array.from({ length: 6 }, () => "tools/call"),
    "prompts/get",
    "resources/read",
    "tools/list",
    "server/discover",
  ]);
  const args: Record<string, unknown> = {};
  for (const name of ["region", "tier", "flag"] as const) {
    if (random.chance(0.4)) args[name] = random.pick(values[name]);
  }
  if (random.chance(0.3)) args["place"] = { city: random.pick(values.city) };
  const params: JsonObject =
    {
      "tools/call": { name: random.pick(names), arguments: args },
      "prompts/get": { name: random.pick(names) },
      "resources/read": { uri: random.pick(uris) },
    }[method] ?? {};
  const message = request("2026-07-28", 1, method, params) as Sent["message"];
  const headers: Sent["headers"] = headersFor("2026-07-28", message);
  for (const { name, path } of annotated) {
    const value = path.length === 1 ? args[name] : isObject(args["place"]) && args["place"]["city"];
    if (method !== "tools/call" || value === undefined || value === null || value === false)
      continue;
    headers[`mcp-param-${name}`] = headerValue(String(value));
  }
  if (method === "tools/call" && args["flag"] === false) headers["mcp-param-flag"] = "false";
  const spoiled = { headers, message };
  for (let count = random.int(3); count > 0; count--) spoil(random, spoiled);
  return spoiled;
}

const odd = {
  "mcp-method": ["tools/call", "tools/list", "TOOLS/CALL", "", "=?base64?dG9vbHMvY2FsbA==?="],
  "mcp-name": ["act", "ACT", "=?base64?YWN0?=", "=?BASE64?YWN0?=", "=?base64?YWN?=", "é", "a,  b"],
  "mcp-param-region": ["eu", "=?base64?ZXU=?=", "=?base64?/w==?=", "us", "", "\xe9", "a\tb"],
  "mcp-param-tier": ["42", "42.0", "042", "-7", "4 2", "=?base64?NDI=?=", "1.50", "two"],
  "mcp-param-flag": ["true", "True", "false", "1", "=?base64?dHJ1ZQ==?="],
  "mcp-param-city": ["Oslo", "=?base64?S8O2bG4=?=", "Bonn"],
  "mcp-param-other": ["ignored"],
  "mcp-protocol-version": [...revisions, "1999-01-01", "", "2026-07-28, 2026-07-28"],
} as const;

function spoil(random: Random, sent: Sent): void {
  const { headers } = sent;
  const name = random.pick(Object.keys(odd)) as keyof typeof odd;
  switch (random.int(6)) {
    case 0:
      delete headers[name];
      return;
    case 1: {
      const [kept] = [headers[name]].flat();
      if (kept !== undefined) headers[name] = [kept, random.pick([kept, ...odd[name]])];
      return;
    }
    case 2:
      spoilBody(random, sent);
      return;
    default:
      headers[name] = random.pick(odd[name]);
  }
}

/** What the router in front was shown stays as it was. */
function spoilBody(random: Random, { headers, message }: Sent): void {
  const params = message.params as Record<string, unknown>;
  const meta = params["_meta"] as Record<string, unknown>;
  const version = "io.modelcontextprotocol/protocolVersion";
  switch (random.int(6)) {
    case 5:
      // Both say the same, for a revision that mirrors nothing, or for one that nobody serves.
      meta[version] = random.pick(["2025-11-25", "2025-06-18", "1999-01-01"]);
      headers["mcp-protocol-version"] = String(meta[version]);
      return;
    case 0:
      params["name"] = random.pick([...names, undefined, 7]);
      return;
    case 1:
      params["arguments"] = { region: random.pick(values.region), tier: random.pick(values.tier) };
      return;
    case 2:
      meta[version] = random.pick([...revisions, "1999-01-01", undefined, 20]);
      return;
    case 3:
      meta["io.modelcontextprotocol/clientCapabilities"] = random.pick([undefined, null, [], {}]);
      return;
    default:
      params["uri"] = random.pick(uris);
  }
}

/** As a server gets them: blanks around a value are no part of it, lines of one name are joined. */
function arriving(headers: Sent["headers"]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      [value]
        .flat()
        .map((line) => line.trim())
        .join(", ")
        .trim(),
    ]),
  );
}

const refusals: Readonly<Partial<Record<Finding, number>>> = {
  mismatch: -32020,
  malformed: -32602,
  unsupported: -32022,
};

describe.each(bridges)("over the %s bridge", (name) => {
  it(`${pairs[name]} pairs of headers and body are judged as the pages say`, async () => {
    const random = new Random(seed);
    const done: string[] = [];
    await using bridge = await openBridge(name, declare(done));
    const seen = new Map<Finding, number>();
    for (let count = 0; count < pairs[name]; count++) {
      const sent = createSent(random);
      const text = JSON.stringify(sent.message);
      const { method, params } = JSON.parse(text) as Sent["message"];
      const mirrored = { headers: arriving(sent.headers), method, params };
      const finding = find(mirrored, (tool) => (tool === "none" ? [] : annotated));
      seen.set(finding, (seen.get(finding) ?? 0) + 1);
      const before = done.length;
      const answer = toExchanged(await bridge.send({ headers: sent.headers, body: text }));
      const shown = `${JSON.stringify(sent)}\n→ ${answer.status} ${answer.text}\nFUZZ_SEED=${seed}`;
      const code = refusals[finding];
      if (code === undefined) {
        expect(answer.text, shown).not.toContain("-32020");
        if (finding === "agrees")
          assertReply("2026-07-28", { method, id: 1, params }, answer.message);
        continue;
      }
      expect([answer.status, answer.error.code], shown).toEqual([400, code]);
      expect(done.length, shown).toBe(before);
    }
    // Each way to be judged was reached often enough to mean something.
    expect(Math.min(...seen.values()), JSON.stringify([...seen])).toBeGreaterThan(5);
    expect([...seen.keys()].sort()).toEqual(
      ["agrees", "malformed", "mismatch", "unchecked", "unsupported"].sort(),
    );
    expect(done.length).toBeGreaterThan(pairs[name] / 20);
  }, 60_000);

  it("what is done is done under the name that the router was shown", async () => {
    const random = new Random(seed + 1);
    const done: string[] = [];
    await using bridge = await openBridge(name, declare(done));
    for (let count = 0; count < 500; count++) {
      const { headers, message } = createSent(random);
      const before = done.length;
      const { "mcp-protocol-version": version = "" } = arriving(headers);
      await bridge.send({ headers, body: JSON.stringify(message) });
      // Routers may trust the mirrors of this revision only.
      if (done.length === before || !version.startsWith("2026-07-28")) continue;
      const { "mcp-method": shownMethod = "", "mcp-name": shownName = "" } = arriving(headers);
      const plain = names.concat(uris).filter((each) => headerValue(each) === shownName);
      const wrapped = /^=\?base64\?(.+)\?=$/.exec(shownName)?.[1] ?? "";
      const shown = [...plain, shownName, Buffer.from(wrapped, "base64").toString("utf8")];
      expect(shown.map((each) => `${shownMethod} ${each}`)).toContain(done.at(-1));
    }
    expect(done.length).toBeGreaterThan(50);
  });
});
