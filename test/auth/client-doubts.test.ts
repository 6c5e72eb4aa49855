/** What a client that signs in does not take on trust, of servers and of its own store. */
import { clientCredentials, MemoryTokens, type TokenStore } from "anyrev/client/auth";
import { describe, expect, it } from "vitest";
import { connect } from "../support/connecting.ts";
import { FakeIssuer } from "../support/fake-issuer.ts";

const visit = async (fake: FakeIssuer, auth = fake.auth()) => {
  await using client = await connect(fake.url, { auth, revisions: "2026-07-28" });
  await client.call("anything", {});
};

const refusal = (visited: Promise<void>) =>
  visited.then(
    () => "was let in",
    (cause: Error) => cause.message,
  );

const issuerPath = "/.well-known/oauth-authorization-server";
const resourcePath = "/.well-known/oauth-protected-resource/mcp";

describe("an issuer in what a user comes back with (RFC 9207)", () => {
  it.each(["", " ", "https://other.test"])("is compared wherever it is there: %j", async (iss) => {
    await using fake = await FakeIssuer.open();
    fake.faking.back = (sent) => ({ code: "c", state: sent.get("state") ?? "", iss });
    expect(await refusal(visit(fake))).toMatch(/^cannot sign in: .*"iss"/);
    expect(fake.forms).toEqual([]);
  });

  it("has nothing shown of an error that another may have sent", async () => {
    await using fake = await FakeIssuer.open();
    fake.faking.back = (sent) => ({
      error: "call_this_number",
      error_description: "call this number",
      state: sent.get("state") ?? "",
      iss: "",
    });
    expect(await refusal(visit(fake))).not.toMatch(/number/);
  });
});

describe("the issuer in metadata is the one that was asked, letter by letter", () => {
  it.each([
    ["HTTP://127.0.0.1:", ""],
    ["http://127.1:", ""],
    ["http://127.0.0.1:0", ""],
    ["http://127.0.0.1:", "/."],
    ["http://127.0.0.1:", "?"],
    ["http://127.0.0.1:", "#"],
  ])("not %s<port>%s", async (start, end) => {
    await using fake = await FakeIssuer.open();
    const other = `${start}${new URL(fake.issuer).port}${end}`;
    expect(new URL(other).origin).toBe(fake.issuer);
    fake.faking.issuerDocuments[issuerPath] = fake.metadata({}, other);
    expect(await refusal(visit(fake))).toMatch(/is that of another issuer/);
  });

  it("but for the slash of an origin", async () => {
    await using fake = await FakeIssuer.open();
    fake.faking.issuerDocuments[issuerPath] = fake.metadata({}, `${fake.issuer}/`);
    await visit(fake);
    fake.faking.issuerDocuments[issuerPath] = fake.metadata();
    const resource = fake.resource({ authorization_servers: [`${fake.issuer}/`] });
    fake.faking.serverDocuments[resourcePath] = resource;
    await visit(fake);
  });
});

it.each(["a\r\nb", "a b", "tökén", "a\u0000b", "a\u007f"])(
  "a token that no header can hold is refused, and not shown: %j",
  async (token) => {
    await using fake = await FakeIssuer.open();
    fake.faking.token = () => ({ body: { access_token: token, token_type: "Bearer" } });
    expect(await refusal(visit(fake))).toBe(
      "cannot sign in: the authorization server granted a token that cannot be sent",
    );
    expect(fake.forms.length).toBe(1);
  },
);

