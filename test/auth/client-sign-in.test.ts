/** What comes back when a user signs in: what is believed, what is asked again, what is told. */
import { inspect } from "node:util";
import { ClientError } from "anyrev/client";
import { beforeEach, describe, expect, it } from "vitest";
import { connect } from "../support/connecting.ts";
import { FakeHttp } from "../support/fake-http.ts";
import { FakeIssuer } from "../support/fake-issuer.ts";

const issuerPath = "/.well-known/oauth-authorization-server";
const open = (fake: FakeIssuer, options = {}, more = {}) =>
  connect(fake.url, { auth: fake.auth(options), revisions: "2026-07-28", ...more });

async function refusal(promise: Promise<unknown>): Promise<ClientError> {
  const cause: unknown = await promise.then(
    () => undefined,
    (why: unknown) => why,
  );
  if (cause instanceof ClientError) return cause;
  throw new Error("was no ClientError", { cause });
}

describe("what a user comes back with is thrown away", () => {
  const issuedBy = (issuer: string, isSupported: boolean) => (fake: FakeIssuer) => {
    const more = { authorization_response_iss_parameter_supported: isSupported };
    fake.faking.issuerDocuments[issuerPath] = fake.metadata(more);
    const iss = issuer.replace("ISSUER", fake.issuer);
    fake.faking.back = (sent) => ({
      code: "the-code",
      state: sent.get("state") ?? "",
      ...(issuer !== "" && { iss }),
    });
  };
  const cases: Record<string, [(fake: FakeIssuer) => void, RegExp]> = {
    "without the state": [
      (fake) => {
        fake.faking.back = () => ({ code: "the-code" });
      },
      /"state" missing/,
    ],
    "with another state": [
      (fake) => {
        fake.faking.back = () => ({ code: "the-code", state: "another" });
      },
      /unexpected "state"/,
    ],
    "with another issuer": [issuedBy("https://evil.example", true), /unexpected "iss"/],
    "with another issuer, unasked": [issuedBy("https://evil.example", false), /unexpected "iss"/],
    "with the issuer written otherwise": [issuedBy("ISSUER/", true), /unexpected "iss"/],
    "without the issuer that was promised": [issuedBy("", true), /"iss" \(issuer\) missing/],
    "with no code": [
      (fake) => {
        fake.faking.back = (sent) => ({ state: sent.get("state") ?? "" });
      },
      /no authorization code/,
    ],
    "with an error": [
      (fake) => {
        const error = { error: "access_denied", error_description: "not\u001b[31m you\n" };
        fake.faking.back = (sent) => ({ ...error, state: sent.get("state") ?? "" });
      },
      /access_denied \(not you \)$/,
    ],
  };

  it.each(Object.entries(cases))("%s", async (_, [change, why]) => {
    await using fake = await FakeIssuer.open(change);
    const { message, kind, status } = await refusal(open(fake));
    expect(message).toMatch(why);
    expect([kind, status]).toEqual(["unauthorized", 401]);
    expect(fake.forms).toEqual([]);
  });

  it("of another issuer is not even told, whatever error it is", async () => {
    await using fake = await FakeIssuer.open((each) => {
      each.faking.back = (sent) => ({
        error: "call_this_number",
        state: sent.get("state") ?? "",
        iss: "https://evil.example",
      });
    });
    expect((await refusal(open(fake))).message).not.toContain("call_this_number");
  });

  it("at another URL than the one that was given", async () => {
    await using fake = await FakeIssuer.open();
    const authorize = async (url: URL) =>
      new URL(`http://127.0.0.1:41235/callback?code=c&state=${url.searchParams.get("state")}`);
    expect((await refusal(open(fake, { authorize }))).message).toContain("came back to another");
    expect(fake.forms).toEqual([]);
  });
});

