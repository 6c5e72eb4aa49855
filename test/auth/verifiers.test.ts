/** What finds out who is calling: keys that rotate, issuers that are asked, and who comes first. */
import {
  type Authenticator,
  accessOf,
  checkBearer,
  checkIntrospected,
  checkJwt,
  checkPasswords,
  checkTokens,
  type Fetch,
  refuseCredentials,
} from "anyrev/auth";
import { createEndpoint, createServer, type EndpointOptions } from "anyrev/node";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { toRequest } from "../support/bridges.ts";
import { type Issuer, issuer, openIssuer, resource, seconds } from "../support/issuer.ts";
import { headersFor, request } from "../support/messages.ts";

const message = request("2026-07-28", 1, "tools/call", { name: "who", arguments: {} });
const keysUrl = "https://issuer.example.com/keys";

/** Who a credential is taken for, or the status that it gets. */
function open(
  authenticators: readonly Authenticator[],
  more: Partial<NonNullable<EndpointOptions["auth"]>> = {},
) {
  const logged: unknown[] = [];
  const server = createServer({ name: "n", version: "1", log: (entry) => logged.push(entry) });
  server.tool("who", {}, (_, ex) => JSON.stringify(ex.principal));
  const auth = { resource, authenticators, ...more };
  const endpoint = createEndpoint(server, { path: "/mcp", auth });
  const send = (authorization?: string) => {
    const headers = { ...headersFor("2026-07-28", message), authorization };
    return endpoint.fetch(toRequest({ headers, body: JSON.stringify(message) }));
  };
  const who = async (authorization?: string) => {
    const response = await send(authorization);
    if (response.status !== 200) return response.status;
    const { result } = JSON.parse(await response.text());
    return JSON.parse(result.content[0].text);
  };
  return { send, who, logged, bearer: (token: string) => who(`Bearer ${token}`) };
}

/** An authorization server that counts what it is asked. */
function answering(answers: (url: string, init: RequestInit) => Response | Promise<Response>) {
  const asked: { readonly url: string; readonly init: RequestInit }[] = [];
  const fetch: Fetch = async (url, init) => {
    asked.push({ url, init });
    return answers(url, init);
  };
  return { asked, fetch };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
});

afterEach(() => {
  vi.useRealTimers();
});

