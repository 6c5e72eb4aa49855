/** How a client finds out who grants access to a server, and whom it does not believe. */
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { covers } from "../../src/client/auth/discovery.ts";
import { connect } from "../support/connecting.ts";
import { FakeIssuer } from "../support/fake-issuer.ts";

const visit = async (fake: FakeIssuer, url = fake.url, options = {}) => {
  await using client = await connect(url, { auth: fake.auth(options), revisions: "2026-07-28" });
  await client.call("anything", {});
};

const refusal = async (fake: FakeIssuer, options = {}) =>
  visit(fake, fake.url, options).then(
    () => "was let in",
    (cause: Error) => cause.message,
  );

const resourcePath = "/.well-known/oauth-protected-resource";
const issuerPath = "/.well-known/oauth-authorization-server";
const openidPath = "/.well-known/openid-configuration";

describe("where the server does not say where its metadata is, a client looks", () => {
  it("at the path of the endpoint first, with its query", async () => {
    await using fake = await FakeIssuer.open();
    const url = `${fake.url}?tenant=1`;
    fake.faking.serverDocuments = { [`${resourcePath}/mcp?tenant=1`]: fake.resource() };
    await visit(fake, url);
    expect(fake.looked).toEqual([`server ${resourcePath}/mcp?tenant=1`, `issuer ${issuerPath}`]);
  });

  it("R108: at the root then, where a resource may be all of the server", async () => {
    await using fake = await FakeIssuer.open();
    const resource = new URL(fake.url).origin;
    fake.faking.serverDocuments = { [resourcePath]: fake.resource({ resource }) };
    await visit(fake);
    expect(fake.looked).toEqual([
      `server ${resourcePath}/mcp`,
      `server ${resourcePath}`,
      `issuer ${issuerPath}`,
    ]);
    expect(fake.asked[0]?.searchParams.get("resource")).toBe(resource);
    expect(fake.forms[0]?.get("resource")).toBe(resource);
  });

  it("where the server is taken for its own authorization server, before 2025-06-18", async () => {
    await using fake = await FakeIssuer.open();
    fake.faking.serverDocuments = {};
    await visit(fake);
    expect(fake.looked).toEqual([
      `server ${resourcePath}/mcp`,
      `server ${resourcePath}`,
      `server ${issuerPath}`,
      `server ${openidPath}`,
    ]);
    const { origin } = new URL(fake.url);
    expect(fake.asked[0]?.href).toMatch(`${origin}/authorize?`);
    expect(fake.asked[0]?.searchParams.get("resource")).toBe(fake.url);
    const told = fake.server.requests.filter(({ path }) => path === issuerPath);
    expect(told.map(({ headers }) => headers["mcp-protocol-version"])).toEqual(["2025-03-26"]);
    const posted = fake.server.having("POST").map(({ path }) => path);
    expect(posted).toEqual(expect.arrayContaining(["/register", "/token"]));
  });
});

describe("where the server says where its metadata is, a client looks", () => {
  it("there, and nowhere else", async () => {
    await using fake = await FakeIssuer.open();
    const { origin } = new URL(fake.url);
    fake.faking.challenge = `error="invalid_token", resource_metadata="${origin}/.well-known/mine"`;
    fake.faking.serverDocuments = { "/.well-known/mine": fake.resource() };
    await visit(fake);
    expect(fake.looked).toEqual(["server /.well-known/mine", `issuer ${issuerPath}`]);
  });

  it("elsewhere only where there is nothing", async () => {
    await using fake = await FakeIssuer.open();
    const { origin } = new URL(fake.url);
    fake.faking.challenge = `resource_metadata="${origin}/.well-known/gone"`;
    await visit(fake);
    expect(fake.looked.slice(0, 2)).toEqual([
      "server /.well-known/gone",
      `server ${resourcePath}/mcp`,
    ]);
  });

  it.each(["nowhere", "file:///etc/passwd", "http://192.0.2.1/x", "data:,{}"])(
    "not at %s",
    async (hint) => {
      await using fake = await FakeIssuer.open();
      fake.faking.challenge = `resource_metadata="${hint}"`;
      expect(await refusal(fake)).toMatch(/^cannot sign in: /);
      expect(fake.looked).toEqual([]);
    },
  );
});