describe("while a user signs in", () => {
  it("no call runs out of time, and after that the user does", async () => {
    await using fake = await FakeIssuer.open();
    const slow = async (url: URL) => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      return new URLSearchParams({ code: "c", state: url.searchParams.get("state") ?? "" });
    };
    const options = { timeoutMs: 150, maxTimeoutMs: 200 };
    await using client = await open(fake, { authorize: slow }, options);
    await client.call("anything", {});
    const never = () => new Promise<never>(() => undefined);
    const late = open(fake, { authorize: never, authorizeTimeoutMs: 100 }, options);
    expect((await refusal(late)).message).toContain("did not come back in time");
  });

  it("whoever gives up takes the question away, unless others wait", async () => {
    await using fake = await FakeIssuer.open();
    const signals: AbortSignal[] = [];
    const authorize = (_url: URL, { signal }: { readonly signal: AbortSignal }) => {
      signals.push(signal);
      return new Promise<never>(() => undefined);
    };
    const auth = fake.auth({ authorize });
    const [one, other] = [new AbortController(), new AbortController()];
    const connecting = [one, other].map(({ signal }) =>
      refusal(connect(fake.url, { auth, signal, revisions: "2026-07-28" })),
    );
    await expect.poll(() => signals.length).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 100));
    one.abort();
    expect((await connecting[0])?.kind).toBe("aborted");
    expect(signals[0]?.aborted).toBe(false);
    other.abort();
    expect((await connecting[1])?.kind).toBe("aborted");
    await expect.poll(() => signals[0]?.aborted).toBe(true);
    expect(signals).toHaveLength(1);
  });
});

it("a call that runs out of time loses nothing that can be had once only", async () => {
  await using fake = await FakeIssuer.open();
  const grants: (string | null)[] = [];
  fake.faking.token = async (form) => {
    grants.push(form.get("grant_type"));
    if (grants.length === 2) await new Promise((resolve) => setTimeout(resolve, 300));
    const token = { access_token: `t${grants.length}`, refresh_token: `r${grants.length}` };
    return { body: { ...token, token_type: "Bearer" } };
  };
  fake.faking.serve = (token, request, response) => {
    const isRefused = token === "t1" && request.rpcMethod === "tools/call";
    if (isRefused) response.writeHead(401, { "www-authenticate": "Bearer" }).end();
    return isRefused;
  };
  await using client = await open(fake);
  const signal = AbortSignal.timeout(100);
  expect((await refusal(client.call("anything", {}, { signal }))).kind).toBe("aborted");
  await Promise.all([client.call("anything", {}), client.call("anything", {})]);
  expect(grants).toEqual(["authorization_code", "refresh_token"]);
});

describe("a client that is closed", () => {
  it("asks nobody any more", async () => {
    await using fake = await FakeIssuer.open();
    let isRevoked = false;
    fake.faking.serve = (_token, _request, response) => {
      if (isRevoked) response.writeHead(401, { "www-authenticate": "Bearer" }).end();
      return isRevoked;
    };
    const signals: AbortSignal[] = [];
    const authorize = (url: URL, { signal }: { readonly signal: AbortSignal }) => {
      signals.push(signal);
      const back = { code: "c", state: url.searchParams.get("state") ?? "" };
      if (signals.length === 1) return Promise.resolve(new URLSearchParams(back));
      return new Promise<never>(() => undefined);
    };
    const client = await open(fake, { authorize });
    await client.call("anything", {});
    isRevoked = true;
    const called = refusal(client.call("anything", {}));
    await expect.poll(() => signals.length).toBe(2);
    await client.close();
    expect((await called).kind).toBe("closed");
    expect(signals[1]?.aborted).toBe(true);
  });
});

