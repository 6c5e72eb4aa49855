/**
 * DNS rebinding: a page that lies about its name, or makes a browser take this machine for its
 * own server, reaches nothing, on no route, in no revision, by no method.
 */
import { createEndpoint, createLegacySse, createServer, type Server, serve } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { fixtureAuth, fixtureTokens } from "../../fixture/auth.ts";
import { toRequest } from "../support/bridges.ts";
import { headersFor, initializeParams, request } from "../support/messages.ts";
import { type RawAnswer, RawSocket, rawRequest } from "../support/raw-socket.ts";
import { assertReply, type Revision, revisions } from "../support/wire.ts";

type Verdict = "passes" | "refused" | "malformed";

interface Pair {
  /** One header line each; PORT stands for the port that is listened on. */
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
  readonly verdict: Verdict;
}

const pair = (verdict: Verdict, host: string | readonly string[], ...origins: string[]): Pair => ({
  hosts: typeof host === "string" ? [host] : host,
  origins,
  verdict,
});

const pairs: readonly Pair[] = [
  pair("passes", "localhost:PORT"),
  pair("passes", "127.0.0.1"),
  pair("passes", "[::1]:PORT"),
  pair("passes", "LOCALHOST:PORT", "http://127.0.0.1:5173"),
  pair("passes", "127.0.0.1:PORT", "http://localhost:PORT"),
  pair("passes", "localhost:1", "https://[::1]"),
  pair("refused", "evil.test:PORT"),
  pair("refused", "evil.test:PORT", "http://evil.test:PORT"),
  pair("refused", "evil.test", "http://localhost"),
  pair("refused", "localhost.evil.test:PORT", "http://localhost.evil.test:PORT"),
  pair("refused", "127.0.0.1.evil.test"),
  pair("refused", "localhost."),
  pair("refused", "127.0.0.2"),
  pair("refused", "127.1"),
  pair("refused", "2130706433"),
  pair("refused", "0.0.0.0:PORT"),
  pair("refused", "[::]:PORT"),
  pair("refused", "[::ffff:127.0.0.1]:PORT"),
  pair("refused", "localhost:PORT", "http://evil.test"),
  pair("refused", "localhost:PORT", "https://evil.test:PORT"),
  pair("refused", "127.0.0.1:PORT", "null"),
  pair("refused", "localhost:PORT", "http://localhost.evil.test"),
  pair("refused", "localhost:PORT", "http://localhost@evil.test"),
  pair("refused", "localhost:PORT", "http://evil.test#localhost"),
  pair("refused", "localhost:PORT", "file://"),
  pair("refused", "localhost:PORT", "chrome-extension://localhost"),
  pair("refused", "localhost:PORT", "http://localhost:PORT http://evil.test"),
  pair("refused", "localhost:PORT", "http://localhost", "http://evil.test"),
  pair("refused", "localhost:PORT", ""),
  pair("malformed", []),
  pair("malformed", ""),
  pair("malformed", "localhost, evil.test"),
  pair("malformed", "evil.test@localhost"),
  pair("malformed", "localhost/evil.test"),
  pair("malformed", "localhost:99999999"),
  pair("malformed", ["localhost:PORT", "evil.test"]),
  pair("malformed", ["evil.test", "localhost:PORT"]),
];

interface Route {
  readonly method: string;
  readonly path: string;
  readonly message?: (revision: Revision) => unknown;
  /** What it answers where the pair passes. */
  readonly passed: (revision: Revision) => number;
}

const call = (revision: Revision) =>
  request(revision, 1, "tools/call", { name: "act", arguments: {} });
const open = (revision: Revision) => request(revision, 1, "initialize", initializeParams(revision));
const isModern = (revision: Revision) => revision === "2026-07-28";

const metadata = "/.well-known/oauth-protected-resource";
const routes: readonly Route[] = [
  { method: "POST", path: "/mcp", message: call, passed: () => 200 },
  { method: "POST", path: "/mcp?mcp=2025-11-25", message: open, passed: () => 200 },
  { method: "GET", path: "/mcp", passed: (revision) => (isModern(revision) ? 405 : 400) },
  { method: "DELETE", path: "/mcp", passed: (revision) => (isModern(revision) ? 405 : 400) },
  { method: "OPTIONS", path: "/mcp", passed: () => 204 },
  { method: "PUT", path: "/mcp", passed: () => 405 },
  { method: "GET", path: "/sse", passed: () => 200 },
  { method: "OPTIONS", path: "/sse", passed: () => 204 },
  { method: "POST", path: "/messages?sessionId=x", message: call, passed: () => 404 },
  { method: "GET", path: `${metadata}/mcp`, passed: () => 200 },
  { method: "GET", path: `${metadata}/sse`, passed: () => 200 },
  { method: "GET", path: "/elsewhere", passed: () => 404 },
];

function headersOf(revision: Revision, { method, message }: Route): [string, string][] {
  const headers: Record<string, string> = {
    ...headersFor(revision, message?.(revision)),
    "mcp-protocol-version": revision,
    authorization: `Bearer ${fixtureTokens.alice}`,
  };
  if (method === "GET") headers["accept"] = "text/event-stream";
  if (method === "OPTIONS") headers["access-control-request-method"] = "POST";
  // A pin speaks for itself, and there is nothing else that such a request may state.
  if (message === open) delete headers["mcp-protocol-version"];
  return Object.entries(headers);
}

function declare(): { readonly server: Server; readonly acts: () => number } {
  let count = 0;
  const server = createServer({ name: "hidden-name", version: "1", log: () => undefined });
  server.tool("act", {}, () => `${++count}`);
  return { server, acts: () => count };
}

