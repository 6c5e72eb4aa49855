/** Every name that users may import. Changing this list is changing the public surface. */
import * as portable from "anyrev";
import * as auth from "anyrev/auth";
import * as client from "anyrev/client";
import * as clientAuth from "anyrev/client/auth";
import * as node from "anyrev/node";
import * as telemetry from "anyrev/telemetry";
import * as testing from "anyrev/testing";
import { expect, it } from "vitest";
import packageFile from "../../package.json" with { type: "json" };
import * as portableClientAuth from "../../src/client/auth/index.ts";
import * as portableClient from "../../src/client/index.ts";
import { defaults } from "../../src/client/options.ts";

const names = [
  "AdapterSet",
  "Channel",
  "Content",
  "DeclarationError",
  "McpError",
  "MemoryHub",
  "MemoryKeys",
  "MemoryOneTime",
  "MemorySessions",
  "Rejection",
  "StoreError",
  "adapter2024_11_05",
  "adapter2025_03_26",
  "adapter2025_06_18",
  "adapter2025_11_25",
  "adapter2026_07_28",
  "allRevisions",
  "anyone",
  "assistant",
  "audio",
  "createEndpoint",
  "createLegacySse",
  "createServer",
  "failed",
  "image",
  "jsonLogs",
  "link",
  "logToConsole",
  "mixed",
  "openMemoryChannel",
  "parseUriTemplate",
  "readPreamble",
  "resource",
  "select",
  "text",
  "user",
];

it("anyrev exports these names and no other", () => {
  expect(Object.keys(portable).sort()).toEqual(names);
});

it("anyrev/node exports the same and what Node has besides", () => {
  expect(Object.keys(node).sort()).toEqual(
    [...names, "serve", "serveStdio", "toNodeHandler"].sort(),
  );
  for (const [name, value] of Object.entries(portable)) {
    expect(Reflect.get(node, name), name).toBe(value);
  }
});

it("anyrev/client exports these names, and on Node how servers are reached there", () => {
  const clientNames = [
    "ChannelTransport",
    "ClientError",
    "MemoryVerdicts",
    "ResponseCache",
    "connectTo",
  ];
  expect(Object.keys(portableClient)).toEqual(expect.arrayContaining(clientNames));
  for (const [name, value] of Object.entries(portableClient)) {
    if (name !== "connect") expect(Reflect.get(client, name), name).toBe(value);
  }
  expect(Object.keys(client)).toEqual(expect.arrayContaining(["connect", "spawnServer"]));
});

it("anyrev/client/auth exports the ways to be authorized, and where tokens are kept", () => {
  const ways = ["MemoryTokens", "clientCredentials", "enterpriseManaged", "oauth"];
  expect(Object.keys(portableClientAuth).sort()).toEqual([...ways, "workloadIdentity"]);
  expect(Object.keys(clientAuth).sort()).toEqual(
    [
      ...["FileTokens", "GuardedFetchError", "guardedFetch", "loopbackSignIn"],
      ...ways,
      "workloadIdentity",
    ].sort(),
  );
});

it("the client says which version of the package it is", () => {
  expect(defaults.info.version).toBe(packageFile.version);
});

it("anyrev/auth exports the authenticators and what others are made with", () => {
  expect(Object.keys(auth).sort()).toEqual([
    "accessOf",
    "anyone",
    "checkBearer",
    "checkIntrospected",
    "checkJwt",
    "checkPasswords",
    "checkTokens",
    "nameResource",
    "refuseCredentials",
    "unavailable",
  ]);
});

it("anyrev/telemetry exports what watches by OpenTelemetry", () => {
  expect(Object.keys(telemetry)).toEqual(["openTelemetry"]);
});

it("anyrev/testing exports what calls a server in memory, and the contract suites", () => {
  expect(Object.keys(testing).sort()).toEqual([
    "connectInMemory",
    "eventHubSuite",
    "everyRevision",
    "keyStoreSuite",
    "oneTimeStoreSuite",
    "revisions",
    "sessionCapsSuite",
    "sessionStoreSuite",
    "storeFaultsSuite",
  ]);
  expect(testing.revisions).toEqual(portable.allRevisions.supported);
  expect(Object.isFrozen(testing.revisions)).toBe(true);
});

it("what is shared between requests cannot be changed from outside", () => {
  const adapters = portable.allRevisions.adapters;
  expect(adapters.map(({ revision }) => revision)).toEqual([
    "2026-07-28",
    "2025-11-25",
    "2025-06-18",
    "2025-03-26",
    "2024-11-05",
  ]);
  for (const adapter of adapters) expect(Object.isFrozen(adapter), adapter.revision).toBe(true);
});