describe("a server in plain sight", () => {
  const auth = (asked: string[], store: TokenStore = new MemoryTokens()) =>
    clientCredentials({
      client: { clientId: "robot", secret: "secret" },
      store,
      fetch: async (url) => {
        asked.push(url.href);
        return new Response(null, { status: 404 });
      },
    });
  const signal = new AbortController().signal;
  const server = new URL("http://mcp.example.com/mcp");

  it("is told no token, wherever its metadata is", async () => {
    const asked: string[] = [];
    const challenge = `Bearer resource_metadata="https://mcp.example.com/meta"`;
    const header = (name: string) => (name === "www-authenticate" ? challenge : undefined);
    const exchange = { server, url: server, method: "POST" } as const;
    const answer = { ...exchange, status: 401, repeats: 0, credentials: {}, header };
    const answered = async () => auth(asked).answered(answer, signal);
    await expect(answered()).rejects.toThrow("over http:, which is not safe");
    expect(asked).toEqual([]);
  });

  it("is told none that is kept either", async () => {
    const store = new MemoryTokens();
    const kept = { issuer: "https://as.test", clientId: "robot", access: "a", type: "bearer" };
    for (const href of [server.href, "https://mcp.example.com/mcp"]) {
      store.set(`tokens for ${href}`, JSON.stringify({ ...kept, scopes: [], issuedAt: 1 }));
    }
    const headersFor = (url: URL) =>
      auth([], store).headers({ server: url, url, method: "POST" }, signal);
    expect(await headersFor(server)).toEqual({});
    const safe = await headersFor(new URL("https://mcp.example.com/mcp"));
    expect(safe).toEqual({ authorization: "Bearer a" });
  });
});

describe("a store that fails", () => {
  const failing = (what: keyof TokenStore, of: string) => {
    const store = new MemoryTokens();
    const fail = async (name: string) => {
      if (name.startsWith(of)) throw new Error("the disk is full\u001b[2J");
      return undefined;
    };
    return {
      get: (name: string) => (what === "get" ? fail(name) : store.get(name)),
      set: async (name: string, text: string) => {
        if (what === "set") await fail(name);
        store.set(name, text);
      },
      delete: (name: string) => store.delete(name),
    };
  };

  it.each([
    ["get", "tokens"],
    ["get", "client"],
    ["set", "tokens"],
    ["set", "client"],
  ] as const)("to %s %s is told of in its own words", async (what, of) => {
    await using fake = await FakeIssuer.open();
    const auth = fake.auth({ store: failing(what, of) });
    const failure = await visit(fake, auth).catch((cause: Error) => cause);
    expect(failure).toMatchObject({
      kind: "unauthorized",
      message: "cannot sign in: the store of tokens failed: the disk is full",
    });
  });

  it("to keep what was granted leaves it granted, to somebody who may be another", async () => {
    await using fake = await FakeIssuer.open();
    const auth = fake.auth({ store: failing("set", "tokens") });
    const before = auth.context?.();
    expect(await refusal(visit(fake, auth))).toMatch(/the disk is full/);
    expect(auth.context?.()).not.toBe(before);
    await visit(fake, auth);
    expect(fake.asked.length).toBe(1);
  });
});

describe("what is kept and makes no sense", () => {
  const damages = {
    "a registration that is none": { registration: null },
    "a registration of a wrong kind": { registration: "x" },
    "a way of proving that nobody knows": {
      registration: { clientId: "x", method: "guess", secret: "s", redirectUri: "x" },
    },
    "a token to refresh with that is none": { refresh: { $: 1 } },
    "a time that is none": { expiresAt: "soon" },
    "scopes that are none": { scopes: [1, null] },
    "a token that no header can hold": { access: "a\r\nb" },
    "a key that is none": { key: 1 },
  };

  it.each(Object.entries(damages))("%s: the user signs in again", async (_, damage) => {
    await using fake = await FakeIssuer.open();
    const store = new MemoryTokens();
    await visit(fake, fake.auth({ store }));
    const name = `tokens for ${fake.url}`;
    store.set(name, JSON.stringify({ ...JSON.parse(store.get(name) ?? "{}"), ...damage }));
    await visit(fake, fake.auth({ store }));
    expect(fake.asked.length).toBe(2);
  });

  it.each([
    { method: "guess", secret: "s" },
    { method: "private_key_jwt", secret: "s" },
    { method: "client_secret_post", secret: 1 },
    { expiresAt: "never" },
  ])("a registration with %j is made anew", async (damage) => {
    await using fake = await FakeIssuer.open();
    const store = new MemoryTokens();
    await visit(fake, fake.auth({ store }));
    store.delete(`tokens for ${fake.url}`);
    const name = `client of ${fake.issuer}`;
    store.set(name, JSON.stringify({ ...JSON.parse(store.get(name) ?? "{}"), ...damage }));
    await visit(fake, fake.auth({ store }));
    expect(fake.issuing.having("POST").filter(({ path }) => path === "/register").length).toBe(2);
  });
});

