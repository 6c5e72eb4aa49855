/** Credentials that are none: each is answered alike, before anything else of a request is read. */
import { checkJwt, checkTokens } from "anyrev/auth";
import { createEndpoint, createLegacySse, createServer, serve } from "anyrev/node";
import { exportSPKI, generateKeyPair } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { type Bridge, bridges, openBridge, sendTo, toRequest } from "../support/bridges.ts";
import {
  encodePart,
  type Issuer,
  issuer,
  openIssuer,
  resource,
  seconds,
} from "../support/issuer.ts";
import { headersFor, request } from "../support/messages.ts";
import { toExchanged } from "../support/raw-caller.ts";
import { assertReply } from "../support/wire.ts";

const secret = "a-static-token-for-tests";
let known: Issuer;

interface Sent {
  readonly target?: string;
  readonly authorization?: string | readonly string[];
}

type Case = readonly [what: string, error: string | undefined, sent: () => Promise<Sent> | Sent];

const bearer = async (token: string | Promise<string>): Promise<Sent> => ({
  authorization: `Bearer ${await token}`,
});

/** Signed well, with some part of it that does not do. */
const spoiled = (what: string, parts: () => Parameters<Issuer["token"]>[0]): Case => [
  what,
  "invalid_token",
  () => bearer(known.token(parts())),
];

const split = async (): Promise<readonly [string, string, string]> => {
  const [header = "", payload = "", signature = ""] = (await known.token()).split(".");
  return [header, payload, signature];
};

const cases: readonly Case[] = [
  ["no header", undefined, () => ({})],
  ["another scheme", undefined, () => ({ authorization: `Digest ${secret}` })],
  ["Basic, which nobody takes", undefined, () => ({ authorization: "Basic YTpi" })],
  ["a bare token", undefined, () => ({ authorization: secret })],
  ["an empty header", "invalid_request", () => ({ authorization: "" })],
  ["no token", "invalid_request", () => ({ authorization: "Bearer" })],
  ["two tokens", "invalid_request", () => ({ authorization: `Bearer ${secret} ${secret}` })],
  ["a list of tokens", "invalid_request", () => ({ authorization: `Bearer ${secret}, Bearer b` })],
  [
    "two headers, the first one good",
    "invalid_request",
    () => ({ authorization: [`Bearer ${secret}`, "Bearer other"] }),
  ],
  [
    "the same header twice",
    "invalid_request",
    () => ({ authorization: [`Bearer ${secret}`, `Bearer ${secret}`] }),
  ],
  ["a tab for a blank", "invalid_request", () => ({ authorization: `Bearer\t${secret}` })],
  ["a quoted token", "invalid_request", () => ({ authorization: `Bearer "${secret}"` })],
  ["a parameter", "invalid_request", () => ({ authorization: `Bearer token=${secret}` })],
  ["padding within", "invalid_request", () => ({ authorization: `Bearer =${secret}` })],
  ["a header too long", "invalid_request", () => bearer("a".repeat(12_300))],
  ["a token in the query", "invalid_request", () => ({ target: `/mcp?access_token=${secret}` })],
  [
    "a token in the query, its name encoded",
    "invalid_request",
    () => ({ target: `/mcp?mcp=2025-11-25&access%5Ftoken=${secret}` }),
  ],
  [
    "a token in the query beside a good header",
    "invalid_request",
    () => ({ target: "/mcp?access_token=x", authorization: `Bearer ${secret}` }),
  ],
  ["an unknown token", "invalid_token", () => bearer("a-token-that-nobody-has")],
  ["the beginning of a token", "invalid_token", () => bearer(secret.slice(0, -1))],
  ["a token and more", "invalid_token", () => bearer(`${secret}s`)],
  ["a token and padding", "invalid_token", () => bearer(`${secret}=`)],
  ["a token in capitals", "invalid_token", () => bearer(secret.toUpperCase())],
  ["three parts of nothing", "invalid_token", () => bearer("a.b.c")],
  ["four parts", "invalid_token", async () => bearer(`${(await split()).join(".")}.x`)],
  [
    "five parts, as of an encrypted one",
    "invalid_token",
    async () => bearer(`${(await split()).join(".")}.x.y`),
  ],
  [
    "no signature",
    "invalid_token",
    async () => {
      const [header, payload] = await split();
      return bearer(`${header}.${payload}.`);
    },
  ],
  [
    "the algorithm none",
    "invalid_token",
    async () => {
      const [, payload] = await split();
      return bearer(`${encodePart({ alg: "none", typ: "at+jwt" })}.${payload}.`);
    },
  ],
  [
    "a payload put in its place",
    "invalid_token",
    async () => {
      const [header, , signature] = await split();
      const payload = encodePart({ iss: issuer, aud: resource, sub: "root", exp: seconds() + 60 });
      return bearer(`${header}.${payload}.${signature}`);
    },
  ],
  [
    "the public key as a shared secret",
    "invalid_token",
    async () => {
      const key = new TextEncoder().encode(await exportSPKI(known.pairs[1]!.publicKey));
      return bearer(known.token({ header: { alg: "HS256" }, key }));
    },
  ],
  [
    "another's key under a known name",
    "invalid_token",
    async () => bearer(known.token({ key: (await generateKeyPair("ES256")).privateKey })),
  ],
  [
    "another's key, brought along",
    "invalid_token",
    async () => {
      const { privateKey } = await generateKeyPair("ES256");
      const jwk = known.keySet.keys[0];
      return bearer(known.token({ header: { kid: undefined, jwk }, key: privateKey }));
    },
  ],
  spoiled("an unknown key", () => ({ header: { kid: "key-of-tomorrow" } })),
  spoiled("no key named, of two", () => ({ header: { kid: undefined } })),
  spoiled("something critical that is unknown", () => ({
    header: { crit: ["x-odd"], "x-odd": true },
  })),
  spoiled("the type JWT, as identity tokens have it", () => ({ header: { typ: "JWT" } })),
  spoiled("no type", () => ({ header: { typ: undefined } })),
  spoiled("the type of a proof", () => ({ header: { typ: "dpop+jwt" } })),
  spoiled("an expired one", () => ({ claims: { exp: seconds() - 31 } })),
  spoiled("no expiry", () => ({ claims: { exp: undefined } })),
  spoiled("an expiry in words", () => ({ claims: { exp: "tomorrow" } })),
  spoiled("one not yet good", () => ({ claims: { nbf: seconds() + 60 } })),
  spoiled("one from the future", () => ({ claims: { iat: seconds() + 60 } })),
  spoiled("another issuer", () => ({ claims: { iss: "https://evil.example.com" } })),
  spoiled("the issuer with a slash", () => ({ claims: { iss: `${issuer}/` } })),
  spoiled("no issuer", () => ({ claims: { iss: undefined } })),
  spoiled("another audience", () => ({ claims: { aud: "http://localhost/other" } })),
  spoiled("an audience below", () => ({ claims: { aud: `${resource}/below` } })),
  spoiled("the audience of the origin", () => ({ claims: { aud: "http://localhost" } })),
  spoiled("audiences without this one", () => ({ claims: { aud: ["a", "b"] } })),
  spoiled("no audience", () => ({ claims: { aud: undefined } })),
  spoiled("no subject", () => ({ claims: { sub: undefined } })),
  spoiled("an empty subject", () => ({ claims: { sub: "" } })),
  spoiled("a token bound to a key", () => ({ claims: { cnf: { jkt: "thumbprint" } } })),
];