describe("the keys of an issuer", () => {
  let known: Issuer;
  beforeEach(async () => {
    known = await openIssuer();
  });

  const forget = () => vi.advanceTimersByTime(31_000);

  it("are fetched once, and again for a new name, but not within the cool-down", async () => {
    const { asked, fetch } = answering(() => Response.json(known.keySet));
    const { bearer } = open([checkJwt({ issuer, keys: keysUrl, fetch })]);
    const old = await known.token();
    expect(await bearer(old)).toMatchObject({ subject: "ada", client: "editor" });
    expect(await bearer(old)).toMatchObject({ scopes: ["read", "write"] });
    expect(asked).toHaveLength(1);
    await known.rotate();
    const next = await known.token({ claims: { exp: seconds() + 900 } });
    expect(await bearer(next)).toBe(401);
    for (let at = 0; at < 20; at++) {
      expect(await bearer(await known.token({ header: { kid: `made-up-${at}` } }))).toBe(401);
    }
    expect(asked).toHaveLength(1);
    forget();
    expect(await bearer(next)).toMatchObject({ subject: "ada" });
    expect(asked).toHaveLength(2);
    expect(await bearer(await known.token({ header: { kid: "made-up" } }))).toBe(401);
    expect(asked).toHaveLength(2);
  });

  it.each<[string, () => Response | Promise<Response>]>([
    ["are no JSON", () => new Response("<html>")],
    ["are no key set", () => Response.json([])],
    ["are elsewhere", () => Response.redirect("https://evil.example.com/keys", 302)],
    ["are too many", () => new Response(`{"keys":[],"x":"${"x".repeat(600_000)}"}`)],
    ["are not found", () => new Response("", { status: 404 })],
    ["cannot be had", () => Promise.reject(new Error("connection refused"))],
    ["fail", () => new Response("", { status: 500 })],
  ])("that %s let nobody in, and their server is not drummed on", async (_, answer) => {
    const { asked, fetch } = answering(answer);
    const { send, bearer, logged } = open([checkJwt({ issuer, keys: keysUrl, fetch })]);
    const token = await known.token();
    const refused = await send(`Bearer ${token}`);
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toBe("5");
    expect(JSON.stringify(logged)).toContain("cannot be verified");
    expect(await refused.text()).not.toMatch(/keys|issuer|refused/);
    expect(await bearer(token)).toBe(503);
    expect(asked.length).toBeLessThanOrEqual(2);
    expect(asked.every(({ url }) => url === keysUrl)).toBe(true);
  });

  it("are not asked for by what is no token of the issuer, or of no wanted kind", async () => {
    const { asked, fetch } = answering(() => Response.json(known.keySet));
    const { bearer } = open([checkJwt({ issuer, keys: keysUrl, fetch })]);
    expect(await bearer("opaque-token")).toBe(401);
    expect(await bearer(await known.token({ claims: { iss: "https://other" } }))).toBe(401);
    expect(await bearer(await known.token({ header: { typ: "JWT" } }))).toBe(401);
    expect(asked).toHaveLength(0);
  });

  it("are found by the issuer's own metadata, which must be its own", async () => {
    const tenant = "https://issuer.example.com/tenant";
    const places: Record<string, unknown> = {
      "/.well-known/oauth-authorization-server/tenant": { issuer, jwks_uri: "https://evil.test/k" },
      "/tenant/.well-known/openid-configuration": { issuer: tenant, jwks_uri: keysUrl },
      "/keys": known.keySet,
    };
    const { asked, fetch } = answering((url) => {
      const found = places[new URL(url).pathname];
      return found === undefined ? new Response("", { status: 404 }) : Response.json(found);
    });
    const { bearer } = open([checkJwt({ issuer: tenant, fetch })]);
    const token = await known.token({ claims: { iss: tenant } });
    expect(await bearer(token)).toMatchObject({ issuer: tenant });
    expect(await bearer(token)).toMatchObject({ issuer: tenant });
    expect(asked.map(({ url }) => new URL(url).pathname)).toEqual([
      "/.well-known/oauth-authorization-server/tenant",
      "/.well-known/openid-configuration/tenant",
      "/tenant/.well-known/openid-configuration",
      "/keys",
    ]);
  });

  it.each(["http://keys.example.com/keys", "file:///etc/keys", "keys"])(
    "are not taken from %s",
    (keys) => {
      expect(() => checkJwt({ issuer, keys })).toThrow(/https/);
    },
  );

  it.each([["none"], ["HS256"], ["RS256", "HS512"], []])(
    "are for no signatures by a shared secret: %s",
    (...algorithms) => {
      expect(() => checkJwt({ issuer, keys: keysUrl, algorithms })).toThrow(/algorithms/);
    },
  );

  it("open for the algorithms, types, audiences and clocks that are configured", async () => {
    const keys = known.keySet as NonNullable<Parameters<typeof checkJwt>[0]["keys"]>;
    const as = (options: Partial<Parameters<typeof checkJwt>[0]>) =>
      open([checkJwt({ issuer, keys, ...options })]).bearer;
    const token = await known.token();
    expect(await as({ algorithms: ["RS256"] })(token)).toBe(401);
    expect(await as({ algorithms: ["ES256"] })(token)).toMatchObject({ subject: "ada" });
    expect(await as({ audience: ["other", "more"] })(token)).toBe(401);
    expect(await as({ audience: ["other", resource] })(token)).toMatchObject({ subject: "ada" });
    const plain = await known.token({ header: { typ: "JWT" } });
    expect(await as({ types: ["at+jwt", "JWT"] })(plain)).toMatchObject({ subject: "ada" });
    const late = await known.token({ claims: { exp: seconds() - 40 } });
    expect(await as({ clockSkewSeconds: 60 })(late)).toMatchObject({ subject: "ada" });
    expect(await as({ clockSkewSeconds: 0 })(late)).toBe(401);
    const other = await known.token({ claims: { scope: undefined, scp: ["a", 7, "b"] } });
    expect(await as({})(other)).toMatchObject({ scopes: ["a", "b"] });
  });
});