describe("a server that lacks a scope", () => {
  let fake: FakeIssuer;
  const lacking = (scopes: () => string, error = "insufficient_scope") => {
    fake.faking.serve = (_token, request, response) => {
      if (request.rpcMethod !== "tools/call") return false;
      const challenge = `Bearer error="${error}", scope="${scopes()}"`;
      response.writeHead(403, { "www-authenticate": challenge }).end();
      return true;
    };
  };
  beforeEach(async () => {
    fake = await FakeIssuer.open((each) => {
      each.faking.challenge = 'scope="basic"';
    });
    return () => fake[Symbol.asyncDispose]();
  });

  it("and never has enough is asked for the same once", async () => {
    lacking(() => "write");
    await using client = await open(fake);
    const { message, status, kind } = await refusal(client.call("anything", {}));
    expect([kind, status]).toEqual(["unauthorized", 403]);
    expect(message).toContain("refuses although these scopes were asked for: basic write");
    expect(fake.scopes).toEqual(["basic", "basic write"]);
    await refusal(client.call("anything", {}));
    await refusal(client.call("another", {}));
    expect(fake.scopes).toHaveLength(2);
  });

  it("and always another is asked twice for each call", async () => {
    let count = 0;
    lacking(() => `more${count++}`);
    await using client = await open(fake);
    expect((await refusal(client.call("anything", {}))).status).toBe(403);
    expect(fake.scopes).toEqual(["basic", "basic more0", "basic more0 more1"]);
  });

  it("for another reason is taken at its word", async () => {
    lacking(() => "write", "access_denied");
    await using client = await open(fake);
    expect((await refusal(client.call("anything", {}))).status).toBe(403);
    expect(fake.scopes).toEqual(["basic"]);
  });
});

it("a server that takes no token at all is asked for one, once", async () => {
  await using fake = await FakeIssuer.open((each) => {
    each.faking.serve = (_token, _request, response) => {
      response.writeHead(401, { "www-authenticate": 'Bearer error="invalid_token"' }).end();
      return true;
    };
  });
  const auth = fake.auth();
  for (let round = 0; round < 3; round++) {
    const connecting = connect(fake.url, { auth, revisions: "2026-07-28" });
    expect((await refusal(connecting)).kind).toBe("unauthorized");
  }
  expect(fake.asked).toHaveLength(1);
});

it("what a user is asked is pushed ahead of them where that is required", async () => {
  await using fake = await FakeIssuer.open((each) => {
    each.faking.issuerDocuments[issuerPath] = each.metadata({
      require_pushed_authorization_requests: true,
      pushed_authorization_request_endpoint: `${each.issuer}/par`,
    });
  });
  await using client = await open(fake);
  await client.call("anything", {});
  const [url, pushed] = [fake.asked[0]?.searchParams, fake.pushed[0]];
  expect(url?.get("request_uri")).toBe("urn:pushed:1");
  for (const name of ["code_challenge", "resource"]) {
    expect([url?.has(name), pushed?.has(name)]).toEqual([false, true]);
  }
  expect(pushed?.get("state")).toBe(url?.get("state"));
});

it("what is asked comes after what the place to sign in has of its own", async () => {
  await using fake = await FakeIssuer.open((each) => {
    const authorization_endpoint = `${each.issuer}/authorize?tenant=1&state=fixed`;
    each.faking.issuerDocuments[issuerPath] = each.metadata({ authorization_endpoint });
  });
  await using client = await open(fake);
  await client.call("anything", {});
  const asked = fake.asked[0]?.searchParams;
  expect(asked?.get("tenant")).toBe("1");
  expect(asked?.getAll("state")).toHaveLength(1);
  expect(asked?.get("state")).not.toBe("fixed");
});

it("a client that was forgotten registers once more", async () => {
  await using fake = await FakeIssuer.open();
  let registered = 0;
  fake.faking.register = () => ({ status: 201, body: { client_id: `client-${++registered}` } });
  fake.faking.token = (form) =>
    form.get("client_id") === "client-1"
      ? { status: 401, body: { error: "invalid_client" } }
      : { body: { access_token: "a-token", token_type: "Bearer" } };
  await using client = await open(fake);
  await client.call("anything", {});
  expect(fake.asked.map(({ searchParams }) => searchParams.get("client_id"))).toEqual([
    "client-1",
    "client-2",
  ]);
});

it("a token that would make a header of its own is not sent", async () => {
  await using fake = await FakeIssuer.open();
  fake.faking.token = () => ({
    body: { access_token: "a\r\nx-forged: 1", token_type: "Bearer" },
  });
  const cause = await refusal(open(fake));
  expect(inspect(cause, { depth: Number.POSITIVE_INFINITY })).not.toContain("x-forged");
  expect(fake.server.requests.filter(({ headers }) => "x-forged" in headers)).toEqual([]);
});

