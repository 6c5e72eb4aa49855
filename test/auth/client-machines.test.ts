/** Tokens that no user is asked for: with a key, by a platform, by an organization. */
import type { ClientAuth } from "anyrev/client";
import {
  type AssertedTo,
  clientCredentials,
  enterpriseManaged,
  workloadIdentity,
} from "anyrev/client/auth";
import { jwtVerify } from "jose";
import { describe, expect, it } from "vitest";
import { connect } from "../support/connecting.ts";
import { FakeHttp, sendJson } from "../support/fake-http.ts";
import { FakeIssuer } from "../support/fake-issuer.ts";

const jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const idJag = "urn:ietf:params:oauth:token-type:id-jag";

const visit = async (fake: FakeIssuer, auth: ClientAuth) => {
  await using client = await connect(fake.url, { auth, revisions: "2026-07-28" });
  await client.call("anything", {});
};

const issuerPath = "/.well-known/oauth-authorization-server";

function withScopes(fake: FakeIssuer): void {
  fake.faking.challenge = 'scope="read"';
}

describe("a program with a private key", () => {
  it("signs an assertion for the authorization server, and sends nothing secret", async () => {
    await using fake = await FakeIssuer.open(withScopes);
    const { publicKey, privateKey: key } = await crypto.subtle.generateKey(
      { name: "ECDSA", namedCurve: "P-256" },
      false,
      ["sign", "verify"],
    );
    await visit(fake, clientCredentials({ client: { clientId: "robot", key } }));
    const [form] = fake.forms;
    const { payload } = await jwtVerify(form?.get("client_assertion") ?? "", publicKey);
    expect(payload).toMatchObject({ iss: "robot", sub: "robot", aud: fake.issuer });
    expect([form?.get("grant_type"), form?.get("resource"), form?.get("scope")]).toEqual([
      "client_credentials",
      fake.url,
      "read",
    ]);
  });
});

describe("a program with a secret", () => {
  it.each([
    ["client_secret_post", undefined, "a secret"],
    ["client_secret_basic", `Basic ${btoa("robot-1:a+secret")}`, null],
  ])("proves it by %s where that is what is taken", async (method, header, posted) => {
    await using fake = await FakeIssuer.open((each) => {
      const more = { token_endpoint_auth_methods_supported: [method] };
      each.faking.issuerDocuments[issuerPath] = each.metadata(more);
    });
    const client = { clientId: "robot-1", secret: "a secret", issuer: fake.issuer };
    await visit(fake, clientCredentials({ client }));
    const asked = fake.issuing.having("POST")[0];
    expect(asked?.headers.authorization).toBe(header);
    expect(fake.forms[0]?.get("client_secret")).toBe(posted);
  });
});

describe("a program that its platform vouches for", () => {
  it("hands over an assertion that is made for the authorization server", async () => {
    await using fake = await FakeIssuer.open(withScopes);
    const asked: Omit<AssertedTo, "signal">[] = [];
    const assertion = ({ issuer, resource }: AssertedTo) => {
      asked.push({ issuer, resource });
      return "of-the-platform";
    };
    await visit(fake, workloadIdentity({ assertion }));
    expect(asked).toEqual([{ issuer: fake.issuer, resource: fake.url }]);
    expect(Object.fromEntries(fake.forms[0] ?? [])).toEqual({
      grant_type: jwtBearer,
      assertion: "of-the-platform",
      resource: fake.url,
      scope: "read",
    });
  });

  it("tries nothing else where that is refused, and does not tell the assertion", async () => {
    await using fake = await FakeIssuer.open();
    fake.faking.token = () => ({ status: 400, body: { error: "invalid_grant" } });
    const auth = workloadIdentity({ assertion: "of-the-platform", client: { clientId: "w" } });
    await expect(visit(fake, auth)).rejects.toThrow(/^cannot sign in: .*invalid_grant$/);
    expect(fake.forms).toHaveLength(1);
  });

  it("says so where no assertion can be made", async () => {
    await using fake = await FakeIssuer.open();
    const assertion = () => Promise.reject(new Error("no such file"));
    const auth = workloadIdentity({ assertion });
    await expect(visit(fake, auth)).rejects.toThrow("no assertion could be made: no such file");
    expect(fake.forms).toEqual([]);
  });
});