describe("an authorization server is looked up", () => {
  it("by the forms for an issuer with a path, in their order", async () => {
    await using fake = await FakeIssuer.open();
    const issuer = `${fake.issuer}/tenant1`;
    const resource = fake.resource({ authorization_servers: [issuer] });
    fake.faking.serverDocuments[`${resourcePath}/mcp`] = resource;
    fake.faking.issuerDocuments = { [`/tenant1${openidPath}`]: fake.metadata({}, issuer) };
    await visit(fake);
    expect(fake.looked.slice(1)).toEqual([
      `issuer ${issuerPath}/tenant1`,
      `issuer ${openidPath}/tenant1`,
      `issuer /tenant1${openidPath}`,
    ]);
  });

  it("by the forms for an issuer without, in their order", async () => {
    await using fake = await FakeIssuer.open();
    fake.faking.issuerDocuments = {
      [issuerPath]: (to: ServerResponse) => to.writeHead(200).end("<html>"),
      [openidPath]: fake.metadata(),
    };
    await visit(fake);
    expect(fake.looked.slice(1)).toEqual([`issuer ${issuerPath}`, `issuer ${openidPath}`]);
  });

  it("of several, the one that the client is known to", async () => {
    await using fake = await FakeIssuer.open();
    const authorization_servers = ["http://127.0.0.1:1", fake.issuer];
    const resource = fake.resource({ authorization_servers });
    fake.faking.serverDocuments[`${resourcePath}/mcp`] = resource;
    await visit(fake, fake.url, { client: { clientId: "known", issuer: fake.issuer } });
    expect(fake.asked[0]?.searchParams.get("client_id")).toBe("known");
  });
});

describe("where a server moves to another authorization server", () => {
  const moving = async (options: object, visitAgain: (fake: FakeIssuer) => Promise<void>) => {
    await using other = await FakeIssuer.open();
    await using fake = await FakeIssuer.open();
    let hasMoved = false;
    fake.faking.token = () => ({
      body: { access_token: "of-the-old", token_type: "Bearer", refresh_token: "old" },
    });
    fake.faking.register = () => ({ status: 201, body: { client_id: "client-of-the-old" } });
    fake.faking.serve = (token, _request, response) => {
      if (!hasMoved || token !== "of-the-old") return false;
      response.writeHead(401, { "www-authenticate": "Bearer" }).end();
      return true;
    };
    await using client = await connect(fake.url, {
      auth: fake.auth(options),
      revisions: "2026-07-28",
    });
    await client.call("anything", {});
    const resource = fake.resource({ authorization_servers: [other.issuer] });
    fake.faking.serverDocuments[`${resourcePath}/mcp`] = resource;
    hasMoved = true;
    await client.call("anything", {}).then(
      () => visitAgain(other),
      async (cause: Error) => {
        expect(other.forms).toEqual([]);
        throw cause;
      },
    );
    expect(fake.forms).toHaveLength(1);
  };

  it("a client introduces itself there, with nothing that the other gave it", async () => {
    await moving({}, async (other) => {
      const [form] = other.forms;
      expect(form?.get("client_id")).toBe("made-on-the-spot");
      const seen = other.issuing.requests.map(({ body, headers }) => body + headers.authorization);
      expect(seen.join("\n")).not.toMatch(/of-the-old|refresh_token=/);
    });
  });

  it.each([{}, { secret: "a secret" }])(
    "a client that is known is not given up for it",
    async (more) => {
      const client = { clientId: "known", ...more };
      await expect(moving({ client }, async () => undefined)).rejects.toThrow(
        "names another authorization server than the one that knows the client",
      );
    },
  );
});