describe("an issuer that is asked", () => {
  const endpoint = "https://issuer.example.com/introspect";
  const active = (more: Record<string, unknown> = {}) => ({
    active: true,
    sub: "ada",
    client_id: "editor",
    scope: "read",
    aud: resource,
    exp: seconds() + 300,
    ...more,
  });
  type Options = Partial<Parameters<typeof checkIntrospected>[0]>;
  const asking = (answer: Parameters<typeof answering>[0], options: Options = {}) => {
    const { asked, fetch } = answering(answer);
    const base = { issuer, endpoint, clientId: "a b", clientSecret: "c:d" };
    return { asked, ...open([checkIntrospected({ ...base, fetch, ...options })]) };
  };

  it("is asked as RFC 7662 has it, and once for a while", async () => {
    const { asked, bearer } = asking(() => Response.json(active()));
    expect(await bearer("opaque+token/1=")).toMatchObject({ issuer, subject: "ada" });
    expect(await bearer("opaque+token/1=")).toMatchObject({ client: "editor", scopes: ["read"] });
    expect(asked).toHaveLength(1);
    const { url, init } = asked[0]!;
    expect([url, init.method, init.redirect]).toEqual([endpoint, "POST", "manual"]);
    expect(String(init.body)).toBe("token=opaque%2Btoken%2F1%3D&token_type_hint=access_token");
    const { authorization } = init.headers as Record<string, string>;
    expect(atob(String(authorization).replace("Basic ", ""))).toBe("a+b:c%3Ad");
    vi.advanceTimersByTime(30_001);
    await bearer("opaque+token/1=");
    expect(asked).toHaveLength(2);
  });

  it.each<[string, () => Record<string, unknown>]>([
    ["not active", () => ({ ...active(), active: false })],
    ["active in words", () => ({ ...active(), active: "true" })],
    ["expired", () => active({ exp: seconds() - 31 })],
    ["not yet good", () => active({ nbf: seconds() + 31 })],
    ["for something else", () => active({ aud: "https://other.example.com" })],
    ["for nothing in particular", () => active({ aud: undefined })],
    ["of another issuer", () => active({ iss: "https://other.example.com" })],
    ["bound to a key", () => active({ cnf: { jkt: "x" } })],
    ["of another type", () => active({ token_type: "DPoP" })],
    ["of nobody", () => active({ sub: undefined, client_id: undefined })],
  ])("does not let in a token that is %s", async (_, answer) => {
    const { bearer } = asking(() => Response.json(answer()));
    expect(await bearer("opaque-token")).toBe(401);
  });

  it("takes a client for the subject where there is no other", async () => {
    const { bearer } = asking(() => Response.json(active({ sub: undefined, aud: [resource] })));
    expect(await bearer("opaque-token")).toMatchObject({ subject: "editor", client: "editor" });
  });

  it("may be trusted without an audience, where that is said", async () => {
    const answer = () => Response.json(active({ aud: undefined }));
    const { bearer } = asking(answer, { audience: "unchecked" });
    expect(await bearer("opaque-token")).toMatchObject({ subject: "ada" });
  });

  it("is asked once by all that come with a token at once", async () => {
    const { asked, bearer } = asking(() => Response.json(active()));
    await Promise.all(Array.from({ length: 20 }, () => bearer("opaque-token")));
    expect(asked).toHaveLength(1);
  });

  it("does not let the answers or the questions grow without bound", async () => {
    const { asked, bearer } = asking(() => Response.json(active()), { maxCached: 2 });
    for (const token of ["one", "two", "three", "three", "two", "one"]) await bearer(token);
    expect(asked).toHaveLength(4);
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = asking(
      async () => {
        await held;
        return Response.json(active());
      },
      { maxWaiting: 3 },
    );
    const waiting = ["a", "b", "c"].map((token) => slow.bearer(token));
    await vi.waitFor(() => expect(slow.asked).toHaveLength(3));
    expect(await slow.bearer("d")).toBe(503);
    release();
    expect(await Promise.all(waiting)).toMatchObject([{ subject: "ada" }, {}, {}]);
  });

  it("lets nobody in while it is away, nor when it does not know us", async () => {
    for (const status of [500, 401, 302]) {
      const { asked, bearer, logged } = asking(() => new Response("", { status }));
      expect(await bearer("opaque-token")).toBe(503);
      expect(JSON.stringify(logged)).toContain("cannot be verified");
      if (status === 500) {
        expect(await bearer("another-token")).toBe(503);
        expect(asked).toHaveLength(1);
      }
    }
  });
});