describe("an assertion that is made beforehand", () => {
  const jwt = (claims: object) =>
    ["{}", JSON.stringify(claims), "signature"]
      .map((part) => Buffer.from(part).toString("base64url"))
      .join(".");

  it.each([
    ["the authorization server", (fake: FakeIssuer) => ({ aud: fake.issuer })],
    ["it among others", (fake: FakeIssuer) => ({ aud: ["x", fake.issuer] })],
    ["it, written with a slash", (fake: FakeIssuer) => ({ aud: `${fake.issuer}/` })],
    ["where tokens are got", (fake: FakeIssuer) => ({ aud: `${fake.issuer}/token` })],
  ])("for %s is handed over", async (_, claims) => {
    await using fake = await FakeIssuer.open();
    await visit(fake, workloadIdentity({ assertion: jwt(claims(fake)) }));
    expect(fake.forms).toHaveLength(1);
  });

  it.each([
    ["another", { aud: "https://honest.example" }],
    ["several others", { aud: ["https://honest.example", "ü", 1] }],
    ["nobody in particular", { sub: "robot" }],
    ["nobody", { aud: [] }],
  ])("for %s is handed to no server of a server's choice", async (_, claims) => {
    await using fake = await FakeIssuer.open();
    for (const client of [undefined, { clientId: "w" }]) {
      const failure = visit(fake, workloadIdentity({ assertion: jwt(claims), client }));
      await expect(failure).rejects.toThrow(
        /^cannot sign in: the assertion is made for .*, not for http\S+; say with `issuer` who may have it$/,
      );
    }
    expect(fake.forms).toEqual([]);
  });

  it("goes to the issuer that is named for it, and to no other", async () => {
    await using fake = await FakeIssuer.open();
    const assertion = jwt({ aud: "api://of-the-platform" });
    await visit(fake, workloadIdentity({ assertion, issuer: fake.issuer }));
    expect([...(fake.forms[0]?.keys() ?? [])]).not.toContain("client_id");
    const client = { clientId: "w" };
    await visit(fake, workloadIdentity({ assertion, client, issuer: fake.issuer }));
    await visit(fake, workloadIdentity({ assertion, client: { ...client, issuer: fake.issuer } }));
    expect(fake.forms).toHaveLength(3);
    for (const given of [undefined, client]) {
      const issuer = "https://honest.example";
      for (const each of [assertion, () => assertion]) {
        const auth = workloadIdentity({ assertion: each, client: given, issuer });
        await expect(visit(fake, auth)).rejects.toThrow("is known to https://honest.example");
      }
    }
    expect(fake.forms).toHaveLength(3);
  });
});

describe("a user of an organization", () => {
  const openProvider = async (answer: object) => {
    const forms: URLSearchParams[] = [];
    const provider = await FakeHttp.open((request, response) => {
      forms.push(new URLSearchParams(request.body));
      sendJson(response, JSON.stringify(answer));
    });
    const issuer = new URL(provider.url).origin;
    return { provider, forms, issuer, tokenEndpoint: `${issuer}/token` };
  };
  const jag = { access_token: "the-jag", token_type: "N_A", issued_token_type: idJag };
  const managed = ({ issuer, tokenEndpoint }: { issuer: string; tokenEndpoint: string }) =>
    enterpriseManaged({
      client: { clientId: "editor" },
      provider: { issuer, tokenEndpoint, client: { clientId: "editor-at-work" } },
      idToken: () => "the-id-token",
    });

  it("is vouched for by the identity provider, for this server alone", async () => {
    await using fake = await FakeIssuer.open(withScopes);
    const { provider, forms, ...at } = await openProvider(jag);
    await using _ = provider;
    await visit(fake, managed(at));
    expect(Object.fromEntries(forms[0] ?? [])).toEqual({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      requested_token_type: idJag,
      subject_token: "the-id-token",
      subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
      audience: fake.issuer,
      resource: fake.url,
      scope: "read",
      client_id: "editor-at-work",
    });
    expect(Object.fromEntries(fake.forms[0] ?? [])).toEqual({
      grant_type: jwtBearer,
      assertion: "the-jag",
      resource: fake.url,
      scope: "read",
      client_id: "editor",
    });
  });

  it("is not signed in with anything but such an assertion", async () => {
    await using fake = await FakeIssuer.open();
    const other = { access_token: "a-token", token_type: "Bearer" };
    const { provider, forms, ...at } = await openProvider(other);
    await using _ = provider;
    await expect(visit(fake, managed(at))).rejects.toThrow("something else than an identity");
    expect([forms.length, fake.forms.length]).toEqual([1, 0]);
  });
});

it("a token that ends is got anew, without a challenge and once for all calls", async () => {
  await using fake = await FakeIssuer.open();
  let count = 0;
  fake.faking.token = () => ({
    body: { access_token: `t${++count}`, token_type: "Bearer", expires_in: 1 },
  });
  const auth = clientCredentials({ client: { clientId: "robot" } });
  await using client = await connect(fake.url, { auth, revisions: "2026-07-28" });
  const refused = fake.server.having("POST").length;
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  await Promise.all(Array.from({ length: 10 }, () => client.call("anything", {})));
  const tokens = fake.server
    .having("POST")
    .slice(refused)
    .map(({ headers }) => headers.authorization);
  expect(tokens).toEqual(Array(10).fill("Bearer t2"));
  expect(count).toBe(2);
});