beforeAll(async () => {
  known = await openIssuer();
});

function open(calls: string[] = []) {
  const server = createServer({ name: "hidden-name", version: "9.9.9", log: () => undefined });
  server.tool("hidden_tool", { description: "Is not told of." }, (_, ex) => {
    calls.push(ex.principal?.subject ?? "nobody");
    return "done";
  });
  const keys = known.keySet as NonNullable<Parameters<typeof checkJwt>[0]["keys"]>;
  const auth = {
    resource,
    scopes: ["read"],
    authenticators: [
      checkJwt({ issuer, keys }),
      checkTokens([{ token: secret, subject: "static", scopes: ["read"] }]),
    ],
  };
  return { server, auth, calls };
}

const call = request("2026-07-28", 1, "tools/call", { name: "hidden_tool", arguments: {} });
const discover = request("2026-07-28", 2, "server/discover");

function send(bridge: Bridge, { target, authorization }: Sent, message = call, method = "POST") {
  return bridge.send({
    method,
    target,
    headers: { ...headersFor("2026-07-28", message), authorization },
    ...(method === "POST" && { body: JSON.stringify(message) }),
  });
}

it("there are forty cases at least", () => {
  expect(new Set(cases.map(([what]) => what)).size).toBeGreaterThanOrEqual(40);
});