describe("tokens and passwords that are known beforehand", () => {
  it("let in who holds them", async () => {
    const { who, send } = open([
      checkPasswords([{ user: "ada", password: "pass:wörd", scopes: ["read"] }]),
      checkTokens([{ token: "a-token-for-scripts", subject: "cron", issuer: "us" }]),
    ]);
    const basic = (text: string) => who(`Basic ${Buffer.from(text).toString("base64")}`);
    expect(await basic("ada:pass:wörd")).toMatchObject({ issuer: "basic", subject: "ada" });
    for (const wrong of [
      "ada:pass",
      "ada:",
      "ada",
      ":pass:wörd",
      "eve:pass:wörd",
      "ADA:pass:wörd",
    ]) {
      expect(await basic(wrong)).toBe(401);
    }
    expect(await who("Bearer a-token-for-scripts")).toMatchObject({ issuer: "us" });
    // Both ways in are told.
    expect((await send()).headers.get("www-authenticate")).toMatch(
      /^Bearer resource_metadata="[^"]+", Basic realm="mcp", charset="UTF-8"$/,
    );
  });

  it.each([
    [() => checkTokens([{ token: "short", subject: "s" }]), /16 characters/],
    [() => checkTokens([{ token: "has blanks in the token", subject: "s" }]), /16 characters/],
    [
      () => checkTokens(["a", "b"].map((subject) => ({ token: "the-same-for-both", subject }))),
      /already/,
    ],
    [() => checkPasswords([{ user: "a:b", password: "x" }]), /colon/],
    [() => checkPasswords([{ user: "a", password: "" }]), /password/],
  ])("are refused where they are no good: %#", (make, why) => {
    expect(make).toThrow(why);
  });
});

describe("several authenticators", () => {
  const principal = (subject: string) => ({ issuer: "i", subject, scopes: [] });
  const taking = (prefix: string, subject: string) =>
    checkBearer((token) => (token.startsWith(prefix) ? principal(subject) : undefined));

  it("are asked in order, until one knows the credentials", async () => {
    const later = vi.fn(() => principal("later"));
    const { bearer, who } = open([
      taking("a", "first"),
      checkBearer(async (token) => (token === "bad" ? refuseCredentials("revoked") : undefined)),
      checkBearer(later),
    ]);
    expect(await bearer("abc")).toMatchObject({ subject: "first" });
    expect(later).not.toHaveBeenCalled();
    expect(await bearer("xyz")).toMatchObject({ subject: "later" });
    later.mockClear();
    // Whoever knows a token for bad is not outvoted.
    expect(await bearer("bad")).toBe(401);
    expect(later).not.toHaveBeenCalled();
    expect(await who()).toBe(401);
  });

  it("that fail let nobody in", async () => {
    const { bearer, logged } = open([
      checkBearer(() => {
        throw new Error("a bug in it");
      }),
      taking("", "anyone"),
    ]);
    expect(await bearer("abc")).toBe(500);
    expect(JSON.stringify(logged)).toContain("could not be served");
  });

  it("may go by any header", async () => {
    const key: Authenticator = {
      authenticate: ({ headers }) =>
        headers("x-api-key") === "the key" ? principal("script") : undefined,
    };
    const server = createServer({ name: "n", version: "1" });
    server.tool("who", {}, (_, ex) => ex.principal?.subject);
    const { fetch } = createEndpoint(server, { auth: { resource, authenticators: [key] } });
    const send = (sent: string) => {
      const headers = { ...headersFor("2026-07-28", message), "x-api-key": sent };
      return fetch(toRequest({ headers, body: JSON.stringify(message) }));
    };
    expect(await (await send("the key")).text()).toContain("script");
    expect((await send("another")).status).toBe(401);
  });
});

describe("the owner of what a caller makes", () => {
  it("is told by issuer, subject and client, and by nothing else", async () => {
    const of = async (more: object) =>
      (await accessOf({ issuer: "i", subject: "s", client: "c", scopes: [], ...more })).owner;
    const owner = await of({});
    expect(owner).toMatch(/^[\w-]{43}$/);
    expect(await of({ scopes: ["x"], claims: { jti: "2" }, expiresAt: 1 })).toBe(owner);
    const others = [{ issuer: "j" }, { subject: "t" }, { client: "d" }, { client: undefined }];
    const tricks = [
      { issuer: 'i","s', subject: "" },
      { issuer: "is", subject: "" },
      { issuer: "", subject: "is" },
    ];
    const all = await Promise.all([...others, ...tricks].map(of));
    expect(new Set([owner, ...all]).size).toBe(8);
  });
});

it("scopes hold what they imply, and what that implies", async () => {
  const subject = (scopes: string[]) => ({ issuer: "i", subject: "s", scopes });
  const { bearer } = open([checkBearer((token) => subject([token]))], {
    scopes: ["read"],
    implies: { admin: ["write"], write: ["read"], read: ["admin-not"] },
  });
  expect(await bearer("admin")).toMatchObject({ scopes: ["admin"] });
  expect(await bearer("write")).toMatchObject({ scopes: ["write"] });
  expect(await bearer("other")).toBe(403);
});