describe("a client does not sign in", () => {
  const cases: Record<string, [(fake: FakeIssuer) => void, RegExp]> = {
    "for a resource of another origin": [
      (fake) => {
        const resource = fake.resource({ resource: "https://evil.example/mcp" });
        fake.faking.serverDocuments[`${resourcePath}/mcp`] = resource;
      },
      /metadata is that of https:\/\/evil\.example\/mcp/,
    ],
    "for a resource beside the server": [
      (fake) => {
        const resource = fake.resource({ resource: `${new URL(fake.url).origin}/mc` });
        fake.faking.serverDocuments[`${resourcePath}/mcp`] = resource;
      },
      /metadata is that of/,
    ],
    "where no authorization server is named": [
      (fake) => {
        const resource = fake.resource({ authorization_servers: [] });
        fake.faking.serverDocuments[`${resourcePath}/mcp`] = resource;
      },
      /names no authorization server/,
    ],
    "by the metadata of another issuer": [
      (fake) => {
        const other = fake.metadata({}, "https://honest.example");
        fake.faking.issuerDocuments[issuerPath] = other;
      },
      /is that of another issuer/,
    ],
    "where nothing is published": [
      (fake) => {
        fake.faking.issuerDocuments = {};
      },
      /publishes no metadata/,
    ],
    "where a document is moved": [
      (fake) => {
        const location = `${fake.issuer}${openidPath}`;
        const moved = (to: ServerResponse) => to.writeHead(302, { location }).end();
        fake.faking.issuerDocuments = { [issuerPath]: moved, [openidPath]: moved };
      },
      /publishes no metadata/,
    ],
    "where a document has no end": [
      (fake) => {
        fake.faking.issuerDocuments[issuerPath] = (to: ServerResponse) => {
          const more = (): void => {
            if (!to.destroyed) to.write("x".repeat(65_536), () => setImmediate(more));
          };
          more();
        };
      },
      /answers with (?:more than|over) 524288 bytes/,
    ],
    "where nobody answers": [
      (fake) => {
        fake.faking.issuerDocuments[issuerPath] = () => undefined;
      },
      /does not answer|took over 300 ms/,
    ],
    "without PKCE": [
      (fake) => {
        const metadata = fake.metadata({ code_challenge_methods_supported: undefined });
        fake.faking.issuerDocuments[issuerPath] = metadata;
      },
      /does not take PKCE with S256/,
    ],
    "with the plain method of PKCE": [
      (fake) => {
        const metadata = fake.metadata({ code_challenge_methods_supported: ["plain"] });
        fake.faking.issuerDocuments[issuerPath] = metadata;
      },
      /does not take PKCE with S256/,
    ],
    "at a place that is no web page": [
      (fake) => {
        const metadata = fake.metadata({ authorization_endpoint: "javascript:alert(1)" });
        fake.faking.issuerDocuments[issuerPath] = metadata;
      },
      /is to be asked over javascript:/,
    ],
    "in plain sight": [
      (fake) => {
        const metadata = fake.metadata({ authorization_endpoint: "http://login.example/" });
        fake.faking.issuerDocuments[issuerPath] = metadata;
      },
      /which is not safe/,
    ],
    "where nobody registers it": [
      (fake) => {
        const metadata = fake.metadata({ registration_endpoint: undefined });
        fake.faking.issuerDocuments[issuerPath] = metadata;
      },
      /registers no clients/,
    ],
  };

  const ways = [undefined, (url: URL, init: RequestInit) => fetch(url, init)];
  const all = Object.entries(cases).flatMap(([what, [change, why]]) =>
    ways.map((way) => ({
      what,
      by: way ? "a fetch of its own" : "the guarded fetch",
      change,
      why,
      way,
    })),
  );

  it.each(all)("$what, by $by", async ({ change, why, way }) => {
    await using fake = await FakeIssuer.open(change);
    expect(await refusal(fake, { timeoutMs: 300, fetch: way })).toMatch(why);
    expect(fake.asked).toEqual([]);
    expect(fake.forms).toEqual([]);
  });
});

it.each([
  [{ redirectUri: "http://app.example/callback" }, "redirectUri"],
  [{ redirectUri: "myapp://callback" }, "redirectUri"],
  [{ redirectUri: "callback" }, "redirectUri"],
  [{ clientMetadataUrl: "http://app.example/client.json" }, "clientMetadataUrl"],
  [{ clientMetadataUrl: "https://app.example/" }, "clientMetadataUrl"],
  [{ clientMetadataUrl: "client.json" }, "clientMetadataUrl"],
])("no client is made with %j", async (options, which) => {
  await using fake = await FakeIssuer.open();
  expect(() => fake.auth(options)).toThrow(new RegExp(`^${which} must be`));
});

describe("R018: a 401 to the first request", () => {
  it("leads to signing in, and says nothing of what the server speaks", async () => {
    await using fake = await FakeIssuer.open();
    await using client = await connect(fake.url, { auth: fake.auth() });
    expect(client.server.revision).toBe("2026-07-28");
    const methods = fake.server.requests.map(({ rpcMethod }) => rpcMethod);
    expect(methods.filter((method) => method !== undefined)).toEqual([
      "server/discover",
      "server/discover",
    ]);
  });
});

describe("R109: a resource that is an origin", () => {
  it.each(["", "/"])("is asked for as it is written, with %j at its end", async (end) => {
    await using fake = await FakeIssuer.open();
    const resource = `${new URL(fake.url).origin}${end}`;
    fake.faking.serverDocuments = { [`${resourcePath}/mcp`]: fake.resource({ resource }) };
    await visit(fake);
    expect(fake.asked[0]?.searchParams.get("resource")).toBe(resource);
    expect(fake.forms[0]?.get("resource")).toBe(resource);
  });
});

it.each([
  ["https://h.test/a/mcp", true],
  ["https://h.test/a/mcp/", true],
  ["https://H.TEST:443/a/mcp", true],
  ["https://h.test/a", true],
  ["https://h.test", true],
  ["https://h.test/", true],
  ["https://h.test/a/mcp?tenant=1", true],
  ["https://h.test/a/mcp?tenant=2", false],
  ["https://h.test/a/mc", false],
  ["https://h.test/a/mcp/more", false],
  ["https://h.test/b", false],
  ["http://h.test/a/mcp", false],
  ["https://h.test:8443/a/mcp", false],
  ["https://h.test.evil.example/a/mcp", false],
  ["https://user@h.test/a/mcp", false],
  ["https://h.test/a/mcp#part", false],
  ["h.test/a/mcp", false],
  ["", false],
])("whether %s is the server or holds it: %s", (resource, expected) => {
  expect(covers(resource, new URL("https://h.test/a/mcp?tenant=1"))).toBe(expected);
});