describe("where a token cannot be refreshed", () => {
  const granted = { token_type: "Bearer", refresh_token: "precious" };

  /** Takes a token until it is told not to. */
  const opened = async (refreshed: () => { status?: number; body: object }) => {
    const revoked = new Set<string>();
    let signedIn = 0;
    const fake = await FakeIssuer.open((each) => {
      each.faking.serve = (token, _, response) => {
        if (!revoked.has(token)) return false;
        response.writeHead(401, { "www-authenticate": "Bearer" }).end();
        return true;
      };
      each.faking.token = (form) =>
        form.get("grant_type") === "refresh_token"
          ? refreshed()
          : { body: { ...granted, access_token: `signed-in-${++signedIn}` } };
    });
    return { fake, revoked };
  };

  it("as another process did that just before, its token is taken", async () => {
    const store = new MemoryTokens();
    const { fake, revoked } = await opened(() => {
      const name = `tokens for ${fake.url}`;
      const kept = JSON.parse(store.get(name) ?? "{}");
      const theirs = { ...kept, access: "theirs", refresh: "next", issuedAt: kept.issuedAt + 1 };
      store.set(name, JSON.stringify(theirs));
      return { status: 400, body: { error: "invalid_grant" } };
    });
    await using _ = fake;
    const auth = fake.auth({ store });
    await visit(fake, auth);
    const before = auth.context?.();
    revoked.add("signed-in-1");
    await visit(fake, auth);
    expect(fake.asked.length).toBe(1);
    const last = fake.server.requests.at(-1)?.headers.authorization;
    expect(last).toBe("Bearer theirs");
    expect(auth.context?.()).toBe(before);
  });

  it("as somebody signed in elsewhere since, nothing private of before is given to them", async () => {
    await using fake = await FakeIssuer.open();
    const revoked = new Set<string>();
    fake.faking.serve = (token, _, response) => {
      if (!revoked.has(token)) return false;
      response.writeHead(401, { "www-authenticate": "Bearer" }).end();
      return true;
    };
    const store = new MemoryTokens();
    const auth = fake.auth({ store });
    await visit(fake, auth);
    const before = auth.context?.();
    const name = `tokens for ${fake.url}`;
    const kept = store.get(name) ?? "";
    store.delete(name);
    await visit(fake, fake.auth({ store }));
    const later = { ...JSON.parse(store.get(name) ?? "{}"), issuedAt: Date.now() + 1 };
    store.set(name, JSON.stringify(later));
    revoked.add(JSON.parse(kept).access);
    await visit(fake, auth);
    expect(fake.asked.length).toBe(2);
    expect(auth.context?.()).not.toBe(before);
  });

  it.each(["temporarily_unavailable", "server_error", "slow_down"])(
    "as the authorization server says that it is %s, nobody is asked to sign in",
    async (error) => {
      const { fake, revoked } = await opened(() => ({ status: 400, body: { error } }));
      await using _ = fake;
      const auth = fake.auth();
      await visit(fake, auth);
      revoked.add("signed-in-1");
      expect(await refusal(visit(fake, auth))).toContain(error);
      expect(fake.asked.length).toBe(1);
      revoked.clear();
      await visit(fake, auth);
    },
  );
});