describe("credentials of one's own", () => {
  it("that cannot be made, or judged, are what a call fails with", async () => {
    await using fake = await FakeIssuer.open();
    const no = new Error("no");
    const fail = (): never => {
      throw no;
    };
    const ways = [
      { headers: fail, answered: () => false },
      { headers: () => Promise.reject(no), answered: () => false },
      { headers: () => ({}), answered: fail },
      { headers: () => ({}), answered: () => Promise.reject(no) },
    ];
    for (const auth of ways) {
      const { kind, cause } = await refusal(connect(fake.url, { auth }));
      expect([kind, cause]).toEqual(["unauthorized", no]);
    }
  });

  it("that are never satisfied end all the same", async () => {
    await using fake = await FakeIssuer.open();
    const auth = { headers: () => ({}), answered: () => true };
    expect((await refusal(connect(fake.url, { auth }))).status).toBe(401);
    expect(fake.server.requests).toHaveLength(7);
  });

  it("that never come end with the call", async () => {
    await using fake = await FakeIssuer.open();
    const never = () => new Promise<never>(() => undefined);
    const auth = { headers: never, answered: () => false };
    const connecting = connect(fake.url, { auth, timeoutMs: 50 });
    expect((await refusal(connecting)).kind).toBe("timeout");
    expect(fake.server.requests).toEqual([]);
  });
});

it("no token leaves for another origin", async () => {
  await using other = await FakeHttp.open((_, response) => response.writeHead(200).end());
  await using fake = await FakeIssuer.open();
  await using client = await open(fake);
  fake.faking.serve = (_token, _request, response) => {
    response.writeHead(307, { location: other.url }).end();
    return true;
  };
  expect((await refusal(client.call("anything", {}))).message).toContain("another origin");
  expect(other.requests).toEqual([]);
});

it("it follows where the server sends it within the origin, with its token", async () => {
  await using fake = await FakeIssuer.open();
  await using client = await open(fake);
  fake.faking.serve = (_token, { path }, response) => {
    if (path === "/mcp") response.writeHead(307, { location: "/mcp?moved" }).end();
    return path === "/mcp";
  };
  await client.call("anything", {});
  const moved = fake.server.requests.at(-1);
  expect([moved?.path, moved?.headers.authorization]).toEqual(["/mcp?moved", "Bearer token-1"]);
});

describe("no secret is told in what goes wrong:", () => {
  const secrets = ["the-secret-token", "the-code", "the-refresh-token", "the-client-secret"];
  const token = { access_token: "the-secret-token", refresh_token: "the-refresh-token" };
  const answers: Record<string, object> = {
    "a type that is not known": { body: { ...token, token_type: "mac" } },
    "no type": { body: token },
    "a time that is none": { body: { ...token, token_type: "Bearer", expires_in: -1 } },
    "scopes that are none": { body: { ...token, token_type: "Bearer", scope: 1 } },
    "an identity that is none": { body: { ...token, token_type: "Bearer", id_token: "x.y.z" } },
    text: { body: `the token is ${JSON.stringify(token)}` },
    "a list": { body: [token] },
    "another status": { status: 500, body: token },
    "an error": { status: 400, body: { ...token, error: "invalid_grant" } },
    "a challenge": { status: 401, headers: { "www-authenticate": "Basic" }, body: token },
    "a redirect": { status: 302, headers: { location: "/the-code" }, body: token },
  };

  it.each(Object.entries(answers))("%s", async (_, answer) => {
    await using fake = await FakeIssuer.open();
    fake.faking.token = () => answer;
    const client = { clientId: "known", secret: "the-client-secret" };
    const cause = await refusal(open(fake, { client }));
    const verifier = fake.forms[0]?.get("code_verifier") ?? "";
    const state = fake.asked[0]?.searchParams.get("state") ?? "";
    expect([verifier.length, state.length]).toEqual([43, 43]);
    expect(cause.message).toMatch(/^cannot sign in: /);
    const told = inspect(cause, { depth: Number.POSITIVE_INFINITY, showHidden: true });
    for (const secret of [...secrets, verifier, state]) expect(told).not.toContain(secret);
  });
});