describe.each(bridges)("over the %s bridge", (name) => {
  it.each(cases)("%s gets 401, a challenge and nothing else", async (_, error, sent) => {
    const { server, auth, calls } = open();
    await using bridge = await openBridge(name, server, { auth });
    const made = await sent();
    for (const [message, method] of [
      [call, "POST"],
      [discover, "POST"],
      [call, "GET"],
      [call, "DELETE"],
      [call, "OPTIONS"],
      [call, "PUT"],
    ] as const) {
      const answer = toExchanged(await send(bridge, made, message, method));
      expect(answer.status, method).toBe(401);
      const challenge = answer.headers.get("www-authenticate") ?? "";
      expect(challenge).toMatch(
        /^Bearer resource_metadata="http:\/\/localhost\/\.well-known\/oauth-protected-resource\/mcp", scope="read"(, error="[a-z_]+", error_description="[^"\\]+")?$/,
      );
      expect(/error="([a-z_]+)"/.exec(challenge)?.[1]).toBe(error);
      expect(`${answer.text}${challenge}`).not.toMatch(/hidden|9\.9\.9|\bada\b|2025-11-25/);
      assertReply("2026-07-28", { method: "nothing" }, answer.message);
    }
    expect(calls).toEqual([]);
  });

  it("good ones of either kind are let in, as who they are", async () => {
    const { server, auth, calls } = open();
    await using bridge = await openBridge(name, server, { auth });
    for (const sent of [
      await bearer(secret),
      await bearer(known.token()),
      await bearer(known.token({ claims: { aud: ["other", resource], exp: seconds() - 5 } })),
      await bearer(known.token({ header: { typ: "application/AT+jwt" }, claims: { sub: "eve" } })),
      { authorization: `bearer  ${secret}` },
    ]) {
      expect((await send(bridge, sent)).status).toBe(200);
    }
    expect(calls).toEqual(["static", "ada", "ada", "eve", "static"]);
  });

  it("a good one without what every request needs gets 403, and is told what", async () => {
    const { server, auth, calls } = open();
    await using bridge = await openBridge(name, server, { auth });
    for (const method of ["POST", "GET", "DELETE"]) {
      const sent = await bearer(known.token({ claims: { scope: "write" } }));
      const answer = await send(bridge, sent, discover, method);
      expect(answer.status).toBe(403);
      expect(answer.headers.get("www-authenticate")).toContain(
        'scope="read", error="insufficient_scope"',
      );
    }
    expect(calls).toEqual([]);
  });
});

/** HTTP+SSE beside the endpoint, over either bridge. */
async function openLegacy(name: Bridge["name"]): Promise<Pick<Bridge, "send"> & AsyncDisposable> {
  const { server, auth } = open();
  if (name === "node") {
    const serving = await serve(server, { auth, port: 0, legacySse: true, drainMs: 50 });
    return {
      send: (message) => sendTo(serving.port, message),
      [Symbol.asyncDispose]: () => serving.close(),
    };
  }
  const legacy = createLegacySse(server, { auth });
  return {
    send: async (message) => {
      const { status, headers, body } = await legacy.fetch(toRequest(message));
      return { status, headers, text: await new Response(body).text() };
    },
    [Symbol.asyncDispose]: async () => legacy.close(),
  };
}

describe.each(bridges)("on the routes of HTTP+SSE over the %s bridge", (name) => {
  it.each(cases)("%s opens no stream and posts to none", async (_, error, sent) => {
    await using legacy = await openLegacy(name);
    const { target = "/mcp", authorization } = await sent();
    for (const [method, path] of [
      ["GET", "/sse"],
      ["POST", "/messages"],
      ["DELETE", "/sse"],
      ["GET", "/messages"],
    ] as const) {
      const answer = await legacy.send({
        method,
        target: target.replace("/mcp", path),
        headers: { ...headersFor("2024-11-05", call), authorization },
        ...(method === "POST" && { body: JSON.stringify(call) }),
      });
      expect(answer.status, `${method} ${path}`).toBe(401);
      const challenge = answer.headers.get("www-authenticate") ?? "";
      expect(/error="([a-z_]+)"/.exec(challenge)?.[1]).toBe(error);
      expect(`${answer.text}${challenge}`).not.toMatch(/hidden|9\.9\.9|sessionId/);
      assertReply("2025-11-25", { method: "nothing" }, JSON.parse(answer.text));
    }
  });
});

it("nothing of a body is read before its sender is known", async () => {
  const { server, auth } = open();
  const { fetch } = createEndpoint(server, { path: "/mcp", auth });
  const asked = toRequest({ headers: headersFor("2026-07-28", call), body: "not even JSON" });
  expect((await fetch(asked)).status).toBe(401);
  expect(asked.bodyUsed).toBe(false);
});

it("a passer-by is not told where the endpoint is, nor that a session exists", async () => {
  const { server, auth } = open();
  await using bridge = await openBridge("fetch", server, { auth, path: "/a-path" });
  const elsewhere = await bridge.send({ target: "/", headers: { accept: "text/event-stream" } });
  expect(elsewhere.status).toBe(404);
  expect(elsewhere.text).not.toContain("a-path");
  const answers = [{}, { "mcp-session-id": "made-up" }].map((headers) =>
    bridge.send({ method: "GET", target: "/a-path", headers: { ...headers } }),
  );
  const [without, named] = await Promise.all(answers);
  expect(named?.text).toBe(without?.text);
});