function judge(
  answer: Pick<RawAnswer, "status" | "headers" | "text">,
  { verdict }: Pair,
  route: Route,
  revision: Revision,
): void {
  const { status, headers, text } = answer;
  const what = `${route.method} ${route.path}`;
  if (verdict === "passes") {
    expect(status, what).toBe(route.passed(revision));
    return;
  }
  // Which of the two is wrong with a header is told; that it was let in is what must not be.
  expect(status, what).toBe(verdict === "refused" ? 403 : 400);
  expect(headers, what).not.toHaveProperty("access-control-allow-origin");
  expect(headers, what).not.toHaveProperty("www-authenticate");
  expect(headers, what).not.toHaveProperty("mcp-session-id");
  expect(text).not.toContain("hidden-name");
  if (text !== "") judgeRefusal(text, headers["content-type"]);
}

/** In the words of the newest revision served: that of the endpoint, or of HTTP+SSE. */
function judgeRefusal(text: string, type: string | undefined): void {
  expect(type).toBe("application/json");
  const message: { readonly id?: unknown } = JSON.parse(text);
  assertReply("id" in message ? "2025-06-18" : "2026-07-28", { method: "nothing" }, message);
}

it("there are 24 pairs at least, most of them hostile", () => {
  const spelled = pairs.map(({ hosts, origins }) => JSON.stringify([hosts, origins]));
  expect(new Set(spelled).size).toBe(pairs.length);
  expect(pairs.length).toBeGreaterThanOrEqual(24);
  expect(pairs.filter(({ verdict }) => verdict !== "passes").length).toBeGreaterThanOrEqual(24);
});

describe.each(revisions)("R112: in %s", (revision) => {
  it("each pair of host and origin is judged alike on every route, over a raw socket", async () => {
    const { server, acts } = declare();
    await using serving = await serve(server, {
      port: 0,
      legacySse: true,
      auth: fixtureAuth,
      drainMs: 50,
    });
    const { port } = serving;
    let socket = await RawSocket.open(port);
    let passed = 0;
    for (const each of pairs) {
      const place = (text: string): string => text.replaceAll("PORT", String(port));
      for (const route of routes) {
        if (socket.isClosed) socket = await RawSocket.open(port);
        const lines: [string, string][] = [
          ...each.hosts.map((host): [string, string] => ["Host", place(host)]),
          ...each.origins.map((origin): [string, string] => ["Origin", place(origin)]),
          ...headersOf(revision, route),
        ];
        const body = route.message === undefined ? "" : JSON.stringify(route.message(revision));
        socket.write(rawRequest(route.method, route.path, lines, body));
        const answer = await socket.answer(route.method === "HEAD");
        if (answer === undefined) throw new Error(`no answer to ${JSON.stringify(each)}`);
        // Node itself refuses what has no host at all, before anybody else sees it.
        if (each.hosts.length === 0 && answer.text === "") expect(answer.status).toBe(400);
        else judge(answer, each, route, revision);
      }
      if (each.verdict === "passes") expect(acts()).toBe(++passed);
    }
    socket[Symbol.dispose]();
    // Nothing was done for any of the others.
    expect(acts()).toBe(passed);
  });

  it("the same pairs are judged alike by a Request of the Fetch standard", async () => {
    const { server, acts } = declare();
    const options = { auth: fixtureAuth };
    const endpoint = createEndpoint(server, { ...options, path: "/mcp" });
    const legacy = createLegacySse(server, options);
    let passed = 0;
    for (const each of pairs) {
      // A Request always has one host, that of its URL where no header names another.
      if (each.hosts.length === 0) continue;
      const place = (text: string): string => text.replaceAll("PORT", "8080");
      for (const route of routes) {
        const asked = toRequest({
          method: route.method,
          target: route.path,
          headers: {
            ...Object.fromEntries(headersOf(revision, route)),
            host: each.hosts.map(place),
            origin: each.origins.map(place),
          },
          ...(route.message && { body: JSON.stringify(route.message(revision)) }),
        });
        const served = legacy.serves(route.path) ? legacy : endpoint;
        const response = await served.fetch(asked);
        const { status } = response;
        const isStream = response.headers.get("content-type") === "text/event-stream";
        const text = isStream ? "" : await response.text();
        if (isStream) await response.body?.cancel();
        judge(
          { status, text, headers: Object.fromEntries(response.headers) },
          each,
          route,
          revision,
        );
      }
      if (each.verdict === "passes") expect(acts()).toBe(++passed);
    }
    expect(acts()).toBe(passed);
    endpoint.close();
    legacy.close();
  });
});

it("whatever host is named, /health and /ready say one word, and let no other page read it", async () => {
  await using serving = await serve(declare().server, { port: 0, auth: fixtureAuth, drainMs: 50 });
  for (const [path, word] of [
    ["/health", "alive"],
    ["/ready", "ready"],
  ] as const) {
    for (const { hosts, origins } of pairs.filter(({ hosts: [host] }) => host !== undefined)) {
      using socket = await RawSocket.open(serving.port);
      const lines = [
        ...hosts.map((host) => ["Host", host.replace("PORT", "80")] as const),
        ...origins.map((origin) => ["Origin", origin] as const),
      ];
      socket.write(rawRequest("GET", path, lines));
      const answer = await socket.answer();
      expect(answer?.text).toBe(`{"status":"${word}"}`);
      expect(answer?.headers).not.toHaveProperty("access-control-allow-origin");
    }
  }
});
